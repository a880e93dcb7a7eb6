#!/usr/bin/env python3
"""Softmax, normalisations and GELU over awkward shapes on the timed machine: measured time over the program's own
roofline (largest busy time of an engine) and over the time that reading x and writing y once takes at 272 bytes/ns.

usage: scripts/bench_composites.py [--systole PATH] [--machine trn1] [--dtype bf16] [--op NAME ...] [--shape RxC ...]
"""
import argparse
import re
import subprocess
import tempfile
from pathlib import Path

SHAPES = [(1, 769), (3, 16001), (127, 769), (129, 127), (769, 129), (769, 769), (769, 16001), (16001, 1), (16001, 3),
          (16001, 129), (16001, 769), (64, 200001)]
DMA_BYTES_PER_NS = 272

HALF_NORM = """
  - {op: ReduceMean, in: [x, axes], out: mean}
  - {op: Sub, in: [x, mean], out: d}
"""
NORM_END = """
  - {op: Mul, in: [d, d], out: d2}
  - {op: ReduceMean, in: [d2, axes], out: var}
  - {constant: eps, value: 0.00001}
  - {op: Add, in: [var, eps], out: ve}
  - {op: Sqrt, in: ve, out: sd}
  - {op: Div, in: [d, sd], out: n}
  - weights: {g: [cols], b: [cols]}
  - {op: Mul, in: [n, g], out: s}
"""
AXES = "  - {constant: axes, type: i64, values: [-1]}\n"
OPS = {
    "softmax": "  - {op: Softmax, in: x, out: y, axis: -1}\n",
    "softmax, axis 0": "  - {op: Softmax, in: x, out: y, axis: 0}\n",
    "layer norm": AXES + HALF_NORM + NORM_END + "  - {op: Add, in: [s, b], out: y}\n",
    "rms norm": AXES + NORM_END.replace("[d, d]", "[x, x]").replace("[d, sd]", "[x, sd]").replace("out: s", "out: y"),
    "gelu, erf": """
  - {constant: r, value: 1 / sqrt(2)}
  - {constant: one, value: 1}
  - {constant: half, value: 0.5}
  - {op: Mul, in: [x, r], out: xr}
  - {op: Erf, in: xr, out: e}
  - {op: Add, in: [e, one], out: e1}
  - {op: Mul, in: [x, e1], out: xe}
  - {op: Mul, in: [xe, half], out: y}
""",
    "gelu, tanh": """
  - {constant: c, value: 0.044715}
  - {constant: r, value: 0.7978845608}
  - {constant: one, value: 1}
  - {constant: half, value: 0.5}
  - {constant: three, value: 3}
  - {op: Pow, in: [x, three], out: x3}
  - {op: Mul, in: [x3, c], out: cx}
  - {op: Add, in: [x, cx], out: i}
  - {op: Mul, in: [i, r], out: ri}
  - {op: Tanh, in: ri, out: t}
  - {op: Add, in: [t, one], out: t1}
  - {op: Mul, in: [x, t1], out: xt}
  - {op: Mul, in: [xt, half], out: y}
""",
}


def recipe(steps: str, rows: int, cols: int) -> str:
    return (f"name: composite\nparameters: {{rows: {rows}, cols: {cols}}}\ninputs:\n  x: [rows, cols]\n"
            f"steps:\n{steps}outputs: [y]\n")


def measure(options: argparse.Namespace, text: str, folder: Path) -> tuple[float, float]:
    model = folder / "composite.yaml"
    report = folder / "report.yaml"
    model.write_text(text)
    subprocess.run([options.systole, "run", str(model), "--timing-only", "--machine", options.machine, "--dtype",
                    options.dtype, "--report", str(report)], check=True, capture_output=True)
    found = report.read_text()
    time = float(re.search(r"microseconds: ([0-9.]+)", found).group(1))
    return time, float(re.search(r"measured_over_roofline: ([0-9.]+)", found).group(1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systole", default=str(Path(__file__).parent.parent / "build/release/compiler/driver/systole"))
    parser.add_argument("--machine", default="trn1")
    parser.add_argument("--dtype", default="bf16")
    parser.add_argument("--op", nargs="*", default=list(OPS))
    parser.add_argument("--shape", nargs="*", default=[f"{r}x{c}" for r, c in SHAPES])
    options = parser.parse_args()
    size = 4 if options.dtype == "fp32" else 2
    print(f"| operator | shape | us | over roofline | over x and y once |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for op in options.op:
            for shape in options.shape:
                rows, cols = (int(n) for n in shape.split("x"))
                time, ratio = measure(options, recipe(OPS[op], rows, cols), Path(folder))
                once = 2 * rows * cols * size / DMA_BYTES_PER_NS / 1000
                print(f"| {op} | {rows} x {cols} | {time:.1f} | {ratio:.2f} | {time / once:.1f} |", flush=True)


if __name__ == "__main__":
    main()
