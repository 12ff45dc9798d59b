"""Aiolli's lecture: play tennis, EM for two normal distributions, naive Bayes on 20 Newsgroups."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

from misnomer import NoisyLabelNB
from misnomer.papers import GaussianMixtureNB, text_classifier
from papers import data, page
from papers.measured import Measured, Results, verdict
from papers.section import Section

HERE = Path(__file__).parent
EXPECTED = page.expected(HERE)
DAYS = """Sunny Hot High Weak No|Sunny Hot High Strong No|Overcast Hot High Weak Yes
Rain Mild High Weak Yes|Rain Cool Normal Weak Yes|Rain Cool Normal Strong No
Overcast Cool Normal Strong Yes|Sunny Mild High Weak No|Sunny Cool Normal Weak Yes
Rain Mild Normal Weak Yes|Sunny Mild Normal Strong Yes|Overcast Mild High Strong Yes
Overcast Hot Normal Weak Yes|Rain Mild High Strong No"""
QUESTION = ["Sunny", "Cool", "High", "Strong"]
TRUTH = (-1.5, 1.5)
EVERY = 10  # of the messages, for a quick run


def tennis(quick: bool) -> Results:
    days = np.array([day.split() for day in DAYS.replace("\n", "|").split("|")], dtype=object)
    clf = NoisyLabelNB(channel="identity", smoothing="none").fit(days[:, :-1], days[:, -1])
    products = np.exp(clf.predict_joint_log_proba([QUESTION])[0])
    return {str(name): Measured(p) for name, p in zip(clf.classes_, products, strict=True)}


def show_tennis(found: Results, folder: Path) -> str:
    printed = EXPECTED["play_tennis"]
    body = []
    for name, ours in found.items():
        paper = printed[name.lower()]
        body.append([f"P({name}) · …", paper, f"{ours.mean:.4f}", verdict(paper, ours, 3)])
    answer = max(found, key=lambda name: found[name].mean).lower()
    same = "yes" if answer == printed["answer"] else "**no**"
    body.append(["answer", printed["answer"], answer, same])
    return page.markdown(["", "printed", "ours", "reproduced?"], body)


def rows() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(mean, 1.0, 300) for mean in TRUTH])[:, None]


def mixture(quick: bool) -> Results:
    x, means = rows(), {}
    for variance in (1.0, 0.1, 1e-6):
        found = GaussianMixtureNB(2, variance=variance, random_state=0).fit(x)
        means[f"EM, variance {variance:g}"] = found.means_
    means["k-means"] = KMeans(2, n_init=5, random_state=0).fit(x).cluster_centers_
    return {
        f"{name}: {place}": Measured(float(mean))
        for name, both in means.items()
        for place, mean in zip(("first", "second"), np.sort(both.ravel()), strict=True)
    }


def show_mixture(found: Results, folder: Path) -> str:
    names = list(dict.fromkeys(key.rsplit(": ", 1)[0] for key in found))
    means = [[found[f"{name}: {place}"].mean for place in ("first", "second")] for name in names]
    axes, grid = page.new_axes(), np.linspace(-5, 5, 200)
    axes.hist(rows()[:, 0], bins=30, density=True, color="0.88", label="600 rows")
    parts = np.exp(-0.5 * (grid[:, None] - means[0]) ** 2) / np.sqrt(2 * np.pi) / 2
    axes.plot(grid, parts, lw=1.2, label=["first component", "second component"])
    axes.plot(grid, parts.sum(axis=1), color="black", lw=1.2, label="both")
    axes.set(xlabel="x", ylabel="density")
    page.legend(axes)
    page.figure(folder / "mixture.png", axes)
    shown = zip([*names, "truth"], [*means, TRUTH], strict=True)
    body = [[name, *(f"{mean:.3f}" for mean in both)] for name, both in shown]
    return page.markdown(["", "first mean", "second mean"], body)


def newsgroups(quick: bool) -> Results:
    """Measure accuracy; a full run measures what a quick one does, too."""
    parts = data.newsgroups()
    if parts is None:
        return {}
    few = _scored(*(part.iloc[::EVERY] for part in parts))
    out = {f"every tenth: {name}": ours for name, ours in few.items()}
    return out if quick else out | _scored(*parts)


def _scored(train, test) -> dict[str, Measured]:
    words = {"stop_words": "english", "min_df": 2}
    methods = {
        "naive Bayes, counts": text_classifier(**words),
        "naive Bayes, 0/1 words": text_classifier(**words, binary=True),
        "linear SVM, TF-IDF": make_pipeline(
            TfidfVectorizer(**words), SGDClassifier(random_state=0)
        ),
    }
    out = {}
    for name, method in methods.items():
        share = method.fit(train["text"], train["label"]).score(test["text"], test["label"])
        error = 100 * math.sqrt(share * (1 - share) / len(test))
        out[name] = Measured(100 * share, error, error)
    return out


def show_newsgroups(found: Results, folder: Path) -> str:
    shown = {name: one for name, one in found.items() if "tenth" not in name} or found
    body = [[name, ours.shown(1)] for name, ours in shown.items()]
    return page.markdown(["method", "accuracy, % ± se of the test set"], body)


SECTIONS = (
    Section("tennis", tennis, show_tennis),
    Section("mixture", mixture, show_mixture),
    Section("newsgroups", newsgroups, show_newsgroups),
)
