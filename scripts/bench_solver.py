#!/usr/bin/env python3
"""Times systole-solve against toulbar2, CBC, clasp and Z3 on Layout Selection instances (.ls files).

Whole process against whole process: one repetition runs every solver on the instance, one after the other, then the next
begins; medians over repetitions. The outside solvers get the exports of systole-solve: WCSP (toulbar2), CPLEX LP (CBC),
OPB (clasp), SMT-LIB soft constraints made from WCNF (Z3). A cell is: optimum, wall seconds, [user plus system CPU
seconds], peak MB. On a loaded machine compare the CPU seconds. A solver that has not proven its optimum within the limit
once is not run again on that instance. The exit code is 1 when two proven optima differ.

  bench_solver.py --solver build/compiler/solver/systole-solve [--limit 30] [--repeat 3] FILE.ls...
  bench_solver.py --solver ... --growth 1000,3000,10000,30000,100000     grids of width 4, made here: cost per operator
  bench_solver.py --solver ... --growth 144,196 --width 12               wider ones; with --equal, every line of the grid
                                                                         has the tables of the second
"""
import argparse
import math
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time


def smt_of_wcnf(text):
    """SMT-LIB with soft assertions: the form in which Z3 4.8 reports the optimum."""
    hard, soft, largest = [], [], 0
    for line in text.splitlines():
        words = line.split()
        if not words or words[0] == "c":
            continue
        literals = [int(w) for w in words[1:-1]]
        largest = max([largest] + [abs(l) for l in literals])
        body = "(or false " + " ".join(f"v{l}" if l > 0 else f"(not v{-l})" for l in literals) + ")"
        if words[0] == "h":
            hard.append(f"(assert {body})")
        else:
            soft.append(f"(assert-soft {body} :weight {words[0]} :id goal)")
    variables = [f"(declare-const v{v} Bool)" for v in range(1, largest + 1)]
    return "\n".join(variables + hard + soft + ["(check-sat)", "(get-objectives)", ""])


# name -> (export format, command, pattern of the proven optimum)
OUTSIDE = {
    "toulbar2": ("wcsp", ["toulbar2", "{file}"], r"Optimum: (\d+)"),
    "cbc": ("lp", ["cbc", "{file}", "solve", "quit"], r"Optimal solution found[\s\S]*Objective value:\s+([\d.]+)"),
    "clasp": ("opb", ["clasp", "--quiet=1,1", "--opt-strategy=usc,stratify", "{file}"],
              r"\no (\d+)\s[\s\S]*OPTIMUM FOUND"),
    "z3": ("wcnf", ["z3", "-smt2", "{file}"], r"sat\s*\(objectives\s*\(goal (\d+)\)"),
}


class Run:
    """One process: wall and CPU seconds, peak MB, output; `late` when the limit (CPU seconds; wall: four times) ended it."""

    def __init__(self, command, limit):
        start = time.monotonic()
        with tempfile.TemporaryFile("w+") as out:
            seconds = math.ceil(limit)
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (seconds, seconds))
            timer = threading.Timer(4 * limit, process.kill)
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            self.wall = time.monotonic() - start
            out.seek(0)
            self.output = out.read()
        self.late = process.returncode < 0
        self.cpu = usage.ru_utime + usage.ru_stime
        self.megabytes = usage.ru_maxrss / 1000


class Column:
    """What one solver did on one instance, over the repetitions."""

    def __init__(self, command, pattern):
        self.command, self.pattern, self.runs, self.value, self.failed = command, pattern, [], None, None

    def repeat(self, limit):
        if self.failed:
            return
        run = Run(self.command, limit)
        found = re.search(self.pattern, run.output)
        if run.late or not found:
            self.failed, self.value = run, None
        else:
            self.runs.append(run)
            self.value = round(float(found.group(1)))

    def text(self):
        if self.failed:
            return f"unproven [{self.failed.cpu:.1f}]"
        middle = lambda of: statistics.median(of(r) for r in self.runs)
        return (f"{self.value} {middle(lambda r: r.wall):.3f} [{middle(lambda r: r.cpu):.3f}] "
                f"{middle(lambda r: r.megabytes):.0f}")


def compare(options):
    outside = [name for name in options.only.split(",") if name]
    for name in list(outside):
        if shutil.which(OUTSIDE[name][1][0]) is None:
            print(f"SKIPPED: {name} is not installed", file=sys.stderr)
            outside.remove(name)
    print("| instance | exact | " + " | ".join(outside) + " |\n|" + "---|" * (2 + len(outside)))
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in options.files:
            columns = [Column([options.solver, path, *options.extra.split()], r" proven cost (\d+)")]
            for name in outside:
                form, command, pattern = OUTSIDE[name]
                export = subprocess.run([options.solver, path, "--export", form], capture_output=True, text=True, check=True)
                file = os.path.join(folder, f"problem.{'smt2' if name == 'z3' else form}")
                with open(file, "w") as out:
                    out.write(smt_of_wcnf(export.stdout) if name == "z3" else export.stdout)
                columns.append(Column([w.format(file=file) for w in command], pattern))
            for _ in range(options.repeat):
                for column in columns:
                    column.repeat(options.limit)
            values = {column.value for column in columns} - {None}
            wrong += len(values) > 1
            name = os.path.splitext(os.path.basename(path))[0]
            print(f"| {name} | " + " | ".join(column.text() for column in columns) + " |", flush=True)
    if wrong:
        print(f"optima differ on {wrong} instances", file=sys.stderr)
    return 1 if wrong else 0


def write_grid(path, operators, width, equal, layouts=3, rows=16):
    """Each operator reads its neighbours to the left and above; random rows and conversions."""
    dice = random.Random(operators)
    tables, choices = [], []
    for i in range(operators):
        table = [0 if a == b else dice.randint(5, 60) for a in range(layouts) for b in range(layouts)]
        tables.append(tables[i - width] if equal and i >= 2 * width else f"t {layouts} " + " ".join(map(str, table)))
    for i in range(operators):
        inputs = ([i - 1] if i % width else []) + ([i - width] if i >= width else [])
        drawn = [" ".join(str(dice.randrange(layouts)) for _ in range(len(inputs) + 1)) + f" {dice.randint(0, 100)}"
                 for _ in range(rows)]
        choices.append(choices[i - width] if equal and i >= 2 * width else drawn)
        tables.append(f"o {len(inputs)} " + " ".join(map(str, inputs + [i])) + f" {rows}")
        tables.extend(choices[i])
    lines = ["ls 1", f"{operators} {operators}"] + tables
    with open(path, "w") as out:
        out.write("\n".join(lines) + "\n")


def growth(options):
    print("| operators | optimum | CPU s | microseconds per operator | peak MB |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for operators in map(int, options.growth.split(",")):
            path = os.path.join(folder, "grid.ls")
            write_grid(path, operators, options.width, options.equal)
            column = Column([options.solver, path], r" proven cost (\d+)")
            for _ in range(options.repeat):
                column.repeat(options.limit)
            if column.failed:
                print(f"| {operators} | unproven within {options.limit} s | | | |", flush=True)
                continue
            cpu = statistics.median(r.cpu for r in column.runs)
            memory = statistics.median(r.megabytes for r in column.runs)
            print(f"| {operators} | {column.value} | {cpu:.2f} | {1e6 * cpu / operators:.0f} | {memory:.0f} |", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--solver", required=True)
    parser.add_argument("--limit", type=float, default=30, help="CPU seconds per process")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="toulbar2,cbc,clasp,z3", help="outside solvers, comma separated")
    parser.add_argument("--extra", default="", help="further options for systole-solve")
    parser.add_argument("--growth", help="numbers of operators, comma separated")
    parser.add_argument("--width", type=int, default=4, help="of the grids of --growth")
    parser.add_argument("--equal", action="store_true", help="lines of the grids of --growth are equal")
    options = parser.parse_args()
    return growth(options) if options.growth else compare(options)


if __name__ == "__main__":
    sys.exit(main())
