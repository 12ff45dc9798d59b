"""Several annotators: the consensus against majority vote, crowd-kit and cleanlab.

    python benchmarks/sources.py [--quick] [--only crowds] [--peers FILE] [--write]

Simulated crowds (spammers, experts, a pair that copies), every peer's consensus followed by the
same classifier; how far P(consensus is wrong) is right; the Dawid-Skene fixed point against
crowd-kit's; groups; noise planted in real tables; the time of an iteration; a file read by batches.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.naive_bayes import GaussianNB

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import sources_batches, sources_tables
from benchmarks.sources_crowds import A, K, Kept, cleanlab, crowd, listed, peers
from benchmarks.trust_tasks import DATA
from misnomer.answers import from_long
from misnomer.classifiers.crowd import CrowdNB
from misnomer.solvers.annotators import evidence
from misnomer.solvers.annotators.draws import learn_sources
from misnomer.solvers.annotators.fit import SourcesTask, first_shares, step

PAGE = Path(__file__).resolve().parents[1] / "docs" / "measured" / "annotators.md"
OURS, ALONE = "misnomer, with columns", "misnomer, answers only"
HONEST = "with columns, without the annotator who copies"


def cells(quick):
    """List the crowds: pattern of errors, rows, seed."""
    for n, seeds in ((300, 1 if quick else 3), (1000, 0 if quick else 3)):
        for kind in ("neighbors", "even", "drawn"):
            for seed in range(seeds):
                yield kind, n, 100 + seed


def compare(quick, kept):
    right, after, claims = (defaultdict(lambda: defaultdict(list)) for _ in range(3))
    for kind, n, seed in cells(quick):
        for repeats in (1, 4):
            cell = (kind, n, repeats)
            X, table, z, fresh, truth = crowd(seed, n, kind, repeats=repeats)
            named = dict(peers(table, f"{kind} {n} {seed}", kept))
            named["cleanlab, with columns"] = cleanlab(X, table, named["majority vote"])
            fits = {ALONE: CrowdNB().fit(None, table), OURS: CrowdNB().fit(X, table)}
            for name, fit in fits.items():
                named[name] = fit.consensus_
                wrong = np.mean(fit.consensus_ != z)
                claims[cell][name].append((fit.consensus_error_.mean(), wrong))
            honest = np.where(np.arange(A) == 1, np.nan, table)  # without the one who copies
            fit = CrowdNB().fit(X, honest)
            wrong = np.mean(fit.consensus_ != z)
            claims[cell][HONEST].append((fit.consensus_error_.mean(), wrong))
            for name, label in named.items():
                right[cell][name].append(np.mean(label == z))
                after[cell][name].append(GaussianNB().fit(X, label).score(fresh, truth))
            own = np.mean(fits[OURS].predict(fresh) == truth)
            after[cell]["misnomer's own classifier"].append(own)
    lines, frame = shown("Consensus right, % (pattern of errors, rows, repeats of columns)", right)
    yield from lines
    others = frame[[not name.startswith("misnomer") for name in frame.index]]
    yield verdict(OURS, frame, others)
    yield verdict(ALONE, frame, others.drop("cleanlab, with columns"))
    yield "\nP(consensus is wrong), mean claimed / share that is wrong"
    for name in (ALONE, OURS, HONEST):
        pairs = {cell: np.mean(row[name], axis=0) for cell, row in claims.items()}
        text = ", ".join(f"{said:.3f} / {wrong:.3f}" for said, wrong in pairs.values())
        said, wrong = np.mean(list(pairs.values()), axis=0)
        yield f"{name}: {text}; all {said:.3f} / {wrong:.3f}"
    yield ""
    yield from shown("Accuracy on new rows of GaussianNB trained on the consensus, %", after)[0]


def shown(title, cells):
    frame = pd.DataFrame(
        {cell: {name: 100 * np.mean(v) for name, v in row.items()} for cell, row in cells.items()}
    )
    text = frame.assign(mean=frame.mean(axis=1)).round(1).to_string()
    return [title, *text.splitlines()], frame


def verdict(name, frame, others):
    gap = frame.loc[name].mean() - others.mean(axis=1).max()
    below = frame.loc[name] - others.max()
    return (
        f"{name} - best peer: mean {gap:+.2f} points, "
        f"worst cell {below.min():+.2f} ({', '.join(map(str, below.idxmin()))})"
    )


def music(folder=DATA / "real_noise"):
    """Predict the genre of new pieces from 2,945 answers of 44 people about 700 others."""
    from crowdkit.aggregation import DawidSkene
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if not folder.exists():
        yield f"no music crowd: {folder.name} is not there"
        return
    rows = pd.read_parquet(folder / "music_genre_crowd.parquet")
    said = pd.read_csv(folder / "music_genre_crowd_answers.csv.gz")
    train, test = (rows[rows.split == part].set_index("item") for part in ("train", "test"))
    columns = [name for name in rows if name.startswith("feature")]
    X, fresh = train[columns], test[columns]
    said = said[said["item"].isin(train.index)]
    long = said.set_axis(["task", "worker", "label"], axis=1)
    vote = DawidSkene(n_iter=100).fit_predict(long).reindex(train.index)
    place = dict(zip(train.index, range(len(train)), strict=True))
    answers = from_long(said["item"].map(place), said["annotator"], said["noisy_label"])
    fit = CrowdNB().fit(X, answers=answers)
    new = {"CrowdNB": np.mean(fit.predict(fresh) == test.label)}
    consensus = {"CrowdNB": np.mean(fit.consensus_ == train.label)}
    for name, model in (("naive Bayes", GaussianNB()), ("logistic", LogisticRegression(C=0.1))):
        peer = make_pipeline(StandardScaler(), model).fit(X, vote)
        new[f"Dawid-Skene + {name}"] = peer.score(fresh, test.label)
        consensus[f"Dawid-Skene + {name}"] = np.mean(vote == train.label)
    for name, right in new.items():
        yield f"{name:26} consensus right {consensus[name]:.1%}, new rows right {right:.1%}"


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
    yield (
        f"Dawid-Skene fixed point: log likelihood {ours.loglik:.7f}, crowd-kit {height:.7f}, "
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
    for name, strength in (("Dawid-Skene", 0.0), ("default", None)):
        task = SourcesTask(answers, strength=strength)
        fit = step(task, first_shares(answers, classes, 1.0), None, None)
        start = time.process_time()
        for _ in range(3):
            fit = step(task, fit.share, None, fit.characters)
        ours = (time.process_time() - start) / 3
        yield (
            f"{size:,} answers by {people:,}, K = {classes}: crowd-kit {theirs:.2f} s an "
            f"iteration, {name} here {ours:.3f} s: 1/{theirs / ours:.0f}"
        )
    start = time.process_time()
    fit = learn_sources(SourcesTask(answers))
    claimed, wrong = 1 - fit.share.max(axis=1).mean(), np.mean(fit.share.argmax(axis=1) != z)
    yield (
        f"the whole search and its draws: {time.process_time() - start:.0f} s; "
        f"P(consensus is wrong) {claimed:.3f}, wrong {wrong:.3f}"
    )


def groups(quick):
    """Measure false alarms and power of the test that groups differ, and the rates found."""
    runs, draws = (10, 39) if quick else (30, 39)
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
        yield (
            f"groups {'differ (.40, .15, .15, .15)' if differ else 'alike (.20)'}: p <= .05 in "
            f"{hits} of {runs}; mean error rates found {np.mean(found, axis=0).round(3).tolist()}"
        )


def sections(quick, kept):
    """Name the parts of the page, and what measures each."""
    return {
        "music": music,
        "crowds": lambda: compare(quick, kept),
        "fixed point": fixed_point,
        "groups": lambda: groups(quick),
        "tables": lambda: sources_tables.lines(quick),
        "speed": lambda: speed(quick),
        "batches": lambda: sources_batches.lines(quick),
    }


def write(name, lines):
    """Put lines, as they were printed, between their marks in docs/measured/annotators.md."""
    start, end = f"<!-- {name} -->", f"<!-- end {name} -->"
    before, rest = PAGE.read_text().split(start)
    body = "\n".join(["```text", *lines, "```"])
    PAGE.write_text(f"{before}{start}\n{body}\n{end}{rest.split(end)[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, one seed")
    parser.add_argument("--only", action="append", help="a section; repeatable")
    parser.add_argument("--peers", help="a file that keeps the peers' answers")
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    said = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, measure in sections(said.quick, Kept(said.peers)).items():
        if said.only and name not in said.only:
            continue
        lines = []
        for line in measure():
            print(line, flush=True)
            lines.append(line)
        if said.write:
            write(name, lines)


if __name__ == "__main__":
    main()
