#!/usr/bin/env python3
"""Runs the program with machine keys at the ends of their ranges, and says what ended badly.

usage: extremes.py PROGRAM [RUNS [SEED [SECONDS]]]

Every run ends by itself with 0, 1 or 2 and at most one line of error, or, after SECONDS, with 143
when it is asked to stop. Anything else (a signal, "bug:", an assertion, silence) is printed, and
the exit status is 1. The same seed makes the same runs.
"""

import os
import random
import re
import signal
import subprocess
import sys
import tempfile

CONTEXTS = ["1", "7", "63", "1K", "8K", "1M"]


def keys(program):
    """Key -> its least and largest value or its choices, of --print-config."""
    text = subprocess.run([program, "--print-config"], capture_output=True, text=True,
                          check=True).stdout
    section, ends, found = "", [], {}
    for line in text.splitlines():
        allowed = re.match(r"\s*# \[(\S+) (?:to|or) (\S+)\]", line)
        name = re.match(r"(\s*)(\w+):(.*)", line)
        if allowed:
            ends = [allowed[1], allowed[2]]
        elif name and not name[1] and not name[3].strip():
            section = name[2]
        elif name and name[1] and ends:
            found[f"{section}.{name[2]}"] = ends
            ends = []
    return found


def names(program):
    """The kernels there are."""
    listed = subprocess.run([program, "--list-kernels"], capture_output=True, text=True,
                            check=True).stdout
    return [line.split()[0] for line in listed.splitlines()]


def arguments(chance, ranges, kernels):
    """Options of one run: a few keys at an end of their range."""
    options = []
    for key in chance.sample(sorted(ranges), chance.choice([1, 2, 3, 5, 8, 20])):
        low, high = ranges[key]
        if key.startswith("topology.") and high.isdigit():
            high = str(chance.choice([1, 2, 3, 5, 8]))
        options += ["--set", f"{key}={chance.choice([low, high])}"]
    if chance.random() < 0.6:
        options += ["--case", str(chance.randint(1, 4))]
        options += ["--phase", chance.choice(["decode", "decode", "prefill"])]
    else:
        options += ["--kernel", chance.choice(kernels)]
    options += ["--context", chance.choice(CONTEXTS)]
    if chance.random() < 0.3:
        options += ["--batch", chance.choice(["2", "9", "64"])]
    if chance.random() < 0.2:
        options += ["--verify"]
    if chance.random() < 0.2:
        options += ["--gemm", "dot"]
    if chance.random() < 0.2:
        options += ["--record-ahead", chance.choice(["1", "4294967295"])]
    return options


def complaint(program, options, seconds, folder):
    """What is wrong with this run; None: nothing."""
    command = [program, "--quiet", "--output", os.path.join(folder, "x.h5"), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as run:
        asked = False
        try:
            _, errors = run.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            asked = True
            run.send_signal(signal.SIGTERM)
            try:
                _, errors = run.communicate(timeout=30 + seconds)
            except subprocess.TimeoutExpired:
                run.kill()
                run.communicate()
                return "does not end when asked to"
    lines = errors.strip().splitlines()
    if run.returncode not in ([0, 1, 2, 143] if asked else [0, 1, 2]):
        return f"status {run.returncode}: {' | '.join(lines[:4])}"
    if run.returncode in (1, 2) and len(lines) != 1:
        return f"{len(lines)} lines with status {run.returncode}: {' | '.join(lines[:4])}"
    if run.returncode in (1, 2) and not lines[0].startswith("ahbm-pdes: error: "):
        return lines[0]
    return None


def main():
    program = sys.argv[1]
    given = sys.argv[2:] + ["100", "1", "20"][len(sys.argv) - 2:]
    runs, seed, seconds = (int(text) for text in given)
    chance = random.Random(seed)
    ranges, kernels = keys(program), names(program)
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(runs):
            options = arguments(chance, ranges, kernels)
            found = complaint(program, options, seconds, folder)
            if found:
                bad += 1
                print(f"{' '.join(options)}\n    {found}", flush=True)
    print(f"{runs} runs at the ends of {len(ranges)} keys' ranges, {bad} ended badly")
    return 1 if bad or len(ranges) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
