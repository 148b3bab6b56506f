#!/usr/bin/env python3
"""How long the decode study takes and how much memory a rank needs, timed around mpirun.

    decode.py [--program PATH] [--ranks N] [--repeat N]

Sixteen ranks on as many cores as there are; the result file is written each time. Prints the
figures beside their targets as a table; never fails on a time. Exit status: 0 measured, 1 a run
failed.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MIB = 1024 * 1024
OVERSUBSCRIBE = ("--oversubscribe",)
PLAIN = ("--host", "localhost:16")  # neither told to share cores nor to yield


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.output = os.path.join(folder, "bench.h5")
        self.environment = dict(os.environ)
        if os.geteuid() == 0:
            self.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def once(self, launcher, arguments):
        """Wall seconds around mpirun, and the facts of the run."""
        command = ["mpirun", "-q", *launcher, "-np", str(self.options.ranks),
                   self.options.program, "--format", "json", "--output", self.output, *arguments]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        result = subprocess.run(command, capture_output=True, text=True, env=self.environment,
                                check=False)
        wall = time.perf_counter() - start
        if result.returncode != 0 or not os.path.getsize(self.output):
            sys.exit(f"decode.py: error: {' '.join(command)}\n{result.stderr}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = json.loads(result.stdout)["run"]
        run["cpu_s"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return wall, run

    def median(self, arguments, launcher=OVERSUBSCRIBE):
        """(seconds of the median run, least, greatest, facts of the median run)."""
        runs = sorted((self.once(launcher, arguments) for _ in range(self.options.repeat)),
                      key=lambda timed: timed[0])
        wall, run = runs[len(runs) // 2]
        return wall, runs[0][0], runs[-1][0], run


def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def print_times(bench):
    row("run", "median s", "least", "most", "target", "CPU s", "program s", "model + sync s",
        "output s", "events")
    row("---", *["---:"] * 9)
    medians = {}
    for name, target, arguments, launcher in (
            ("four cases, 8K", "< 2", ("--context", "8K"), OVERSUBSCRIBE),
            ("four cases, 1M", "< 8", ("--context", "1M"), OVERSUBSCRIBE),
            ("four cases, 8K, --host localhost:16", "", ("--context", "8K"), PLAIN),
            ("four cases, 1M, --host localhost:16", "", ("--context", "1M"), PLAIN)):
        median, least, most, run = bench.median(arguments, launcher)
        medians[name] = median
        row(name, f"{median:.2f}", f"{least:.2f}", f"{most:.2f}", target, f"{run['cpu_s']:.2f}",
            f"{run['wall_s']:.2f}", f"{run['model_s'] + run['sync_s']:.2f}",
            f"{run['output_s']:.2f}", f"{run['events']:,}")
    print()
    for context in ("8K", "1M"):
        ratio = (medians[f"four cases, {context}, --host localhost:16"]
                 / medians[f"four cases, {context}"])
        print(f"without --oversubscribe, {context}: {ratio:.2f} x the time (target: < 2)")


def print_memory(bench):
    row("largest rank, MiB (target: < 64)", *bench.options.contexts)
    row("---", *["---:"] * len(bench.options.contexts))
    for trace in ("none", "commands"):
        peaks = [bench.once(OVERSUBSCRIBE, ("--trace", trace, "--context", context))[1]
                 for context in bench.options.contexts]
        row(f"--trace {trace}", *(f"{run['peak_rss_bytes'] / MIB:.1f}" for run in peaks))


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=os.environ.get(
        "AHBM_PDES", os.path.join(ROOT, "build", "ahbm-pdes")))
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--repeat", type=int, default=5, help="runs of each timing")
    parser.add_argument("--contexts", type=lambda text: text.split(","),
                        default=["8K", "1M", "16M"], help="for memory (default 8K,1M,16M)")
    return parser.parse_args()


def main():
    options = parse_options()
    print(f"{options.ranks} ranks on {len(os.sched_getaffinity(0))} cores; load before: "
          f"{os.getloadavg()[0]:.1f}; {options.repeat} runs of each timing\n")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        print_times(bench)
        print()
        print_memory(bench)


if __name__ == "__main__":
    main()
