"""The command line: the commands and their options. What is heavy is imported when it is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from misnomer.cli import review
from misnomer.cli.options import failing_well, families_of, reading_of, sources_of

__all__ = ["app", "main"]

app = typer.Typer(
    name="misnomer",
    help="How many labels are wrong, which ones, and what the right ones predict.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


Encoding = Annotated[
    str | None,
    typer.Option("--encoding", help="Of the file's text, such as cp1252; guessed without it."),
]
Separator = Annotated[
    str | None, typer.Option("--sep", help="Between cells: one character, or tab.")
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="The first line holds cells: columns are numbered.")
]
Missing = Annotated[
    list[str] | None,
    typer.Option("--missing", metavar="WORD", help="What means an empty cell; repeatable."),
]
Sheet = Annotated[
    str | None, typer.Option("--sheet", help="Of a workbook: its name, or its number from 1.")
]


def main() -> None:
    """Run the command line."""
    app(prog_name="misnomer")


def _version(wanted: bool) -> None:
    if wanted:
        from misnomer.version import __version__

        typer.echo(f"misnomer {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version.")
    ] = False,
) -> None:
    """How many labels are wrong, which ones, and what the right ones predict."""


@app.command()
def audit(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, Excel, Parquet (or a folder of it), Arrow, Feather or JSON; .gz too; "
            "- is a CSV on standard input.",
        ),
    ],
    label: Annotated[
        str | None, typer.Option("--label", "-l", help="The column of the given labels.")
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option("--text", help="A column to read as text; repeatable.")
    ] = None,
    family: Annotated[
        list[str] | None,
        typer.Option(
            "--family",
            metavar="COL=KIND",
            help="What a column is: categorical, bernoulli, gaussian, count, text, ignored.",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", help="A column that must not be learned from; repeatable."),
    ] = None,
    id: Annotated[str | None, typer.Option("--id", help="The column that names the rows.")] = None,
    trusted: Annotated[
        str | None,
        typer.Option("--trusted", help="A column of true/false: rows known to be labeled right."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The folder for the report, the rows and the model."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The seed of what is random.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the audit as JSON.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace what --out holds.")] = False,
    memory: Annotated[
        str | None,
        typer.Option("--memory", help="Read by batches and use at most so much, such as 4GB."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", help="A Dask scheduler (tcp://...) to compute on, or local."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", help="A folder: the same command goes on after a crash."),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out what cannot be read, and say what it was.")
    ] = False,
    annotator_columns: Annotated[
        list[str] | None,
        typer.Option(
            "--annotator-columns",
            metavar="COL,COL...",
            help="Label columns, one per annotator, instead of --label; repeat it for names that "
            "hold commas.",
        ),
    ] = None,
    long: Annotated[
        str | None,
        typer.Option(
            "--long",
            metavar="ROW,ANNOTATOR,LABEL",
            help="Three columns of a table with a line per answer, instead of --label.",
        ),
    ] = None,
    noise_group: Annotated[
        str | None,
        typer.Option("--noise-group", metavar="COL", help="Each value errs in its own way."),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option("--known", metavar="CLASS=RATE", help="A known error rate; repeatable."),
    ] = None,
    at_most: Annotated[
        float | None,
        typer.Option("--at-most", metavar="RATE", help="No class's error rate is above this."),
    ] = None,
    checked: Annotated[
        Path | None,
        typer.Option(
            "--checked",
            metavar="FILE",
            help="Rows that a person has checked: columns row and true_label, or an audit's "
            "folder; those of --out are found without it.",
        ),
    ] = None,
    never: Annotated[
        list[str] | None,
        typer.Option("--never", metavar="GIVEN:TRUE", help="What cannot happen; repeatable."),
    ] = None,
    ignore_case: Annotated[
        bool, typer.Option("--ignore-case", help="Take labels that differ in case only for one.")
    ] = False,
    pred_probs: Annotated[
        Path | None,
        typer.Option(
            "--pred-probs",
            metavar="FILE",
            help="Probabilities of a model of yours, out of fold: .npy (classes sorted), or a "
            "table with a column per class.",
        ),
    ] = None,
    encoding: Encoding = None,
    sep: Separator = None,
    no_header: NoHeader = False,
    missing: Missing = None,
    sheet: Sheet = None,
) -> None:
    """Find out how many labels of a table are wrong, and which ones."""
    with failing_well():
        from misnomer.audit.request import request_of
        from misnomer.cli.actions import run_audit

        sources = sources_of(
            annotator_columns or (), long, noise_group, known or (), at_most, never or ()
        )
        if label is None and not {"annotators", "long"} & {*sources}:
            raise ValueError("which column holds the labels? say --label COLUMN")
        request = request_of(
            file, label, text=text, families=families_of(family or ()) or "auto", ignore=ignore,
            id=id, trusted=trusted, random_state=seed, memory=memory, cluster=cluster,
            checkpoint=checkpoint, skip_bad=skip_bad, checked=checked, ignore_case=ignore_case,
            pred_probs=pred_probs, **sources,
            reading=reading_of(encoding, sep, no_header, missing or (), sheet) or None,
        )  # fmt: skip
        run_audit(request, out, quiet=quiet, as_json=as_json, force=force)


@app.command()
def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model.safetensors, or an audit's folder.")
    ],
    file: Annotated[str, typer.Argument(metavar="FILE", help="The rows to classify.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="A .csv, .xlsx or .parquet file; else standard output."),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of every class.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
    encoding: Encoding = None,
    sep: Separator = None,
    no_header: NoHeader = False,
    missing: Missing = None,
    sheet: Sheet = None,
) -> None:
    """Predict the true class of new rows."""
    with failing_well():
        from misnomer.cli.actions import run_predict

        how = reading_of(encoding, sep, no_header, missing or (), sheet)
        run_predict(model, file, out, proba=proba, force=force, reading=how)


@app.command()
def demo(
    seed: Annotated[int, typer.Option("--seed", min=0, help="Which labels to spoil.")] = 0,
    share: Annotated[
        float, typer.Option("--share", min=0.0, max=0.45, help="How many labels to spoil.")
    ] = 0.1,
) -> None:
    """Spoil some labels of the U.S. House votes of 1984, and find them again."""
    with failing_well():
        from misnomer.demo import run

        run(seed, share)


review.register(app)
