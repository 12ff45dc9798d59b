"""Many texts, and many embeddings: 15,000 messages of 20 newsgroups, beside cleanlab.

    python -m benchmarks.newsgroups [--write]

The other messages are predicted; headers are taken off. Accuracy is on true labels, AP that of the
doubt, CPU seconds of one thread; cleanlab is given probabilities out of five folds, and learns from
what it leaves (CleanLearning).
"""

from __future__ import annotations

import argparse
import re
import time
import warnings

import numpy as np
import pandas as pd
from cleanlab.classification import CleanLearning
from cleanlab.rank import get_label_quality_scores
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import MultinomialNB
from threadpoolctl import threadpool_limits

from benchmarks.shapes import NEWS, PAGE
from misnomer import NoisyLabelClassifier, make_noisy_labels
from misnomer.simulate import pair_noise, uniform_noise

ROWS = 15_000
NOISES = {"uniform .2": uniform_noise(20, 0.2), "pair .2": pair_noise(20, 0.2)}


def messages():
    """Words that occur or not, their tf-idf, 200 and 384 numbers made of them, and the groups."""
    frame = pd.read_parquet(NEWS)
    frame = frame.iloc[np.random.default_rng(0).permutation(len(frame))]
    head = re.compile(r"\A.*?\n\s*\n", re.S)
    texts = [head.sub("", text, count=1) for text in frame["text"]]
    words = CountVectorizer(min_df=3, binary=True).fit_transform(texts).astype(float)
    idf = TfidfVectorizer(min_df=3, sublinear_tf=True).fit_transform(texts)
    plain = TfidfVectorizer(min_df=3, sublinear_tf=True, stop_words="english").fit_transform(texts)
    numbers = {d: TruncatedSVD(d, random_state=0).fit_transform(plain) for d in (200, 384)}
    return words, idf, numbers, pd.factorize(frame["label"], sort=True)[0]


def ours(X, given, new):
    model = NoisyLabelClassifier(random_state=0).fit(X, given)
    after = model.fit_.details.posterior
    return 1 - after[np.arange(len(given)), given], model.predict(new)


def cleaned(model, X, given, new):
    share = cross_val_predict(clone(model), X, given, cv=5, method="predict_proba")
    found = CleanLearning(clone(model), find_label_issues_kwargs={"n_jobs": 1})
    found.fit(X, given, pred_probs=share)
    return 1 - get_label_quality_scores(given, share), found.predict(new)


def rows():
    words, idf, numbers, true = messages()
    logistic, bayes = LogisticRegression(C=10, max_iter=100), MultinomialNB(alpha=0.1)
    tried = [("words", ROWS, words, ours, "NoisyLabelClassifier()")]
    tried += [("words", ROWS, words, bayes, "CleanLearning(MultinomialNB(alpha=.1))")]
    tried += [("words", ROWS, idf, logistic, "CleanLearning(LogisticRegression(C=10)), tf-idf")]
    for width, size in ((200, ROWS), (384, 5000)):
        name = f"{width} numbers"
        tried += [(name, size, numbers[width], ours, "NoisyLabelClassifier()")]
        tried += [(name, size, numbers[width], logistic, "CleanLearning(LogisticRegression(C=10))")]
    for noise, matrix in NOISES.items():
        for what, size, X, model, name in tried:
            given = make_noisy_labels(true[:size], matrix, random_state=0)
            call = model if model is ours else lambda *data, m=model: cleaned(m, *data)
            began = time.process_time()
            doubt, predicted = call(X[:size], given, X[ROWS:])
            spent = time.process_time() - began
            right = 100 * (predicted == true[ROWS:]).mean()
            ranked = average_precision_score(given != true[:size], doubt)
            cells = f"{right:.1f} | {ranked:.3f} | {spent:.1f}"
            yield f"| {size:,} x {what}, {noise}: {name} | {cells} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="put it into the docs")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    lines = ["| | accuracy | AP | CPU s |", "|---|---|---|---|"]
    for line in rows():
        lines.append(line)
        print(line, flush=True)
    if options.write:
        start, end = "<!-- newsgroups -->", "<!-- end newsgroups -->"
        before, rest = PAGE.read_text().split(start)
        body = "\n".join(lines)
        PAGE.write_text(f"{before}{start}\n{body}\n{end}{rest.split(end)[1]}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
