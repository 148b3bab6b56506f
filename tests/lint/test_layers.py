#!/usr/bin/env python3
"""Rules about the source tree that no compiler enforces. Usage: test_layers.py [ROOT]

Each broken rule prints `file:line: rule: what`. First the rules are tried on a tree of known
violations, so that a rule that no longer sees anything fails too. Only the standard library.
"""

import fnmatch
import os
import re
import sys
import tempfile

# --- the tables, to be edited ----------------------------------------------------------------------

# What a folder's files may include, as glob patterns of paths below src/ or the root.
PUBLIC = "ahbm/*"
LAYERS = {
    "src/support": ["support/*"],
    "src/pdes/core": ["pdes/core/*", "pdes/transport/transport.h", "support/*"],
    "src/pdes/transport": ["pdes/transport/*", "pdes/core/event.h", "support/*"],
    "src/prog": ["prog/*", "support/*"],
    "src/machine": ["machine/*", "pdes/*", "prog/*", "support/*"],
    # Asks the parts for bounds and never reads their state.
    "src/machine/lookahead": ["machine/lookahead/*", "machine/access.h", "machine/cube.h",
                              "machine/fifo.h",
                              "machine/part.h", "machine/message.h", "machine/params.h", "machine/server.h",
                              "machine/parts/network/route.h", "pdes/*", "prog/*", "support/*"],
    "src/values": ["values/*", "prog/*", "support/*"],
    "src/tl": ["tl/*", "prog/*", "support/*", PUBLIC],
    "kernels": ["kernels/*", PUBLIC],
    "src/config": ["config/*", "machine/params.h", "machine/part.h", "machine/key.h", "support/*"],
    "src/tensors": ["tensors/*", "results/results_hdf5.h", "support/*"],
    "src/results": ["results/*", "machine/params.h", "machine/result.h", "machine/trace.h",
                    "machine/part.h", "pdes/transport/comm.h", "prog/*", "support/*"],
    "src/study": ["study/*", "config/*", "tensors/*", "results/*", "kernels/*", "values/*",
                  "machine/*", "tl/*", "pdes/*", "prog/*", "support/*", PUBLIC],
    "src/cli": ["cli/*", "study/*", "support/*", "config/config.h"],
    "include/ahbm": [PUBLIC],
}

# Headers of other people's libraries, and the files that wrap them.
EXTERNAL = {
    "mpi.h": ["src/pdes/transport/*.[ch]", "src/results/results*.[ch]",
              "src/cli/main.c", "tests/*"],
    "hdf5.h": ["src/results/results_hdf5.c", "src/results/results_scales.c",
               "src/results/results_check.c",
               "src/tensors/tensors*.[ch]", "tests/*"],
    "hdf5_hl.h": ["tests/*"],
    "yaml.h": ["src/config/config*.[ch]"],
    "cblas.h": ["src/values/blas.c"],
    "jansson.h": ["src/cli/*.[ch]"],
    "argp.h": ["src/cli/*.[ch]", "tests/*"],
}

ALLOCATE = ["src/support/memory.c"]
# Wall-clock figures of a run; nothing that simulated time could see.
FLOATS = ["src/pdes/core/engine.h"]

FUNCTION_LINES = 100  # fewer than
FILE_LINES = 600  # fewer than; .c

CODE = ("src/", "kernels/", "include/", "tests/")
# What is the project's in a tree that may hold builds, results and a user's own files as well.
FOLDERS = [".ci", "analysis", "configs", "docs", "include", "jobs", "kernels", "src", "tests"]
TOP = ["CMakeLists.txt", "README.md"]
SUFFIXES = (".c", ".h", ".py", ".sh", ".bash", ".sbatch", ".md", ".yaml", ".txt", "run")

# --- reading ---------------------------------------------------------------------------------------

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def strip(text):
    """The code with comments and literals blanked, line numbers kept."""
    return NOISE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def matches(path, patterns):
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def unlike_source(folder):
    """Caches, hidden folders and builds, whatever they are called."""
    return (os.path.basename(folder).startswith((".", "__pycache__")) or
            os.path.exists(os.path.join(folder, "CMakeCache.txt")))


def listed(root):
    """Paths of the project's own files; what else a user keeps beside them is not looked at."""
    found = [name for name in TOP if os.path.isfile(os.path.join(root, name))]
    for top in FOLDERS:
        for folder, folders, files in os.walk(os.path.join(root, top)):
            folders[:] = [f for f in folders if not unlike_source(os.path.join(folder, f))]
            paths = [os.path.join(folder, f) for f in files if f.endswith(SUFFIXES)]
            found += [os.path.relpath(path, root) for path in paths if os.path.isfile(path)]
    return sorted(found)


class Tree:
    def __init__(self, root):
        self.files = {}
        self.broken = []
        for path in listed(root):
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                self.files[path] = file.read()
        self.sources = {p: t for p, t in self.files.items()
                        if p.endswith((".c", ".h")) and p.startswith(CODE)}
        self.code = {p: strip(t) for p, t in self.sources.items()}

    def report(self, path, line, rule, what):
        self.broken.append((path, line, rule, what))

    def includes(self, path):
        """(line, bracket, name) of each #include that is not commented out."""
        text, code = self.sources[path], self.code[path]
        for match in INCLUDE.finditer(text):
            if code[match.start():match.end()].lstrip().startswith("#"):
                yield line_of(text, match.start()), match.group(1), match.group(2)

    def find(self, path, pattern):
        for match in pattern.finditer(self.code[path]):
            yield line_of(self.code[path], match.start()), match.group(1)

    def resolve(self, path, name):
        """The tree's file that `name` means when `path` includes it; None for a system header."""
        for folder in ("src", "include", ".", os.path.dirname(path)):
            candidate = os.path.normpath(os.path.join(folder, name))
            if candidate in self.sources:
                return candidate
        return None


# --- the rules -------------------------------------------------------------------------------------

def layer_of(path):
    """The innermost folder of the table that holds the file."""
    return max((layer for layer in LAYERS if path.startswith(layer + "/")), key=len, default=None)


def rule_layers(tree):
    for path in tree.sources:
        layer = layer_of(path)
        if layer is None:
            if path.startswith(("src/", "kernels/", "include/")):
                tree.report(path, 1, "layers", "the folder has no row in the table")
            continue
        for line, bracket, name in tree.includes(path):
            ours = bracket == '"' or tree.resolve(path, name) or name.startswith("ahbm/")
            if ours and not matches(name, LAYERS[layer]):
                tree.report(path, line, "layers", f"{layer} may not include {name}")


def rule_cycles(tree):
    edges = {path: [] for path in tree.sources}
    for path in tree.sources:
        for line, _, name in tree.includes(path):
            target = tree.resolve(path, name)
            if target:
                edges[path].append((line, target))
    done, trail = set(), []

    def visit(path):
        trail.append(path)
        for line, target in edges[path]:
            if target in trail:
                cycle = trail[trail.index(target):] + [target]
                tree.report(path, line, "cycles", " -> ".join(cycle))
            elif target not in done:
                visit(target)
        done.add(trail.pop())

    for path in sorted(edges):
        if path not in done:
            visit(path)


def rule_external(tree):
    for path in tree.sources:
        for line, _, name in tree.includes(path):
            allowed = EXTERNAL.get(os.path.basename(name))
            if allowed is not None and not tree.resolve(path, name) and not matches(path, allowed):
                tree.report(path, line, "external", f"{name} is wrapped elsewhere")


ALLOCATION = re.compile(r"\b(malloc|calloc|realloc|reallocarray|free|strn?dup|v?asprintf"
                        r"|aligned_alloc|posix_memalign)\s*\(")


def rule_allocation(tree):
    for path in tree.sources:
        if path.startswith("tests/") or matches(path, ALLOCATE):
            continue
        for line, name in tree.find(path, ALLOCATION):
            tree.report(path, line, "allocation", f"{name}() outside support/memory.c")


FLOATING = re.compile(r"\b(float|double)\b")


def rule_floats(tree):
    for path in tree.sources:
        if path.startswith(("src/pdes/", "src/machine/")) and not matches(path, FLOATS):
            for line, name in tree.find(path, FLOATING):
                tree.report(path, line, "floats", f"{name} near simulated time")


# A kernel describes itself: the study asks the registry, and knows neither kernels nor their phases.
KERNEL_KNOWLEDGE = re.compile(r"\b(TL_PHASE_\w+|enum\s+tl_phase|run\s*[=!]=(?!\s*NULL)|kernel_(?:decode|prefill)\w*)")


def rule_kernels(tree):
    for path in tree.sources:
        if not path.startswith("src/study/"):
            continue
        for line, name in tree.find(path, KERNEL_KNOWLEDGE):
            tree.report(path, line, "kernels", f"{name}: kernels describe themselves (ahbm/kernel.h)")
        for line, _, name in tree.includes(path):
            if name.startswith("kernels/") and name != "kernels/registry.h":
                tree.report(path, line, "kernels", f"{name}: only the registry is asked")


def rule_lengths(tree):
    for path, code in tree.code.items():
        lines = code.splitlines()
        if path.endswith(".c") and len(lines) >= FILE_LINES:
            tree.report(path, len(lines), "lengths", f"{len(lines)} lines")
        opened = None
        for number, line in enumerate(lines, 1):
            if line.startswith("{"):
                opened = number
            elif line.startswith("}") and opened is not None:
                length = number - opened + 1
                if length >= FUNCTION_LINES:
                    tree.report(path, opened, "lengths", f"a function of {length} lines")
                opened = None


# Written in pieces, so that this file keeps its own rules.
UNFINISHED = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME"]) + r")\b")
MACHINE = re.compile(r"(?<![\w./-])/(?:" + "|".join(["wo" + "rk", "ro" + "ot", "fa" + "rm"]) +
                     r")(?![\w-])")


def rule_texts(tree):
    for path, text in tree.files.items():
        for number, line in enumerate(text.splitlines(), 1):
            if UNFINISHED.search(line):
                tree.report(path, number, "unfinished", line.strip())
            if MACHINE.search(line):
                tree.report(path, number, "machine-path", line.strip())


RULES = [rule_kernels, rule_layers, rule_cycles, rule_external, rule_allocation, rule_floats, rule_lengths,
         rule_texts]


def check(root):
    tree = Tree(root)
    for rule in RULES:
        rule(tree)
    return sorted(tree.broken)


# --- the rules' own test ---------------------------------------------------------------------------

LONG_FUNCTION = "int f(void)\n{\n" + "    g();\n" * 98 + "}\n"

# path: (text, the violations it holds as (line, rule))
VIOLATIONS = {
    "src/support/up.c": ('#include "pdes/core/engine.h"\n', [(1, "layers")]),
    "src/pdes/core/engine.h": ('#include "support/memory.h"\ndouble allowed;\n', []),
    "src/pdes/core/cube.c": ('/* "x */\n#include "machine/params.h"\nfloat x; // float\n',
                        [(2, "layers"), (3, "floats")]),
    "src/prog/command.h": ("float scalar;\n", []),
    "src/machine/params.h": ('#include <stdint.h>\n#include "tl/record.h"\n', [(2, "layers")]),
    "src/machine/pe.c": ('#include "machine/params.h"\n/* no double\n * here */\nlong double y;\n',
                    [(4, "floats")]),
    "src/machine/lookahead/look.c": ('#include "machine/access.h"\n#include "machine/machine.h"\n'
                                     '#include "machine/parts/ipcq/ipcq_state.h"\n',
                                     [(2, "layers"), (3, "layers")]),
    "src/tl/record.h": ("#include <ahbm/tl.h>\n", []),
    "src/tl/scout.c": ('#include "machine/params.h"\n#include <mpi.h>\n',
                       [(1, "layers"), (2, "external")]),
    "src/values/blas.c": ("#include <cblas.h>\n#include <ahbm/tl.h>\n", [(2, "layers")]),
    "src/values/gemm.c": ("#include <cblas.h>\n", [(1, "external")]),
    "src/results/results_hdf5.c": ('#include <hdf5.h>\n#include <mpi.h>\n#include "machine/params.h"\n'
                         '#include "machine/pe.h"\n', [(4, "layers")]),
    "src/config/config.c": ("#include <yaml.h>\n#include <hdf5.h>\n#include <jansson.h>\n",
                        [(2, "external"), (3, "external")]),
    "src/study/case.c": ('#include "kernels/registry.h"\n#include "tl/record.h"\n'
                         '#include "cli/options.h"\n#include <argp.h>\n',
                         [(3, "layers"), (4, "external")]),
    "src/study/phase.c": ('#include "kernels/decode/decode.h"\nif (kernel->run == f || x->phase == TL_PHASE_DECODE)'
                          '\n    kernel_prefill_rotate(a);\n',
                          [(1, "kernels"), (2, "kernels"), (3, "kernels")]),
    "src/cli/main.c": ('#include <argp.h>\n#include "config/config.h"\n#include "machine/params.h"\n',
                       [(3, "layers")]),
    "src/cli/summary.c": ('// #include "machine/params.h"\n#include <jansson.h>\n', []),
    "src/other/new.c": ("int x;\n", [(1, "layers")]),
    "kernels/decode/decode.c": ('#include <ahbm/tl.h>\n#include "kernels/registry.h"\n'
                         '#include "support/memory.h"\n#include <tl/record.h>\n',
                         [(3, "layers"), (4, "layers")]),
    "kernels/registry.h": ("#include <ahbm/tl.h>\n", []),
    "include/ahbm/tl.h": ('#include <ahbm/a.h>\n#include "prog/op.h"\n', [(2, "layers")]),
    "include/ahbm/a.h": ("#include <ahbm/b.h>\n", []),
    "include/ahbm/b.h": ("\n#include <ahbm/a.h>\n", [(2, "cycles")]),
    "src/support/memory.c": ("x = malloc(3); free(x);\n", []),
    "src/support/units.c": ('char *s = "malloc(3)"; memory_free(s);\n\ny = strdup (s);\nfree(y);\n',
                            [(3, "allocation"), (4, "allocation")]),
    "tests/unit/a.c": ("free(x);\n", []),
    "src/machine/noc.c": (LONG_FUNCTION.replace("    g();\n", "", 1) + "\nstatic " + LONG_FUNCTION,
                     [(103, "lengths")]),
    "src/machine/long.c": ("int x;\n" * 600, [(600, "lengths")]),
    "src/machine/short.c": ("int x;\n" * 599, []),
    # Not the project's: a user's folder, builds, a cache.
    "mine/notes.md": ("TO" + "DO: more\n", []),
    "notes.md": ("TO" + "DO: more\n", []),
    "out/src/pdes/up.c": ('#include "machine/params.h"\n', []),
    "src/out/CMakeCache.txt": ("", []),
    "src/out/CMakeFiles/3.25.1/CompilerIdC/c.c": ("int x = malloc(3);\n", []),
    "tests/tools/__pycache__/x.py": ("TO" + "DO: more\n", []),
    "docs/guide.md": ("see " + "/wo" + "rk/main\nnot build/wo" + "rk or /wo" + "rkshop\n"
                      "TO" + "DO: more\n", [(1, "machine-path"), (3, "unfinished")]),
}


def self_test():
    with tempfile.TemporaryDirectory() as root:
        for path, (text, _) in VIOLATIONS.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        found = {(path, line, rule) for path, line, rule, _ in check(root)}
    planted = {(path, line, rule) for path, (_, rows) in VIOLATIONS.items() for line, rule in rows}
    for missed in sorted(planted - found):
        print("self-test: not found:", *missed)
    for wrong in sorted(found - planted):
        print("self-test: found, not planted:", *wrong)
    return planted == found


def idle_patterns(root):
    """Patterns of the tables that match no file: they hold nothing."""
    paths = listed(root)
    tables = [*EXTERNAL.values(), ALLOCATE, FLOATS]
    return [pattern for table in tables for pattern in table
            if not any(matches(path, [pattern]) for path in paths)]


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "..")
    sound = self_test()
    broken = check(root)
    idle = idle_patterns(root)
    for path, line, rule, what in broken:
        print(f"{path}:{line}: {rule}: {what}")
    for pattern in idle:
        print(f"tests/lint/test_layers.py: no file matches {pattern}")
    return 0 if sound and not broken and not idle else 1


if __name__ == "__main__":
    sys.exit(main())
