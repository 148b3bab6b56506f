#!/usr/bin/env python3
"""Writes docs/scaling.md: counts of the parallel run that do not depend on the machine, and times that
follow from them on a cluster with stated figures. Usage: scaling.py PROGRAM [--output FILE]

PROGRAM is the built ahbm-pdes; mpirun must be on the path. Only the standard library.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # before the first import of this folder: no __pycache__ in it
from _program import mpi_environment

# The cluster of the projection.
EVENT_NS = 50.0  # one event on one core, trace off
CORES_PER_NODE = 64
NODE_LATENCY_US = 0.5  # one message between ranks of a node, through shared memory
NET_LATENCY_US = 2.0  # one small message between nodes
NET_GB_S = 10.0  # of a node

SIPS = {16: (1, 1), 64: (2, 2), 256: (4, 4), 1024: (8, 8)}  # CUBEs: columns and rows of SIPs


def simulate(program, cubes, ranks, context, extra=(), case=4):
    columns, rows = SIPS[cubes]
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--case", str(case), "--context", context, "--trace", "none",
                   "--format", "json", "--output", os.path.join(folder, "out.h5"),
                   "--set", f"topology.sips_x={columns}", "--set", f"topology.sips_y={rows}", *extra]
        if ranks > 1:
            command = ["mpirun", "--oversubscribe", "-np", str(ranks)] + command
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env=mpi_environment())
    if done.returncode != 0:
        sys.exit(f"scaling.py: {' '.join(command)}:\n{done.stderr}")
    result = json.loads(done.stdout)
    return result["points"][0], result["run"]


def count_row(program, cubes, ranks, context):
    point, run = simulate(program, cubes, ranks, context, ("--transport", "mpi"))
    microseconds = 1e-6 * point["latency_ps"]
    return (f"| {cubes} | {ranks} | {run['events']} | {run['rounds']} | "
            f"{run['events'] / ranks:.0f} | {run['messages'] / ranks:.0f} | "
            f"{run['message_bytes'] / ranks / 1024:.1f} | "
            f"{run['messages'] / ranks / microseconds:.2f} | {point['digest']} |")


HEADER = ("| CUBEs | ranks | events | rounds | events/rank | messages/rank | KiB/rank | "
          "messages/rank/us | digest |\n|---|---|---|---|---|---|---|---|---|")


CUBES_PER_GROUP, COPIES_PER_MERGE = 8, 3  # the defaults: a chain of (m, l, O), separately


def rounds_rows(program):
    """Rounds of decode and prefill with the scout's promises and with those of a link's latency."""
    rows = []
    for case in (1, 2, 3, 4):
        moved = 0 if case in (2, 3) else 2 * COPIES_PER_MERGE * (CUBES_PER_GROUP - 1)  # and credits
        for batch, context in ((1, "8K"), (1, "1M"), (1, "16M"), (16, "8K"), (16, "1M")):
            extra = ("--batch", str(batch))
            _, run = simulate(program, 16, 1, context, extra, case)
            link = "-"
            if context == "8K":
                _, weak = simulate(program, 16, 1, context, (*extra, "--lookahead", "link"), case)
                link = weak["rounds"]
            bound = 8 + moved * batch * 16 // CUBES_PER_GROUP
            rows.append(f"| decode | {case} | {batch} | {context} | {run['rounds']} | {bound} | "
                        f"{link} |")
    for case in (1, 4):
        extra = ("--phase", "prefill")
        _, run = simulate(program, 16, 1, "8K", extra, case)
        _, link = simulate(program, 16, 1, "8K", (*extra, "--lookahead", "link"), case)
        rows.append(f"| prefill | {case} | 1 | 8K | {run['rounds']} | - | {link['rounds']} |")
    return rows


def round_us(ranks):
    """One exchange with four neighbours and one minimum over all ranks."""
    if ranks == 1:
        return 0.0
    here = min(ranks, CORES_PER_NODE)
    nodes = math.ceil(ranks / CORES_PER_NODE)
    minimum = 2 * (math.ceil(math.log2(here)) * NODE_LATENCY_US
                   + math.ceil(math.log2(nodes)) * NET_LATENCY_US)
    exchange = NET_LATENCY_US if nodes > 1 else NODE_LATENCY_US
    return exchange + minimum


def project(cubes, ranks, events, critical, rounds, kib_per_rank):
    """Greedy bound on work: what a rank does alone, or what one CUBE does one after another."""
    work = max(events / ranks, critical) * EVENT_NS * 1e-3
    wire = kib_per_rank * 1024 * min(ranks, CORES_PER_NODE) / (NET_GB_S * 1e3)
    sync = rounds * round_us(ranks) + (wire if ranks > CORES_PER_NODE else 0)
    alone = events * EVENT_NS * 1e-3
    return (f"| {cubes} | {ranks} | {alone * 1e-6:.3f} | {work * 1e-6:.4f} | {sync * 1e-6:.6f} | "
            f"{alone / (work + sync):.0f} |")


def projection(program, context):
    point, run = simulate(program, 64, 64, context, ("--transport", "mpi"))
    per_cube, kib_per_rank = run["events"] / 64, run["message_bytes"] / 64 / 1024
    lines = []
    for cubes in (64, 1024, 65536):
        for ranks in sorted({1, 16, 64, 1024, cubes}):
            if ranks <= cubes:
                lines.append(project(cubes, ranks, per_cube * cubes, run["critical_events"],
                                     run["rounds"], kib_per_rank))
    parallelism = run["events"] / run["critical_events"]
    return lines, parallelism, point, run


TEXT = """# Scaling

Written by `analysis/scaling.py`; the model is decode, case 4 (KV split over CUBEs and PEs), batch 1, \
8 CUBEs per group. All counts are properties of the simulation: another machine gives the same (MiB are about). \
Messages are those of `--transport mpi`: one per neighbour and round. Digests of one row of CUBEs are \
equal for every number of ranks.

## Strong scaling: 64 CUBEs, {context} tokens

{header}
{strong}

## Weak scaling: CUBEs and ranks grow together, {context} tokens

{header}
{weak}

Rounds do not grow with the number of CUBEs while groups never wait for each other: a group's \
rounds are its copies and credits between CUBEs one after another, and two more. The engine \
keeps 16 groups apart; from 256 CUBEs on several share a place, and windows that two of them \
hold back add rounds, once. More CUBEs than ranks: the rows with fewer ranks. Ranks whose CUBEs \
have no work take part in every round and do nothing else.

## Rounds, and what the scout saves

16 CUBEs. *Bound*: 8 + the copies and credits between CUBEs on a group's critical path, times the number \
of groups. *Link*: `--lookahead link`, promises of one link's latency, as without the scout.

| phase | case | batch | tokens | rounds | bound | link |
|---|---|---|---|---|---|---|
{rounds}

One request takes the same rounds at every context. Those of a batch differ a little: \
reductions of several requests are under way at once, and how they fall together depends on the \
length of the sweeps. Prefill moves KV fragment by fragment round a ring, and each lets a credit leave \
at once: CUBEs there affect each other about as often as a link is long.

## Many CUBEs in one process, 8K tokens

| CUBEs | events | rounds | MiB |
|---|---|---|---|
{alone}

## How much parallelism there is

At {context} tokens 64 CUBEs dispatch {events} events; the busiest CUBE's events, summed over rounds, \
are {critical}: with one rank per CUBE and nothing else to pay, {parallelism:.1f} times faster than \
one rank.

## Projected time, {context} tokens

Assumed, not measured: {event_ns:.0f} ns per event, {cores} ranks per node, {node_us} us for a message \
inside a node and {net_us} us between nodes, {gb_s:.0f} GB/s per node; a round is one exchange with \
neighbours and one minimum over all ranks (2 log2 messages).

| CUBEs | ranks | one rank, s | work, s | synchronisation, s | speed-up |
|---|---|---|---|---|---|
{projected}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--output", default="docs/scaling.md")
    parser.add_argument("--context", default="1M")
    options = parser.parse_args()
    program, context = options.program, options.context
    strong = [count_row(program, 64, ranks, context) for ranks in (1, 2, 4, 8, 16, 32, 64)]
    weak = [count_row(program, cubes, ranks, context) for cubes, ranks in ((16, 16), (64, 64))]
    alone = []
    for cubes in SIPS:
        _, run = simulate(program, cubes, 1, "8K")
        alone.append(f"| {cubes} | {run['events']} | {run['rounds']} | "
                     f"{run['peak_rss_bytes'] / 2 ** 20:.0f} |")
    projected, parallelism, _, run = projection(program, context)
    rounds = rounds_rows(program)
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(TEXT.format(context=context, header=HEADER, strong="\n".join(strong),
                               rounds="\n".join(rounds), weak="\n".join(weak), alone="\n".join(alone),
                               projected="\n".join(projected), parallelism=parallelism,
                               events=run["events"], critical=run["critical_events"],
                               event_ns=EVENT_NS, cores=CORES_PER_NODE, node_us=NODE_LATENCY_US,
                               net_us=NET_LATENCY_US, gb_s=NET_GB_S))


if __name__ == "__main__":
    main()
