#!/usr/bin/env python3
"""Tables of docs/kernels.md, from runs: which kernel moves what, and how long it takes.

    kernel_tables.py prefill [--context 8K 32K]    the cases, shards, spilling against rotating
    kernel_tables.py baselines [--context 8K]      what tree, ring and folding gain
    kernel_tables.py panels [--context 1K]         {single, multi} user x {prefill, decode}
    kernel_tables.py batch [--context 8K 128K]     hidden reductions; the report's closing questions
    kernel_tables.py issue [--context 8K]          composite, dot, softmax_merge under issue costs
"""

import argparse
import sys
import tempfile

from _program import Program, add_program_option, in_parallel, shapes

MIB = 1 << 20
FREE_ISSUE = tuple(word for kind in ("composite", "dot", "load", "store", "math", "send", "recv", "wait")
                   for word in ("--set", f"cpu.issue_{kind}_ns=0"))


def us(point):
    return point["latency_ps"] / 1e6


def print_table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(f"{cell:.3g}" if isinstance(cell, float) and cell < 10
                                else f"{cell:.1f}" if isinstance(cell, float) else str(cell)
                                for cell in row) + " |")
    print()


def run_all(program, rows):
    """rows: (cells, arguments). The first point of each, in order."""
    points = in_parallel([lambda a=arguments: program.points(*a)[0] for _, arguments in rows])
    return [(cells, point) for (cells, _), point in zip(rows, points)]


def prefill(program, contexts):
    variants = [(case, "prefill", "contiguous") for case in (1, 2, 3, 4)]
    variants += [(case, "prefill", shards) for case in (1, 2) for shards in ("striped", "zigzag")]
    variants += [(case, "prefill-rotate", "striped" if case == 1 else "contiguous")
                 for case in (1, 4)]
    for context in contexts:
        rows = [((case, kernel, shards if case < 3 else "-"),
                 ("--kernel", kernel, "--case", str(case), "--context", context, "--shards", shards))
                for case, kernel, shards in variants]
        print(f"Prefill of {context} tokens, one group of 8 CUBEs:\n")
        print_table(("case", "kernel", "shards", "us", "MACs: most / mean PE", "CUBE links MiB",
                     "IPCQ MiB", "HBM read MiB", "KV/CUBE MiB"),
                    [(*cells, us(p), p["gemm_imbalance"], p["cube_link_bytes"] / MIB,
                      p["sent_bytes"] / MIB, p["read_bytes"] / MIB, p["kv_bytes_per_cube"] / MIB)
                     for cells, p in run_all(program, rows)])


def gain(points, name, better, worse):
    ratio = points[worse]["latency_ps"] / points[better]["latency_ps"]
    return (name, worse, us(points[worse]), better, us(points[better]), ratio)


def baselines(program, contexts):
    for context in contexts:
        rows = [((f"decode {shape} {mlo}",), ("--case", "4", "--context", context,
                                              *shapes(shape, mlo == "packed")))
                for shape in ("chain", "tree") for mlo in ("separate", "packed")]
        rows += [((f"fan-out {mlo}",), ("--kernel", "decode-fanout", "--mlo", mlo, "--context",
                                        context)) for mlo in ("separate", "packed")]
        rows += [(("MHA",), ("--kernel", "decode-mha", "--case", "4", "--context", context)),
                 (("ring",), ("--kernel", "prefill", "--case", "4", "--context", context)),
                 (("K/V fan-out",), ("--kernel", "prefill-fanout", "--context", context))]
        points = {cells[0]: point for cells, point in run_all(program, rows)}
        print(f"Baselines at {context} tokens, one group of 8 CUBEs:\n")
        print_table(("gain of", "baseline", "us", "against", "us", "ratio"), [
            gain(points, "chain", "decode chain separate", "fan-out separate"),
            gain(points, "tree", "decode tree separate", "fan-out separate"),
            gain(points, "tree, packed", "decode tree packed", "fan-out packed"),
            gain(points, "folding G", "decode chain separate", "MHA"),
            gain(points, "ring, skip, overlap", "ring", "K/V fan-out")])
        print_table(("kernel", "IPCQ copies", "DMA reads", "KV/CUBE MiB"),
                    [(name, p["commands"]["ipcq_copy"], p["commands"]["dma_read"],
                      p["kv_bytes_per_cube"] / MIB) for name, p in points.items()])


def panels(program, contexts):
    for context in contexts:
        rows = [((user, phase), ("--kernel", f"panel-{user}-{phase}", "--context", context))
                for user in ("single", "multi") for phase in ("prefill", "decode")]
        print(f"Panels at {context} tokens:\n")
        print_table(("user", "phase", "us", "requests", "us per request", "IPCQ copies",
                     "KV/CUBE MiB"),
                    [(*cells, us(p), p["batch"], us(p) / p["batch"], p["commands"]["ipcq_copy"],
                      p["kv_bytes_per_cube"] / MIB) for cells, p in run_all(program, rows)])


def tokens(context):
    return int(context[:-1]) * {"K": 1 << 10, "M": 1 << 20}[context[-1]] if context[-1] in "KM" \
        else int(context)


def hidden(program, context, batch, kernel, more):
    """The fraction of the batch's reductions that its latency does not show. Sweeps alone are those
    of one PE with a PE's share of the tokens."""
    share = str(max(1, tokens(context) // 64))
    one, many, sweep, sweeps = (program.points(*arguments)[0]["latency_ps"] for arguments in (
        ("--kernel", kernel, "--case", "4", "--context", context, *more),
        ("--kernel", kernel, "--case", "4", "--context", context, "--batch", str(batch), *more),
        ("--kernel", "decode-one-pe", "--context", share),
        ("--kernel", "decode-one-pe", "--context", share, "--batch", str(batch))))
    reduction = one - sweep
    return many / 1e6, reduction / 1e6, 1 - (many - sweeps) / (batch * reduction)


def batch(program, contexts):
    rows = []
    for context in contexts:
        for kernel in ("decode", "decode-pipelined"):
            for name, more in (("chain", shapes("chain")), ("tree, packed", shapes("tree", True))):
                rows.append((context, kernel, name, *hidden(program, context, 16, kernel, more)))
    print("Sixteen requests, case 4: how much of the reductions is hidden:\n")
    print_table(("context", "kernel", "reduction", "us", "one reduction us", "hidden"), rows)
    rows = [((context, requests, case),
             ("--case", str(case), "--context", context, "--batch", str(requests), "--kernel",
              "decode-pipelined"))
            for context in contexts for requests in (1, 8, 64) for case in (1, 2, 3, 4)]
    points = {cells: point for cells, point in run_all(program, rows)}
    print("Data parallelism in the batch: us per request (and KV per CUBE, one layer):\n")
    print_table(("context", "requests", "case 1", "case 2", "case 3", "case 4"), [
        (context, requests, *(f"{us(p) / requests:.2f} ({p['kv_bytes_per_cube'] / MIB:.1f} MiB"
                              f"{'' if p['fits'] else ', does not fit'})"
                              for p in (points[context, requests, case] for case in (1, 2, 3, 4))))
        for context in contexts for requests in (1, 8, 64)])
    mixed(program)


def mixed(program):
    """Eight short requests and one long one."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("1K\n" * 4 + "128K\n" + "1K\n" * 4)
        file.flush()
        rows = [((case,), ("--case", str(case), "--requests", file.name, "--kernel",
                           "decode-pipelined")) for case in (1, 2, 3, 4)]
        print("Mixed: one request of 128K tokens among eight of 1K:\n")
        print_table(("case", "us", "KV/CUBE MiB"),
                    [(*cells, us(p), p["kv_bytes_per_cube"] / MIB)
                     for cells, p in run_all(program, rows)])


def issue(program, contexts):
    for context in contexts:
        forms = (("composite", ()), ("dot", ("--gemm", "dot")),
                 ("softmax_merge", ("--form", "softmax_merge")))
        rows = [((case, cost, name), ("--case", str(case), "--context", context, *form, *settings))
                for case in (2, 3, 4) for cost, settings in (("per kind", ()), ("free", FREE_ISSUE))
                for name, form in forms]
        print(f"Decode of {context} tokens under two models of issue cost:\n")
        print_table(("case", "issue", "form", "us"),
                    [(*cells, us(p)) for cells, p in run_all(program, rows)])


TABLES = {"prefill": (prefill, ["8K", "32K"]), "baselines": (baselines, ["8K"]),
          "panels": (panels, ["1K"]), "batch": (batch, ["8K", "128K"]), "issue": (issue, ["8K"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=[*TABLES, "all"])
    parser.add_argument("--context", nargs="+", metavar="S")
    add_program_option(parser)
    options = parser.parse_args()
    program = Program(options.program)
    for name in TABLES if options.table == "all" else [options.table]:
        function, contexts = TABLES[name]
        function(program, options.context or contexts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
