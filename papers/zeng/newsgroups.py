"""20 Newsgroups with a fifth of the labels wrong: where EM ends, and where it passes by."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

from misnomer.papers import INB, NAL, NLNN, BayesANIL, NoiseFilterNB
from misnomer.simulate import make_noisy_labels, uniform_noise
from papers import data, page
from papers.measured import Measured, Results
from papers.zeng.simulation import EXPECTED, LONG, nb

Split = tuple[Any, Any, np.ndarray, np.ndarray, np.ndarray]
PRINTED = EXPECTED["newsgroups"]

WORDS = 7302
EVERY = 6  # of the messages, for a quick run
FLAGS = "bernoulli"
REACHED = ", nats"  # what a network has climbed to


def newsgroups(quick: bool) -> Results:
    """Measure accuracy on correct test labels; a full run measures what a quick one does, too."""
    parts = data.newsgroups()
    if parts is None:
        return {}
    texts = np.concatenate([part["text"].to_numpy() for part in parts])
    label = np.concatenate([part["label"].to_numpy() for part in parts])
    few = _split(texts[::EVERY], label[::EVERY])
    out = {f"few: {name}": _score(few, clf) for name, clf in _few().items()}
    if quick:
        return out
    whole, half = _split(texts, label), _split(texts[::2], label[::2])
    out |= _sizes(whole)
    out["NB, correct labels"] = _score(whole, nb("auto"), correct=True)
    methods = _methods()
    out |= {name: _score(whole, clf) for name, clf in methods.items()}
    out |= {name + REACHED: Measured(methods[name].lower_bound_) for name in ("NLNN", "NAL")}
    out["INB, 30 passes"] = _stopped(whole, "auto", 30)
    out["half: NB, Bernoulli, wrong labels"] = _score(half, nb(FLAGS))
    for passes in (5, 30):
        out[f"half: INB, Bernoulli, {passes} passes"] = _stopped(half, FLAGS, passes)
    return out


def _sizes(split: Split) -> dict[str, Measured]:
    """Count what the slides count: messages, their two parts, and words."""
    train, test = split[0].shape, split[1].shape
    counts = (train[0] + test[0], train[0], test[0], train[1])
    return {name: Measured(count) for name, count in zip(PRINTED, counts, strict=True)}


def _few() -> dict[str, Any]:
    return {"NB, wrong labels": nb("auto"), "INB, converged": INB(**LONG)}


def _methods() -> dict[str, Any]:
    return {
        "NB, wrong labels": nb("auto"),
        "INB, converged": INB(**LONG),
        "NLNN": NLNN(**LONG),
        "NAL": NAL(**LONG),
        "BayesANIL": BayesANIL(),
        "classification filter": NoiseFilterNB(vote="classification"),
    }


def _split(texts: np.ndarray, label: np.ndarray) -> Split:
    """Choose words, split the messages, and make a fifth of the training labels wrong."""
    train, test, true, truth = train_test_split(
        _present(texts), label, test_size=0.2, random_state=0
    )
    given = make_noisy_labels(true, uniform_noise(20, 0.2), random_state=0)
    return train, test, true, truth, given


def _present(texts: np.ndarray) -> Any:
    """List the words with the highest TF-IDF in any message, 1 where present."""
    X = TfidfVectorizer(stop_words="english", min_df=5).fit_transform(texts)
    highest = X.max(axis=0).toarray().ravel()
    kept = np.sort(np.argsort(-highest, kind="stable")[:WORDS])
    return (X[:, kept] > 0).astype(np.float64)


def _score(split: Split, clf: Any, correct: bool = False) -> Measured:
    """Fit and score; the standard error is that of the test messages."""
    train, test, true, truth, given = split
    share = clf.fit(train, true if correct else given).score(test, truth)
    error = 100 * math.sqrt(share * (1 - share) / len(truth))
    return Measured(100 * share, error, error, 1)


def _stopped(split: Split, families: str, passes: int) -> Measured:
    """Stop EM before its end, and see that it says so."""
    clf = INB(families=families, max_iter=passes)
    with warnings.catch_warnings(record=True) as said:
        found = _score(split, clf)
    if [one.category for one in said] != [ConvergenceWarning]:
        raise AssertionError(f"EM, to be stopped after {passes} passes, said: {said}")
    return found


def show(found: Results, folder: Path) -> str:
    aside = {*PRINTED, *(name for name in found if name.endswith(REACHED))}
    scores = {name: one for name, one in found.items() if name not in aside}
    shown = {name: one for name, one in scores.items() if not name.startswith("few")} or scores
    axes = page.new_axes(height=0.28 * len(shown) + 1.0)
    bars = axes.barh(list(shown), [one.mean for one in shown.values()], height=0.6)
    axes.bar_label(bars, fmt="%.1f", padding=3)
    axes.invert_yaxis()
    axes.set(xlabel="accuracy on correct test labels, %", xlim=(0, 100))
    page.figure(folder / "newsgroups.png", axes)
    body = [[name, one.shown(1)] for name, one in scores.items()]
    table = page.markdown(["method", "accuracy, % ± se of the test set"], body)
    if not aside & set(found):
        return table
    apart = found["NLNN" + REACHED].mean - found["NAL" + REACHED].mean
    note = f"NLNN ends {abs(apart):.0f} nats {'above' if apart > 0 else 'below'} NAL."
    return f"{_counted(found)}\n\n{table}\n\n{note}"


def _counted(found: Results) -> str:
    """Show the sizes in print beside ours."""
    parts = PRINTED["for training"] + PRINTED["for testing"]
    why = {"messages": f"a slip in print: its two parts add up to {parts}"}
    body = []
    for name, paper in PRINTED.items():
        ours = int(found[name].mean)
        said = ["yes", ""] if paper == ours else ["**no**", why.get(name, "")]
        body.append([name, paper, ours, *said])
    return page.markdown(["", "printed", "ours", "reproduced?", "why not"], body)
