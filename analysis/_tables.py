"""Tables from runs, and the documents that hold them between two marks:
<!-- table NAME --> and <!-- end NAME -->."""

import re

from _common import Parser, die
from _program import Program, RunError, add_program_option


def table(head, rows):
    lines = ["| " + " | ".join(row) + " |" for row in [head, *rows]]
    lines.insert(1, "|---" + "|---:" * (len(head) - 1) + "|")
    return "\n".join(lines)


def replace(text, name, content, path):
    start, end = f"<!-- table {name} -->", f"<!-- end {name} -->"
    pattern = re.escape(start) + r"\n(.*\n)?" + re.escape(end)
    new, count = re.subn(pattern, lambda _: f"{start}\n{content}\n{end}", text, flags=re.DOTALL)
    if count != 1:
        die(f"{path}: lines '{start}' and '{end}' are needed once each, in this order")
    return new


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        die(f"{path}: {error.strerror}")
    except UnicodeDecodeError:
        die(f"{path}: no text")


def parse_options(description, names, slow):
    parser = Parser(description=description)
    parser.add_argument("--update", metavar="FILE.md", help="put the tables into this document")
    parser.add_argument("--check", metavar="FILE.md", help="compare with this document's tables")
    parser.add_argument("--only", metavar="NAME", choices=names, help="one table: %(choices)s")
    if slow:
        parser.add_argument("--fast", action="store_true",
                            help=f"without those that take minutes: {', '.join(slow)}")
    add_program_option(parser)
    return parser.parse_args()


def run(description, makers, study_of, slow=()):
    """The main program of a script. `makers`: {name: what makes the table of a study};
    `study_of`: the study of a Program."""
    options = parse_options(description.splitlines()[0], makers, slow)
    path = options.update or options.check
    text = read(path) if path else ""
    program = Program(options.program)
    study = study_of(program)
    left_out = slow if slow and options.fast else ()
    wanted = [name for name in makers if options.only in (None, name) and name not in left_out]
    if not wanted:
        die(f"--fast leaves out the table of --only: {options.only}")
    if path:
        for name in wanted:
            replace(text, name, "", path)  # before anything is run
    try:
        tables = {name: makers[name](study) for name in wanted}
    except RunError as error:
        die(str(error), 1)
    if path:
        compare_or_write(options, path, text, tables)
        print(f"{path}: {len(tables)} tables, {program.runs} runs")
    else:
        print("\n\n".join(f"{name}:\n\n{content}" for name, content in tables.items()))


def compare_or_write(options, path, text, tables):
    new = text
    for name, content in tables.items():
        new = replace(new, name, content, path)
    if options.check and new != text:
        die(f"{path}: the tables are not those of the runs (--update {path} renews them)", 1)
    if options.update:
        with open(path, "w", encoding="utf-8") as file:
            file.write(new)
