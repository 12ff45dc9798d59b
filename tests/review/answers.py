"""A messy table that five people labeled, with their errors known."""

from __future__ import annotations

import csv

import numpy as np

CLASSES = ("benign", "malignant", "unclear")
RATES = {"ann": 0.93, "bob": 0.85, "cem": 0.7, "intern": 0.5, "robot": 0.8}


def write_scans(path, n=240, seed=3):
    """Write a CSV with a column per annotator, gaps and odd cells; return the true classes."""
    rng = np.random.default_rng(seed)
    true = rng.choice(3, n, p=[0.5, 0.35, 0.15])
    with path.open("w", newline="", encoding="utf-8") as stream:
        lines = csv.writer(stream, delimiter=";")
        lines.writerow(["patient", "size", "edge", "note", *RATES])
        for i, z in enumerate(true):
            edge = rng.choice(["smooth", "rough"], p=[[0.8, 0.2], [0.2, 0.8], [0.5, 0.5]][z])
            size = "" if rng.random() < 0.05 else round(float(rng.gamma(3, 2 + 2 * (z == 1))), 1)
            note = ("", "n/a", '<b>"see; prior"</b>')[rng.integers(3)]
            lines.writerow([f"P{i:03d}", size, edge, note, *(_said(rng, who, z) for who in RATES)])
    return np.array(CLASSES)[true]


def _said(rng, who, z):
    """Answer: right at the annotator's rate; the intern errs to benign; some are not asked."""
    if who != "robot" and rng.random() < 0.35:
        return ""
    if rng.random() < RATES[who]:
        return CLASSES[z]
    return CLASSES[0 if who == "intern" else rng.integers(3)]
