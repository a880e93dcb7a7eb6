"""report.html: one self-contained page with the figures, the tables and what was run."""

import html
import os

from report import published
from report.results import PAPER_STRATEGIES, fidelity

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 1100px; padding: 0 16px 48px; color: #222; }
h1 { font-size: 1.6em; } h2 { margin-top: 2em; font-size: 1.2em; border-bottom: 1px solid #ddd; }
figure { margin: 1em 0; overflow-x: auto; } figure svg { max-width: 100%; height: auto; }
figcaption { color: #555; font-size: 0.9em; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 13px; }
th, td { padding: 3px 9px; text-align: right; border-bottom: 1px solid #eee; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
th { cursor: pointer; background: #f4f4f4; } td.best { font-weight: bold; } code { font-size: 0.9em; overflow-wrap: anywhere; white-space: normal; }
table:not(.sortable) td { white-space: normal; } td:first-child { min-width: 8em; white-space: normal; }
"""

SORT = """
for (const th of document.querySelectorAll("table.sortable th")) th.onclick = () => {
  const table = th.closest("table"), i = th.cellIndex, up = th.dataset.up = th.dataset.up === "1" ? "" : "1";
  const value = r => { const t = r.cells[i].dataset.value ?? r.cells[i].textContent; const n = parseFloat(t); return isNaN(n) ? t : n; };
  [...table.tBodies[0].rows].sort((a, b) => { const x = value(a), y = value(b);
    const order = typeof x === typeof y ? (x > y) - (x < y) : typeof x === "number" ? -1 : 1; return up ? order : -order; })
    .forEach(r => table.tBodies[0].append(r)); };
"""


def table(columns, rows, sortable=True):
    """rows: lists of text, or of (text, sort value, class)."""
    def cell(c):
        text, value, kind = c if isinstance(c, tuple) else (c, None, "")
        data = f' data-value="{value}"' if value is not None else ""
        return f'<td{f" class={kind}" if kind else ""}{data}>{text}</td>'
    head = "".join(f"<th>{html.escape(c)}</th>" for c in columns)
    body = "\n".join("<tr>" + "".join(map(cell, r)) + "</tr>" for r in rows)
    return f'<div class="wide"><table{" class=sortable" if sortable else ""}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def measured_table(run, strategies, folder):
    rows = []
    for c in run.configurations:
        best = c.best()
        name = html.escape(c.name)
        trace = os.path.join("traces", c.name + ".json")
        if os.path.exists(os.path.join(folder, trace)):
            name += f' <a href="{html.escape(trace)}">timeline</a>'
        cells = [name, (f"{c.operators:,}", c.operators, ""), "-".join(map(str, sorted(set(c.treewidth))))]
        for s in strategies:
            m = c.cells[s].measured if s in c.cells else None
            cells.append(("-", 1e99, "") if m is None or not best else
                         (f"{m / 1e6:.3f}", m, "best" if m <= 1.01 * best else ""))
        sample = next(iter(c.cells.values())).record
        errors = [x.record.get("value_error") for x in c.cells.values() if x.record.get("value_error") is not None]
        cells.append(f"{sample.get('values', '')}" + (f", error {max(errors):.1e}" if errors else ""))
        rows.append(cells)
    return table(["configuration", "operators", "treewidth", *strategies, "values"], rows)


def published_table(run):
    rows = []
    for c in run.configurations:
        known = published.row_of(c.family) or published.row_of(c.name)
        cells = {s: c.cells[s].measured if s in c.cells else None for s in PAPER_STRATEGIES}
        if known is None or None in cells.values():
            continue
        title, row = known
        out = [html.escape(f"{title} ({c.name})" if published.key(title) != published.key(c.name) else title)]
        for i, s in ((0, "local"), (1, "greedy"), (3, "exact")):
            out += [f"{row[i] / row[2]:.2f}", f"{cells[s] / cells['rule']:.2f}"]
        rows.append(out)
    return table(["model", "Local/Rule published", "ours", "Greedy/Rule published", "ours", "Solver/Rule published", "ours"],
                 rows) if rows else "<p>No configuration of this file is in the published table.</p>"


def fidelity_table(runs, strategies):
    rows = []
    for run in runs:
        for half in ("calibration", "judging", None):
            chosen = [c for c in run.configurations if half is None or c.half == half]
            for label, which in (("the four published strategies", PAPER_STRATEGIES), ("all strategies", strategies)):
                share, tau, count = fidelity(chosen, which)
                if count:
                    rows.append([f"costs {html.escape(run.label)}, {half or 'all'} models, {label}", f"{100 * share:.1f} %",
                                 f"{tau:.3f}", str(count)])
    return table(["", "pairs ranked as measured", "Kendall's tau-b", "pairs"], rows, False)


def loss_table(runs):
    """How often, and by how much, the exact answer is not the best measured one."""
    rows = []
    for run in runs:
        ratios = sorted(c.cells["exact"].measured / c.best() for c in run.configurations
                        if "exact" in c.cells and c.cells["exact"].measured)
        if ratios:
            within = sum(r <= 1.01 for r in ratios) / len(ratios)
            rows.append([f"costs {html.escape(run.label)}", f"{100 * within:.1f} %", f"{ratios[len(ratios) // 2]:.3f}",
                         f"{ratios[-1]:.3f}"])
    return table(["", "exact best or within 1 %", "median ratio", "worst ratio"], rows, False)


def page(runs, figures, strategies, discussion, folder, command):
    parts = ["<h1>Layout Selection: strategies predicted and measured</h1>"]
    parts.append("<p>Every configuration was solved by every strategy, compiled, and run on the simulated machine. "
                 "Cycles are those of the machine's reference clock.</p><h2>What was run</h2>")
    parts.append(table(["result file", "run", "configurations", "failed"], [
        [html.escape(os.path.basename(r.path)), f"<code>systole bench: {html.escape(r.key)}</code>",
         str(len(r.configurations)), str(len(r.failures))] for r in runs], False))
    for run in runs:
        for name, why in run.failures.items():
            parts.append(f"<p>{html.escape(name)} failed: {html.escape(why)}</p>")
    parts.append(f"<p>This page: <code>{html.escape(command)}</code></p>")
    for title, caption, svg in figures:
        parts.append(f"<h2>{html.escape(title)}</h2><figure>{svg}<figcaption>{html.escape(caption)}</figcaption></figure>")
    parts.append("<h2>Predicted ranking against measured ranking</h2>" + fidelity_table(runs, strategies) + loss_table(runs))
    for run in runs:
        parts.append(f"<h2>Measured, millions of cycles (costs {html.escape(run.label)})</h2>"
                     "<p>Bold: the best, and all within 1 % of it. A click on a column sorts.</p>")
        parts.append(measured_table(run, strategies, folder))
        parts.append(f"<h2>Beside the published table (costs {html.escape(run.label)})</h2>" + published_table(run))
    parts.append(discussion)
    return ("<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
            f"<title>Systole report</title><style>{STYLE}</style><body>" + "\n".join(parts) + f"<script>{SORT}</script></body></html>\n")
