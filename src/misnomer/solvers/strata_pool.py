"""The pool's answer where the channel varies: by groups that were named, or by columns found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from misnomer.solvers.difficulty import LEVELS, Assume
from misnomer.solvers.difficulty_fit import Margin
from misnomer.solvers.difficulty_pool import Look, look
from misnomer.solvers.pool_average import Average, average
from misnomer.solvers.pool_candidates import Field
from misnomer.solvers.pool_rows import Rows
from misnomer.solvers.strata import Codes, paired
from misnomer.solvers.strata_columns import Members, Variable, variables
from misnomer.solvers.strata_fit import Varied
from misnomer.solvers.strata_groups import compare, one_channel
from misnomer.solvers.strata_search import PRICE, Cells, Labels, Strata, beyond, promising, select
from misnomer.solvers.strata_without import put_back, without
from misnomer.table import Batch, Schema

Array = NDArray[np.float64]
Again = Callable[[Schema, Batch], Field]  # let explanations compete on other columns

_FEWEST = 60  # labeled rows


@dataclass(frozen=True, eq=False)
class Settled:
    """What the pool says once it is known where the channel varies, and the cell of each row."""

    found: Field
    answer: Average
    looked: Look
    varied: Varied
    cell: Codes
    apart: Variable | None = None  # a column that was left out, and is for groups instead


def settle(
    found: Field,
    answer: Average,
    looked: Look,
    *,
    columns: Assume = "auto",
    groups: Members | None = None,
    again: Again | None = None,
) -> Settled:
    """Ask where the channel varies; where difficulty explains the labels better, nowhere.

    Parameters
    ----------
    found, answer, looked
        The rows on which explanations competed, what they say together, and whether errors depend
        on difficulty.
    columns : bool or "auto"
        Whether columns may tell where errors are; True takes the best one, clear or not.
    groups : Members, optional
        The groups that the rows belong to. No column is then asked.
    again : callable, optional
        Fits rows without one of their columns.

    Returns
    -------
    Settled
        The same with the strata, or what was fitted in its place.
    """
    nowhere = np.zeros(len(found.rows), np.intp)
    plain = Settled(found, answer, looked, Varied.nowhere(answer.fitted), nowhere)
    asked = Asked.of(found.rows, answer)
    if groups is not None:
        code = groups.codes(found.rows.batch)
        varied = _by_groups(found.rows, asked, groups, code)
        return _against(replace(plain, cell=code), varied)
    if columns is False or len(asked.at) < _FEWEST:
        return plain
    return _by_columns(plain, asked, columns, again)


def _by_columns(plain: Settled, asked: Asked, columns: Assume, again: Again | None) -> Settled:
    """Try the most promising column for groups, else let the rates vary with up to three."""
    rows, looked = plain.found.rows, plain.looked
    every = variables(rows.schema, rows.batch)
    trials = [Strata(one.name, code[asked.at], one.count) for one, code in every]
    if again is not None:
        apart = _apart(plain, asked, [one for one, _ in every], trials, again)
        if apart is not None:
            return apart
    if looked.fit.judges and columns is not True:
        return plain
    cells = select(asked.labels, trials, always=columns is True)
    chosen = tuple(every[place][0] for place in cells.chosen)
    if not chosen or (columns is not True and _is_difficulty(plain, asked, trials, cells)):
        return plain
    before = plain.answer.posterior[asked.at]
    varied = Varied.by_cells(chosen, cells, asked.labels, before)
    cell = varied.cells(rows.batch)
    return replace(plain, varied=varied, looked=_unjudged(looked), cell=cell)


def _is_difficulty(plain: Settled, asked: Asked, trials: Sequence[Strata], cells: Cells) -> bool:
    """Tell whether a column is only another name for rows that are hard to tell."""
    level, first = plain.looked.fit.margin.level[asked.at], trials[cells.chosen[0]]
    return not beyond(asked.labels, level, LEVELS, first, len(trials))


@dataclass(frozen=True, eq=False)
class Asked:
    """The labels in question, and where their rows are."""

    labels: Labels
    at: NDArray[np.intp]

    @classmethod
    def of(cls, rows: Rows, answer: Average) -> Asked:
        """Take the labeled rows that are not trusted."""
        at = np.flatnonzero((rows.label >= 0) & ~rows.trusted & (rows.weight > 0))
        fold = np.zeros(len(rows), np.intp)
        for place, part in enumerate(rows.folds):
            fold[part] = place
        weight = rows.weight[at]
        return cls(Labels(answer.share[at], rows.label[at], weight, fold[at], answer.fitted), at)


def _by_groups(rows: Rows, asked: Asked, variable: Members | Variable, code: Codes) -> Varied:
    inside = code[asked.at]
    fit = compare(asked.labels, inside, variable.count)
    return Varied.by_groups(variable, fit, asked.labels, inside, rows.place[asked.at])


def _against(plain: Settled, varied: Varied) -> Settled:
    """Let strata and difficulty compete: what explains the labels better judges them."""
    looked = plain.looked
    if varied.found and looked.fit.judges:
        if looked.fit.margin.net > varied.net:
            return replace(plain, varied=varied.left_out())
        looked = _unjudged(looked)
    return replace(plain, varied=varied, looked=looked)


def _unjudged(looked: Look) -> Look:
    if not looked.fit.judges:
        return looked
    return replace(looked, fit=replace(looked.fit, reason=""))


def _apart(
    plain: Settled,
    asked: Asked,
    every: Sequence[Variable],
    trials: Sequence[Strata],
    again: Again,
) -> Settled | None:
    """Take the most promising category out of the columns, and for groups instead.

    A column that tells where labels go wrong has taught the pool the labels' errors as if they
    were the classes'. Without it the pool knows better, and the groups have class shares of their
    own. Whether that predicts left-out labels clearly better decides; None where it does not.
    """
    place = promising(asked.labels, trials)
    rows = plain.found.rows
    if place is None or not every[place].lookup or len(rows.schema.columns) < 2:
        return None
    variable = every[place]
    schema, batch = without(rows.schema, rows.batch, variable)
    if not schema.statistics:
        return None
    found = again(schema, batch)
    order = found.rows.place  # of these rows among those
    answer = average(found)
    other = Asked.of(found.rows, answer)
    code = variable.codes(rows.batch)[order]
    varied = _by_groups(found.rows, other, variable, code)
    assert varied.groups is not None
    before = np.full(len(rows), np.nan)
    before[asked.at] = one_channel(asked.labels)
    each = varied.groups.height - before[order][other.at]
    price = PRICE * varied.groups.effective + np.log(len(trials))
    margin = Margin(variable.name, *paired(each, other.labels.weight, price), code[other.at])
    worse = plain.looked.fit.judges and plain.looked.fit.margin.net > margin.net
    if not margin.clear or not varied.groups.differ or worse:
        return None
    varied = replace(varied, margins=(margin,), groups=None)
    return _restored(plain, Settled(found, answer, plain.looked, varied, code), variable)


def _restored(plain: Settled, other: Settled, variable: Variable) -> Settled:
    """Let an answer speak of all columns, and of rows by their numbers in the table."""
    rows, found, answer = plain.found.rows, other.found, other.answer
    assert other.varied.ratio is not None
    weights = put_back(rows.schema, variable, answer.weights, other.varied.ratio)
    looked = look(found, answer, False)
    found = replace(found, rows=replace(found.rows, place=rows.place[found.rows.place]))
    answer = replace(answer, weights=weights)
    return replace(other, found=found, answer=answer, looked=looked, apart=variable)


def applied(settled: Settled) -> Average:
    """Judge the rows by the channels of their strata."""
    found, varied = settled.found, settled.varied
    answer = settled.looked.applied(found, settled.answer)
    if not varied.found:
        return answer
    rows, cell = found.rows, settled.cell
    judged = varied.judged(cell, answer.share, answer.posterior, rows.label, rows.trusted)
    return replace(answer, fitted=varied.mean, reported=varied.mean, posterior=judged)
