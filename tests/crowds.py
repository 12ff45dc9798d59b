"""Crowds and sites to audit, with the truth beside them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from misnomer.cli import app

NAMES = np.array(["cat", "dog", "eel"])
WHO = ["ann", "bob", "cyd", "dee", "eve"]


def crowd(n=400, rights=(0.9, 0.85, 0.88, 0.8, 0.45), columns=2, asked=0.75, seed=0):
    """Three animals, five annotators, the last careless; also the truth."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, n)
    frame = {f"x{j}": rng.normal(z, 1.0) for j in range(columns)}
    for name, right in zip(WHO, rights, strict=True):
        said = NAMES[np.where(rng.random(n) < right, z, (z + rng.integers(1, 3, n)) % 3)]
        frame[name] = np.where(rng.random(n) < asked, said.astype(object), None)
    return pd.DataFrame(frame), NAMES[z]


def sites(n=900, bad=0.35, seed=0):
    """Three sites, the last with its own share of wrong labels; also the truth."""
    rng = np.random.default_rng(seed)
    z, site = rng.integers(0, 2, n), np.array(["north", "south", "west"])[rng.integers(0, 3, n)]
    wrong = rng.random(n) < np.where(site == "west", bad, 0.08)
    names = np.array(["no", "yes"])
    frame = {f"x{j}": rng.normal(1.5 * z, 1.0) for j in range(4)}
    return pd.DataFrame({**frame, "site": site, "y": names[z ^ wrong]}), names[z]


def lines_of(frame):
    """The same answers, a line each, in a random order."""
    long = frame.reset_index(names="item").melt(
        ["item", "x0", "x1"], WHO, var_name="who", value_name="said"
    )
    long["item"] = "r" + long["item"].astype(str)
    return long.dropna().sample(frac=1, random_state=0)


def cli(*words):
    return CliRunner().invoke(app, ["audit", *map(str, words)])
