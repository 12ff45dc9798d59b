"""Write visits.xlsx: 420 simulated visits to a practice, 32 of them with a wrong diagnosis."""

import numpy as np
from openpyxl import Workbook

DIAGNOSES = ("cold", "flu", "allergy")
HEAD = ("patient", "age", "temperature", "cough", "itching eyes", "aching limbs", "month")


def main(n: int = 420) -> None:
    rng = np.random.default_rng(7)
    true = rng.choice(3, n, p=[0.45, 0.3, 0.25])
    temperature = np.round(np.array([37.1, 38.9, 36.8])[true] + rng.normal(0, 0.45, n), 1)
    flags = [
        rng.random(n) < np.array(shares)[true]
        for shares in ([0.75, 0.7, 0.2], [0.08, 0.05, 0.85], [0.2, 0.85, 0.08])
    ]
    usual = np.array([11, 1, 5])[true]
    month = np.where(rng.random(n) < 0.75, usual, rng.integers(1, 13, n))
    age = rng.integers(4, 90, n)
    given = true.copy()
    wrong = rng.random(n) < 0.09
    given[wrong] = (true[wrong] + rng.integers(1, 3, wrong.sum())) % 3
    book = Workbook()
    sheet = book.active
    sheet.title = "visits"
    sheet.append([*HEAD, "diagnosis"])
    for i in range(n):
        warm = None if rng.random() < 0.03 else float(temperature[i])
        signs = ["yes" if flag[i] else "no" for flag in flags]
        line = [f"P{i + 1:03d}", int(age[i]), warm, *signs, int(month[i])]
        sheet.append([*line, DIAGNOSES[given[i]]])
    book.save("visits.xlsx")


if __name__ == "__main__":
    main()
