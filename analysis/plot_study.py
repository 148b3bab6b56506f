#!/usr/bin/env python3
"""Draws the figures of the decode study from a result file of ahbm-pdes.

study-latency, study-memory and study-commands show the four cases at one context;
study-context shows latency over context when the file has several. Exit status: 0 done,
1 a figure could not be written, 2 the file or an option is wrong.
"""

import sys

sys.dont_write_bytecode = True  # before the first import of this folder: no __pycache__ in it
from _common import Parser, die
from _figures import (BLUE, CASE_LABELS, CASE_LINES, GREEN, MIB, ORANGE, RED, TALL_SIZE,
                      add_output_options, make_folder, new_figure, save, set_cases, style, tokens)
from _study_file import StudyFile

from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

COUNTS = (("ipcq_copy", "IPCQ copies", BLUE), ("dma_read", "DMA reads", ORANGE),
          ("dma_write", "DMA writes", GREEN))


class Study:
    """The decode points of cases 1 to 4 in a file."""

    def __init__(self, file):
        self.file = file
        points = file.points
        wanted = [i for i in range(len(points["case"]))
                  if 1 <= points["case"][i] <= 4 and points["phase"][i] == "decode"]
        self.at = {(int(points["case"][i]), int(points["context"][i])): i for i in wanted}
        if not self.at:
            die(f"{file.path}: no decode point of cases 1 to 4")
        self.contexts = sorted({context for _, context in self.at})

    def cases(self, context):
        return [case for case in CASE_LABELS if (case, context) in self.at]

    def latency_us(self, case, context):
        return self.file.points["latency_ps"][self.at[case, context]] / 1e6

    def memory_mib(self, case, context):
        return self.file.points["kv_bytes"][self.at[case, context]].max() / MIB

    def fits(self, case, context):
        return bool(self.file.points["fits"][self.at[case, context]].all())

    def counts(self, case, context):
        return self.file.group_counts(self.at[case, context])

    def setting(self, context):
        """What is drawn, for titles."""
        point = self.at[self.cases(context)[0], context]
        text, number = self.file.text, self.file.points
        heads = int(self.file.machine["model.query_heads"]) // int(
            self.file.machine["model.kv_heads"])
        shape = " + ".join(dict.fromkeys((text("reduce_pe", point), text("reduce_cube", point))))
        return (f"S = {tokens(context)}, B = {number['batch'][point]}, G = {heads}, "
                f"C = {number['cubes_per_group'][point]}, {shape}, {text('mlo', point)} (m, l, O)")


def draw_bars(study, context, value, title, ylabel, text):
    """One bar per case; the report's choice, case 4, stands out."""
    cases = study.cases(context)
    figure, axes = new_figure(f"{title}\n{study.setting(context)}", ylabel)
    bars = axes.bar(range(len(cases)), [value(case, context) for case in cases], width=0.6,
                    color=[RED if case == 4 else BLUE for case in cases])
    axes.bar_label(bars, [text(value(case, context)) for case in cases], padding=2)
    axes.margins(y=0.12)
    set_cases(axes, cases)
    return figure


def draw_latency(study, context):
    return draw_bars(study, context, study.latency_us, "Decode latency", "latency (µs)",
                     "{:.1f}".format)


def draw_memory(study, context):
    return draw_bars(study, context, study.memory_mib, "KV cache per CUBE, one layer",
                     "KV per CUBE (MiB)", "{:.4g}".format)


def draw_counts(study, context):
    cases = study.cases(context)
    figure, axes = new_figure(f"Commands of one KV-head group\n{study.setting(context)}",
                              "commands per group")
    width = 0.27
    for i, (kind, label, color) in enumerate(COUNTS):
        heights = [study.counts(case, context)[kind] for case in cases]
        bars = axes.bar([x + (i - 1) * width for x in range(len(cases))], heights, width=width,
                        color=color, label=label)
        axes.bar_label(bars, padding=2, fontsize=7)
    axes.margins(y=0.12)
    axes.legend(loc="upper left")
    set_cases(axes, cases)
    return figure


def draw_unfit(axes, study):
    """Crosses the points that the CUBEs' HBM is too small for."""
    unfit = [at for at in study.at if not study.fits(*at)]
    if unfit:
        cases = ", ".join(str(case) for case in sorted({case for case, _ in unfit}))
        axes.plot([context for _, context in unfit], [study.latency_us(*at) for at in unfit], "x",
                  color="black", markersize=7, markeredgewidth=0.9,
                  label=f"KV does not fit: {cases}")


def draw_context(study):
    figure, axes = new_figure("Decode latency over context\n"
                              + study.setting(study.contexts[0]).partition(", ")[2],
                              "latency (µs)", TALL_SIZE)
    for case, line in CASE_LINES.items():
        contexts = [context for context in study.contexts if (case, context) in study.at]
        name, placement = CASE_LABELS[case].split("\n", 1)
        axes.plot(contexts, [study.latency_us(case, context) for context in contexts], **line,
                  linewidth=1.2, label=f"{name}: {placement}".replace("\n", " × "))
    draw_unfit(axes, study)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("context S (tokens)")
    axes.grid(True, axis="both")
    step = max(1, (len(study.contexts) + 9) // 10)
    axes.set_xticks(study.contexts[::step], [tokens(c) for c in study.contexts[::step]])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.legend(loc="upper left", fontsize=7, labelspacing=0.35)
    return figure


def parse_options():
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("file", metavar="FILE.h5", help="result file")
    add_output_options(parser)
    parser.add_argument("--context", type=int, metavar="S",
                        help="context of the bars (default: 8192 if there, else the least)")
    return parser.parse_args()


def choose_context(study, wanted):
    if wanted is None:
        return 8192 if 8192 in study.contexts else study.contexts[0]
    if wanted not in study.contexts:
        die(f"--context: {wanted} is not in {study.file.path} "
            f"(there: {', '.join(map(str, study.contexts))})")
    return wanted


def main():
    options = parse_options()
    study = Study(StudyFile(options.file))
    context = choose_context(study, options.context)
    make_folder(options)
    with style():
        save(draw_latency(study, context), "study-latency", options)
        save(draw_memory(study, context), "study-memory", options)
        save(draw_counts(study, context), "study-commands", options)
        if len(study.contexts) > 1:
            save(draw_context(study), "study-context", options)


if __name__ == "__main__":
    main()
