#!/usr/bin/env python3
"""Makes the tables of docs/study.md from runs.

Prints them, or with --update puts each between its two marks in the document
(<!-- table NAME --> and <!-- end NAME -->). Exit status: 0 done; 1 a run failed, or with
--check the document's tables are not those of the runs; 2 bad usage.
"""

import functools
import sys

sys.dont_write_bytecode = True  # before the first import of this folder: no __pycache__ in it
from _common import die
from _program import RunError, in_parallel, set_copy_costs, shapes
from _tables import run, table
from fit_ipcq import fit

CASES = (1, 2, 3, 4)
HEADS = ["case 1", "case 2", "case 3", "case 4 ★"]
KI, MIB = 1024, 1024 * 1024
CONTEXT = 8 * KI
CONTEXT_MIN, CONTEXT_MAX = 256, KI * KI
PRECISION = 0.01  # of a crossover
VARIANTS = [(shape, packed) for shape in ("chain", "tree") for packed in (False, True)]
FITS = ("chain", "tree")


def us(point):
    return f"{point['latency_ps'] / 1e6:.2f}"


def percent(share):
    return f"{100 * share:.1f} %"


def tokens(count):
    return f"{count / KI:.3g}K" if count < KI * KI else f"{count / KI / KI:.3g}M"


class Study:
    """The questions; each method is a table."""

    def __init__(self, program):
        self.program = program
        self.machine = program.machine()

    @functools.cached_property
    def fits(self):
        """Options that set the two costs: the machine file's, and those fitted to trees."""
        return {"chain": (), "tree": set_copy_costs(*self.tree_fit[0])}

    @functools.cached_property
    def tree_fit(self):
        return fit(self.program, "tree")

    # ---- the four cases ----

    def array_share(self, point):
        """Share of the time of all MAC arrays of a group that they are busy."""
        step_macs = 1
        for key in ("tile_m", "tile_k", "tile_n"):
            step_macs *= int(self.machine[f"scheduler.{key}"])
        rate = float(self.machine["gemm.macs_per_cycle"]) * float(self.machine["gemm.clock_ghz"])
        busy_ns = point["gemm_steps_total"] / point["groups"] * step_macs / rate
        pes = 8 * int(self.machine["topology.pes_x"]) * int(self.machine["topology.pes_y"])
        return busy_ns * 1000 / (pes * point["latency_ps"])

    def four_cases(self, *options):
        cases = self.program.cases(*options)

        def row(name, value):
            return [name] + [value(cases[case]) for case in CASES]

        return table(["", *HEADS], [
            row("latency, µs", us),
            row("KV per CUBE, MiB", lambda p: f"{p['kv_bytes_per_cube'] / MIB:g}"),
            row(f"KV of {self.machine['model.layers']} layers fits",
                lambda p: "yes" if p["fits"] else "no"),
            row("IPCQ copies", lambda p: str(p["commands"]["ipcq_copy"])),
            row("DMA reads", lambda p: str(p["commands"]["dma_read"])),
            row("DMA writes", lambda p: str(p["commands"]["dma_write"])),
            row("HBM bytes read, MiB", lambda p: f"{p['read_bytes'] / MIB:.2f}"),
            row("busiest engine of a PE, of the run",
                lambda p: f"{p['busiest_engine']} {percent(p['busiest_share'])}"),
            row("busiest MAC array: busy", lambda p: percent(p["gemm_busy_share"])),
            row("of its MACs, useful", lambda p: percent(p["gemm_useful_share"])),
            row("useful share of its peak",
                lambda p: percent(p["gemm_busy_share"] * p["gemm_useful_share"])),
            row("all 64 arrays: busy", lambda p: percent(self.array_share(p))),
        ])

    def cases_off(self):
        return self.four_cases("--tp-idle", "off")

    def cases_redundant(self):
        return self.four_cases("--tp-idle", "redundant")

    def cases_long(self):
        return self.four_cases("--context", "1M")

    def bandwidths(self):
        """At which bandwidth the one PE of case 2 would pass case 1."""
        pes = int(self.machine["topology.pes_x"]) * int(self.machine["topology.pes_y"])
        stack = int(self.machine["hbm.bandwidth_gbps"])
        rows = []
        for gbps in (stack, stack * 3 // 2, stack * 2, stack * 5 // 2):
            cases = self.program.cases("--set", f"hbm.bandwidth_gbps={gbps}")
            rows.append([str(gbps), f"{gbps / pes:g}", *(us(cases[case]) for case in CASES),
                         percent(cases[2]["gemm_busy_share"])])
        return table(["GB/s per stack", "per PE", *HEADS, "MAC array busy, case 2"], rows)

    # ---- reductions ----

    def variant_cases(self, name, shape, packed):
        return self.program.cases(*self.fits[name], *shapes(shape, packed))

    def reductions(self):
        rows = []
        for name in FITS:
            for shape, packed in VARIANTS:
                cases = self.variant_cases(name, shape, packed)
                before = self.variant_cases(name, name, False)
                latencies = [us(cases[case]) + self.change_text(before, cases, case)
                             for case in CASES]
                rows.append([f"{name}s", shape, "packed" if packed else "separate", *latencies])
        return table(["fit to", "reduction", "(m, l, O)", *HEADS], rows)

    @staticmethod
    def change(before, after, case):
        """Per cent that a case's latency rises."""
        return 100 * (after[case]["latency_ps"] / before[case]["latency_ps"] - 1)

    def change_text(self, before, after, case):
        change = self.change(before, after, case)
        return f" ({change:+.0f} %)".replace("-", "−") if abs(change) >= 0.5 else ""

    def trees(self):
        rows = []
        for name in FITS:
            chain, tree = (self.variant_cases(name, shape, False) for shape in ("chain", "tree"))
            costs = self.tree_fit[0] if name == "tree" else tuple(
                float(self.machine[key]) for key in ("ipcq.copy_pe_ns", "ipcq.copy_cube_ns"))
            row = [f"{name}s at the published latencies", f"{costs[0]:.1f} / {costs[1]:.1f}"]
            for case in (1, 3, 4):
                row.append(f"{us(chain[case])} → {us(tree[case])}"
                           f"{self.change_text(chain, tree, case)}")
            rows.append(row)
        return table(["fit", "ns per copy, PE / CUBE", "case 1", "case 3", "case 4 ★"], rows)

    # ---- where case 4 overtakes case 3 ----

    def case_4_leads(self, name, shape, packed, context):
        points = self.program.points("--case", "3,4", "--context", str(context),
                                     *self.fits[name], *shapes(shape, packed))
        latency = {point["case"]: point["latency_ps"] for point in points}
        return latency[4] < latency[3]

    def crossover(self, name, shape, packed):
        """The least context found at which case 4 leads, and how often the order changes."""
        leads = functools.partial(self.case_4_leads, name, shape, packed)
        grid = []
        context = CONTEXT_MIN
        while context <= CONTEXT_MAX:
            grid.append(context)
            context *= 2
        order = [leads(context) for context in grid]
        changes = sum(a != b for a, b in zip(order, order[1:]))
        if True not in order:
            return f"not up to {tokens(CONTEXT_MAX)}"
        at = order.index(True)
        if at == 0:
            return f"below {tokens(CONTEXT_MIN)}"
        low, high = grid[at - 1], grid[at]
        while high - low > max(1, PRECISION * high):
            middle = (low + high) // 2
            low, high = (low, middle) if leads(middle) else (middle, high)
        found = f"{tokens(high)}"
        if high < CONTEXT:
            found = f"below 8K: {found}"
        return found if changes == 1 else f"{found} (first of {changes})"

    def crossovers(self):
        jobs = [functools.partial(self.crossover, name, shape, packed)
                for name in FITS for shape, packed in VARIANTS]
        found = iter(in_parallel(jobs))
        heads = [f"{shape}, {'packed' if packed else 'separate'}" for shape, packed in VARIANTS]
        return table(["fit to", *heads],
                     [[f"{name}s", *(next(found) for _ in VARIANTS)] for name in FITS])

    # ---- other dimensions ----

    def groups(self):
        rows = []
        for cubes in (8, 4, 1):
            cases = self.program.cases("--cubes-per-group", str(cubes))
            rows.append([str(cubes), str(cases[1]["groups"]), *(us(cases[c]) for c in CASES),
                         *(f"{cases[c]['kv_bytes_per_cube'] / MIB:g}" for c in (1, 2))])
        return table(["C", "groups", *HEADS, "MiB per CUBE, 1 and 4", "2 and 3"], rows)

    def latency_or_dash(self, case, *options):
        try:
            return us(self.program.points("--case", str(case), *options)[0])
        except RunError:
            return "–"

    def forms(self):
        rows = []
        for gemm in ("composite", "dot"):
            for form in ("auto", "one-shot", "tiled", "softmax_merge"):
                latencies = [self.latency_or_dash(case, "--gemm", gemm, "--form", form)
                             for case in CASES]
                if any(latency != "–" for latency in latencies):
                    rows.append([gemm, form, *latencies])
        return table(["GEMM", "form", *HEADS], rows)

    # ---- memory ----

    def point_at(self, case, cubes, context):
        return self.program.points("--case", str(case), "--cubes-per-group", str(cubes),
                                   "--context", str(context))[0]

    def last_fit(self, case, cubes):
        """The longest context whose KV of all layers fits into every CUBE."""
        point = self.point_at(case, cubes, CONTEXT)
        capacity = int(self.machine["hbm.capacity_bytes"])
        guess = capacity * CONTEXT // point["kv_bytes_per_cube_all_layers"]
        low, high = guess - 8 * cubes, guess + 8 * cubes
        if not self.point_at(case, cubes, low)["fits"] or self.point_at(case, cubes, high)["fits"]:
            die("the KV cache does not grow in proportion to the context", 1)
        while high - low > 1:
            middle = (low + high) // 2
            if self.point_at(case, cubes, middle)["fits"]:
                low = middle
            else:
                high = middle
        return low

    def memory(self):
        kinds = [("replicated (cases 2 and 3)", 3, 8), ("split over 4 CUBEs (case 4)", 4, 4),
                 ("split over 8 CUBEs (case 4)", 4, 8)]
        last = in_parallel([functools.partial(self.last_fit, case, cubes)
                            for _, case, cubes in kinds])
        rows = []
        for (what, case, cubes), context in zip(kinds, last):
            point = self.point_at(case, cubes, context)
            per_token = point["kv_bytes_per_cube_all_layers"] / context
            rows.append([what, f"{per_token / KI:.4g}", f"{context:,}",
                         f"case {case}: {us(point)}"])
        return table(["KV cache", "KiB per token and CUBE, all layers", "last context that fits",
                      "latency there, µs"], rows)


TABLES = {"cases": Study.cases_off, "redundant": Study.cases_redundant,
          "long": Study.cases_long, "bandwidths": Study.bandwidths,
          "reductions": Study.reductions, "crossovers": Study.crossovers, "trees": Study.trees,
          "groups": Study.groups, "forms": Study.forms, "memory": Study.memory}


def main():
    run(__doc__, TABLES, Study)


if __name__ == "__main__":
    main()
