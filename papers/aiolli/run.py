"""Aiolli's lecture: play tennis, EM for two normal distributions, naive Bayes on 20 Newsgroups.

python -m papers.aiolli.run --quick    every third message
python -m papers.aiolli.run            all of them
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

from misnomer.classifiers.base import NoisyLabelNB
from misnomer.classifiers.papers import GaussianMixtureNB, text_classifier
from papers import tables

HERE = Path(__file__).parent
EXPECTED = tables.expected(HERE)
DAYS = """Sunny Hot High Weak No|Sunny Hot High Strong No|Overcast Hot High Weak Yes
Rain Mild High Weak Yes|Rain Cool Normal Weak Yes|Rain Cool Normal Strong No
Overcast Cool Normal Strong Yes|Sunny Mild High Weak No|Sunny Cool Normal Weak Yes
Rain Mild Normal Weak Yes|Sunny Mild Normal Strong Yes|Overcast Mild High Strong Yes
Overcast Hot Normal Weak Yes|Rain Mild High Strong No"""
QUESTION = ["Sunny", "Cool", "High", "Strong"]


def main() -> None:
    quick = tables.quick(__doc__)
    tennis()
    mixture()
    newsgroups(3 if quick else 1)


def tennis() -> None:
    days = np.array([day.split() for day in DAYS.replace("\n", "|").split("|")], dtype=object)
    clf = NoisyLabelNB(channel="identity", smoothing="none").fit(days[:, :-1], days[:, -1])
    products = np.exp(clf.predict_joint_log_proba([QUESTION])[0])
    printed, body = EXPECTED["play_tennis"], []
    for name, product in zip(clf.classes_, products, strict=True):
        paper = printed[name.lower()]
        near = tables.verdict(paper, round(float(product), 3), 0.0)
        body.append([f"P({name}) · …", paper, f"{product:.4f}", near])
    answer = str(clf.predict([QUESTION])[0]).lower()
    same = "yes" if answer == printed["answer"] else "**no**"
    body.append(["answer", printed["answer"], answer, same])
    header = ["", "printed", "ours", "reproduced?"]
    tables.write(HERE, "tennis", tables.markdown(header, body))


def mixture() -> None:
    rng = np.random.default_rng(0)
    truth = np.array([-1.5, 1.5])
    x = np.concatenate([rng.normal(mean, 1.0, 300) for mean in truth])[:, None]
    axes, body = tables.axes(), []
    axes.hist(x[:, 0], bins=30, density=True, color="0.88", label="600 rows")
    grid = np.linspace(-5, 5, 200)
    for variance in (1.0, 0.1, 1e-6):
        found = GaussianMixtureNB(2, variance=variance, random_state=0).fit(x)
        means = np.sort(found.means_.ravel())
        body.append([f"EM, variance {variance:g}", *(f"{mean:.3f}" for mean in means)])
        if variance == 1.0:
            parts = np.exp(-0.5 * (grid[:, None] - means) ** 2) / np.sqrt(2 * np.pi) / 2
            names = ["first component", "second component"]
            axes.plot(grid, parts, lw=1.2, label=names)
            axes.plot(grid, parts.sum(axis=1), color="black", lw=1.2, label="both")
    centers = np.sort(KMeans(2, n_init=5, random_state=0).fit(x).cluster_centers_.ravel())
    body.append(["k-means", *(f"{center:.3f}" for center in centers)])
    body.append(["truth", *(f"{mean:.3f}" for mean in truth)])
    axes.set(xlabel="x", ylabel="density")
    tables.legend(axes)
    tables.figure(HERE, "mixture", axes)
    tables.write(HERE, "mixture", tables.markdown(["", "first mean", "second mean"], body))


def newsgroups(step: int) -> None:
    parts = tables.newsgroups()
    if parts is None:
        return
    train, test = (part.iloc[::step] for part in parts)
    words = {"stop_words": "english", "min_df": 2}
    methods = {
        "naive Bayes, counts": text_classifier(**words),
        "naive Bayes, 0/1 words": text_classifier(**words, binary=True),
        "linear SVM, TF-IDF": make_pipeline(
            TfidfVectorizer(**words), SGDClassifier(random_state=0)
        ),
    }
    body = []
    for name, method in methods.items():
        score = method.fit(train["text"], train["label"]).score(test["text"], test["label"])
        body.append([name, f"{100 * score:.1f}"])
    note = f"{len(train)} messages for training, {len(test)} for the test.\n\n"
    tables.write(HERE, "newsgroups", note + tables.markdown(["method", "accuracy, %"], body))


if __name__ == "__main__":
    main()
