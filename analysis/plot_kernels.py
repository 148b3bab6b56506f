#!/usr/bin/env python3
"""Draws the figures of docs/kernels.md from result files of ahbm-pdes (jobs/kernels.sh makes them).

    kernels-prefill-latency   the four cases of prefill, and what they move over CUBE links
    kernels-prefill-stages    where the time of a prefill goes (needs traces of commands)
    kernels-decode-stages     where the time of a decode goes (needs traces of commands)
    kernels-short-mapping     KV heads on CUBEs and the chains over PEs (panel-single-decode, traced)
    kernels-placement         cases and panels in every regime that the files have

Draws those that the files have points for. Exit status: 0 done, 1 a figure could not be written, 2
the files or an option are wrong.
"""

import sys

sys.dont_write_bytecode = True  # before the first import of this folder: no __pycache__ in it
from _common import Parser, die
from _critical_path import TraceError
from _figures import (BLUE, CASE_LABELS, CASE_LINES, GREEN, ORANGE, RED, SKY, add_output_options,
                      legend_below, make_folder, pyplot, save, style, tokens)
from _mapping import Mapping, draw_mapping
from _points import Points
from _stages import DECODE_STAGES, PREFILL_STAGES, times

from matplotlib.ticker import LogLocator, NullFormatter

CASES = tuple(CASE_LABELS)
LONG = {"decode": "decode", "prefill": "prefill"}  # the kernel of the four cases, by phase
SHARDS = {"contiguous": ("o", ORANGE), "striped": ("s", SKY), "zigzag": ("D", BLUE), "-": ("^", GREEN)}
EVERYWHERE = "all positions on every PE"
PANELS = {"panel-single-decode": "panel, single user", "panel-multi-decode": "panel, multi user",
          "panel-single-prefill": "panel, single user", "panel-multi-prefill": "panel, multi user"}
WIDE = 5.4  # inches: a column of a page


def case_name(case):
    return CASE_LABELS[case].partition("\n")[0]


def contexts_of_all_cases(points, **wanted):
    found = [{p.context for p in points.find(case=case, **wanted)} for case in CASES]
    return sorted(set.intersection(*found))


# ---- prefill: latency and what moves ----

def draw_dealt(axes, points, context):
    """Latency of each way of dealing query positions, the best of each case with its number."""
    wanted = {"kernel": "prefill", "context": context, "batch": 1, "cubes": 8}
    for shards, (marker, color) in SHARDS.items():
        drawn = points.find(shards=shards, **wanted)
        axes.plot([p.case for p in drawn], [p.latency_us() / 1000 for p in drawn], marker, color=color,
                  markersize=4.5, markerfacecolor="none", linestyle="none",
                  label=EVERYWHERE if shards == "-" else shards)
    best = [points.best_case(case, **wanted) for case in CASES]
    for point in best:
        axes.plot(point.case, point.latency_us() / 1000, SHARDS[point.shards][0], markersize=4.5,
                  color=SHARDS[point.shards][1])
        axes.annotate(f"{point.latency_us() / 1000:.3g}", (point.case, point.latency_us() / 1000),
                      (0, -5), textcoords="offset points", ha="center", va="top", fontsize=7)
    axes.set_title(f"{tokens(context)} tokens (filled: best)", loc="left")
    axes.set_ylim(0, 1.12 * max(p.latency_us() for p in points.find(**wanted)) / 1000)


def draw_moved(axes, points, contexts):
    """What a group moves over CUBE links, prefill beside decode."""
    kinds = [("prefill", context, color) for context, color in zip(contexts, (BLUE, SKY))]
    kinds += [("decode", contexts[0], RED)]
    drawn = [(phase, context, color) for phase, context, color in kinds
             if points.find(kernel=phase, context=context, batch=1)]
    width = 0.8 / len(drawn)
    for i, (phase, context, color) in enumerate(drawn):
        moved = [points.best_case(case, kernel=phase, context=context, batch=1, cubes=8)
                 for case in CASES]
        heights = [point.link_mib() if point else 0 for point in moved]
        places = [case + (i - (len(drawn) - 1) / 2) * width for case in CASES]
        axes.plot(places, heights, "s^o"[i], markersize=4, color=color, linestyle="none",
                  label=f"{phase} {tokens(context)}")
        for place, height in zip(places, heights):
            axes.annotate(f"{height:.2g}" if height < 10 else f"{height:.0f}", (place, height), (0, 4),
                          textcoords="offset points", ha="center", fontsize=6, rotation=90)
    axes.set_yscale("symlog", linthresh=0.01)
    axes.set_ylim(-0.004, 20000)
    axes.set_yticks([0, 0.01, 0.1, 1, 10, 100, 1000], ["0", "0.01", "0.1", "1", "10", "100", "1000"])
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_title("CUBE links, MiB (log)", loc="left")


def draw_prefill_latency(points):
    contexts = contexts_of_all_cases(points, kernel="prefill", batch=1, cubes=8)
    contexts = contexts[-2:]
    figure, axes = pyplot.subplots(1, len(contexts) + 1, figsize=(WIDE, 2.9), layout="constrained")
    for at, context in zip(axes, contexts):
        draw_dealt(at, points, context)
    draw_moved(axes[-1], points, contexts)
    for at in axes:
        at.set_xticks(CASES, [f"Case {case}" if case == 1 else str(case) for case in CASES])
        at.set_xlim(0.45, 4.55)
    axes[0].set_ylabel("prefill latency (ms)")
    axes[-1].legend(loc="upper center", fontsize=6.5, handlelength=0.9, handletextpad=0.4,
                    labelspacing=0.2, borderaxespad=0.1)
    legend_below(figure, *axes[0].get_legend_handles_labels(), 4, 1)
    return figure


# ---- where the time goes ----

def stacks_of(points, phase, context):
    """(label, point) of the cases at `context`, then of the panels at theirs."""
    kernel = LONG[phase]
    cases = [points.best_case(case, kernel=kernel, context=context, batch=1, traced=True, cubes=8)
             for case in CASES]
    stacks = [(case_name(p.case) + (f"\n{p.shards}" if p.shards != "-" else ""), p)
              for p in cases if p is not None]
    panels = [p for name in sorted(PANELS, reverse=True) if name.endswith(phase)
              for p in points.find(kernel=name, traced=True)]
    longest = max((p.context for p in panels), default=None)
    return stacks, [(f"{p.kernel.split('-')[1]} user\nB = {p.batch}", p) for p in panels
                    if p.context == longest]


def draw_stack(axes, stacks, stages):
    """Bars of a point's critical path in us; their parts sum to its latency (_stages.times)."""
    for x, (_, point) in enumerate(stacks):
        bottom = 0.0
        for (_, color), spent in zip(stages, times(point)):
            axes.bar(x, spent / 1e6, bottom=bottom, width=0.62, color=color, edgecolor="white",
                     linewidth=0.3)
            bottom += spent / 1e6
        axes.annotate(f"{point.latency_us():.3g}" if bottom < 1000 else f"{point.latency_us():.0f}",
                      (x, bottom), (0, 2), textcoords="offset points", ha="center", fontsize=7)
    axes.set_xticks(range(len(stacks)), [label for label, _ in stacks], fontsize=7)
    axes.tick_params(axis="x", length=0)
    axes.margins(y=0.1)


def draw_stages(points, phase, stages):
    context = choose_context(points, phase)
    parts = [part for part in stacks_of(points, phase, context) if part]
    figure, axes = pyplot.subplots(1, len(parts), figsize=(WIDE, 2.9), layout="constrained",
                                   squeeze=False, sharey=True,
                                   width_ratios=[len(part) for part in parts])
    for at, part in zip(axes[0], parts):
        draw_stack(at, part, stages)
        panels = part[0][1].kernel in PANELS
        at.set_title(("panels, " if panels else "") + f"{tokens(part[0][1].context)} tokens", loc="left")
    axes[0][0].set_ylabel(f"{phase}, critical path (µs)")
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=color) for _, color in stages]
    columns = 3 if phase == "decode" else 2
    legend_below(figure, handles, [name for name, _ in stages], columns, -(-len(stages) // columns))
    return figure


def choose_context(points, phase):
    contexts = {p.context for p in points.find(kernel=LONG[phase], batch=1, traced=True)}
    return 8192 if 8192 in contexts else max(contexts, default=None)


# ---- every regime ----

def regimes(points):
    """(phase, context, batch) that at least two placements of the kernels above have run."""
    found = {}
    for point in points.all.values():
        if point.kernel in PANELS or (point.kernel in LONG and point.cubes == 8):
            found.setdefault((point.phase, point.context, point.batch), set()).add(
                point.case or point.kernel)
    return sorted(regime for regime, placements in found.items() if len(placements) > 1)


def rows_of_case(points, rows, case):
    """(height, point) in each regime that ran the case."""
    best = [points.best_case(case, kernel=LONG[phase], context=context, batch=batch, cubes=8)
            for phase, context, batch in rows]
    return [(y + (case - 2.5) * 0.17, p) for y, p in enumerate(best) if p is not None]


def draw_placement_of(axes, points, rows, value):
    for case, line in CASE_LINES.items():
        drawn = rows_of_case(points, rows, case)
        look = {**line, "linestyle": "none", "markersize": min(5, line["markersize"])}
        axes.plot([value(p) for _, p in drawn], [y for y, _ in drawn], **look, label=case_name(case))
        unfit = [(y, p) for y, p in drawn if not p.fits()]
        axes.plot([value(p) for _, p in unfit], [y for y, _ in unfit], "x", color="black", markersize=6,
                  markeredgewidth=0.7, label="KV does not fit" if case == CASES[-1] else None)
    drawn = [(y, p) for y, (phase, context, batch) in enumerate(rows)
             for p in points.find(phase=phase, context=context, batch=batch) if p.kernel in PANELS]
    axes.plot([value(p) for _, p in drawn], [y for y, _ in drawn], "D", color=GREEN, markersize=5,
              fillstyle="none", markeredgewidth=1, linestyle="none", label="panel")


def draw_placement(points):
    rows = regimes(points)
    figure, axes = pyplot.subplots(1, 2, figsize=(WIDE, 1 + 0.31 * len(rows)), sharey=True,
                                   layout="constrained")
    for at, value, label in ((axes[0], lambda p: p.request_us(), "µs per request"),
                             (axes[1], lambda p: p.cube_us(), "CUBE·µs per request and KV head")):
        draw_placement_of(at, points, rows, value)
        at.set_xscale("log")
        at.set_xlabel(label)
        at.grid(False)
        at.grid(True, axis="x")
        for y in range(1, len(rows)):
            at.axhline(y - 0.5, color="#dddddd", linewidth=0.6)
        at.xaxis.set_major_locator(LogLocator(10, numticks=12))
    axes[0].set_yticks(range(len(rows)), [f"{phase} {tokens(context)}, B = {batch}"
                                          for phase, context, batch in rows])
    axes[0].set_ylim(len(rows) - 0.5, -0.5)
    handles = dict(zip(*axes[0].get_legend_handles_labels()[::-1]))
    legend_below(figure, handles.values(), handles.keys(), 6, 1)
    return figure


# ---- what the files have ----

def mapping_point(points):
    found = points.find(kernel="panel-single-decode", traced=True)
    return found[0] if found else None


def possible(points):
    """{figure: how to draw it} for what the files have."""
    figures = {}
    if contexts_of_all_cases(points, kernel="prefill", batch=1, cubes=8):
        figures["kernels-prefill-latency"] = lambda: draw_prefill_latency(points)
    for phase, stages in (("prefill", PREFILL_STAGES), ("decode", DECODE_STAGES)):
        if any(stacks_of(points, phase, choose_context(points, phase))):
            figures[f"kernels-{phase}-stages"] = \
                lambda phase=phase, stages=stages: draw_stages(points, phase, stages)
    if mapping_point(points) is not None:
        figures["kernels-short-mapping"] = lambda: draw_mapping(Mapping(mapping_point(points)))
    if regimes(points):
        figures["kernels-placement"] = lambda: draw_placement(points)
    return figures


def parse_options():
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("files", metavar="FILE.h5", nargs="+", help="result files")
    add_output_options(parser)
    return parser.parse_args()


def main():
    options = parse_options()
    points = Points(options.files)
    figures = possible(points)
    if not figures:
        die(f"{', '.join(options.files)}: nothing to draw: no points of several cases or panels, or no "
            "traces of commands")
    make_folder(options)
    with style():
        for stem, draw in figures.items():
            try:
                save(draw(), stem, options)
            except TraceError as error:
                die(f"{stem}: a trace is no path from the last store to the launch: {error}")


if __name__ == "__main__":
    main()
