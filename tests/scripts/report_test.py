#!/usr/bin/env python3
"""The findings of the report: each verdict follows from the results, whichever way they fall."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "scripts"))

from report import findings, page, published  # noqa: E402
from report.results import Cell, Configuration, Run, compare, fidelity  # noqa: E402


def configuration(name, family, measured, conversions=(0, 0, 0, 0), width=3, predicted=None):
    cells = {}
    for i, strategy in enumerate(findings.COMPARED):
        cells[strategy] = Cell(strategy, "feasible", (predicted or measured)[i], measured[i], 0,
                               {"conversion_cycles": conversions[i], "instructions": 10})
    return Configuration(name, family, "judging", 10, (width, width), cells)


def run(*configurations):
    return Run("costs", "suite", "suite s costs costs", "x.jsonl", list(configurations), {})


class Findings(unittest.TestCase):
    def test_dense_transformers_are_indifferent_only_if_the_median_spread_is_small(self):
        close = configuration("a", "bert", (105, 104, 100, 100))
        wide = configuration("b", "decoder", (200, 100, 100, 100), (90, 0, 0, 0))
        other = configuration("c", "cnn", (900, 100, 100, 100))
        self.assertTrue(findings.dense_indifferent(run(close, other)).holds)
        finding = findings.dense_indifferent(run(wide, other))
        self.assertFalse(finding.holds)
        self.assertIn("b 2.00", finding.why)
        self.assertIn("local 1 times", finding.why)
        self.assertIn("90 % are cycles of conversions", finding.why)
        self.assertIsNone(findings.dense_indifferent(run(other)).holds)

    def test_local_and_greedy_must_both_lose_on_vision(self):
        both = configuration("a", "resnet", (120, 130, 100, 110))
        local = configuration("b", "resnet", (300, 100, 100, 110))
        self.assertTrue(findings.vision_lost(run(both)).holds)
        self.assertFalse(findings.vision_lost(run(local)).holds)
        self.assertIn("Greedy 1.00", findings.vision_lost(run(local)).ours)

    def test_conversions_explain_a_loss_if_most_of_it_is_theirs(self):
        explained = configuration("a", "bert", (200, 100, 100, 100), (80, 0, 0, 0))
        not_explained = configuration("a", "bert", (200, 100, 100, 100), (20, 0, 0, 0))
        self.assertTrue(findings.conversions_explain(run(explained)).holds)
        self.assertFalse(findings.conversions_explain(run(not_explained)).holds)
        self.assertIn("1 of 1", findings.conversions_explain(run(not_explained)).why)
        self.assertIsNone(findings.conversions_explain(run(configuration("a", "bert", (100, 100, 100, 100)))).holds)

    def test_treewidths_are_judged_on_many_graphs_only(self):
        def widths(*counts):
            return run(*[configuration(f"{w}-{i}", "bert", (1, 1, 1, 1), width=w) for w, n in counts for i in range(n)])
        self.assertTrue(findings.narrow(widths((4, 92), (5, 8))).holds)
        self.assertFalse(findings.narrow(widths((4, 80), (5, 20))).holds)
        self.assertFalse(findings.narrow(widths((4, 100))).holds)
        self.assertIsNone(findings.narrow(widths((4, 24))).holds)

    def test_the_largest_differences_from_the_published_table_come_first_with_their_cause(self):
        row = published.TABLE["ResNet-50"]
        same = configuration("BERT-base", "bert", [int(1e6 * x) for x in published.TABLE["BERT-base"]])
        far = configuration("ResNet-50 (full)", "resnet", (1_000_000, 1_000_000, 1_000_000, 1_000_000), (0, 0, 0, 0))
        summary, reasons = findings.differences(run(same, far))
        self.assertEqual(len(summary), 3)
        self.assertIn("Local/Rule: 1 of 2 within", summary[0])
        self.assertEqual(len(reasons), 3)
        self.assertIn(f"Local/Rule: published {row[0] / row[2]:.2f}, ours 1.00", reasons[0])

    def test_a_finding_is_shown_with_its_verdict_and_names_are_escaped(self):
        text = page.findings_table(run(configuration("<b>", "bert", (200, 100, 100, 100), (90, 0, 0, 0))))
        self.assertIn("does not hold", text)
        self.assertIn("&lt;b&gt;", text)
        self.assertNotIn("<b>", text)


class Results(unittest.TestCase):
    def test_figures_closer_than_half_a_percent_are_equal(self):
        self.assertEqual([compare(1000, 1005), compare(1000, 1006), compare(1006, 1000)], [0, -1, 1])

    def test_fidelity_counts_pairs_ranked_as_measured(self):
        good = configuration("a", "bert", (400, 300, 200, 100))
        bad = configuration("b", "bert", (400, 300, 200, 100), predicted=(100, 200, 300, 400))
        self.assertEqual(fidelity([good], findings.COMPARED), (1.0, 1.0, 6))
        self.assertEqual(fidelity([good, bad], findings.COMPARED), (0.5, 0.0, 12))


if __name__ == "__main__":
    unittest.main()
