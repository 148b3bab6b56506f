#!/usr/bin/env python3
"""Makes the table of docs/verification.md from runs: kernel x shape -> error.

Prints it, or with --update puts it between its marks in the document. --quick leaves the longest
contexts out. Exit status: 0 done; 1 a run failed or a point is out of tolerance; 2 bad usage.
"""

import os
import re
import sys

sys.dont_write_bytecode = True  # before the first import of this folder: no __pycache__ in it
from _common import Parser, die
from _program import REPOSITORY, Program, RunError, add_program_option, in_parallel

DOCUMENT = os.path.join(REPOSITORY, "docs", "verification.md")
MARKS = re.compile(r"(<!-- table verification -->\n).*?(<!-- end verification -->)", re.DOTALL)
BATCHES = (1, 3, 8)
RATIOS = {"8 (64/8)": (64, 8), "7 (28/4)": (28, 4), "1 (8/8, MHA)": (8, 8), "32 (32/1, MQA)": (32, 1)}
CONTEXTS = (1, 7, 63, 64, 65, 1000, 1021, 8192, 100000)
FORMS = {
    "composite, one-shot or tiled; chains": (),
    "`softmax_merge`; trees, packed": ("--form", "softmax_merge", "--reduce-pe", "tree",
                                       "--reduce-cube", "tree", "--mlo", "packed"),
    "dot, tiles of 128; centre": ("--gemm", "dot", "--tile", "128", "--reduce-pe", "centre",
                                  "--reduce-cube", "centre"),
}


def points(program, form, ratio, batch, contexts):
    query, kv = RATIOS[ratio]
    return program.points("--verify", "--batch", str(batch), "--context",
                          ",".join(map(str, contexts)), "--set", f"model.query_heads={query}",
                          "--set", f"model.kv_heads={kv}", "--set", "topology.cubes_y=2",
                          *FORMS[form])


def row(program, form, ratio, contexts):
    """The largest errors over the cases and batches, per context."""
    worst = {}
    for batch in BATCHES:
        for point in points(program, form, ratio, batch, contexts):
            verify = point["verify"]
            rms, largest = worst.get(point["context"], (0.0, 0.0))
            worst[point["context"]] = (max(rms, verify["rms_relative"]),
                                       max(largest, verify["max_abs"]))
    return [f"decode, {form}", ratio] + [f"{rms:.2e} ({largest:.1e})" if rms else "0"
                                         for rms, largest in worst.values()]


def table(program, contexts):
    jobs = [lambda form=form, ratio=ratio: row(program, form, ratio, contexts)
            for form in FORMS for ratio in RATIOS]
    head = ["kernel", "q/kv"] + [f"S = {context}" for context in contexts]
    lines = ["| " + " | ".join(cells) + " |" for cells in [head, *in_parallel(jobs)]]
    lines.insert(1, "|---|---|" + "---:|" * len(contexts))
    return "\n".join(lines)


def update(text):
    with open(DOCUMENT, encoding="utf-8") as file:
        document = file.read()
    new, count = MARKS.subn(lambda marks: f"{marks[1]}{text}\n{marks[2]}", document)
    if count != 1:
        die(f"{DOCUMENT} has not one pair of marks of the table", 1)
    with open(DOCUMENT, "w", encoding="utf-8") as file:
        file.write(new)


def main():
    parser = Parser(description=__doc__.split("\n")[0])
    add_program_option(parser)
    parser.add_argument("--update", action="store_true", help="write the table to the document")
    parser.add_argument("--quick", action="store_true", help="contexts up to 8192 tokens")
    arguments = parser.parse_args()
    contexts = [context for context in CONTEXTS if context <= 8192 or not arguments.quick]
    try:
        text = table(Program(arguments.program), contexts)
    except RunError as error:
        die(str(error), 1)
    if arguments.update:
        update(text)
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
