"""Result files of `systole bench` as plain values: one Run per file, one Cell per configuration and strategy."""

import json
import os
from dataclasses import dataclass, field

PAPER_STRATEGIES = ["local", "greedy", "rule", "exact"]
EQUAL = 0.005  # relative difference below which two figures count as equal, as published


@dataclass
class Cell:
    strategy: str
    status: str
    predicted: int | None = None
    measured: int | None = None
    bound: int | None = None
    record: dict = field(default_factory=dict)
    solve_seconds: float | None = None


@dataclass
class Configuration:
    name: str
    family: str
    half: str
    operators: int
    treewidth: tuple
    cells: dict  # by strategy
    seconds: float | None = None  # wall clock, all strategies
    peak_bytes: int | None = None

    def best(self, what="measured"):
        values = [getattr(c, what) for c in self.cells.values() if getattr(c, what) is not None]
        return min(values) if values else None


@dataclass
class Run:
    label: str  # in titles: the costs
    suite: str
    key: str
    path: str
    configurations: list
    failures: dict


def _lines(path):
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                raise SystemExit(f"{path}:{number}: is no JSON line; run systole bench again")


def read_run(path):
    configurations, failures, key = {}, {}, ""
    for line in _lines(path):
        if line.get("schema") != "systole-bench-1":
            raise SystemExit(f"{path}: is no result file of systole bench (schema systole-bench-1)")
        key = line["run"]
        if "failure" in line:
            by = f" by {line['strategy']}" if "strategy" in line else ""
            failures[line["configuration"] + by] = line["failure"]
            continue
        known = configurations.setdefault(
            line["configuration"],
            Configuration(line["configuration"], line["family"], line["half"], line["operators"],
                          tuple(line["treewidth"]), {}))
        known.cells[line["strategy"]] = Cell(line["strategy"], line["status"], line.get("predicted"),
                                             line.get("measured"), line.get("bound"), line)
    if os.path.exists(path + ".times"):
        for line in _lines(path + ".times"):
            known = configurations.get(line["configuration"])
            if known is None:
                continue
            if "strategy" in line:
                known.cells[line["strategy"]].solve_seconds = line["solve"]
            else:
                known.seconds, known.peak_bytes = line["seconds"], line["peak_bytes"]
    words = key.split()
    costs = "costs " + words[words.index("costs") + 1] if "costs" in words else os.path.basename(path)
    suite = words[words.index("suite") + 1] if "suite" in words else os.path.basename(path)
    return Run(costs, suite, key, path, list(configurations.values()), failures)


def read_runs(paths):
    """Several runs; what two of them would be called alike tells their suites or files apart."""
    runs = [read_run(path) for path in paths]
    for tell in (lambda r: f"{r.suite}, {r.label}", lambda r: os.path.basename(r.path)):
        labels = [r.label for r in runs]
        if len(set(labels)) == len(labels):
            break
        for run, label in zip(runs, [tell(r) for r in runs]):
            run.label = label
    return runs


def compare(a, b):
    """-1, 0 or 1; 0 if closer than EQUAL."""
    if abs(a - b) <= EQUAL * min(abs(a), abs(b)):
        return 0
    return -1 if a < b else 1


def pairs(configuration, strategies):
    """(predicted order, measured order) of every pair of strategies that both have figures."""
    cells = [configuration.cells[s] for s in strategies
             if s in configuration.cells and configuration.cells[s].measured is not None]
    for i, a in enumerate(cells):
        for b in cells[i + 1:]:
            yield compare(a.predicted, b.predicted), compare(a.measured, b.measured)


def fidelity(configurations, strategies):
    """Share of strategy pairs ranked as measured; Kendall's tau-b over the same pairs; number of pairs."""
    agree = total = concordant = discordant = tied_predicted = tied_measured = 0
    for configuration in configurations:
        for predicted, measured in pairs(configuration, strategies):
            total += 1
            agree += predicted == measured
            concordant += predicted * measured > 0
            discordant += predicted * measured < 0
            tied_predicted += predicted == 0
            tied_measured += measured == 0
    if total == 0:
        return None, None, 0
    scale = ((total - tied_predicted) * (total - tied_measured)) ** 0.5
    return agree / total, (concordant - discordant) / scale if scale else 1.0, total


def histogram(configurations, strategies, cells=5):
    """Points (strategy, configuration) by normalised predicted cost (columns) and measured time (rows), as published."""
    grid = [[0] * cells for _ in range(cells)]
    for configuration in configurations:
        points = [(c.predicted, c.measured) for s in strategies
                  if (c := configuration.cells.get(s)) is not None and c.measured is not None]
        if len(points) < 2:
            continue
        (low_x, high_x), (low_y, high_y) = ((min(v), max(v)) for v in zip(*points))
        for x, y in points:
            fx = (x - low_x) / (high_x - low_x) if high_x > low_x else 0.0
            fy = (y - low_y) / (high_y - low_y) if high_y > low_y else 0.0
            grid[min(cells - 1, int(fy * cells))][min(cells - 1, int(fx * cells))] += 1
    return grid
