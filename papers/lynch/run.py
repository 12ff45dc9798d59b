"""Lynch and Willett's figures, recomputed exactly: P(e) of the Combined Bayes Test against M.

python papers/lynch/run.py --quick    the table and Figures 1-3, under a minute
python papers/lynch/run.py            the independent checks too, some minutes
"""

from __future__ import annotations

import argparse
import json
import math
from itertools import product
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from misnomer.solvers.exact import predictive
from misnomer.solvers.exact_counts import labeled_counts
from misnomer.solvers.exact_error import ErrorCurve, error_curve
from misnomer.solvers.exact_quantization import best_quantization, own_counts_error

HERE = Path(__file__).parent
EXPECTED = json.loads((HERE / "expected.json").read_text())
PRINTED = {float(alpha): best for alpha, best in EXPECTED["best_quantization"].items()}
N = EXPECTED["rows_per_class"]
SYMBOLS = range(2, 41)
DRAWS = 1_000_000
GREEK = "\N{GREEK SMALL LETTER ALPHA}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only the table and the figures")
    quick = parser.parse_args().quick
    curves = {alpha: error_curve(SYMBOLS, N, alpha) for alpha in PRINTED}
    write("table", "\n".join([*best_table(curves), "", *claims(curves), "", *error_table(curves)]))
    for figure, alpha in enumerate([a for a in PRINTED if a > 0], start=1):
        draw_figure(figure, alpha, curves)
    if not quick:
        write("checks", "\n".join([*simulation(curves), "", *bound_check(), "", *many_rows()]))
    print((HERE / "README.md").read_text())


def rows(header: str, body: list[str]) -> list[str]:
    """A Markdown table."""
    bar = "|".join("---" for _ in header.split("|")[1:-1])
    return [header, f"|{bar}|", *body]


def verdict(same: bool) -> str:
    return "yes" if same else "**no**"


def best_table(curves: dict[float, ErrorCurve]) -> list[str]:
    body = [
        f"| M* at {GREEK} = {alpha:g} | {printed} | {curves[alpha].best} "
        f"| {verdict(printed == curves[alpha].best)} |"
        for alpha, printed in PRINTED.items()
    ]
    return rows("| | printed | ours | reproduced? |", body)


def claims(curves: dict[float, ErrorCurve]) -> list[str]:
    alphas = sorted(curves)
    errors = np.array([curves[alpha].error for alpha in alphas])
    grows = bool(np.all(np.diff(errors, axis=0) > 0))
    spread = {alpha: belief_spread(alpha) for alpha in alphas if alpha > 0}
    worst = max(spread.values())
    best = [curves[alpha].best for alpha in alphas]
    listed = ", ".join(f"{b} at {alpha:g}" for b, alpha in zip(best, alphas, strict=True))
    mass = max(float(np.abs(curve.mass - 1).max()) for curve in curves.values())
    body = [
        f"| P(e) grows with {GREEK} | {'at' if grows else 'not at'} every M of 2..{SYMBOLS[-1]} "
        f"| {verdict(grows)} |",
        f"| the assumed {GREEK} is irrelevant below 1/2 "
        f"| P(e) changes by up to {worst:.4f} | {'nearly' if worst < 0.005 else '**no**'} |",
        f"| M* grows with {GREEK} | M* is {listed} | {verdict(bool(np.all(np.diff(best) >= 0)))} |",
    ]
    table = rows("| claim in the text | ours | reproduced? |", body)
    return [*table, "", f"All probabilities together sum to one within {mass:.0e}."]


def belief_spread(alpha: float) -> float:
    """How much P(e) changes with the alpha that the test assumes, at the worst M up to 10."""
    symbols = range(2, 11)
    beliefs = [
        error_curve(symbols, N, alpha, assumed_alpha=belief).error
        for belief in (0.0, 0.05, 0.25, 0.45)
    ]
    return float(np.ptp(beliefs, axis=0).max())


def error_table(curves: dict[float, ErrorCurve]) -> list[str]:
    shown = [2, 3, 4, 5, 6, 8, 10, 20, 40]
    body = []
    for alpha, curve in curves.items():
        at = dict(zip(curve.symbols.tolist(), curve.error, strict=True))
        cells = [f"**{at[m]:.5f}**" if m == curve.best else f"{at[m]:.5f}" for m in shown]
        body.append(f"| {GREEK} = {alpha:g} | " + " | ".join(cells) + " |")
    return rows("| P(e) at M = | " + " | ".join(str(m) for m in shown) + " |", body)


def draw_figure(figure: int, alpha: float, curves: dict[float, ErrorCurve]) -> None:
    fig, ax = plt.subplots(figsize=(6, 4), dpi=90)
    for value, style in ((alpha, "o-"), (0.0, "s--")):
        curve = curves[value]
        ax.plot(curve.symbols, curve.error, style, ms=3, lw=1, label=f"{GREEK} = {value:g}")
    ours = curves[alpha].best
    ax.axvline(ours, color="gray", lw=0.8, label=f"M* = {ours}, printed {PRINTED[alpha]}")
    ax.set(xlabel="number of symbols M", ylabel="P(e)", ylim=(0.3, 0.5))
    ax.set_title(f"Figure {figure}: {N} rows per class, one test observation")
    ax.legend()
    fig.tight_layout()
    fig.savefig(HERE / f"figure_{figure}.png", metadata={"Software": None})
    plt.close(fig)


def simulation(curves: dict[float, ErrorCurve]) -> list[str]:
    """Draw symbol distributions, labels and counts; decide; average the error."""
    body = []
    for alpha, printed in PRINTED.items():
        for symbols in sorted({curves[alpha].best, printed}):
            mean, deviation = simulated_error(symbols, alpha)
            exact = float(curves[alpha].error[symbols - 2])
            off = (mean - exact) / deviation
            drawn = f"{mean:.5f} ± {deviation:.5f}"
            body.append(f"| {alpha:g} | {symbols} | {exact:.5f} | {drawn} | {off:+.1f} |")
    header = f"| {GREEK} | M | P(e) | simulated ± standard error | difference / standard error |"
    return [f"Simulation, {DRAWS} training sets each:", "", *rows(header, body)]


def simulated_error(symbols: int, alpha: float) -> tuple[float, float]:
    rng = np.random.default_rng(symbols)
    p = rng.dirichlet(np.ones(symbols), size=(DRAWS, 2))
    wrong = rng.binomial(N, alpha, size=(DRAWS, 2))
    counts = rng.multinomial(N - wrong, p) + rng.multinomial(wrong, p[:, ::-1])
    # The names of the symbols do not matter: sorted, the same tables come back again and again.
    order = np.argsort(counts[:, 0] * (N + 1) + counts[:, 1], axis=1)[:, None]
    counts, p = np.take_along_axis(counts, order, axis=2), np.take_along_axis(p, order, axis=2)
    tables, which = np.unique(counts.reshape(DRAWS, -1), axis=0, return_inverse=True)
    decide_one = np.array([decisions(table.reshape(2, -1), alpha) for table in tables])
    chosen = np.where(decide_one[which], p[:, 0], p[:, 1])
    excess = (chosen - p.min(axis=1)).sum(axis=1) / 2
    # Half of the sum of min(p0, p1) has the mean M / (2 (2M - 1)): only the excess is noisy.
    known = symbols / (2 * (2 * symbols - 1))
    return known + float(excess.mean()), float(excess.std() / math.sqrt(DRAWS))


def decisions(counts: np.ndarray, alpha: float) -> np.ndarray:
    zero, one = predictive(labeled_counts(counts, alpha=alpha))
    return one > zero * (1 + 1e-9)


def bound_check() -> list[str]:
    """M* from the observed symbol's own counts against M* from enumeration."""
    sizes = [(n, n) for n in range(2, 10)] + [(2, 6), (4, 8), (3, 9), (7, 5)]
    alphas = [0.0, 0.02, 0.1, 0.2, 0.3, 0.4, (0.0, 0.3), (0.1, 0.4), (0.45, 0.2)]
    same, loss = 0, [0.0]
    cases = list(product(sizes, alphas, (0.5, 1.0)))
    for n, alpha, dirichlet in cases:
        exact = best_quantization(n, alpha, dirichlet=dirichlet)
        bound = best_quantization(n, alpha, dirichlet=dirichlet, method="own-counts")
        same += exact == bound
        if exact != bound:
            error = error_curve([exact, bound], n, alpha, dirichlet=dirichlet).error
            loss.append(float(error[1] - error[0]))
    return [
        f'`best_quantization(method="own-counts")` equals the exact M* in {same} of {len(cases)} '
        f"cases (2 to 9 rows per class); elsewhere its M costs at most {max(loss):.5f} of P(e)."
    ]


def many_rows() -> list[str]:
    """M* and P(e) far beyond enumeration."""
    body, misses = [], []
    for n in (10, 100, 1000, 10_000, 100_000):
        cells = []
        for alpha in PRINTED:
            best = best_quantization(n, alpha, method="own-counts")
            if n >= 1000:
                misses.append(abs(best - 1 - (1 - 2 * alpha) * math.sqrt(n)))
            cells.append(f"{best} ({own_counts_error(best, n, alpha):.4f})")
        body.append(f"| {n} | " + " | ".join(cells) + " |")
    header = "| rows per class | " + " | ".join(f"{GREEK} = {alpha:g}" for alpha in PRINTED) + " |"
    return [
        "M* and, in parentheses, P(e), from own counts:",
        "",
        *rows(header, body),
        "",
        f"From 1000 rows on, M* is 1 + (1 - 2{GREEK}) √N within {max(misses):.1f}: as if a row "
        f"whose label is wrong at rate {GREEK} were worth (1 - 2{GREEK})² of a row.",
    ]


def write(name: str, text: str) -> None:
    """Put the text between the markers of that name in README.md."""
    path = HERE / "README.md"
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, rest = path.read_text().split(begin)
    _, after = rest.split(end)
    path.write_text(f"{before}{begin}\n{text}\n{end}{after}")


if __name__ == "__main__":
    main()
