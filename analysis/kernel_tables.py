#!/usr/bin/env python3
"""Makes the tables of docs/kernels.md from runs.

Prints them, or with --update puts each between its two marks in the document
(<!-- table NAME --> and <!-- end NAME -->). Exit status: 0 done; 1 a run failed, or with
--check the document's tables are not those of the runs; 2 bad usage.
"""

import tempfile
import sys

sys.dont_write_bytecode = True  # before the first import of this folder: no __pycache__ in it
from _program import in_parallel, shapes
from _tables import run, table

KI, MIB = 1 << 10, 1 << 20
CASES = (1, 2, 3, 4)
BATCH = 16  # requests of the table of hidden reductions
REQUESTS = (1, 8, 64)
BATCH_CONTEXTS = (8 * KI, 128 * KI)
ISSUE_CONTEXTS = (1 * KI, 8 * KI, 32 * KI, 128 * KI)
COSTS = ("composite", "dot", "load", "store", "math", "send", "recv", "wait")
FREE_ISSUE = tuple(word for kind in COSTS for word in ("--set", f"cpu.issue_{kind}_ns=0"))
FORMS = (("composite", ()), ("dot", ("--gemm", "dot")),
         ("softmax_merge", ("--form", "softmax_merge")))


def us(point):
    return point["latency_ps"] / 1e6


def kv_mib(point):
    return f"{point['kv_bytes_per_cube'] / MIB:g}"


def text_of(cell):
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:.3g}" if cell < 10 else f"{cell:.1f}"


def tokens(count):
    return f"{count / KI:g}K"


def make(head, rows):
    return table(head, [[text_of(cell) for cell in row] for row in rows])


def per_request(point, requests):
    fits = "" if point["fits"] else ", no"
    return f"{us(point) / requests:.2f} ({kv_mib(point)} MiB{fits})"


class Kernels:
    """The questions; each method is a table."""

    def __init__(self, program):
        self.program = program

    def each(self, rows):
        """rows: (cells, arguments). The first point of each, in order."""
        points = in_parallel([lambda a=arguments: self.program.points(*a)[0]
                              for _, arguments in rows])
        return [(cells, point) for (cells, _), point in zip(rows, points)]

    # ---- prefill ----

    def prefill(self, context, variants):
        """The fastest in bold."""
        rows = self.each([((case, kernel, shards),
                           ("--kernel", kernel, "--case", str(case), "--context", str(context),
                            *(("--shards", shards) if shards != "-" else ())))
                          for case, kernel, shards in variants])
        least = min(us(point) for _, point in rows)
        return make(("case", "kernel", "shards", "µs", "MACs: most / mean PE", "CUBE links MiB",
                     "IPCQ MiB", "HBM read MiB", "KV/CUBE MiB"),
                    [(*cells, f"**{us(p):.1f}**" if us(p) == least else us(p), p["gemm_imbalance"],
                      p["cube_link_bytes"] / MIB, p["sent_bytes"] / MIB, p["read_bytes"] / MIB,
                      kv_mib(p)) for cells, p in rows])

    def prefill_8k(self):
        dealt = [(case, "prefill", shards) for case in (1, 2)
                 for shards in ("contiguous", "striped", "zigzag")]
        return self.prefill(8 * KI, [*dealt, (3, "prefill", "-"), (4, "prefill", "-"),
                                     (1, "prefill-rotate", "striped"), (4, "prefill-rotate", "-")])

    def prefill_32k(self):
        return self.prefill(32 * KI, [
            (1, "prefill", "striped"), (1, "prefill", "zigzag"), (2, "prefill", "striped"),
            (2, "prefill", "zigzag"), (3, "prefill", "-"), (4, "prefill", "-"),
            (1, "prefill-rotate", "striped"), (4, "prefill-rotate", "-")])

    # ---- baselines ----

    def baselines(self):
        context = ("--context", "8K")
        rows = [(f"decode, {name}", ("--case", "4", *context, *shapes(shape, packed)))
                for name, shape, packed in (("chain", "chain", False), ("tree", "tree", False),
                                            ("tree, packed", "tree", True))]
        rows += [(f"fan-out, {mlo}", ("--kernel", "decode-fanout", "--mlo", mlo, *context))
                 for mlo in ("separate", "packed")]
        rows += [("MHA", ("--kernel", "decode-mha", "--case", "4", *context)),
                 ("ring (case 4)", ("--kernel", "prefill", "--case", "4", *context)),
                 ("K/V fan-out", ("--kernel", "prefill-fanout", *context))]
        points = dict(self.each(rows))
        pairs = (("chain", "decode, chain", "fan-out, separate"),
                 ("tree", "decode, tree", "fan-out, separate"),
                 ("tree, packed", "decode, tree, packed", "fan-out, packed"),
                 ("folding G", "decode, chain", "MHA"),
                 ("ring, skip, overlap", "ring (case 4)", "K/V fan-out"))

        def cells(name):
            return name, us(points[name]), points[name]["commands"]["ipcq_copy"]

        return make(("gain of", "baseline", "µs", "IPCQ copies", "against", "µs", "IPCQ copies",
                     "ratio"),
                    [(gain, *cells(worse), *cells(better), us(points[worse]) / us(points[better]))
                     for gain, better, worse in pairs])

    # ---- panels ----

    def panels(self):
        """All four in one run; the one that deals query positions also dealt otherwise."""
        points = [(p["kernel"], "contiguous" if p["kernel"] == "panel-single-prefill" else "-", p)
                  for p in self.program.points("--kernel", "panels", "--context", "1K")]
        dealt = self.program.points("--kernel", "panel-single-prefill", "--context", "1K",
                                    "--shards", "zigzag")
        points.insert(1, ("panel-single-prefill", "zigzag", dealt[0]))
        return make(("kernel", "shards", "µs", "requests", "µs per request", "IPCQ copies",
                     "KV/CUBE MiB"),
                    [(name, shards, us(p), p["batch"], us(p) / p["batch"],
                      p["commands"]["ipcq_copy"], kv_mib(p)) for name, shards, p in points])

    # ---- batches ----

    def latency_us(self, *arguments):
        return us(self.program.points(*arguments)[0])

    def hidden(self, context, kernel, more):
        """Latency of a batch, one reduction, and the fraction of the batch's reductions that does
        not show. Sweeps alone are those of one PE with a PE's share of the tokens."""
        batch = ("--batch", str(BATCH))
        case = ("--kernel", kernel, "--case", "4", "--context", str(context), *more)
        alone = ("--kernel", "decode-one-pe", "--context", str(context // 64))
        many = self.latency_us(*case, *batch)
        reduction = self.latency_us(*case) - self.latency_us(*alone)
        shown = many - self.latency_us(*alone, *batch)
        return many, reduction, 1 - shown / (BATCH * reduction)

    def hidden_reductions(self):
        rows = [(tokens(context), kernel, name, *self.hidden(context, kernel, more))
                for context in BATCH_CONTEXTS for kernel in ("decode", "decode-pipelined")
                for name, more in (("chain", shapes("chain")),
                                   ("tree, packed", shapes("tree", True)))]
        return make(("context", "kernel", "reduction", "µs", "one reduction µs", "hidden"), rows)

    def requests(self):
        places = [(context, requests) for context in BATCH_CONTEXTS for requests in REQUESTS]
        points = dict(self.each([
            ((context, requests, case),
             ("--kernel", "decode-pipelined", "--case", str(case), "--context", str(context),
              "--batch", str(requests)))
            for context, requests in places for case in CASES]))
        return make(("context", "requests", *(f"case {case}" for case in CASES)),
                    [(tokens(context), requests,
                      *(per_request(points[context, requests, case], requests) for case in CASES))
                     for context, requests in places])

    def mixed(self):
        """Eight short requests and a long one."""
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("1K\n" * 4 + "128K\n" + "1K\n" * 4)
            file.flush()
            points = self.program.cases("--kernel", "decode-pipelined", "--requests", file.name)
        return make(("", *(f"case {case}" for case in CASES)),
                    [("µs", *(us(points[case]) for case in CASES)),
                     ("KV/CUBE MiB", *(kv_mib(points[case]) for case in CASES))])

    # ---- issue cost ----

    def issue(self):
        places = [(context, case) for context in ISSUE_CONTEXTS for case in (2, 3, 4)]
        columns = [(form, costs) for form, _ in FORMS for costs in ("per kind", "0")]
        settings = {"per kind": (), "0": FREE_ISSUE}
        points = dict(self.each([
            ((context, case, form, costs),
             ("--case", str(case), "--context", str(context), *options, *settings[costs]))
            for context, case in places for form, options in FORMS for costs in settings]))
        return table(("context", "case", *(f"{form}, {costs}" for form, costs in columns)),
                     [(tokens(context), str(case),
                       *(f"{us(points[context, case, *column]):.2f}" for column in columns))
                      for context, case in places])


TABLES = {"prefill": Kernels.prefill_8k, "prefill-32k": Kernels.prefill_32k,
          "baselines": Kernels.baselines, "panels": Kernels.panels,
          "hidden": Kernels.hidden_reductions, "requests": Kernels.requests,
          "mixed": Kernels.mixed, "issue": Kernels.issue}
SLOW = ("prefill-32k",)


def main():
    run(__doc__, TABLES, Kernels, SLOW)


if __name__ == "__main__":
    main()
