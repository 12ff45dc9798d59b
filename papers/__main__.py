"""Run the papers: quick by default, which changes no page; ``--full`` measures and rewrites them.

python -m papers                        quick, all papers: compare with the stored numbers
python -m papers denis                  quick, one paper
python -m papers denis --full           all draws: minutes; stores results.json, rewrites the page
python -m papers denis --full --only "table 3"
python -m papers --pages                rewrite the pages from the stored numbers, measuring nothing
"""

from __future__ import annotations

import argparse
import sys

from papers.section import NAMES, run_full, run_quick, sections, write_page


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m papers", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="paper", help="papers to run, or all")
    parser.add_argument("--full", action="store_true", help="all draws, and rewrite the pages")
    parser.add_argument("--pages", action="store_true", help="rewrite the pages, measure nothing")
    parser.add_argument("--only", metavar="section", help="one section of the page")
    chosen = parser.parse_args()
    unknown = sorted(set(chosen.names) - set(NAMES))
    if unknown:
        parser.error(f"no such paper: {', '.join(unknown)}; there are {', '.join(NAMES)}")
    wrong: list[str] = []
    for paper in chosen.names or NAMES:
        for section in sections(paper):
            if chosen.only not in (None, section.name):
                continue
            if chosen.pages:
                write_page(paper, section)
            elif chosen.full:
                run_full(paper, section)
            else:
                wrong += run_quick(paper, section)
    if wrong:
        print("\n".join(["These quick runs disagree with the stored full ones:", *wrong]))
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main())
