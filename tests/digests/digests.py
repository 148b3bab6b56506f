#!/usr/bin/env python3
"""The digests of a fixed list of runs: what a rebuild of the inside must keep.

    digests.py PROGRAM --check [--every N] [--first K]   runs lines K, K + N ... and compares
    digests.py PROGRAM --write                           runs all and writes runs.tsv anew

runs.tsv holds a line per run: the options, and the digest and latency of each of its points. Only the
standard library. Exit status: 0 the same, 1 not, 2 bad usage."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "runs.tsv")

MACHINES = [
    "",
    "--config llama3-70b-4sip",
    "--set topology.cube_network=torus",
    "--set hbm.refresh_busy_ns=0 --set math.lanes=64",
    "--set scheduler.pipeline_depth=1 --set dma.queue_depth=1",
    "--set ipcq.slots=1 --set ipcq.slot_bytes=512",
    "--set dma.request_bytes=1024 --set hbm.interleave_bytes=64 --set dma.channels=5",
    "--set gemm.clock_ghz=1.37 --set hbm.bandwidth_gbps=1133.7 --set cube_link.bandwidth_gbps=33.3",
    "--set ipcq.copy_pe_ns=0 --set ipcq.copy_cube_ns=0 --set cpu.issue_composite_ns=0",
    "--set hbm.refresh_interval_ns=500 --set hbm.refresh_busy_ns=333 --set hbm.pseudo_channels=16",
]


def runs():
    """The options of each run."""
    for machine in MACHINES:
        for context in ("1K", "8K"):
            yield f"--context {context} {machine}"
        yield f"--context 3001 --batch 5 {machine}"
        yield f"--context 20001 --reduce-pe tree --reduce-cube tree --mlo packed {machine}"
        yield f"--context 4K --reduce-pe centre --reduce-cube centre --cubes-per-group 4 {machine}"
        yield f"--context 4099 --gemm dot --tile 256 --case 1,4 {machine}"
        yield f"--context 6000 --form softmax_merge --batch 2 --case 1,3,4 {machine}"
        yield f"--context 2500 --tp-idle redundant --batch 3 --case 1,2 {machine}"
        yield f"--context 9000 --query-len 3 --case 3,4 {machine}"
        yield f"--context 5001 --cubes-per-group 1 --batch 2 {machine}"
        for shards in ("contiguous", "striped", "zigzag"):
            yield f"--phase prefill --context 700 --shards {shards} {machine}"
        yield f"--phase prefill --context 1K --ring-depth 3 --case 1,4 {machine}"
        yield f"--phase prefill --context 2K --query-len 100 --cubes-per-group 4 {machine}"
        for kernel in ("panels", "decode-pipelined", "decode-fanout", "prefill-rotate"):
            yield f"--kernel {kernel} --context 640 {machine}"
        yield f"--kernel allreduce-ring --message 64K {machine}"


    for machine in MACHINES[:5:4] + MACHINES[6:7]:
        yield f"--context 3001 --batch 5 --kv-layout stack {machine}"
        yield f"--phase prefill --context 500 --kv-layout stack {machine}"
        yield f"--context 2100 --gemm dot --tile 130 --case 2,3 --kv-layout stack {machine}"
    yield "--kernel decode-fanout,prefill-rotate,prefill-fanout --context 500 --kv-layout stack"


def run(program, options, folder):
    command = [program, *options.split(), "--format", "json", "--trace", "none",
               "--output", os.path.join(folder, "x.h5")]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        return f"status {done.returncode}: {done.stderr.strip()}"
    return " ".join(f"{point['digest']}:{point['latency_ps']}"
                    for point in json.loads(done.stdout)["points"])


def write(program, folder):
    with open(LIST, "w") as out:
        for options in runs():
            options = options.strip()
            print(options, run(program, options, folder), sep="\t", file=out, flush=True)


def check(program, folder, first, every):
    bad = count = 0
    with open(LIST) as lines:
        for line in list(lines)[first::every]:
            options, wanted = line.rstrip("\n").split("\t")
            count += 1
            if (got := run(program, options, folder)) != wanted:
                bad += 1
                print(f"{options}\n  wanted {wanted}\n  got    {got}")
    print(f"{count} runs, {bad} with another result")
    return bad == 0 and count > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    if options.check == options.write:
        parser.error("one of --check and --write")
    with tempfile.TemporaryDirectory() as folder:
        if options.write:
            write(options.program, folder)
            return 0
        return 0 if check(options.program, folder, options.first, options.every) else 1


sys.exit(main())
