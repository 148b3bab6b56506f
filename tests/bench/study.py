#!/usr/bin/env python3
"""How long a study takes and how much memory a rank needs, timed around mpirun.

    study.py decode [--program PATH] [--ranks N] [--repeat N]     four cases at 8K and 1M
    study.py prefill [--program PATH] [--ranks N] [--repeat N]    case 4 at 8K and 32K
    study.py pace [--program PATH] [--repeat N]                   the model at 1, 2 and 16 ranks

Sixteen ranks on as many cores as there are; the result file is written each time. Prints the
figures beside their targets as a table; never fails on a time. Exit status: 0 measured, 1 a run
failed.
"""

import argparse
import collections
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "analysis"))
sys.dont_write_bytecode = True  # no __pycache__ in analysis/
from _program import mpi_environment  # noqa: E402

MIB = 1024 * 1024
OVERSUBSCRIBE = ("--oversubscribe",)
PLAIN = ("--host", "localhost:16")  # neither told to share cores nor to yield


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.output = os.path.join(folder, "bench.h5")
        self.environment = mpi_environment()

    def once(self, launcher, arguments, ranks=None):
        """Wall seconds around mpirun, and the facts of the run."""
        command = ["mpirun", *launcher, "-np", str(ranks or self.options.ranks),
                   self.options.program, "--format", "json", "--output", self.output, *arguments]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        result = subprocess.run(command, capture_output=True, text=True, env=self.environment,
                                check=False)
        wall = time.perf_counter() - start
        if result.returncode != 0 or not os.path.getsize(self.output):
            sys.exit(f"study.py: error: {' '.join(command)}\n{result.stderr}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        summary = json.loads(result.stdout)
        run = summary["run"]
        run["gemm_steps"] = sum(point["gemm_steps_total"] for point in summary["points"])
        run["cpu_s"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return wall, run

    def median(self, arguments, launcher=OVERSUBSCRIBE):
        """The median run, with the least and the greatest time beside it."""
        runs = sorted((self.once(launcher, arguments) for _ in range(self.options.repeat)),
                      key=lambda timed: timed[0])
        wall, run = runs[len(runs) // 2]
        return Timing(wall, runs[0][0], runs[-1][0], run)


Timing = collections.namedtuple("Timing", "median least most run")


def busy_s(run):
    """Of the mean rank: they begin and end together."""
    return run["model_s_per_rank"]["mean"] + run["sync_s_per_rank"]["mean"]


def sync_share(run):
    """Of the processors' time, what did not go into the model."""
    processors = min(run["ranks"], len(os.sched_getaffinity(0)))
    return 1 - min(1, run["model_processor_s"] / (processors * busy_s(run)))


# What a table may tell of a timing.
COLUMNS = {
    "median s": lambda timing: f"{timing.median:.2f}",
    "least": lambda timing: f"{timing.least:.2f}",
    "most": lambda timing: f"{timing.most:.2f}",
    "CPU s": lambda timing: f"{timing.run['cpu_s']:.2f}",
    "program s": lambda timing: f"{timing.run['wall_s']:.2f}",
    "model + sync s": lambda timing: f"{busy_s(timing.run):.2f}",
    "output s": lambda timing: f"{timing.run['output_s']:.2f}",
    "events": lambda timing: f"{timing.run['events']:,}",
    "M events/s": lambda timing: f"{timing.run['events'] / busy_s(timing.run) / 1e6:.2f}",
    "rounds": lambda timing: f"{timing.run['rounds']:,}",
    "largest rank MiB": lambda timing: f"{timing.run['peak_rss_bytes'] / MIB:.1f}",
}


def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def print_times(bench, columns, runs):
    """runs: (name, target, arguments, launcher). {name: median seconds}."""
    row("run", "target", *columns)
    row("---", *["---:"] * (1 + len(columns)))
    medians = {}
    for name, target, arguments, launcher in runs:
        timing = bench.median(arguments, launcher)
        medians[name] = timing.median
        row(name, target, *(COLUMNS[column](timing) for column in columns))
    print()
    return medians


def print_memory(bench, arguments, contexts, target):
    row(f"largest rank, MiB{target}", *contexts)
    row("---", *["---:"] * len(contexts))
    for trace in ("none", "commands"):
        peaks = [bench.once(OVERSUBSCRIBE, (*arguments, "--trace", trace, "--context", context))[1]
                 for context in contexts]
        row(f"--trace {trace}", *(f"{run['peak_rss_bytes'] / MIB:.1f}" for run in peaks))


def decode(bench):
    medians = print_times(
        bench, ("median s", "least", "most", "CPU s", "program s", "model + sync s", "output s",
                "events"),
        (("four cases, 8K", "< 2", ("--context", "8K"), OVERSUBSCRIBE),
         ("four cases, 1M", "< 8", ("--context", "1M"), OVERSUBSCRIBE),
         ("four cases, 8K, --host localhost:16", "", ("--context", "8K"), PLAIN),
         ("four cases, 1M, --host localhost:16", "", ("--context", "1M"), PLAIN)))
    for context in ("8K", "1M"):
        ratio = (medians[f"four cases, {context}, --host localhost:16"]
                 / medians[f"four cases, {context}"])
        print(f"without --oversubscribe, {context}: {ratio:.2f} x the time (target: < 2)")
    print()
    print_memory(bench, (), bench.options.contexts or ("8K", "1M", "16M"), " (target: < 64)")


def prefill(bench):
    case = ("--phase", "prefill", "--case", "4")
    print_times(bench, ("median s", "least", "most", "CPU s", "model + sync s", "M events/s",
                        "events", "rounds", "largest rank MiB"),
                [(f"case 4, {context}", "", (*case, "--trace", "none", "--context", context),
                  OVERSUBSCRIBE) for context in ("8K", "32K")])
    print_memory(bench, case, bench.options.contexts or ("8K",), "")


def pace(bench):
    """Decode, case 4: rates at 1, 2 and 16 ranks in turn, and what a trace costs."""
    case = ("--case", "4", "--trace")
    runs = [(f"{context}, batch {batch}", ranks, (*case, "none", "--context", context,
                                                  "--batch", batch))
            for context, batch in (("1M", "1"), ("16M", "1"), ("1M", "16")) for ranks in (1, 2, 16)]
    runs.append(("16M, batch 1, commands traced", 1, (*case, "commands", "--context", "16M")))
    facts = {}
    for _ in range(bench.options.repeat):
        for name, ranks, arguments in runs:
            facts.setdefault((name, ranks), []).append(bench.once(OVERSUBSCRIBE, arguments, ranks)[1])
    row("case 4", "ranks", "M events/s, median [range]", "M GEMM steps/s", "synchronisation %",
        "rounds", "times 1 rank", "times 2 ranks")
    row(*["---"], *["---:"] * 7)
    rates = {}
    for (name, ranks), found in facts.items():
        rate = sorted(run["events"] / busy_s(run) / 1e6 for run in found)
        middle = rates[name, ranks] = statistics.median(rate)
        steps = found[0]["gemm_steps"] / found[0]["events"] * middle
        row(name, str(ranks), f"{middle:.1f} [{rate[0]:.1f} {rate[-1]:.1f}]", f"{steps:.2f}",
            f"{100 * statistics.median(map(sync_share, found)):.1f}", f"{found[0]['rounds']:,}",
            *(f"{middle / rates[name, other]:.2f}" if ranks > other else "" for other in (1, 2)))
    walls = [statistics.median(run["wall_s"] for run in facts[name, 1])
             for name in ("16M, batch 1, commands traced", "16M, batch 1")]
    print(f"\ntrace of commands, 16M, wall time of the program: {walls[0] / walls[1]:.2f} x "
          "(target: < 1.5)")


WORKLOADS = {"decode": decode, "prefill": prefill, "pace": pace}


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("--program", default=os.environ.get(
        "AHBM_PDES", os.path.join(ROOT, "build", "ahbm-pdes")))
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--repeat", type=int, default=5, help="runs of each timing")
    parser.add_argument("--contexts", type=lambda text: text.split(","),
                        help="for memory (default: decode 8K,1M,16M, prefill 8K)")
    return parser.parse_args()


def main():
    options = parse_options()
    print(f"{options.ranks} ranks on {len(os.sched_getaffinity(0))} cores; load before: "
          f"{os.getloadavg()[0]:.1f}; {options.repeat} runs of each timing\n")
    with tempfile.TemporaryDirectory() as folder:
        WORKLOADS[options.workload](Bench(options, folder))


if __name__ == "__main__":
    main()
