#!/usr/bin/env python3
"""Makes the tables of docs/fidelity.md: other simulators' figures, and what this one says.

Runs fidelity_hbm and fidelity_noc of a build over tests/fidelity/rows. Prints the tables, or with
--update puts them between their marks in the document. --quick leaves the long files out and prints only.
--check ends with 1 when a median or a worst error is above its bound. Exit status: 0 done; 1 a run failed
or a bound is broken; 2 bad usage.
"""

import csv
import glob
import os
import re
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True  # before the first import of this folder: no __pycache__ in it
from _common import Parser, die
from _program import REPOSITORY

DOCUMENT = os.path.join(REPOSITORY, "docs", "fidelity.md")
FOLDER = os.path.join(REPOSITORY, "tests", "fidelity")
MEMORIES = {
    "m0": "DRAMsim3, HBM2, rows over banks",
    "m1": "DRAMsim3, bank groups below banks",
    "m2": "DRAMsim3, banks below columns",
    "pc": "DRAMsim3, channels of 64 bits",
    "h2": "Ramulator 2.1, HBM2",
}
HBM_KINDS = {  # file: (what, quick)
    "hbm_idle_latency": ("idle latency", True),
    "hbm_stream_bandwidth": ("stream", True),
    "hbm_refresh": ("stream and random, refresh varied", True),
    "hbm_random_bandwidth": ("random requests", True),
    "hbm_load_latency": ("latency under load", True),
    "hbm_concurrent_streams": ("concurrent streams", False),
}
# What a row's kind may be off at most, in percent: median, worst. None: not bound (see the document).
BOUNDS = {
    ("m0", "idle latency"): (0.5, 2.5),
    ("m0", "stream"): (0.5, 3.0),
    ("m0", "random requests"): (3.0, 13.0),
    ("m0", "latency under load"): (4.0, 10.0),
    ("m0", "concurrent streams"): (2.0, 26.0),
    ("h2", "stream"): (1.5, None),
    ("h2", "random requests"): (2.0, None),
    ("h2", "concurrent streams"): (3.0, 40.0),
    ("mesh and torus", "zero_load"): (0.001, 0.001),
}


def rows_of(command):
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        die(f"{' '.join(command)}: {ended.stderr.strip()}", 1)
    return ended.stdout


def named(name, config):
    """Whether fidelity_hbm's rules say that the row is of that memory."""
    return re.fullmatch(rf"{name}(cp)?(nr|pb|refb|q\d+)?(_\d+)?|d_\w+_{name}", config) is not None


def memory_errors(build, name, file):
    rows = os.path.join(FOLDER, "rows", file + ".csv")
    with open(rows, encoding="utf-8") as text:
        if not any(named(name, row["config"]) for row in csv.DictReader(text)):
            return []
    out = rows_of([os.path.join(build, "tests", "fidelity_hbm"),
                   os.path.join(FOLDER, "memory", name + ".yaml"), rows])
    lines = [line for line in out.splitlines() if not line.startswith("#")]
    return [row for row in csv.DictReader(lines)]


def summary(rows):
    errors = sorted(abs(float(row["error_percent"])) for row in rows)
    worst = max(rows, key=lambda row: abs(float(row["error_percent"])))
    return len(errors), statistics.median(errors), errors[-1], worst


def describe(row):
    words = [row["config"]]
    words += [f"{row[key]} {unit}" for key, unit in (("n", "streams"), ("gran", "B"), ("load", "load"),
                                                     ("slots", "tiles")) if row.get(key)]
    return ", ".join(words + [row["pattern"]]) if row.get("pattern") else ", ".join(words)


def broken(name, what, median, worst):
    most_median, most_worst = BOUNDS.get((name, what), (None, None))
    return (most_median is not None and median > most_median) or (
        most_worst is not None and worst > most_worst)


def memory_table(build, quick, faults):
    lines = ["| memory | kind | rows | median | worst | the worst row: measured, model |",
             "|---|---|---:|---:|---:|---|"]
    for name, title in MEMORIES.items():
        for file, (what, short) in HBM_KINDS.items():
            if quick and not (short and name in ("m0", "h2")):
                continue
            rows = memory_errors(build, name, file)
            if not rows:
                continue
            count, median, worst, row = summary(rows)
            lines.append(f"| {name}: {title} | {what} | {count} | {median:.1f} % | {worst:.1f} % | "
                         f"{describe(row)}: {row['reference']}, {float(row['model']):.4g} |")
            if broken(name, what, median, worst):
                faults.append(f"{name}, {what}: median {median:.2f} %, worst {worst:.2f} %")
    return "\n".join(lines)


def network_table(build, quick, faults):
    lines = ["| kind | rows | median | worst |", "|---|---:|---:|---:|"]
    files = sorted(glob.glob(os.path.join(FOLDER, "rows", "noc_*.csv")))
    if quick:
        files = [file for file in files if "zero" in file]
    out = rows_of([os.path.join(build, "tests", "fidelity_noc"),
                   os.path.join(FOLDER, "booksim_mesh.yaml"), *files])
    for row in csv.DictReader(out[out.index("kind,rows"):].splitlines()):
        median, worst = float(row["median_percent"]), float(row["worst_percent"])
        lines.append(f"| {row['kind'].replace('_', ' ')} | {row['rows']} | {median:.1f} % | {worst:.1f} % |")
        if broken("mesh and torus", row["kind"], median, worst):
            faults.append(f"{row['kind']}: median {median:.2f} %, worst {worst:.2f} %")
    return "\n".join(lines)


def speed_table(build):
    lines = ["| memory | stream, as runs | random |", "|---|---:|---:|"]
    for name in ("m0", "h2"):
        out = rows_of([os.path.join(build, "tests", "fidelity_hbm"),
                       os.path.join(FOLDER, "memory", name + ".yaml"), "--speed"])
        figures = dict(line.split(",") for line in out.splitlines())
        lines.append(f"| {name} | {figures['streaming']} | {figures['random']} |")
    return "\n".join(lines)


def main():
    parser = Parser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--build", default=os.path.join(REPOSITORY, "build"), help="folder of the build")
    parser.add_argument("--update", action="store_true", help="write the tables into docs/fidelity.md")
    parser.add_argument("--quick", action="store_true", help="leave the long files out")
    parser.add_argument("--check", action="store_true", help="end with 1 when a bound is broken")
    options = parser.parse_args()
    if options.update and options.quick:
        parser.error("--update needs all rows: not with --quick")
    faults = []
    tables = {"memory": memory_table(options.build, options.quick, faults),
              "network": network_table(options.build, options.quick, faults)}
    if not options.quick:
        tables["speed"] = speed_table(options.build)
    if options.update:
        with open(DOCUMENT, encoding="utf-8") as file:
            text = file.read()
        for name, lines in tables.items():
            text = re.sub(rf"(<!-- table {name} -->\n).*?(<!-- end {name} -->)",
                          lambda match: match.group(1) + lines + "\n" + match.group(2), text,
                          flags=re.DOTALL)
        with open(DOCUMENT, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        print("\n\n".join(tables.values()))
    for fault in faults:
        print(f"above its bound: {fault}", file=sys.stderr)
    return 1 if options.check and faults else 0


if __name__ == "__main__":
    sys.exit(main())
