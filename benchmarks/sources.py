"""Several annotators: the consensus against majority vote, crowd-kit and cleanlab.

    python benchmarks/sources.py [--quick]

Simulated crowds (spammers, experts, a pair that copies), every peer's consensus followed by the
same classifier; the Dawid-Skene fixed point against crowd-kit's; groups; the time of an iteration.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict

import numpy as np
import pandas as pd
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

from misnomer.classifiers.crowd import CrowdNB
from misnomer.solvers.sources import SourcesTask, learn_sources, step
from misnomer.solvers.sources_answers import evidence, first_shares
from misnomer.sources import from_long

K, A = 5, 50
OURS = "misnomer, with columns"


def pattern(kind):
    if kind == "drawn":
        return None
    table = np.ones((K, K))
    if kind == "neighbors":
        table[(np.arange(K) + 1) % K, np.arange(K)] = 4.0
    np.fill_diagonal(table, 0.0)
    return table / table.sum(axis=0)


def annotator(rng, usual):
    """Draw one of 20 % spammers (at random or by habit), 20 % experts, 60 % in between.

    Without a usual pattern every column is drawn for itself: nothing that the method assumes.
    """
    if usual is None:
        right = rng.beta(4, 2, K)
        off = rng.dirichlet(np.ones(K - 1), K)
        return np.stack([np.insert((1 - right[z]) * off[z], z, right[z]) for z in range(K)], axis=1)
    draw = rng.random()
    if draw < 0.2:
        habit = np.full(K, 1 / K) if rng.random() < 0.5 else rng.dirichlet(np.full(K, 0.3))
        return np.tile(habit[:, None], (1, K))
    expert = draw < 0.4
    level = rng.uniform(0.88, 0.97) if expert else rng.uniform(0.45, 0.8)
    out = np.empty((K, K))
    for z in range(K):
        own = usual[:, z] if expert else rng.dirichlet(6 * usual[:, z] + 1e-3)
        right = level if expert else np.clip(level + rng.normal(0, 0.1), 0.1, 0.98)
        own = np.where(np.arange(K) == z, 0.0, own)
        out[:, z] = (1 - right) * own / own.sum()
        out[z, z] = right
    return out


def say(rng, channel, z):
    steps = channel[:, z].cumsum()
    return int((rng.random() * steps[-1] >= steps).sum())


def crowd(seed, n, kind, *, repeats=1, apart=0.5):
    """Draw rows, their columns (each ``repeats`` times, with a little noise) and their answers."""
    rng = np.random.default_rng(seed)
    z = rng.choice(K, 2 * n, p=rng.dirichlet(np.full(K, 8.0)))
    channels = [annotator(rng, pattern(kind)) for _ in range(A)]
    table = np.full((n, A), np.nan)
    for i in range(n):
        for a in rng.choice(A, 3, replace=False):
            table[i, a] = say(rng, channels[a], z[i])
        if not np.isnan(table[i, 1]):  # annotator 1 copies annotator 0, nine times of ten
            if np.isnan(table[i, 0]):
                table[i, 0] = say(rng, channels[0], z[i])
            table[i, 1] = table[i, 0] if rng.random() < 0.9 else table[i, 1]
    X = rng.normal(0, apart, (K, 10))[z] + rng.normal(size=(2 * n, 10))
    X = np.concatenate([X + 0.3 * rng.normal(size=X.shape) * (j > 0) for j in range(repeats)], 1)
    return X[:n], table, z[:n], X[n:], z[n:]


def listed(table):
    rows, who = np.nonzero(~np.isnan(table))
    return pd.DataFrame({"task": rows, "worker": who, "label": table[rows, who].astype(int)})


def peers(X, table):
    """Name each peer's consensus."""
    from cleanlab.multiannotator import get_label_quality_multiannotator, get_majority_vote_label
    from crowdkit.aggregation import GLAD, MACE, DawidSkene, OneCoinDawidSkene

    said, frame = listed(table), pd.DataFrame(table)
    vote = np.asarray(get_majority_vote_label(frame)).astype(int)
    yield "majority vote", vote
    for peer in (
        DawidSkene(n_iter=100),
        OneCoinDawidSkene(n_iter=100),
        GLAD(n_iter=100),
        MACE(n_iter=50, random_state=0),
    ):
        label = peer.fit_predict(said).reindex(range(len(table))).to_numpy()
        yield f"crowd-kit {type(peer).__name__}", label
    chance = cross_val_predict(GaussianNB(), X, vote, cv=5, method="predict_proba")
    found = get_label_quality_multiannotator(frame, chance, verbose=False)
    yield "cleanlab, with columns", found["label_quality"]["consensus_label"].to_numpy()


def compare(quick):
    sizes, seeds = ((300,), 1) if quick else ((300, 1000), 2)
    right = defaultdict(lambda: defaultdict(list))
    after = defaultdict(lambda: defaultdict(list))
    for kind in ("neighbors", "even", "drawn"):
        for n in sizes:
            for repeats in (1, 4):
                cell = (kind, n, repeats)
                for seed in range(seeds):
                    X, table, z, fresh, truth = crowd(100 + seed, n, kind, repeats=repeats)
                    named = dict(peers(X, table))
                    named["misnomer, answers only"] = CrowdNB().fit(None, table).consensus_
                    own = CrowdNB().fit(X, table)
                    named[OURS] = own.consensus_
                    for name, label in named.items():
                        right[cell][name].append(np.mean(label == z))
                        score = GaussianNB().fit(X, label).score(fresh, truth)
                        after[cell][name].append(score)
                    after[cell]["misnomer's own classifier"].append(
                        np.mean(own.predict(fresh) == truth)
                    )
    frame = shown("Consensus accuracy, % (pattern of errors, rows, repeats of columns)", right)
    shown("Accuracy on new rows of GaussianNB trained on the consensus, %", after)
    others = frame[[not name.startswith("misnomer") for name in frame.index]]
    verdict(OURS, frame, others)
    verdict("misnomer, answers only", frame, others.drop("cleanlab, with columns"))


def shown(title, cells):
    frame = pd.DataFrame(
        {cell: {name: 100 * np.mean(v) for name, v in row.items()} for cell, row in cells.items()}
    )
    print(f"\n{title}\n{frame.assign(mean=frame.mean(axis=1)).round(1).to_string()}")
    return frame


def verdict(name, frame, others):
    gap = frame.loc[name].mean() - others.mean(axis=1).max()
    worst = (frame.loc[name] - others.max()).min()
    print(f"{name} - best peer: mean {gap:+.2f}, worst cell {worst:+.2f} points")


def fixed_point():
    """Compare with crowd-kit's Dawid-Skene, both run to the end from the same start."""
    from crowdkit.aggregation import DawidSkene

    said = listed(crowd(0, 1000, "even")[1])
    peer = DawidSkene(n_iter=1000, tol=-np.inf).fit(said)
    answers = from_long(said.task.to_numpy(), said.worker.to_numpy(), said.label.to_numpy())
    ours = learn_sources(SourcesTask(answers, strength=0.0, tol=0.0, max_iter=1000))
    errors = np.full((A, K, K), 1e-10)
    for (who, label), row in peer.errors_.iterrows():
        errors[who, label] = row.reindex(range(K)).to_numpy()
    prior = np.log(peer.priors_.reindex(range(K)).to_numpy())
    height = np.logaddexp.reduce(evidence(answers, errors) + prior, axis=1).sum()
    theirs = peer.probas_.sort_index().reindex(columns=range(K)).to_numpy()
    print(
        f"\nDawid-Skene fixed point: log likelihood {ours.loglik:.7f}, crowd-kit {height:.7f}, "
        f"difference {ours.loglik - height:.1e} (relative {abs(ours.loglik / height - 1):.1e}); "
        f"posteriors differ by at most {abs(theirs - ours.share).max():.1e}"
    )


def speed(quick):
    """Time an iteration of Dawid-Skene, one thread each."""
    from crowdkit.aggregation import DawidSkene

    size, people, classes = (100_000, 1_000, 10) if quick else (1_000_000, 10_000, 10)
    rng = np.random.default_rng(0)
    n = size // 5
    z, row = rng.integers(classes, size=n), np.repeat(np.arange(n), 5)
    who = ((rng.integers(people, size=n)[:, None] + np.arange(5) * 7) % people).ravel()
    label = np.where(rng.random(size) < 0.7, z[row], rng.integers(classes, size=size))
    frame = pd.DataFrame({"task": row, "worker": who, "label": label})
    times = []
    for passes in (1, 3):
        start = time.process_time()
        DawidSkene(n_iter=passes, tol=-np.inf).fit(frame)
        times.append(time.process_time() - start)
    theirs = (times[1] - times[0]) / 2
    answers = from_long(row, who, label)
    for name, strength in (("Dawid-Skene", 0.0), ("default", 20.0)):
        task = SourcesTask(answers, strength=strength)
        fit = step(task, first_shares(answers, classes, 1.0), None, None)
        start = time.process_time()
        for _ in range(3):
            fit = step(task, fit.share, None, fit.characters)
        ours = (time.process_time() - start) / 3
        print(
            f"{size:,} answers by {people:,}, K = {classes}: crowd-kit {theirs:.2f} s an "
            f"iteration, {name} here {ours:.3f} s: 1/{theirs / ours:.0f}"
        )


def groups(quick):
    """Measure false alarms and power of the test that groups differ, and the rates found."""
    runs, draws = (10, 39) if quick else (100, 99)
    for differ in (False, True):
        hits, found = 0, []
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            z, group = rng.integers(3, size=900), rng.integers(4, size=900)
            X = rng.normal(0, 1.0, (3, 6))[z] + rng.normal(size=(900, 6))
            rate = np.where(group == 0, 0.4, 0.15) if differ else np.full(900, 0.2)
            y = np.where(rng.random(900) < rate, (z + rng.integers(1, 3, size=900)) % 3, z)
            fit = CrowdNB().fit(X, y, noise_groups=group)
            hits += fit.groups_differ(draws=draws).p_value <= 0.05
            found.append(1 - fit.annotators_.accuracy[np.argsort(fit.annotators_.name)])
        print(
            f"groups {'differ (.40, .15, .15, .15)' if differ else 'alike (.20)'}: p <= .05 in "
            f"{hits} of {runs}; mean error rates found {np.mean(found, axis=0).round(3).tolist()}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, one seed")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    compare(quick)
    fixed_point()
    groups(quick)
    speed(quick)


if __name__ == "__main__":
    main()
