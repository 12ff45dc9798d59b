"""The audit as one self-contained page, and as a small summary for notebooks."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from misnomer.reports import figures, wording
from misnomer.reports.concentration import by_label, by_value, duplicates, neighbors
from misnomer.reports.json import calibration, finite, histogram, parameters
from misnomer.reports.tables import (
    Suspect,
    checks_words,
    confusions,
    python_words,
    same_name,
    shell_words,
    source_rows,
    suspects,
    true_given,
)
from misnomer.reports.wording import assumptions

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

# A page to be read, not a dump: all rows are in the files beside it.
_SUSPECTS, _LABELS, _COLUMNS, _CONFUSIONS = 50, 25, 60, 40
_SUMMARY_SUSPECTS = 5
_ROOMY, _WHOLE_MATRIX = 6, 30  # classes that have room for intervals, and for a cell each

_ARGUMENT = r"(?:'[^']*'|[^\s,;']*[^\s,;.')])"
_OPTION = re.compile(rf"--[a-z][a-z-]*(?: {_ARGUMENT})?")
_COMMAND = re.compile(rf"misnomer [a-z]+ {_ARGUMENT}(?: --[a-z][a-z-]*(?: {_ARGUMENT})?)*")


def to_html(audit: Audit) -> str:
    """Render the whole report as one page that needs nothing else: no network, no script.

    Parameters
    ----------
    audit : Audit
        The audit.

    Returns
    -------
    str
        The page. Every name and cell in it is escaped.
    """
    equal = duplicates(audit)
    return (
        _environment()
        .get_template("report.html")
        .render(
            **_answer(audit),
            **_matrix(audit),
            **_doubts(audit),
            **_places(audit),
            sources=source_rows(audit),
            duplicates=equal,
            neighbors=neighbors(audit, None if equal is None else equal.group),
            suspects=[_suspect(one) for one in suspects(audit, _SUSPECTS)],
            **_method(audit),
        )
    )


def summary_html(audit: Audit) -> str:
    """Render a small summary for a notebook: the answer, the verdict and the first suspects."""
    few = [_suspect(one) for one in suspects(audit, _SUMMARY_SUSPECTS)]
    return _environment().get_template("summary.html").render(**_answer(audit), suspects=few)


@cache
def _environment() -> Environment:
    """Set the templates up: everything is escaped, and a name that is missing is an error."""
    environment = Environment(
        loader=PackageLoader("misnomer.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        percent=wording.percent,
        chance=wording.chance,
        number=wording.number,
        whole=wording.whole,
        weight=wording.weight,
        counted=wording.counted,
        capitalized=lambda words: words[:1].upper() + words[1:],
        shown=wording.shown,
        plain=_plain,
        commands=_commands,
    )
    environment.globals["figures"] = figures
    return environment


def _answer(audit: Audit) -> dict[str, Any]:
    """Say the verdict, the rate and the counts."""
    return {
        "audit": audit,
        "label": wording.shown(audit.label),
        "headline": wording.headline(audit),
        "level": audit.verdict.level,
        "checks": checks_words(audit),
        "meaning": wording.MEANINGS[audit.verdict.level],
        "origin": source_of(audit),
        "span": wording.span,
        "number": wording.number,
        "interval": figures.interval(audit.error_rate),
        "flagged": audit.flagged,
        "sampled": wording.sampled(audit),
    }


def source_of(audit: Any) -> dict[str, str]:
    """Say which file was audited, so that one report can be told from another."""
    origin = audit.origin
    if origin is None:
        return {}
    name = os.path.basename(origin.path.rstrip("/\\")) or origin.path
    if origin.files > 1:
        name = f"{name} ({wording.counted(origin.files, 'file')})"
    return {
        "name": wording.shown(name),
        "size": wording.size(origin.size),
        "changed": wording.moment(origin.modified),
        "audited": wording.moment(origin.audited),
        "digest": origin.digest,
        "method": origin.method,
    }


def _matrix(audit: Audit) -> dict[str, Any]:
    """Lay out both directions of the matrix, or the largest confusions where it is large."""
    small = max(audit.noise.shape) <= _WHOLE_MATRIX
    listed = confusions(audit, 15 if small else _CONFUSIONS)
    more = audit.confusions.num_rows - len(listed)
    words = (
        f"With {len(audit.classes):,} classes the matrix is too large to be shown: these are the "
        f"confusions that spoil most rows. {more:,} more confusions are in"
    )
    right = audit.class_of_label
    return {
        "cells": _both_ways(audit) if small else None,
        "dense": max(audit.noise.shape) > _ROOMY,
        "elsewhere": None if small else (words, "confusions.csv"),
        "overview": [] if small else figures.overview(audit.noise, right),
        "confusions": listed,
    }


def _both_ways(audit: Audit) -> dict[str, Any]:
    right = same_name(audit)
    back = true_given(audit.matrix, audit.prior)
    return {"forth": _cells(audit.matrix, right), "back": _cells(back, right)}


def _cells(matrix: Any, right: Any) -> list[list[dict[str, Any]]]:
    """Give each cell its share, its kind and the depth of its color."""
    depth = np.where(right, matrix, np.sqrt(matrix))
    return [
        [
            {"share": float(matrix[y, z]), "right": bool(right[y, z]), "depth": float(depth[y, z])}
            for z in range(matrix.shape[1])
        ]
        for y in range(matrix.shape[0])
    ]


def _doubts(audit: Audit) -> dict[str, Any]:
    """Draw how doubtful the rows are, and how far the forecasts hold."""
    counts, curve = histogram(audit), calibration(audit)
    return {
        "histogram": figures.histogram(counts),
        "counts": finite(counts),
        "curve": curve,
        "calibration": None if curve is None else figures.calibration(curve),
    }


def _places(audit: Audit) -> dict[str, Any]:
    """Say which labels and which values hold more errors than their share."""
    spots, share = by_label(audit), _true_shares(audit)
    few = spots[:_LABELS]
    return {
        "labels": [(spot, share.get(spot.value)) for spot in few],
        "more_labels": len(spots) - len(few),
        "values": by_value(audit),
    }


def _true_shares(audit: Audit) -> dict[str, Any]:
    columns = zip(
        audit.classes,
        audit.given_share,
        audit.prior,
        audit.prior_low,
        audit.prior_high,
        strict=True,
    )
    return {wording.shown(name): tuple(map(float, rest)) for name, *rest in columns}


def _suspect(one: Suspect) -> dict[str, Any]:
    """Turn the weights of one row into bars around a middle line, in percent of half the width."""
    terms = one.why.heaviest(8)
    every = [*terms, ("In all", None, one.why.log_odds)]
    largest = max(abs(weight) for *_, weight in every)
    column = float(np.abs(one.why.weights[:1]).sum())
    # sums of many columns and structural zeros run off the scale: single columns must stay visible
    reach = max(1.0, min(largest, 4 * column) if column else largest)
    bars = [
        {
            "name": name,
            "value": value,
            "weight": weight,
            "reach": 100 * min(abs(weight) / reach, 1.0),
            "cut": abs(weight) > reach,
        }
        for name, value, weight in every
    ]
    return {"row": one, "bars": bars, "against": one.why.against, "towards": one.why.suggested}


def _method(audit: Audit) -> dict[str, Any]:
    """Say what was fitted, what that rests on, and how to do it again."""
    from misnomer.version import __version__

    kinds = Counter(audit.fitted.families.values())
    return {
        "version": __version__,
        "assumptions": assumptions(audit.verdict, texts="text" in kinds),
        "kinds": sorted(kinds.items()),
        "families": list(audit.fitted.families.items())[:_COLUMNS],
        "more_families": max(0, len(audit.fitted.families) - _COLUMNS),
        "again": _again(audit),
    }


def _again(audit: Audit) -> dict[str, Any]:
    """Say how to do it again, in Python and in a shell."""
    return {
        "parameters": parameters(audit),
        "python": f"audit({python_words(audit)})",
        "command": _command(audit),
    }


def _command(audit: Audit) -> str:
    """Write the command that does it again; of rows that were in memory, DATA is the file."""
    origin = audit.origin
    if origin is None or not origin.options:
        return f"misnomer audit DATA {shell_words(audit)}"
    return shlex.join(["misnomer", "audit", os.path.basename(origin.path), *origin.options])


def _commands(sentence: str) -> Markup:
    """Set commands off from the words around them; no line ends between an option's hyphens.

    Examples
    --------
    >>> print(_commands("Next: misnomer check FOLDER --rows 50, or draw_checks(50)."))
    Next: <code>misnomer check FOLDER <span>--rows 50</span></code>, or draw_checks(50).
    """
    out, end = Markup(), 0
    for one in _COMMAND.finditer(sentence):
        out += _unbroken(sentence[end : one.start()])
        out += Markup("<code>{}</code>").format(_unbroken(one[0]))
        end = one.end()
    return out + _unbroken(sentence[end:])


def _unbroken(text: str) -> Markup:
    """Keep each option with its value on one line."""
    return Markup(_OPTION.sub(r"<span>\g<0></span>", str(escape(text)).replace("&#39;", "'")))


def _plain(value: Any) -> str:
    """Write the result of a test: a word, a number, or a short list."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, str | int | float | None):
        return wording.shown(value, longest=200)
    return wording.shown(json.dumps(finite(value), ensure_ascii=False), longest=200)
