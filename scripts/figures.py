#!/usr/bin/env python3
"""Figures and report from result files of `systole bench`, and from nothing else.

  scripts/figures.py RESULT.jsonl [RESULT2.jsonl ...] --output FOLDER [--traces FOLDER]

Several files (of other cost files, say) stand side by side. FOLDER gets report.html, which needs no other file, and each
figure as SVG. --traces names what `systole bench --traces` wrote: the page links to it. Same input, same bytes. Needs
Debian's python3-matplotlib.
"""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from report import page, plots  # noqa: E402
from report.findings import is_dense  # noqa: E402
from report.results import PAPER_STRATEGIES, read_runs  # noqa: E402


def strategies_of(runs):
    """Every strategy of the runs, in the order in which they first appear."""
    return list(dict.fromkeys(s for run in runs for c in run.configurations for s in c.cells))


def figures(runs, strategies):
    paper = [s for s in PAPER_STRATEGIES if s in strategies]
    largest = max(runs, key=lambda run: len(run.configurations))
    return [
        ("performance", "Relative performance", "Best known time over the strategy's time; models sorted.",
         plots.relative_performance(runs, paper, lambda c: True, "all models")),
        ("performance_dense", "Relative performance, dense transformers", "The same for dense transformers only.",
         plots.relative_performance(runs, paper, is_dense, "dense transformers")),
        ("performance_all", "Relative performance, every strategy", "The same for all strategies.",
         plots.relative_performance(runs, strategies, lambda c: True, "all models")),
        ("treewidth", "Treewidth", "Of the graph of operators: neither inputs nor weights are vertices.",
         plots.treewidth_histogram(largest)),
        ("times", "Solver run times", "Wall clock of one run, as the .times file holds it; what gave up is left out.",
         plots.solver_times(runs, strategies)),
        ("gaps", "Optimality gaps", "Objective of each strategy above that of the exact answer.",
         plots.optimality_gaps(runs, strategies)),
        ("fidelity", "Predicted against measured", "Both normalised per model over the published strategies.",
         plots.predicted_against_measured(runs, paper)),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+")
    parser.add_argument("--output", required=True)
    parser.add_argument("--traces", help="folder of timelines that the page links to")
    options = parser.parse_args()
    runs = read_runs(options.results)
    if not all(run.configurations for run in runs):
        raise SystemExit("figures.py: a result file holds no configuration that was run")
    strategies = strategies_of(runs)
    os.makedirs(options.output, exist_ok=True)
    drawn = figures(runs, strategies)
    for name, _, _, svg in drawn:
        with open(os.path.join(options.output, name + ".svg"), "w", encoding="utf-8") as file:
            file.write(svg)
    command = "scripts/figures.py " + " ".join(map(os.path.basename, options.results)) + " --output " + \
        os.path.basename(os.path.normpath(options.output)) + \
        (" --traces " + os.path.basename(os.path.normpath(options.traces)) if options.traces else "")
    timelines = page.Timelines(options.traces, options.output)
    text = page.page(runs, [(title, caption, svg) for _, title, caption, svg in drawn], strategies, timelines, command)
    with open(os.path.join(options.output, "report.html"), "w", encoding="utf-8") as file:
        file.write(text)
    print(os.path.join(options.output, "report.html"))


if __name__ == "__main__":
    main()
