#!/usr/bin/env python3
"""Times systole-solve against toulbar2, CBC, Z3 and clasp on Layout Selection instances (.ls files).

Whole process against whole process, started one after the other in the same run, medians over repetitions. The outside
solvers get the exports of systole-solve: WCSP (toulbar2), CPLEX LP (CBC), SMT-LIB soft constraints made from WCNF (Z3),
OPB (clasp). Times are wall clock and, in brackets, user plus system CPU seconds; on a loaded machine compare the latter.

  bench_solver.py --solver build/compiler/solver/systole-solve [--limit 30] [--repeat 3] FILE.ls...
"""
import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
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
    "clasp": ("opb", ["clasp", "--quiet=1,1", "--opt-strategy=usc,stratify", "{file}"], r"\no (\d+)\s[\s\S]*OPTIMUM FOUND"),
    "z3": ("wcnf", ["z3", "-smt2", "{file}"], r"sat\s*\(objectives\s*\(goal (\d+)\)"),
}


def timed(command, limit):
    """Wall seconds, CPU seconds, output; wall is None when the limit was hit."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        wall, output = time.monotonic() - start, done.stdout
    except subprocess.TimeoutExpired as stopped:
        wall, output = None, (stopped.stdout or b"").decode(errors="replace")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, output


def measure(command, pattern, limit, repeat):
    walls, cpus, value = [], [], None
    for _ in range(repeat):
        wall, cpu, output = timed(command, limit)
        found = re.search(pattern, output)
        if wall is None or not found:
            return None, cpu, None
        walls.append(wall)
        cpus.append(cpu)
        value = round(float(found.group(1)))
    return statistics.median(walls), statistics.median(cpus), value


def cell(result):
    wall, cpu, value = result
    return f"{value} {wall:.3f} [{cpu:.3f}]" if wall is not None else f"- unproven [{cpu:.1f}]"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--solver", required=True)
    parser.add_argument("--limit", type=float, default=30)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="toulbar2,cbc,clasp,z3", help="outside solvers, comma separated")
    options = parser.parse_args()
    outside = [name for name in options.only.split(",") if name]
    for name in list(outside):
        if shutil.which(OUTSIDE[name][1][0]) is None:
            print(f"SKIPPED: {name} is not installed", file=sys.stderr)
            outside.remove(name)
    print("instance | exact: cost wall [cpu] | " + " | ".join(outside))
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in options.files:
            ours = measure([options.solver, path], r"proven cost (\d+)", options.limit, options.repeat)
            row = [os.path.basename(path), cell(ours)]
            for name in outside:
                form, command, pattern = OUTSIDE[name]
                text = subprocess.run([options.solver, path, "--export", form], capture_output=True, text=True).stdout
                file = os.path.join(folder, f"problem.{'smt2' if name == 'z3' else form}")
                with open(file, "w") as out:
                    out.write(smt_of_wcnf(text) if name == "z3" else text)
                theirs = measure([w.format(file=file) for w in command], pattern, options.limit, options.repeat)
                if None not in (theirs[2], ours[2]) and theirs[2] != ours[2]:
                    wrong += 1
                row.append(cell(theirs))
            print(" | ".join(row), flush=True)
    if wrong:
        print(f"{wrong} optima differ", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
