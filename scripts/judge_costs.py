#!/usr/bin/env python3
"""What cost files are worth: is the predicted best the measured best on configurations that no fit has seen?

  scripts/judge_costs.py --costs trn1.analytic --costs trn1.calibrated --output FOLDER [--program PROGRAM] [--suite FILE]
  scripts/judge_costs.py RESULT.jsonl ...

The first runs `systole bench` over the suite without its full models (timing only, eight strategies; about two minutes per file on two cores),
the second reads what is there. Prints the table of configs/costs/README.md, and the published histogram: programs by
normalised predicted cost (columns) and measured time (rows). Values closer than 0.5 % count as equal.
"""

import argparse
import os
import subprocess

from report.results import fidelity, histogram, read_run

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOUR = ["local", "greedy", "rule", "exact"]
EIGHT = FOUR[:3] + ["xla", "smartmem", "neocpu", "vtensor", "exact"]


def bench(options):
    os.makedirs(options.output, exist_ok=True)
    suite = os.path.join(options.output, "suite.yaml")
    with open(options.suite, encoding="utf-8") as file, open(suite, "w", encoding="utf-8") as small:
        small.writelines(line for line in file if "(full)" not in line)
    for costs in options.costs:
        result = os.path.join(options.output, os.path.basename(costs).removesuffix(".yaml") + ".jsonl")
        subprocess.run([options.program, "bench", suite, "--machine", options.machine, "--costs", costs, "--timing-only",
                        "--no-checks", "--strategies", ",".join(EIGHT), "--jobs", "2", "--output", result],
                       check=True, stdout=subprocess.DEVNULL)
        yield result


def behind(configurations):
    """Measured cycles of exact over those of the best strategy, with the configuration; worst last."""
    out = []
    for configuration in configurations:
        measured = {s: c.measured for s, c in configuration.cells.items() if c.measured}
        if "exact" in measured:
            out.append((measured["exact"] / min(measured.values()), configuration.name))
    return sorted(out)


def column(configurations):
    four, eight, ratios = fidelity(configurations, FOUR), fidelity(configurations, EIGHT), behind(configurations)
    within = [f"{100 * sum(r <= limit for r, _ in ratios) / len(ratios):.1f} %" for limit in (1.01, 1.05)]
    return [str(len(ratios)), f"{100 * four[0]:.1f} %", f"{100 * eight[0]:.1f} %", f"{four[1]:.3f}, {eight[1]:.3f}", *within,
            f"{ratios[-1][0]:.3f} ({ratios[-1][1]})"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="*")
    parser.add_argument("--costs", action="append", default=[])
    parser.add_argument("--machine", default="trn1")
    parser.add_argument("--suite", default=os.path.join(ROOT, "models/suites/suite.yaml"))
    parser.add_argument("--program", default=os.path.join(ROOT, "build/release/compiler/driver/systole"))
    parser.add_argument("--output", default="judged")
    options = parser.parse_args()
    results = options.results + (list(bench(options)) if options.costs else [])
    if not results:
        parser.error("give results, or --costs")
    runs = [read_run(path) for path in results]
    judging = [[c for c in run.configurations if c.half == "judging"] for run in runs]
    titles = ["configurations of the judging half", "pairs of local, greedy, rule, exact ranked as measured",
              "pairs of all eight strategies ranked as measured", "Kendall's tau-b of the four, of all eight",
              "exact within 1 % of the best of the eight", "exact within 5 % of the best", "worst of exact over the best"]
    print("| | " + " | ".join(run.label for run in runs) + " |\n|---|" + "---|" * len(runs))
    for cells in zip(titles, *[column(configurations) for configurations in judging]):
        print("| " + " | ".join(cells) + " |")
    for run, configurations in zip(runs, judging):
        print(f"\n{run.label}: programs by predicted cost (columns) and measured time (rows), a fifth of the range each")
        for row in histogram(configurations, EIGHT):
            print("".join(f"{count:>6}" for count in row))


if __name__ == "__main__":
    main()
