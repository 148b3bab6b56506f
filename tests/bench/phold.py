#!/usr/bin/env python3
"""PHOLD on the engine beside a baseline of your choice, interleaved, several times.

    phold.py build/tests/bench_phold [--baseline 'COMMAND' --baseline-rate REGEX]

Prints, for workloads W1, W2, W3 at 1, 2 and 16 ranks, the median and range of the millions of events
per second, the ratio of the medians, and the summed memory of W1 at 16 ranks above that of a program
that only starts MPI. In COMMAND these words are replaced: {np} {units} {units_per_rank} {events} {end}.
REGEX's first group is the baseline's rate in events per second. For ROSS, built apart:

    --baseline 'mpirun --oversubscribe -np {np} PATH/phold --synch=2 --nlp={units_per_rank}
        --start-events={events} --mean=1.0 --lookahead=0.1 --remote=0.25 --end={end}'
    --baseline-rate 'Event Rate \\(events/sec\\) +([0-9.]+)'
"""

import argparse
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "analysis"))
sys.dont_write_bytecode = True  # no __pycache__ in analysis/
from _program import mpi_environment  # noqa: E402

WORKLOADS = {"W1": (16384, 1, 60), "W2": (16384, 16, 10), "W3": (1024, 1, 400)}


def run(command, timeout, folder=None):
    environment = dict(mpi_environment(), OMPI_MCA_mpi_yield_when_idle="1")
    result = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment,
                            check=False, cwd=folder)
    if result.returncode != 0:
        sys.exit(f"phold.py: {shlex.join(command)} failed:\n{result.stdout}{result.stderr}")
    return result.stdout


def engine(options, name, ranks, extra):
    units, events, end = WORKLOADS[name]
    command = shlex.split(options.mpirun) + ["-np", str(ranks), options.phold, "--units", str(units),
                                             "--events", str(events), "--end", str(end)] + extra
    text = run(command, options.timeout)
    rate = float(re.search(r"rate=([0-9.]+)", text).group(1))
    return rate, re.search(r"digest=(\w+)", text).group(1)


def baseline(options, name, ranks):
    units, events, end = WORKLOADS[name]
    command = options.baseline.format(np=ranks, units=units, units_per_rank=units // ranks,
                                      events=events, end=end)
    with tempfile.TemporaryDirectory() as folder:  # it may write files
        found = re.search(options.baseline_rate, run(shlex.split(command), options.timeout, folder))
    if found is None:
        sys.exit("phold.py: --baseline-rate is not in the baseline's output")
    return float(found.group(1)) * 1e-6


def spread(values):
    return f"{statistics.median(values):7.2f} [{min(values):6.2f} {max(values):6.2f}]"


def memory(options):
    mpirun = shlex.split(options.mpirun) + ["-np", "16", options.phold]
    only = re.search(r"pss_sum=([0-9.]+)", run(mpirun + ["--only-mpi"], options.timeout))
    whole = re.search(r"pss_sum=([0-9.]+)", run(mpirun + ["--workload", "W1", "--end", "60"],
                                                options.timeout))
    return float(whole.group(1)), float(only.group(1))


def measure(options):
    digests = {}
    print(f"M events/s, median [range] of {options.repeat}")
    for ranks in options.ranks:
        for name in options.workloads:
            ours, theirs = [], []
            for _ in range(options.repeat):
                rate, digest = engine(options, name, ranks, options.extra)
                ours.append(rate)
                if digests.setdefault(name, digest) != digest:
                    sys.exit(f"phold.py: {name} at {ranks} ranks has another digest")
                if options.baseline:
                    theirs.append(baseline(options, name, ranks))
            line = f"{name} np {ranks:2}: engine {spread(ours)}"
            if theirs:
                ratio = statistics.median(ours) / statistics.median(theirs)
                line += f"   baseline {spread(theirs)}   ratio {ratio:5.1f}"
            print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("phold", help="the built bench_phold")
    parser.add_argument("--baseline", help="command of another simulator's PHOLD")
    parser.add_argument("--baseline-rate", default=r"rate=([0-9.]+)")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--ranks", type=lambda text: [int(n) for n in text.split(",")],
                        default=[1, 2, 16])
    parser.add_argument("--workloads", type=lambda text: text.split(","), default=list(WORKLOADS))
    parser.add_argument("--mpirun", default="mpirun --oversubscribe")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one run")
    parser.add_argument("--extra", type=shlex.split, default=[],
                        help="more options of bench_phold, e.g. '--transport mpi'")
    options = parser.parse_args()
    measure(options)
    whole, only = memory(options)
    print(f"W1 at np 16: {whole:.1f} MB PSS over all ranks, {whole - only:.1f} MB above MPI alone "
          f"({only:.1f} MB)")


if __name__ == "__main__":
    main()
