"""Small tables with right labels: does the default lose to plain naive Bayes? Many splits.

    python benchmarks/trust_clean.py [--splits 15] [--write]

With three splits a row of the test set is worth up to a point, so single tables say little.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits
from trust import OURS, PAGE, PLAIN, markdown, prepared
from trust_methods import METHODS
from trust_tasks import TASKS

SMALL = ("hepatitis", "ljubljana", "lymphography", "tumor", "tumor lung", "zoo", "iris", "wine")


def gains(task, splits):
    """Accuracy of the default less that of naive Bayes, in points, by split."""
    X, true = TASKS[task]()
    out = []
    for seed in range(splits):
        run, _, truth, _ = prepared(X, true, "clean", seed)
        right = [
            100 * float((METHODS[name](run).predicted == truth).mean()) for name in (OURS, PLAIN)
        ]
        out.append(right[0] - right[1])
    return len(true), np.array(out)


def table(splits):
    rows = {}
    for task in SMALL:
        n, gain = gains(task, splits)
        error = gain.std(ddof=1) / np.sqrt(splits)
        rows[task] = {"rows": n, "splits": splits, "points": gain.mean(), "standard error": error}
    out = pd.DataFrame(rows).T
    out.index.name = "task"
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=15)
    parser.add_argument("--write", action="store_true", help="put it into the docs")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    text = markdown(table(options.splits), 1)
    print(text)
    if options.write:
        before, rest = PAGE.read_text().split("<!-- clean -->")
        after = rest.split("<!-- end clean -->")[1]
        PAGE.write_text(before + "<!-- clean -->\n" + text + "\n<!-- end clean -->" + after)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
