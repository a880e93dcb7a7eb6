"""report.html: one self-contained page with the figures, the tables and what was run."""

import html
import os
import urllib.parse

from report import findings
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
table:not(.sortable) td { white-space: normal; } table.prose th, table.prose td { text-align: left; vertical-align: top; min-width: 6em; } td:first-child { min-width: 8em; white-space: normal; }
@media (max-width: 800px) {  /* a row of text becomes a block of lines */
  table.prose thead { display: none; } table.prose tr { display: block; border-bottom: 1px solid #aaa; padding: 6px 0; }
  table.prose td { display: block; border: 0; } table.prose td:empty { display: none; } table.prose td + td::before { content: attr(data-column) ": "; color: #777; }
}
"""

SORT = """
for (const th of document.querySelectorAll("table.sortable th")) th.onclick = () => {
  const table = th.closest("table"), i = th.cellIndex, up = th.dataset.up = th.dataset.up === "1" ? "" : "1";
  const value = r => { const t = r.cells[i].dataset.value ?? r.cells[i].textContent; const n = parseFloat(t); return isNaN(n) ? t : n; };
  [...table.tBodies[0].rows].sort((a, b) => { const x = value(a), y = value(b);
    const order = typeof x === typeof y ? (x > y) - (x < y) : typeof x === "number" ? -1 : 1; return up ? order : -order; })
    .forEach(r => table.tBodies[0].append(r)); };
"""


def table(columns, rows, kind="sortable"):
    """rows: lists of text, or of (text, sort value, class)."""
    def cell(column, c):
        text, value, mark = c if isinstance(c, tuple) else (c, None, "")
        data = f' data-value="{value}"' if value is not None else ""
        data += f' data-column="{html.escape(column)}"' if kind == "prose" else ""
        return f'<td{f" class={mark}" if mark else ""}{data}>{text}</td>'
    head = "".join(f"<th>{html.escape(c)}</th>" for c in columns)
    body = "\n".join("<tr>" + "".join(map(cell, columns, r)) + "</tr>" for r in rows)
    return f'<div class="wide"><table class={kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


class Timelines:
    """Links to what `systole bench --traces` wrote: CONFIGURATION.STRATEGY.json."""

    def __init__(self, folder, page_folder):
        self.names = sorted(os.listdir(folder)) if folder else None
        self.place = os.path.relpath(folder, page_folder) if folder else ""

    def link(self, configuration):
        if self.names is None:
            return ""
        begin = configuration.name.replace("/", "_") + "."
        for strategy, cell in configuration.cells.items():
            if cell.measured and begin + strategy + ".json" in self.names:
                target = urllib.parse.quote(f"{self.place}/{begin}{strategy}.json")
                return f'<a href="{target}">{html.escape(strategy)}</a>'
        return "none, too long"


def measured_table(run, strategies, timelines):
    strategies = [s for s in strategies if any(s in c.cells for c in run.configurations)]
    rows = []
    for c in run.configurations:
        best = c.best()
        cells = [html.escape(c.name), (f"{c.operators:,}", c.operators, ""),
                 ("-".join(map(str, sorted(set(c.treewidth)))), c.treewidth[1], "")]
        for s in strategies:
            m = c.cells[s].measured if s in c.cells else None
            cells.append(("-", 1e99, "") if m is None or not best else
                         (f"{m / 1e6:.3f}", m, "best" if m <= 1.01 * best else ""))
        errors = [x.record.get("value_error") for x in c.cells.values() if x.record.get("value_error") is not None]
        values = {x.record.get("values", "") for x in c.cells.values()}
        cells.append(", ".join(sorted(values)) + (f", error {max(errors):.1e}" if errors else ""))
        instructions = [x.record["instructions"] for x in c.cells.values() if x.measured]
        cells.append((f"{min(instructions):,} to {max(instructions):,}" if instructions else "-",
                      max(instructions, default=0), ""))
        if timelines.names is not None:
            cells.append(timelines.link(c))
        rows.append(cells)
    return table(["configuration", "operators", "treewidth", *strategies, "values", "instructions"] +
                 (["timeline"] if timelines.names is not None else []), rows)


def published_part(run):
    rows = [[html.escape(row.title)] + [cell for theirs, ours in zip(row.theirs, row.ours)
                                        for cell in (f"{theirs:.2f}", f"{ours:.2f}")]
            for row in findings.beside_published(run)]
    if not rows:
        return "<p>No configuration of this file is in the published table with all four strategies.</p>"
    summary, far = findings.differences(run)
    text = [table(["model"] + [column for label, _, _ in findings.RATIOS
                               for column in (f"{label} published", "ours")], rows)]
    text += [f"<p>{html.escape(line)}</p>" for line in summary]
    if far:
        text.append(f"<p>The {len(far)} largest differences:</p><ul>" +
                    "".join(f"<li>{html.escape(line)}</li>" for line in far) + "</ul>")
    text.append("<p>What differs for every model: the published table states neither batch nor sequence lengths, and for "
                "some models no size, so ours are readings of them (<code>models/README.md</code>); its cycles are those of "
                "a device and compiler of its authors, ours of a simulated core with prices of its own. Ratios "
                "are compared, not cycles.</p>")
    return "".join(text)


VERDICTS = {True: "holds", False: "does not hold", None: "cannot be said"}


def findings_table(run):
    return table(["finding", "rule", "published, same rule", "ours", "verdict", "why"],
                 [[html.escape(f.title), html.escape(f.rule), html.escape(f.published), html.escape(f.ours),
                   VERDICTS[f.holds], html.escape(f.why)] for f in findings.findings(run)], "prose")


def run_row(run):
    seconds = [c.seconds for c in run.configurations if c.seconds is not None]
    peaks = [c.peak_bytes for c in run.configurations if c.peak_bytes is not None]
    return [html.escape(os.path.basename(run.path)), f"<code>systole bench: {html.escape(run.key)}</code>",
            str(len(run.configurations)), str(len(run.failures)),
            f"{sum(seconds) / 60:.1f}" if seconds else "-", f"{max(peaks) / 1e9:.2f}" if peaks else "-"]


def fidelity_table(runs, strategies):
    rows = []
    for run in runs:
        for half in ("calibration", "judging", None):
            chosen = [c for c in run.configurations if half is None or c.half == half]
            for label, which in (("the four published strategies", PAPER_STRATEGIES), ("all strategies", strategies)):
                share, tau, count = fidelity(chosen, which)
                if count:
                    rows.append([f"{html.escape(run.label)}, {half or 'all'} models, {label}", f"{100 * share:.1f} %",
                                 f"{tau:.3f}", str(count)])
    return table(["", "pairs ranked as measured", "Kendall's tau-b", "pairs"], rows, "plain")


def loss_table(runs):
    """How often, and by how much, the exact answer is not the best measured one."""
    rows = []
    for run in runs:
        ratios = sorted(c.cells["exact"].measured / c.best() for c in run.configurations
                        if "exact" in c.cells and c.cells["exact"].measured)
        if ratios:
            within = sum(r <= 1.01 for r in ratios) / len(ratios)
            rows.append([f"{html.escape(run.label)}", f"{100 * within:.1f} %", f"{ratios[len(ratios) // 2]:.3f}",
                         f"{ratios[-1]:.3f}"])
    return table(["", "exact best or within 1 %", "median ratio", "worst ratio"], rows, "plain")


def page(runs, figures, strategies, timelines, command):
    parts = ["<h1>Layout Selection: strategies predicted and measured</h1>"]
    parts.append("<p>Every configuration was solved by every strategy listed, compiled, and run on the simulated machine. "
                 "Cycles are those of the machine's reference clock.</p><h2>What was run</h2>")
    parts.append(table(["result file", "run", "configurations", "failures", "process minutes", "largest process, GB"],
                       [run_row(run) for run in runs], "prose"))
    for run in runs:
        for name, why in run.failures.items():
            parts.append(f"<p>{html.escape(name)} failed: {html.escape(why)}</p>")
    parts.append(f"<p>This page: <code>{html.escape(command)}</code></p>")
    if timelines.names is not None:
        parts.append("<p>Timelines open in <a href='https://ui.perfetto.dev'>Perfetto</a>: of each configuration that of the "
                     "fastest program among those short enough, see <code>systole bench --help</code>.</p>")
    for run in runs:
        parts.append(f"<h2>Published findings ({html.escape(run.label)})</h2>" + findings_table(run))
    for title, caption, svg in figures:
        parts.append(f"<h2>{html.escape(title)}</h2><figure>{svg}<figcaption>{html.escape(caption)}</figcaption></figure>")
    parts.append("<h2>Predicted ranking against measured ranking</h2>" + fidelity_table(runs, strategies) + loss_table(runs))
    for run in runs:
        parts.append(f"<h2>Measured, millions of cycles ({html.escape(run.label)})</h2>"
                     "<p>Bold: the best, and all within 1 % of it. A click on a column sorts.</p>")
        parts.append(measured_table(run, strategies, timelines))
        parts.append(f"<h2>Beside the published table ({html.escape(run.label)})</h2>" + published_part(run))
    return ("<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
            f"<title>Systole report</title><style>{STYLE}</style><body>" + "\n".join(parts) + f"<script>{SORT}</script></body></html>\n")
