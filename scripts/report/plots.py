"""The figures, each a function from runs to an SVG text. Same results, same bytes."""

import io

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "systole", "font.size": 9, "axes.spines.top": False,
                            "axes.spines.right": False, "figure.constrained_layout.use": True})
import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)

from report import published  # noqa: E402
from report.results import PAPER_STRATEGIES, histogram  # noqa: E402

COLOURS = {"local": "#c0392b", "greedy": "#8e44ad", "rule": "#27ae60", "exact": "#2166ac", "xla": "#d68910",
           "smartmem": "#7f8c8d", "neocpu": "#16a085", "vtensor": "#5d4037", "treewidth": "#34495e",
           "maxsat": "#e67e22"}


def _svg(figure):
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    text = out.getvalue()
    return text[text.index("<svg"):]


def _panels(runs, width=4.6, height=3.2):
    figure, axes = plt.subplots(1, len(runs), figsize=(width * len(runs), height), squeeze=False)
    return figure, list(axes[0])


def _legend(axis, **where):
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=7, **where)


def _sorted_curve(axis, values, label, reverse=False):
    values = sorted(values, reverse=reverse)
    if values:
        xs = [100 * (i + 1) / len(values) for i in range(len(values))]
        axis.plot(xs, values, label=label, color=COLOURS.get(label), linewidth=1.4)


def relative_performance(runs, strategies, select, title):
    """Best known time over the strategy's, per cent, models sorted from worst to best."""
    figure, axes = _panels(runs)
    for axis, run in zip(axes, runs):
        chosen = [c for c in run.configurations if select(c) and c.best() is not None]
        for strategy in strategies:
            _sorted_curve(axis, [100 * c.best() / c.cells[strategy].measured for c in chosen
                                 if strategy in c.cells and c.cells[strategy].measured], strategy)
        axis.axhline(100, color="black", linestyle="--", linewidth=0.7)
        axis.set(title=f"{title} ({len(chosen)}), {run.label}", xlabel="models, %",
                 ylabel="performance, % of best", ylim=(0, 105))
        _legend(axis, loc="lower right")
    return _svg(figure)


def treewidth_histogram(run):
    counts = [0] * 8
    for c in run.configurations:
        counts[min(8, max(1, c.treewidth[1])) - 1] += 1
    total = sum(counts) or 1
    figure, (axis,) = _panels([run], 5.2)
    xs = range(1, 9)
    ours = axis.bar([x - 0.2 for x in xs], [100 * n / total for n in counts], 0.4, label="this suite", color="#2166ac")
    axis.bar([x + 0.2 for x in xs], published.TREEWIDTH, 0.4, label="published", color="#bbbbbb")
    axis.bar_label(ours, [f"{100 * n / total:.1f}" for n in counts], fontsize=7)
    axis.set(title=f"treewidth of {sum(counts)} graphs (upper bound)", xlabel="treewidth", ylabel="graphs, %")
    axis.legend(fontsize=7)
    return _svg(figure)


def solver_times(runs, strategies):
    figure, axes = _panels(runs)
    for axis, run in zip(axes, runs):
        for strategy in strategies:
            _sorted_curve(axis, [max(1e-5, c.cells[strategy].solve_seconds) for c in run.configurations
                                 if strategy in c.cells and c.cells[strategy].solve_seconds is not None
                                 and c.cells[strategy].status != "exhausted"], strategy)
        axis.set(title=f"time to solve, {run.label}", xlabel="models, %", ylabel="seconds", yscale="log")
        _legend(axis)
    return _svg(figure)


def optimality_gaps(runs, strategies):
    figure, axes = _panels(runs)
    for axis, run in zip(axes, runs):
        for strategy in strategies:
            gaps = []
            for c in run.configurations:
                exact, cell = c.cells.get("exact"), c.cells.get(strategy)
                if exact and cell and exact.predicted and cell.predicted is not None:
                    gaps.append(100 * (cell.predicted - exact.predicted) / exact.predicted)
            _sorted_curve(axis, gaps, strategy, reverse=True)
        axis.set(title=f"above the optimum of the objective, {run.label}", xlabel="models, %", ylabel="gap, %",
                 yscale="symlog")
        axis.set_ylim(bottom=0)
        _legend(axis)
    return _svg(figure)


def predicted_against_measured(runs, strategies=PAPER_STRATEGIES):
    figure, axes = _panels(runs, 3.8, 3.4)
    for axis, run in zip(axes, runs):
        grid = histogram(run.configurations, strategies)
        total = sum(map(sum, grid)) or 1
        axis.imshow(grid, origin="lower", cmap="Blues", vmin=0, vmax=total / 2)
        for y, row in enumerate(grid):
            for x, n in enumerate(row):
                axis.text(x, y, f"{100 * n / total:.0f}", ha="center", va="center", fontsize=7,
                          color="white" if n > total / 4 else "black")
        axis.plot([-0.5, 4.5], [-0.5, 4.5], "k--", linewidth=0.6)
        axis.set(title=f"% of points, {run.label}", xlabel="predicted, min to max", ylabel="measured, min to max",
                 xticks=[], yticks=[])
    return _svg(figure)
