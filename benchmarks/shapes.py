"""Shapes that users bring: the default beside what takes least time, on the same rows.

    python -m benchmarks.shapes [--draws 3] [--write]

CPU seconds of one thread, in one run; AP is that of the doubt (the rival: cleanlab's
self-confidence of probabilities out of five folds). Noise is planted in all labels: uniform .2,
and pair noise .2 for the embeddings.
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from threadpoolctl import threadpool_limits

from misnomer import NoisyLabelClassifier, make_noisy_labels
from misnomer.simulate import pair_noise, uniform_noise

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "measured" / "default.md"
NEWS = ROOT.parent / "shared" / "data" / "20newsgroups_bydate.parquet"


def embeddings(rng, dimensions=200, rows=5000):
    """Reduce messages of 20 newsgroups, without their headers, to a few hundred numbers."""
    frame = pd.read_parquet(NEWS)
    frame = frame.iloc[np.random.default_rng(0).permutation(len(frame))[: rows + 3000]]
    head = re.compile(r"\A.*?\n\s*\n", re.S)
    texts = [head.sub("", text, count=1) for text in frame["text"]]
    words = TfidfVectorizer(min_df=3, sublinear_tf=True, stop_words="english")
    X = TruncatedSVD(dimensions, random_state=0).fit_transform(words.fit_transform(texts))
    return X, pd.factorize(frame["label"], sort=True)[0], LogisticRegression(C=10, max_iter=200)


def reals(n, columns, classes, apart):
    def drawn(rng):
        true = rng.integers(classes, size=n)
        centers = rng.normal(size=(classes, columns)) * apart
        return centers[true] + rng.normal(size=(n, columns)), true, GaussianNB()

    return drawn


def categories(rng, n=8000, columns=16, classes=200):
    true = rng.integers(classes, size=n)
    chance = rng.dirichlet(np.full(10, 0.3), size=(classes, columns)).cumsum(axis=2)
    X = (rng.random((n, columns))[:, :, None] > chance[true]).sum(axis=2)
    frame = pd.DataFrame(np.minimum(X, 9).astype(str)).rename(columns=lambda j: f"c{j}")
    return frame, true, CategoricalNB(min_categories=10)


SHAPES = {
    "embeddings, 5,000 x 200, 20 classes, uniform .2": (embeddings, uniform_noise(20, 0.2)),
    "the same, pair noise .2": (embeddings, pair_noise(20, 0.2)),
    "8,000 x 16 categories, 200 classes": (categories, uniform_noise(200, 0.2)),
    "400 x 5,000 reals, 3 classes": (reals(400, 5000, 3, 0.05), uniform_noise(3, 0.2)),
    "10,000 x 20 reals, 5 classes": (reals(10_000, 20, 5, 0.6), uniform_noise(5, 0.2)),
    "1,000 x 20 reals, 2 classes": (reals(1000, 20, 2, 0.25), uniform_noise(2, 0.2)),
}


def ours(X, given):
    model = NoisyLabelClassifier(random_state=0).fit(X, given)
    after = model.fit_.details.posterior
    _ = model.fit_.details.intervals  # its time counts
    return 1 - after[np.arange(len(given)), given], model.predict


def theirs(model, X, given):
    rows = X.astype(int) if isinstance(X, pd.DataFrame) else X
    share = cross_val_predict(model, rows, given, cv=5, method="predict_proba")
    find_label_issues(given, share, n_jobs=1)
    model.fit(rows, given)
    return 1 - get_label_quality_scores(given, share), model.predict


def timed(call):
    began = time.process_time()
    doubt, _ = call()
    return time.process_time() - began, doubt


def measured(name, draws):
    build, noise = SHAPES[name]
    rows = []
    for draw in range(draws):
        X, true, rival = build(np.random.default_rng([draw, 5]))
        n = min(len(true), 5000) if "embeddings" in name or "same" in name else len(true)
        X, true = X[:n], true[:n]
        given = make_noisy_labels(true, noise, random_state=draw)
        wrong = given != true
        one, other = timed(lambda: ours(X, given)), timed(lambda: theirs(rival, X, given))  # noqa: B023
        rows.append(
            [one[0], average_precision_score(wrong, one[1]), other[0],
             average_precision_score(wrong, other[1])]
        )  # fmt: skip
    return np.median(rows, axis=0), np.min(rows, axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true", help="put it into the docs")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    lines = ["| | ours | AP (least) | rival | AP |", "|---|---|---|---|---|"]
    for name in SHAPES:
        if options.only in name:
            mid, least = measured(name, options.draws)
            lines.append(
                f"| {name} | {mid[0]:.1f} s | {mid[1]:.3f} ({least[1]:.3f}) "
                f"| {mid[2]:.2f} s | {mid[3]:.3f} |"
            )
            print(lines[-1], flush=True)
    if options.write:
        text = PAGE.read_text()
        before, rest = text.split("<!-- shapes -->")
        after = rest.split("<!-- end shapes -->")[1]
        body = "\n".join(lines)
        PAGE.write_text(f"{before}<!-- shapes -->\n{body}\n<!-- end shapes -->{after}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
