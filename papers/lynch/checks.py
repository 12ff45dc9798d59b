"""Independent checks: a simulation, the bound for many rows, and how M* grows with the rows."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np

from misnomer.solvers.exact import labeled_counts
from misnomer.solvers.exact.error import error_curve
from misnomer.solvers.exact.evidence import predictive
from misnomer.solvers.exact.quantization import best_quantization, own_counts_error
from papers import measured as stored
from papers import page
from papers.lynch.curves import HERE, PRINTED, A, N
from papers.measured import Measured, Results

CASES = ((0.0, 4), (0.05, 4), (0.25, 3), (0.25, 5), (0.45, 3), (0.45, 6))
MANY = (10, 100, 1000, 10_000, 100_000)


def checks(quick: bool) -> Results:
    """Simulate P(e), compare M* by enumeration and by own counts, and follow M* to many rows."""
    out = {}
    draws = 20_000 if quick else 1_000_000
    for alpha, symbols in CASES[:2] if quick else CASES:
        mean, error = simulated_error(symbols, alpha, draws)
        # One experiment is one training set; agreement is judged by its own error.
        out[f"simulated {alpha} {symbols}"] = Measured(mean, error, error, draws)
    if not quick:
        out |= bound_check()
    for n in MANY[:2] if quick else MANY:
        for alpha in PRINTED:
            best = best_quantization(n, alpha, method="own-counts")
            out[f"best {n} {alpha}"] = Measured(best)
            out[f"error {n} {alpha}"] = Measured(own_counts_error(best, n, alpha))
    return out


def simulated_error(symbols: int, alpha: float, draws: int) -> tuple[float, float]:
    rng = np.random.default_rng(symbols)
    p = rng.dirichlet(np.ones(symbols), size=(draws, 2))
    wrong = rng.binomial(N, alpha, size=(draws, 2))
    counts = rng.multinomial(N - wrong, p) + rng.multinomial(wrong, p[:, ::-1])
    # The names of the symbols do not matter: sorted, the same tables come back again and again.
    order = np.argsort(counts[:, 0] * (N + 1) + counts[:, 1], axis=1)[:, None]
    counts, p = np.take_along_axis(counts, order, axis=2), np.take_along_axis(p, order, axis=2)
    found, which = np.unique(counts.reshape(draws, -1), axis=0, return_inverse=True)
    decide_one = np.array([decisions(table.reshape(2, -1), alpha) for table in found])
    chosen = np.where(decide_one[which], p[:, 0], p[:, 1])
    excess = (chosen - p.min(axis=1)).sum(axis=1) / 2
    # Half of the sum of min(p0, p1) has the mean M / (2 (2M - 1)): only the excess is noisy.
    known = symbols / (2 * (2 * symbols - 1))
    return known + float(excess.mean()), float(excess.std() / math.sqrt(draws))


def decisions(counts: np.ndarray, alpha: float) -> np.ndarray:
    zero, one = predictive(labeled_counts(counts, alpha=alpha))
    return one > zero * (1 + 1e-9)


def bound_check() -> dict[str, Measured]:
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
    found = {"bound same": same, "bound cases": len(cases), "bound loss": max(loss)}
    return {key: Measured(float(value)) for key, value in found.items()}


def show(found: Results, folder: Path) -> str:
    exact = stored.load(HERE).get("table", {})
    body = []
    for key, ours in found.items():
        if key.startswith("simulated"):
            _, alpha, symbols = key.split()
            known = exact[f"{alpha} {symbols}"].mean
            off = (ours.mean - known) / ours.error
            drawn = f"{ours.mean:.5f} ± {ours.error:.5f}"
            body.append([alpha, symbols, f"{known:.5f}", drawn, f"{off:+.1f}"])
    draws = found["simulated 0.0 4"].draws
    header = [A, "M", "P(e)", "simulated ± standard error", "difference / standard error"]
    text = f"Simulation, {draws} training sets each:\n\n{page.markdown(header, body)}"
    if "bound same" in found:
        same, cases, loss = (found[f"bound {what}"].mean for what in ("same", "cases", "loss"))
        text += (
            f'\n\n`best_quantization(method="own-counts")` equals the exact M* in {same:.0f} of '
            f"{cases:.0f} cases (2 to 9 rows per class); elsewhere its M costs at most "
            f"{loss:.5f} of P(e)."
        )
    return f"{text}\n\n{_many(found)}"


def _many(found: Results) -> str:
    rows = [n for n in MANY if f"best {n} 0.0" in found]
    body, misses = [], [0.0]
    for n in rows:
        best = {alpha: found[f"best {n} {alpha}"].mean for alpha in PRINTED}
        if n >= 1000:
            misses += [abs(b - 1 - (1 - 2 * a) * math.sqrt(n)) for a, b in best.items()]
        cells = [f"{b:.0f} ({found[f'error {n} {a}'].mean:.4f})" for a, b in best.items()]
        body.append([n, *cells])
    table = page.markdown(["rows per class", *(f"{A} = {alpha:g}" for alpha in PRINTED)], body)
    return (
        f"M* and, in parentheses, P(e), from own counts:\n\n{table}\n\n"
        f"From 1000 rows on, M* is 1 + (1 - 2{A}) √N within {max(misses):.1f}: as if a row whose "
        f"label is wrong at rate {A} were worth (1 - 2{A})² of a row."
    )
