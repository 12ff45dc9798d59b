"""audit() with knowledge about the errors beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from numpy.typing import NDArray

from misnomer.audit.result import Audit
from misnomer.classifiers import labels
from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.classifiers.naive_bayes import NoisyLabelNB
from misnomer.knowledge import Knowledge, channel_of, rows_needed

Found = TypeVar("Found", bound=Audit)


def knowing(
    classifier: NoisyLabelEstimator, knowledge: Any, y: NDArray[Any]
) -> NoisyLabelEstimator:
    """Give a classifier the channel that is known in part; EM finds what is open.

    Of the labels ``y`` only the names count: a list of these will do.
    """
    names = labels.distinct(y, labels.missing(y))
    channel = channel_of(parts_of(knowledge, names.tolist()), names.tolist())
    if "channel" in classifier.get_params():
        known: NoisyLabelEstimator = classifier.set_params(channel=channel, solver="em")
        return known
    return NoisyLabelNB(
        channel=channel,
        solver="em",
        families=classifier.families,
        random_state=classifier.random_state,
        progress=classifier.progress,
    )


def parts_of(knowledge: Any, names: list[Any]) -> dict[str, Any]:
    """List what is known by the parts of `Knowledge`, its classes spelled as in the data."""
    said = knowledge if isinstance(knowledge, Mapping) else _parts(knowledge)
    return respelled(said, names)


def with_trusted(audit: Found) -> Found:
    """Let the verdict say what the trusted rows are worth, where there are any."""
    if not audit.fitted.trusted:
        return audit
    said = trusted_words(audit.fitted.trusted, audit.error_rate.value)
    verdict = replace(audit.verdict, sentences=(*audit.verdict.sentences, said))
    return replace(audit, verdict=verdict)


def trusted_words(trusted: int, rate: float) -> str:
    """Say how many rows are trusted, and how many random ones would tell the rate by themselves.

    Examples
    --------
    >>> trusted_words(50, 0.2)[:60]
    '50 rows are trusted. A trusted subset drawn at random identi'
    """
    rows = "1 row is trusted" if trusted == 1 else f"{trusted:,} rows are trusted"
    return (
        f"{rows}. A trusted subset drawn at random identifies everything: {rows_needed(rate):,} "
        f"such rows tell a rate of {rate:.1%} to within 2 points (90 % confidence); rows picked "
        "because they look right or wrong do not."
    )


def noted(audit: Found, knowledge: Any) -> Found:
    """Write down what was known beforehand, for the report."""
    said = dict(knowledge) if isinstance(knowledge, Mapping) else _parts(knowledge)
    words = ", ".join(f"{part} = {value!r}" for part, value in said.items())
    notes = (*audit.fitted.notes, f"Known beforehand: {words}.")
    return replace(audit, fitted=replace(audit.fitted, notes=notes))


def _parts(knowledge: Any) -> dict[str, Any]:
    if not isinstance(knowledge, Knowledge):
        raise ValueError(f"knowledge is a Knowledge or a mapping of its parts, not {knowledge!r}")
    return {part.name: getattr(knowledge, part.name) for part in fields(knowledge)}


def respelled(said: Mapping[str, Any], names: list[Any]) -> dict[str, Any]:
    """Replace words by the classes that are written so: "1" by 1.

    Examples
    --------
    >>> respelled({"rates": {"1": 0.2}, "never": [("0", "1")], "most": 0.3}, [0, 1])
    {'rates': {1: 0.2}, 'never': [(0, 1)], 'most': 0.3}
    """
    written = {str(name): name for name in names}

    def name(one: Any) -> Any:
        return written.get(one, one) if isinstance(one, str) and one not in names else one

    out = dict(said)
    for part in ("rates", "most"):
        if isinstance(out.get(part), Mapping):
            out[part] = {name(one): value for one, value in out[part].items()}
    if isinstance(out.get("cells"), Mapping):
        out["cells"] = {(name(g), name(t)): value for (g, t), value in out["cells"].items()}
    if "never" in out:
        out["never"] = [(name(g), name(t)) for g, t in out["never"]]
    return out
