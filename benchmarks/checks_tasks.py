"""Sets with real label noise or planted noise, each with doubts: of plain classifiers, or our own.

Plain ones come out of five folds; our own are those of ``audit`` as it is. Doubts are kept in a
folder, where one is named, so that a table can be made again without a fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MaxAbsScaler, OneHotEncoder

from misnomer.simulate import make_noisy_labels, uniform_noise

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Rows:
    """A set before anybody doubts it: a table for us, X and learners for the plain doubts."""

    table: object
    given: np.ndarray
    true: np.ndarray
    X: object
    learners: list
    good: bool = False  # noise planted at random: the model sees it


@dataclass(frozen=True)
class Task:
    """Rows with given and reference labels (codes), and P(class | columns) of each."""

    name: str
    given: np.ndarray
    true: np.ndarray
    share: np.ndarray  # (n, K)

    @property
    def doubt(self):
        return 1.0 - self.share[np.arange(len(self.given)), self.given]

    @property
    def wrong(self):
        return self.given != self.true


def out_of_fold(rows, given):
    """Mean probability of each label over plain learners, out of five folds."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    made = [
        cross_val_predict(one, rows.X, given, cv=folds, method="predict_proba")
        for one in rows.learners
    ]
    return np.mean(made, axis=0)


def audited(rows, given):
    """Probability of each true class, as an audit of labels and columns alone tells it."""
    from misnomer import audit

    found = audit(rows.table, given)
    assert list(found.classes) == sorted(set(given.tolist())), "the audit has other classes"
    return found.posterior


DOUBTS = {"plain": out_of_fold, "default": audited}


def task(name: str, doubts: str = "plain", folder: Path | None = None) -> Task:
    """Take a set with its doubts, from the folder if they are there."""
    file = folder and folder / f"{re.sub(r'[^a-z0-9]+', '_', name)}-{doubts}.npz"
    if file and file.exists():
        with np.load(file) as kept:
            return Task(name, kept["given"], kept["true"], kept["share"])
    rows = SETS[name]()
    names = np.unique(np.concatenate([rows.given, rows.true]).astype(str))
    given, true = (np.searchsorted(names, one.astype(str)) for one in (rows.given, rows.true))
    share = np.zeros((len(given), len(names)))
    share[:, np.unique(given)] = DOUBTS[doubts](rows, given)
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, given=given, true=true, share=share)
    return Task(name, given, true, share)


def text_task(file):
    frame = pd.read_parquet(DATA / "real_noise" / file)
    frame = frame[(frame["split"] == "train")].dropna(subset=["noisy_label", "label"])
    X = TfidfVectorizer(min_df=2, sublinear_tf=True).fit_transform(frame["text"])
    learners = [MultinomialNB(alpha=0.3), LogisticRegression(C=3.0, max_iter=500)]
    given, true = frame["noisy_label"].to_numpy(), frame["label"].to_numpy()
    return Rows(frame[["text"]], given, true, X, learners)


def lidc():
    frame = pd.read_csv(DATA / "real_noise" / "lidc_radiologists.csv")
    frame = frame.dropna(subset=["noisy_label", "label"])
    numbers = frame.select_dtypes("number")
    drop = ("malignancy", "label", "noisy_label", "patient", "nodule", "reader", "item")
    table = numbers[[c for c in numbers if c not in drop]]
    X = OneHotEncoder(handle_unknown="ignore").fit_transform(table)
    learners = [BernoulliNB(), LogisticRegression(max_iter=500)]
    return Rows(table, frame["noisy_label"].to_numpy(), frame["label"].to_numpy(), X, learners)


def music(column):
    frame = pd.read_parquet(DATA / "real_noise" / "music_genre_crowd.parquet")
    frame = frame[frame["split"] == "train"].dropna(subset=[column, "label"])
    drop = ("item", "label", "noisy_label", "noisy_label_mv", "split")
    table = frame[[c for c in frame.select_dtypes("number") if c not in drop]]
    bins = KBinsDiscretizer(6, encode="onehot", quantile_method="averaged_inverted_cdf")
    learners = [
        make_pipeline(bins, BernoulliNB()),
        make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=500)),
    ]
    given, true = frame[column].to_numpy(), frame["label"].to_numpy()
    return Rows(table, given, true, table.to_numpy(), learners)


def planted(file, rate, seed=0):
    """Spoil a clean table of categories."""
    frame = pd.read_csv(DATA / file, dtype=str, keep_default_na=False)
    true = frame.pop("label").to_numpy()
    kept = pd.Series(true).map(pd.Series(true).value_counts()).to_numpy() >= 20
    X, true = OneHotEncoder().fit_transform(frame[kept]), true[kept]
    K = len(np.unique(true))
    given = make_noisy_labels(true, uniform_noise(K, rate), random_state=seed)
    from sklearn.ensemble import ExtraTreesClassifier

    trees = ExtraTreesClassifier(100, min_samples_leaf=3, random_state=0)
    learners = [LogisticRegression(max_iter=500), trees]
    return Rows(frame[kept], given, true, X, learners, good=True)


def sms(rate):
    frame = pd.read_csv(DATA / "sms_spam.csv", dtype=str, keep_default_na=False).drop_duplicates()
    X = TfidfVectorizer(min_df=2, sublinear_tf=True).fit_transform(frame["text"])
    true = frame["label"].to_numpy()
    given = make_noisy_labels(true, uniform_noise(2, rate), random_state=0)
    learners = [MultinomialNB(alpha=0.3), LogisticRegression(C=3.0, max_iter=500)]
    return Rows(frame[["text"]], given, true, X, learners, good=True)


TEXTS = {
    "noisyag": "noisyag_news_human.parquet",
    "youtube": "wrench_youtube_weak.parquet",
    "hausa": "hausa_news_distant.parquet",
    "trec": "wrench_trec_weak.parquet",
}
PATIENTS_TESTED = 0.3  # share of lidc's patients that are kept for the test


@dataclass(frozen=True)
class Split:
    """Rows to learn from, with given and reference labels, and rows to be tested on."""

    table: pd.DataFrame
    given: np.ndarray
    true: np.ndarray
    new: pd.DataFrame
    truth: np.ndarray


def split(name: str) -> Split:
    """Take a set with real noise, cut as its authors cut it; lidc by patient."""
    column = "noisy_label_mv" if name == "music, majority" else "noisy_label"
    if name == "lidc":
        frame = pd.read_csv(DATA / "real_noise" / "lidc_radiologists.csv")
        patients = np.array(sorted(frame["patient"].unique()))
        np.random.default_rng(0).shuffle(patients)
        tested = frame["patient"].isin(patients[: int(PATIENTS_TESTED * len(patients))])
    else:
        frame = pd.read_parquet(DATA / "real_noise" / TEXTS.get(name, "music_genre_crowd.parquet"))
        tested = frame["split"] == "test"
        frame = frame[tested | (frame["split"] == "train")]
    rows = frame[~tested.loc[frame.index]].dropna(subset=[column, "label"])
    new = frame[tested.loc[frame.index]].dropna(subset=["label"])
    features = ["text"] if name in TEXTS else _numbers(frame)
    if name in ("trec", "youtube"):  # a few test texts also stand in train
        new = new[~new["text"].isin(rows["text"])]
    given, true, truth = (
        part.astype(str).to_numpy() for part in (rows[column], rows["label"], new["label"])
    )
    return Split(rows[features].reset_index(drop=True), given, true, new[features], truth)


def _numbers(frame):
    own = ("malignancy", "label", "noisy_label", "noisy_label_mv", "patient", "nodule", "reader")
    return [c for c in frame.select_dtypes("number") if c not in (*own, "item", "split")]


#: Sets by name. Those after "sms 20 %" were looked at once, after everything was settled.
SETS: dict[str, Callable[[], Rows]] = {
    "noisyag": lambda: text_task("noisyag_news_human.parquet"),
    "youtube": lambda: text_task("wrench_youtube_weak.parquet"),
    "music": lambda: music("noisy_label"),
    "music, majority": lambda: music("noisy_label_mv"),
    "votes 10 %": lambda: planted("house_votes_84.csv", 0.1),
    "sms 2.7 %": lambda: sms(0.027),
    "sms 20 %": lambda: sms(0.2),
    "hausa": lambda: text_task("hausa_news_distant.parquet"),
    "trec": lambda: text_task("wrench_trec_weak.parquet"),
    "lidc": lidc,
    "car 20 %": lambda: planted("car.csv", 0.2),
}
