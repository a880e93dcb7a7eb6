"""What the published evaluation found, as checks on results: each says by which rule, with which figures, and whether it
holds. Nothing here knows an outcome; where a check fails, the models that break it are named from the data."""

import math
from dataclasses import dataclass

from report import published

DENSE = {"bert", "encoder_decoder", "decoder", "whisper"}  # families of models/suites
VISION = {"cnn", "resnet", "unet", "vit", "detector", "dense", "multimodal"}
VISION_MODELS = {"Vision Perceiver", "Vision Perceiver (full)"}  # their family also holds the language one
PUBLISHED_DENSE = ("ALBERT-large", "BERT-base", "BERT-large", "BART-base", "DistilBART", "Electra-large", "Ministral-4B",
                   "OLMo-7B", "VaultGemma-1B", "Whisper enc", "Whisper dec", "XLM-RoBERTa", "MusicGen")
PUBLISHED_VISION = ("CNN", "Kosmos-2.5", "PaLiGemma-3B", "Qwen2-Audio", "Qwen3-VL", "ResNet-50", "Vision Perceiver")
COMPARED = ("local", "greedy", "rule", "exact")

INDIFFERENT = 1.10  # slowest over fastest of the four strategies, median over the models
CLEARLY = 1.10      # geometric mean over the better of Rule and Solver
EXPLAINED = 0.5     # share of the lost cycles that are cycles of conversions
LOSS = 1.05         # slower than the best by more than this counts as a loss
WIDTH_SHARE, WIDTH_SLACK = 92.4, 5.0
MANY_GRAPHS = 100


@dataclass
class Finding:
    title: str
    rule: str
    ours: str
    published: str
    holds: bool | None  # None: the results cannot say
    why: str = ""


def is_dense(configuration):
    return configuration.family in DENSE


def is_vision(configuration):
    return configuration.family in VISION or configuration.name in VISION_MODELS


def four(configuration):
    """Measured cycles of the published strategies, or None if one is missing."""
    cells = [configuration.cells.get(s) for s in COMPARED]
    return None if any(c is None or not c.measured for c in cells) else [c.measured for c in cells]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def spread(row):
    return max(row) / min(row)


def named(pairs, most=6):
    """The largest of (name, figure) as text."""
    ranked = sorted(pairs, key=lambda p: (-p[1], p[0]))
    more = f" and {len(ranked) - most} more" if len(ranked) > most else ""
    return ", ".join(f"{name} {figure:.2f}" for name, figure in ranked[:most]) + more


def dense_indifferent(run):
    spreads = [(c.name, spread(four(c))) for c in run.configurations if is_dense(c) and four(c)]
    theirs = median([spread(published.TABLE[m]) for m in PUBLISHED_DENSE])
    finding = Finding("Dense transformers are nearly indifferent to the strategy",
                      f"the slowest of Local, Greedy, Rule and Solver takes at most {INDIFFERENT:.2f} times the fastest, "
                      "median over the dense transformers", "no dense transformer with all four strategies",
                      f"{theirs:.2f}", None)
    if spreads:
        middle = median([s for _, s in spreads])
        finding.ours = f"{middle:.2f} over {len(spreads)} models"
        finding.holds = middle <= INDIFFERENT
        if not finding.holds:
            slowest = [max(COMPARED, key=lambda s: c.cells[s].measured)
                       for c in run.configurations if is_dense(c) and four(c)]
            counts = ", ".join(f"{s} {slowest.count(s)}" for s in COMPARED if s in slowest)
            finding.why = f"Widest: {named(spreads)}. The slowest is: {counts} times. " + \
                lost_in_conversions([c for c in run.configurations if is_dense(c)])
    return finding


def over_better(row):
    """Local and Greedy over the better of Rule and Solver."""
    return row[0] / min(row[2:]), row[1] / min(row[2:])


def vision_lost(run):
    rows = [(c.name, over_better(four(c))) for c in run.configurations if is_vision(c) and four(c)]
    local, greedy = (geometric_mean([over_better(published.TABLE[m])[i] for m in PUBLISHED_VISION]) for i in (0, 1))
    finding = Finding("Local and Greedy lose clearly on vision and multimodal models",
                      f"both take at least {CLEARLY:.2f} times the better of Rule and Solver, geometric mean",
                      "no such model with all four strategies", f"Local {local:.2f}, Greedy {greedy:.2f}", None)
    if rows:
        ours = [geometric_mean([ratios[i] for _, ratios in rows]) for i in (0, 1)]
        finding.ours = f"Local {ours[0]:.2f}, Greedy {ours[1]:.2f} over {len(rows)} models"
        finding.holds = min(ours) >= CLEARLY
        finding.why = f"Local: {named([(n, r[0]) for n, r in rows])}. Greedy: {named([(n, r[1]) for n, r in rows])}."
    return finding


def losses(configurations, strategies=("local", "greedy")):
    """(cycles lost against the best, of them more cycles of conversions) of every clear loss."""
    for c in configurations:
        best = min((x for x in c.cells.values() if x.measured), key=lambda x: (x.measured, x.strategy), default=None)
        for s in strategies:
            cell = c.cells.get(s)
            if cell is not None and cell.measured and cell.measured > LOSS * best.measured:
                yield (cell.measured - best.measured,
                       cell.record["conversion_cycles"] - best.record["conversion_cycles"])


def lost_in_conversions(configurations, strategies=COMPARED):
    found = list(losses(configurations, strategies))
    if not found:
        return "No strategy loses clearly there."
    share = sum(more for _, more in found) / sum(lost for lost, _ in found)
    return f"Of the cycles lost against the best, {100 * share:.0f} % are cycles of conversions."


def conversions_explain(run):
    shares = [more / lost for lost, more in losses(run.configurations)]
    finding = Finding("Conversions explain what Local and Greedy lose",
                      f"where they take over {LOSS:.2f} times the best, the median share of the lost cycles that are cycles "
                      f"of conversions is at least {100 * EXPLAINED:.0f} %", "no loss of that size", "no figure", None)
    if shares:
        finding.ours = f"{100 * median(shares):.0f} % over {len(shares)} losses"
        finding.holds = median(shares) >= EXPLAINED
        below = sum(share < EXPLAINED for share in shares)
        finding.why = (f"In {below} of {len(shares)} losses the operators themselves lose more than the conversions."
                       if below else "")
    return finding


def narrow(run):
    widths = [c.treewidth[1] for c in run.configurations]
    share = 100 * sum(w <= 4 for w in widths) / len(widths)
    return Finding("The treewidth is at most 4 on about 92 % of the graphs",
                   f"{WIDTH_SHARE} % within {WIDTH_SLACK:.0f} points, on at least {MANY_GRAPHS} graphs; upper bounds of the "
                   "graph of operators", f"{share:.1f} % of {len(widths)}", f"{WIDTH_SHARE} %",
                   abs(share - WIDTH_SHARE) <= WIDTH_SLACK if len(widths) >= MANY_GRAPHS else None)


def findings(run):
    return [dense_indifferent(run), vision_lost(run), conversions_explain(run), narrow(run)]


RATIOS = (("Local/Rule", 0, "local"), ("Greedy/Rule", 1, "greedy"), ("Solver/Rule", 3, "exact"))
SAME = 1.15  # published and ours differ by less than this factor


@dataclass
class Beside:
    """One model's ratios, published and ours."""
    title: str
    name: str
    theirs: list
    ours: list
    configuration: object


def beside_published(run):
    rows = []
    for c in run.configurations:
        title = published.title_of(c.name)
        cycles = four(c)
        if title is not None and cycles is not None:
            row = published.TABLE[title]
            rows.append(Beside(title, c.name, [row[i] / row[2] for _, i, _ in RATIOS],
                               [cycles[i] / cycles[2] for _, i, _ in RATIOS], c))
    return rows


def million(cycles):
    return f"{cycles / 1e6:,.2f}" if abs(cycles) >= 1e6 else f"{cycles / 1e6:.4f}"


def explain(row, index):
    """Why one ratio is what it is, from the record: cycles of conversions and of the rest, and what was predicted."""
    label, _, strategy = RATIOS[index]
    cell, rule = row.configuration.cells[strategy], row.configuration.cells["rule"]
    both = [(x.record["conversion_cycles"], x.measured - x.record["conversion_cycles"]) for x in (cell, rule)]
    difference = cell.measured - rule.measured
    part = abs(both[0][0] - both[1][0]) >= abs(both[0][1] - both[1][1])
    cause = "conversions" if part else "the operators"
    return (f"{row.name}, {label}: published {row.theirs[index]:.2f}, ours {row.ours[index]:.2f}. Ours: {strategy} "
            f"{million(cell.measured)} M cycles, {million(both[0][0])} of them in conversions; rule {million(rule.measured)}, "
            f"{million(both[1][0])} of them in conversions; most of the difference of {million(abs(difference))} is in {cause}. "
            f"Predicted was {cell.predicted / rule.predicted:.2f}.")


def differences(run, most=12):
    """(summary sentences, sentences on the largest differences) for the table of published models."""
    rows = beside_published(run)
    summary, far = [], []
    for index, (label, _, _) in enumerate(RATIOS):
        factors = [row.ours[index] / row.theirs[index] for row in rows]
        near = sum(1 / SAME <= f <= SAME for f in factors)
        above = sum(f > SAME for f in factors)
        if rows:
            summary.append(f"{label}: {near} of {len(rows)} within a factor {SAME:.2f} of the published one, {above} above, "
                           f"{len(rows) - near - above} below; geometric mean published "
                           f"{geometric_mean([row.theirs[index] for row in rows]):.2f}, ours "
                           f"{geometric_mean([row.ours[index] for row in rows]):.2f}.")
        far += [(abs(math.log(f)), row, index) for f, row in zip(factors, rows) if not 1 / SAME <= f <= SAME]
    far.sort(key=lambda item: (-item[0], item[1].name, item[2]))
    return summary, [explain(row, index) for _, row, index in far[:most]]
