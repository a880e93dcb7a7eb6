#!/usr/bin/env python3
"""Does recalibration move the choice the right way when the machine changes?

  scripts/machine_changes.py [--program PROGRAM] [--machine NAME] [--change NAME ...] [--old COSTS] [--filter TEXT ...] [--probes N] --output FOLDER

For each changed machine: `systole calibrate` fits a new cost file; `exact` then chooses layouts by the old file and by the
new one, and both choices are measured on the changed machine. FOLDER keeps machines, cost files and results; a run goes
on where it stopped. Prints one row per change: models, measured cycles of all choices by either file, models that got
faster, stayed as they were (within 0.1 %), got slower; conversions and MiB moved by DMA, by either file.

The transposing path of the DMA engines is switched off on machines that have it (trn2); on others rows are made dearer, which
is what they transpose by.
"""

import argparse
import json
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CHANGES = [  # name, figures of the machine's file times a factor, or switches
    ("dma-start-x4", {"dma_start_ns": 4}),
    ("sbuf-halved", {"sbuf_bytes": 0.5}),
    ("short-rows-x4", {"dma_row_ns": 4, "dma_ring_row_ns": 4}),
    ("dma-transpose-off", {"dma_transpose": False}),
]
FILTERS = ["cnn-plain", "resnet-4-", "unet-wide", "vit-tiny", "bert-ownmask-l3", "whisper-encoder-tiny",
           "llama-ownmask-l2", "densenet", "hrnet", "fpn"]
SAME = 0.001


def changed(text, factors):
    for key, factor in factors.items():
        if factor is False:
            text = re.sub(rf"^(\s+{key}:\s+)true", r"\1false", text, flags=re.M)
            continue
        pattern = re.compile(rf"^(\s+{key}:\s+)([0-9.]+)", re.M)
        found = pattern.search(text)
        if not found:
            raise SystemExit(f"machine_changes.py: the machine's file has no {key}")
        value = float(found.group(2)) * factor
        text = text[: found.start(2)] + (str(int(value)) if value == int(value) else str(value)) + text[found.end(2):]
    return text


def run(*command):
    subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL)


def records(path):
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return {r["configuration"]: r for r in lines if r.get("measured")}


def choices(program, machine, costs, filters, stem):
    out = {}
    for text in filters:
        result = f"{stem}.{text}.jsonl"
        run(program, "bench", "suite", "--machine", machine, "--costs", costs, "--strategies", "exact",
            "--timing-only", "--no-checks", "--filter", text, "--output", result)
        out.update(records(result))
    return out


def total(rows, *keys):
    return sum(row[key] for row in rows.values() for key in keys)


def row_of(name, old, new):
    ratios = [new[c]["measured"] / old[c]["measured"] for c in old if c in new]
    faster = sum(r < 1 - SAME for r in ratios)
    slower = sum(r > 1 + SAME for r in ratios)
    cycles = [total(rows, "measured") for rows in (old, new)]
    moved = [total(rows, "hbm_read_bytes", "hbm_written_bytes", "onchip_dma_bytes") / 2**20 for rows in (old, new)]
    conversions = [total(rows, "conversions") for rows in (old, new)]
    return (f"{name:<16} {len(ratios):>6} {cycles[0]:>13,} {cycles[1]:>13,} {cycles[1] / cycles[0]:>6.3f} {faster:>7} "
            f"{len(ratios) - faster - slower:>5} {slower:>7} {conversions[0]:>7} > {conversions[1]:<6} {moved[0]:>7.1f} > {moved[1]:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.path.join(ROOT, "build/release/compiler/driver/systole"))
    parser.add_argument("--machine", default="trn1")
    parser.add_argument("--change", action="append", choices=[name for name, _ in CHANGES], help="only this one (default: all)")
    parser.add_argument("--old", help="cost file fitted to the machine as it was (default: MACHINE.calibrated)")
    parser.add_argument("--filter", action="append", help="configurations of the suite whose name contains this")
    parser.add_argument("--probes", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    os.makedirs(options.output, exist_ok=True)
    with open(os.path.join(ROOT, "configs", options.machine + ".yaml"), encoding="utf-8") as file:
        machine_text = file.read()
    analytic = os.path.join(ROOT, "configs/costs", options.machine + ".analytic.yaml")
    old = options.old or os.path.join(ROOT, "configs/costs", options.machine + ".calibrated.yaml")
    print(f"{'change':<16} {'models':>6} {'old file':>13} {'recalibrated':>13} {'ratio':>6} {'faster':>7} {'same':>5} {'slower':>7} "
          f"{'conversions':>16} {'MiB by DMA':>16}")
    for name, factors in CHANGES:
        if changed(machine_text, factors) == machine_text or (options.change and name not in options.change):
            continue
        machine = os.path.join(options.output, name + ".yaml")
        with open(machine, "w", encoding="utf-8") as file:
            file.write(changed(machine_text, factors))
        new = os.path.join(options.output, name + ".calibrated.yaml")
        run(options.program, "calibrate", "--machine", machine, "--costs", analytic, "--probes", options.probes,
            "--rounds", options.rounds, "--profile", os.path.join(options.output, name + ".profile.jsonl"),
            "--output", new)
        filters = options.filter or FILTERS
        by_old = choices(options.program, machine, old, filters, os.path.join(options.output, name + ".old"))
        by_new = choices(options.program, machine, new, filters, os.path.join(options.output, name + ".new"))
        print(row_of(name, by_old, by_new), flush=True)


if __name__ == "__main__":
    main()
