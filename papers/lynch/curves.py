"""P(e) of the Combined Bayes Test: against M, beyond one half, for several observations."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from misnomer.solvers.exact.error import error_curve
from papers import page
from papers.measured import Measured, Results

HERE = Path(__file__).parent
EXPECTED = page.expected(HERE)
PRINTED = {float(alpha): best for alpha, best in EXPECTED["best_quantization"].items()}
N = EXPECTED["rows_per_class"]
SHOWN = (2, 3, 4, 5, 6, 8, 10, 20, 40)
BELIEFS = (0.0, 0.05, 0.25, 0.45)
BEYOND = (0.55, 0.75, 0.95)
A = "\N{GREEK SMALL LETTER ALPHA}"
WHY = "none of the readings that we tried makes M* grow; simulation agrees with ours"


def table(quick: bool) -> Results:
    """P(e) for every M, and how far it changes with the alpha that the test assumes."""
    symbols = range(2, 7 if quick else 41)
    out: dict[str, Measured] = {}
    for alpha in (0.25,) if quick else PRINTED:
        curve = error_curve(symbols, N, alpha)
        for M, error in zip(curve.symbols, curve.error, strict=True):
            out[f"{alpha} {M}"] = Measured(float(error))
        if not quick:
            out[f"{alpha} mass"] = Measured(float(np.abs(curve.mass - 1).max()))
            out[f"{alpha} belief"] = Measured(belief_spread(alpha))
    return out


def belief_spread(alpha: float) -> float:
    """How much P(e) changes with the alpha that the test assumes, at the worst M up to 10."""
    beliefs = [error_curve(range(2, 11), N, alpha, assumed_alpha=b).error for b in BELIEFS]
    return float(np.ptp(beliefs, axis=0).max())


def curves(found: Results) -> dict[float, dict[int, float]]:
    """Sort P(e) by alpha and M."""
    out: dict[float, dict[int, float]] = {}
    for key, ours in found.items():
        alpha, what = key.split()
        if what.isdigit():
            out.setdefault(float(alpha), {})[int(what)] = ours.mean
    return out


def show_table(found: Results, folder: Path) -> str:
    by_alpha = curves(found)
    best = {alpha: min(errors, key=lambda M: errors[M]) for alpha, errors in by_alpha.items()}
    body = [
        [f"M* at {A} = {alpha:g}", PRINTED[alpha], ours, *_same(PRINTED[alpha] == ours)]
        for alpha, ours in best.items()
    ]
    text = page.markdown(["", "printed", "ours", "reproduced?", "why not"], body)
    if all(f"{alpha} belief" in found for alpha in PRINTED):
        text += "\n\n" + _claims(found, by_alpha, best)
        for number, alpha in enumerate([a for a in by_alpha if a > 0], start=1):
            _figure(folder / f"figure_{number}.png", number, alpha, by_alpha)
    shown = [M for M in SHOWN if M in by_alpha[0.25]]
    errors = [
        [f"{A} = {alpha:g}"]
        + [f"**{row[M]:.5f}**" if best[alpha] == M else f"{row[M]:.5f}" for M in shown]
        for alpha, row in by_alpha.items()
    ]
    return text + "\n\n" + page.markdown(["P(e) at M =", *map(str, shown)], errors)


def _same(same: bool) -> list[str]:
    return ["yes", ""] if same else ["**no**", WHY]


def _claims(found: Results, by_alpha: dict[float, dict[int, float]], best: dict[float, int]) -> str:
    errors = np.array([list(by_alpha[alpha].values()) for alpha in sorted(by_alpha)])
    grows = bool(np.all(np.diff(errors, axis=0) > 0))
    worst = max(found[f"{alpha} belief"].mean for alpha in PRINTED)
    mass = max(found[f"{alpha} mass"].mean for alpha in PRINTED)
    listed = ", ".join(f"{M} at {alpha:g}" for alpha, M in best.items())
    grown = bool(np.all(np.diff(list(best.values())) >= 0))
    body = [
        [f"P(e) grows with {A}", f"{'at' if grows else 'not at'} every M of 2..40", _yes(grows)],
        [
            f"the assumed {A} is irrelevant below 1/2",
            f"P(e) changes by up to {worst:.4f}",
            "nearly" if worst < 0.005 else "**no**",
        ],
        [f"M* grows with {A}", f"M* is {listed}", _yes(grown)],
    ]
    table = page.markdown(["claim in the text", "ours", "reproduced?"], body)
    return f"{table}\n\nAll probabilities together sum to one within {mass:.0e}."


def _yes(same: bool) -> str:
    return "yes" if same else "**no**"


def _figure(path: Path, number: int, alpha: float, by_alpha: dict[float, dict[int, float]]) -> None:
    axes = page.new_axes(6, 4)
    for value, style in ((alpha, "o-"), (0.0, "s--")):
        errors = by_alpha[value]
        axes.plot(list(errors), list(errors.values()), style, ms=3, lw=1, label=f"{A} = {value:g}")
    ours = min(by_alpha[alpha], key=lambda M: by_alpha[alpha][M])
    axes.axvline(ours, color="gray", lw=0.8, label=f"M* = {ours}, printed {PRINTED[alpha]}")
    axes.set(xlabel="number of symbols M", ylabel="P(e)", ylim=(0.3, 0.5))
    axes.set_title(f"Figure {number}: {N} rows per class, one test observation")
    axes.legend()
    page.figure(path, axes)


def beyond(quick: bool) -> Results:
    """P(e) where most labels are wrong: of a test that knows it, and of one that does not."""
    symbols = [2, 3, 4] if quick else [2, 3, 4, 5, 6, 8]
    out = {}
    for alpha in BEYOND[1:2] if quick else BEYOND:
        for name, assumed in (("knows", alpha), ("mirrored", 1 - alpha)):
            errors = error_curve(symbols, N, alpha, assumed_alpha=assumed).error
            out |= {
                f"{alpha} {name} {M}": Measured(float(e))
                for M, e in zip(symbols, errors, strict=True)
            }
        below = error_curve(symbols, N, 1 - alpha).error
        out |= {
            f"{alpha} below {M}": Measured(float(e)) for M, e in zip(symbols, below, strict=True)
        }
    return out


def show_beyond(found: Results, folder: Path) -> str:
    rows = list(dict.fromkeys(tuple(key.split()[:2]) for key in found))
    symbols = list(dict.fromkeys(key.split()[2] for key in found))
    said = {
        "knows": "{} = {:g}, assumed {:g}",
        "mirrored": "{} = {:g}, assumed {:g}",
        "below": "{} = {:g}, assumed {:g}",
    }
    body = []
    for alpha, name in rows:
        true, mirror = float(alpha), round(1 - float(alpha), 2)
        pair = {"knows": (true, true), "mirrored": (true, mirror), "below": (mirror, mirror)}[name]
        cells = [f"{found[f'{alpha} {name} {M}'].mean:.5f}" for M in symbols]
        body.append([said[name].format(A, *pair), *cells])
    return page.markdown(["P(e) at M =", *symbols], body)


def several(quick: bool) -> Results:
    """P(e) for one, two and three test observations of one class."""
    out = {}
    for alpha in (0.05,) if quick else PRINTED:
        for n_test in (1, 2) if quick else (1, 2, 3):
            symbols = [2, 3, 4] if quick or n_test > 2 else [2, 3, 4, 5, 6]
            rows = N if n_test < 3 else 6
            errors = error_curve(symbols, rows, alpha, n_test=n_test).error
            for M, error in zip(symbols, errors, strict=True):
                out[f"{alpha} {rows} {n_test} {M}"] = Measured(float(error))
            if n_test == 3:
                for fewer in (1, 2):
                    less = error_curve(symbols, rows, alpha, n_test=fewer).error
                    for M, error in zip(symbols, less, strict=True):
                        out[f"{alpha} {rows} {fewer} {M}"] = Measured(float(error))
    return out


def show_several(found: Results, folder: Path) -> str:
    rows = sorted({tuple(map(float, key.split()[:3])) for key in found})
    symbols = sorted({int(key.split()[3]) for key in found})
    body = []
    for alpha, size, n_test in rows:
        keys = [f"{alpha} {size:g} {n_test:g} {M}" for M in symbols]
        cells = [f"{found[key].mean:.5f}" if key in found else "-" for key in keys]
        body.append([f"{alpha:g}", f"{size:g}", f"{n_test:g}", *cells])
    header = [A, "rows per class", "test observations", *(f"M = {M}" for M in symbols)]
    return page.markdown(header, body)
