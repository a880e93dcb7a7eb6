#!/usr/bin/env python3
"""figures.py on results of a small bench: two runs give the same bytes, the page holds what was measured.

  figures_test.py SYSTOLE        exit code 77 (skipped) without matplotlib
"""

import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SUITE = """name: small
configurations:
  - {name: CNN, family: cnn, half: judging, model: cnn}
  - {name: "bert/{layers}", family: bert, half: calibration, model: bert,
     parameters: {layers: [1, 2], hidden: 64, heads: 2, tokens: 32}}
"""


def python_with_matplotlib():
    """Debian's package serves Debian's interpreter, which need not be the first on the path."""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and subprocess.run([python, "-c", "import matplotlib"], capture_output=True).returncode == 0:
            return python
    return None


def contents(folder):
    return {name: open(os.path.join(folder, name), "rb").read() for name in sorted(os.listdir(folder))}


def main():
    python = python_with_matplotlib()
    if python is None:
        print("SKIPPED: figures.py is not tried, there is no python3-matplotlib")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "small.yaml"), "w", encoding="utf-8") as file:
            file.write(SUITE)
        for name, more in (("one", []), ("two", ["--dtype", "fp32"])):
            subprocess.run([sys.argv[1], "bench", "small.yaml", "--strategies", "local,greedy,rule,exact", "--traces", "traces",
                            "--output", name + ".jsonl", *more], cwd=folder, check=True, capture_output=True)
        for output in ("first", "second"):
            os.mkdir(os.path.join(folder, output))
            subprocess.run([python, os.path.join(ROOT, "scripts", "figures.py"), "../one.jsonl", "../two.jsonl", "--output",
                            "report", "--traces", "../traces"], cwd=os.path.join(folder, output), check=True, capture_output=True)
        first, second = (contents(os.path.join(folder, output, "report")) for output in ("first", "second"))
        assert first == second, [name for name in first if first[name] != second.get(name)]
        assert len(first) == 8 and all(name.endswith((".svg", ".html")) for name in first), sorted(first)
        page = first["report.html"].decode()
        assert page.count("<svg") == 7
        assert "http" not in page.replace("https://ui.perfetto.dev", "").replace("http://www.w3.org", "").replace(
            "http://creativecommons.org", "").replace("http://purl.org", ""), "the page needs another place"
        for link in ("../../traces/CNN.", "../../traces/bert_2."):
            assert link in page, link
            name = page[page.index(link) + len("../../traces/"):].split('"')[0]
            assert os.path.exists(os.path.join(folder, "traces", name)), name
    return 0


if __name__ == "__main__":
    sys.exit(main())
