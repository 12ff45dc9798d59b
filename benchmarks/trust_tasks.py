"""Tables and texts whose labels are right, and noise to plant in them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn import datasets
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from misnomer.simulate import make_noisy_labels, pair_noise, uniform_noise

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
NOISES = ("clean", "uniform .2", "uniform .4", "asymmetric", "boundary")
REAL = {"hepatitis": {"AGE", "BILIRUBIN", "ALK_PHOSPHATE", "SGOT", "ALBUMIN", "PROTIME"}}


def table(name, *, drop=(), least=5, positive=None):
    """Read a table: strings are categories, the real columns numbers, classes coded."""
    frame = pd.read_csv(DATA / f"{name}.csv", dtype=str, keep_default_na=False)
    label = frame.pop("label")
    kept = label.map(label.value_counts()) >= least
    frame, label = frame[kept].drop(columns=list(drop)), label[kept]
    real = set(frame.columns) if name == "iris" else REAL.get(name, set())
    for column in frame:
        values = frame[column].where(frame[column] != "")
        frame[column] = pd.to_numeric(values, errors="coerce") if column in real else values
    codes = pd.factorize(label, sort=True)[0] if positive is None else (label == positive)
    return frame.reset_index(drop=True), np.asarray(codes, int)


def letters(n, pair):
    frame, codes = table("letter")
    chosen = np.random.default_rng(0).permutation(np.flatnonzero(np.isin(codes, pair)))[:n]
    return frame.iloc[chosen].reset_index(drop=True), np.searchsorted(pair, codes[chosen])


def words(texts):
    found = CountVectorizer(min_df=3, binary=True).fit_transform(texts)
    return sparse.csr_matrix(found.astype(np.float64))


def sms():
    frame = pd.read_csv(DATA / "sms_spam.csv", dtype=str, keep_default_na=False).drop_duplicates()
    return words(frame["text"]), (frame["label"] == "spam").to_numpy().astype(int)


def news(groups, cap):
    frame = pd.read_parquet(DATA / "20newsgroups_bydate.parquet")
    frame = frame[frame["label"].isin(groups)].groupby("label").head(cap)
    head = re.compile(r"\A.*?\n\s*\n", re.S)
    texts = [head.sub("", text, count=1) for text in frame["text"]]
    return words(texts), pd.factorize(frame["label"], sort=True)[0]


def measured(name):
    found = getattr(datasets, f"load_{name}")()
    frame = pd.DataFrame(
        found.data.astype(float), columns=[f"x{j}" for j in range(found.data.shape[1])]
    )
    return frame, found.target


RELIGION = ["alt.atheism", "soc.religion.christian", "talk.religion.misc"]
COMPUTERS = ["graphics", "windows.x", "sys.mac.hardware", "sys.ibm.pc.hardware"]
TASKS = {
    "votes": lambda: table("house_votes_84"),
    "hepatitis": lambda: table("hepatitis"),
    "ljubljana": lambda: table("breast_cancer_ljubljana"),
    "wisconsin": lambda: table("breast_cancer_wisconsin"),
    "lymphography": lambda: table("lymphography"),
    "tumor": lambda: table("primary_tumor", least=10),
    "tumor lung": lambda: table("primary_tumor", positive="lung"),
    "tic-tac-toe": lambda: table("tic_tac_toe"),
    "balance": lambda: table("balance_scale"),
    "zoo": lambda: table("zoo", drop=["animal"]),
    "iris": lambda: table("iris"),
    "letters O Q": lambda: letters(5000, [14, 16]),
    "soybean": lambda: table("soybean"),
    "wine": lambda: measured("wine"),
    "wdbc": lambda: measured("breast_cancer"),
    "digits": lambda: measured("digits"),
    "sms": sms,
    "autos motorcycles": lambda: news(["rec.autos", "rec.motorcycles"], 500),
    "religion": lambda: news(RELIGION, 500),
    "computers": lambda: news([f"comp.{name}" for name in COMPUTERS], 600),
    "letters E F": lambda: letters(1500, [4, 5]),
}
UNSEEN = ("computers", "letters E F")  # never looked at while anything was chosen
QUICK = ("votes", "ljubljana", "iris", "autos motorcycles")


def take(X, rows):
    return X.iloc[rows].reset_index(drop=True) if isinstance(X, pd.DataFrame) else X[rows]


def features(X):
    """Give LogisticRegression indicators, standardised reals and their squares, or tf-idf."""
    if not isinstance(X, pd.DataFrame):
        idf = np.log((1 + X.shape[0]) / (1 + np.asarray((X > 0).sum(axis=0)).ravel())) + 1
        scaled = sparse.csr_matrix(X.multiply(idf))
        length = np.sqrt(np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel())
        return sparse.csr_matrix(sparse.diags(1 / np.maximum(length, 1e-9)) @ scaled)
    parts = []
    for column in X:
        if X[column].dtype == object or str(X[column].dtype).startswith("str"):
            codes, seen = pd.factorize(X[column], sort=True)
            hot = (codes[:, None] == np.arange(len(seen))).astype(float)
            parts.append(hot - hot.mean(axis=0) * (codes >= 0)[:, None])
        else:
            z = (X[column] - X[column].mean()) / max(X[column].std(ddof=0), 1e-9)
            square = z.clip(-5, 5) ** 2
            square = (square - square.mean()) / max(square.std(ddof=0), 1e-9)
            parts += [z.fillna(0).to_numpy()[:, None], square.fillna(0).to_numpy()[:, None]]
    return np.hstack(parts)


def plant(noise, true, Phi, seed):
    """Return the given labels and the noise matrix P(given | true) behind them."""
    K = int(true.max()) + 1
    if noise == "clean":
        return true.copy(), np.eye(K)
    if noise == "boundary":
        given = nearest(true, Phi, 0.25)
        joint = np.zeros((K, K))
        np.add.at(joint, (given, true), 1.0)
        return given, joint / joint.sum(axis=0)
    if noise.startswith("uniform"):
        matrix = uniform_noise(K, float(noise.split()[1]))
    elif K == 2:  # half the labels of the larger class, a fifth of the smaller one's
        rates = np.where(np.arange(2) == np.bincount(true).argmax(), 0.5, 0.2)
        matrix = np.array([[1 - rates[0], rates[1]], [rates[0], 1 - rates[1]]])
    else:
        matrix = pair_noise(K, 0.3)
    return make_noisy_labels(true, matrix, random_state=seed), matrix


def nearest(true, Phi, share):
    """Give the rows nearest the boundary of a logistic regression the class on its other side."""
    chance = LogisticRegression(max_iter=200).fit(Phi, true).predict_proba(Phi)
    rows = np.arange(len(true))
    own = chance[rows, true]
    others = chance.copy()
    others[rows, true] = -1
    worst = np.argsort(np.abs(own - others.max(axis=1)), kind="stable")[: int(share * len(true))]
    given = true.copy()
    given[worst] = others.argmax(axis=1)[worst]
    return given


def split(true, seed):
    """Hold 30 % of every class out."""
    rng = np.random.default_rng([seed, 7])
    test = np.zeros(len(true), bool)
    for k in np.unique(true):
        rows = rng.permutation(np.flatnonzero(true == k))
        test[rows[: max(1, round(0.3 * len(rows)))]] = True
    return np.flatnonzero(~test), np.flatnonzero(test)
