"""How the figures of this folder look, and where they go."""

import argparse
import os

from _common import die, need_packages

need_packages("h5py", "matplotlib", "numpy")
import matplotlib  # noqa: E402

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

FORMATS = ("png", "svg")
KI, MIB = 1024, 1024 * 1024
# Okabe and Ito's colours, which colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, RED, SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9"
PURPLE, YELLOW, GREY = "#CC79A7", "#F0E442", "#999999"
CASE_LABELS = {1: "Case 1\nCube-SP\nPE-TP", 2: "Case 2\nCube-Repl\nPE-TP",
               3: "Case 3\nCube-Repl\nPE-SP", 4: "Case 4 ★\nCube-SP\nPE-SP"}
CASE_LINES = {1: dict(color=SKY, marker="o", linestyle="--", markersize=6.5, fillstyle="none"),
              2: dict(color=ORANGE, marker="s", linestyle="-.", markersize=3.5),
              3: dict(color=BLUE, marker="^", linestyle="-", markersize=3.5),
              4: dict(color=RED, marker="*", linestyle="-", markersize=6)}
STYLE = {"font.family": "DejaVu Sans", "font.size": 8, "axes.titlesize": 8.5,
         "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
         "axes.grid": True, "axes.grid.axis": "y", "grid.color": "#dddddd", "grid.linewidth": 0.6,
         "legend.frameon": False, "figure.dpi": 200,
         "svg.hashsalt": "ahbm-pdes", "svg.fonttype": "path"}
SIZE = (4.6, 2.6)  # inches: a column of a paper
TALL_SIZE = (4.6, 3.0)


def style():
    """The look, for a `with`."""
    return matplotlib.rc_context(STYLE)


def tokens(count):
    for unit, size in (("M", KI * KI), ("K", KI)):
        if count >= size and count % (size // 8) == 0:
            return f"{count / size:g}{unit}"
    return f"{count:g}"


def new_figure(title, ylabel, size=SIZE):
    figure, axes = pyplot.subplots(figsize=size, layout="constrained")
    axes.set_title(title, loc="left", pad=9)
    axes.set_ylabel(ylabel)
    return figure, axes


def set_cases(axes, cases):
    axes.set_xticks(range(len(cases)), [CASE_LABELS[case] for case in cases])
    axes.tick_params(axis="x", length=0)


def legend_below(figure, handles, labels, columns, lines):
    """A legend of so many lines under the axes, over the figure's whole width."""
    share = (0.06 + 0.145 * lines) / figure.get_size_inches()[1]
    figure.get_layout_engine().set(rect=(0, share, 1, 1 - share))
    figure.legend(handles, labels, loc="lower center", ncols=columns, fontsize=7, borderaxespad=0.1,
                  handlelength=1.2, handletextpad=0.4, columnspacing=1.1, labelspacing=0.25)


def add_output_options(parser):
    parser.add_argument("--output-dir", metavar="DIR", default=".",
                        help="where the figures go, made if missing (default: here)")
    parser.add_argument("--format", type=formats, default=list(FORMATS), metavar="LIST",
                        help="png, svg or png,svg (default)")


def formats(text):
    chosen = text.split(",")
    if not set(chosen) <= set(FORMATS):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of {', '.join(FORMATS)}")
    return chosen


def make_folder(options):
    try:
        os.makedirs(options.output_dir, exist_ok=True)
    except OSError as error:
        die(f"{options.output_dir}: {error.strerror}")


def save(figure, stem, options):
    for suffix in options.format:
        path = os.path.join(options.output_dir, f"{stem}.{suffix}")
        metadata = {"Date": None} if suffix == "svg" else {"Software": None}
        try:
            figure.savefig(path, metadata=metadata)
        except OSError as error:
            die(f"{path}: {error.strerror}", 1)
        print(path)
    pyplot.close(figure)
