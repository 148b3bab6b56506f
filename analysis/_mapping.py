"""KV heads on CUBEs and the chain over the PEs of each, as a run's trace and links have them."""

import collections

import numpy

from _critical_path import Trace, TraceError
from _figures import BLUE, GREY, ORANGE, RED, pyplot, tokens

# Columns and rows that a link of the PE mesh leads by, in the order of the file's axis.
STEPS = ((0, -1), (0, 1), (1, 0), (-1, 0))  # N, S, E, W


class Mapping:
    """Who sends to whom in each CUBE, and where its PEs lie."""

    def __init__(self, point):
        self.point, self.file = point, point.file
        trace = Trace(*point.trace())
        self.edges = self._edges(trace)  # {CUBE: {sending PE: receiving PE}}
        self.root = {cube: self._root(cube) for cube in self.edges}
        self.copies = collections.Counter(trace.columns["cube"][trace.ops("send")].tolist())

    @staticmethod
    def _edges(trace):
        """From the messages that recvs waited for."""
        columns = trace.columns
        waited = columns["cause"] == trace.names["cause"].index("message")
        edges = collections.defaultdict(dict)
        for record in numpy.flatnonzero(waited & trace.ops("recv", "recv_async")):
            cube, sender, receiver = (int(columns[name][record])
                                      for name in ("cube", "cause_pe", "pe"))
            if columns["cause_cube"][record] != cube or \
                    edges[cube].setdefault(sender, receiver) != receiver:
                raise TraceError("a PE sends to more than one of its CUBE")
        return edges

    def _root(self, cube):
        roots = set(self.edges[cube].values()) - set(self.edges[cube])
        if len(roots) != 1:
            raise TraceError(f"the PEs of CUBE {cube} do not reduce to one root")
        return roots.pop()

    def _step(self, cube, pe):
        """Where the link leads that carried most of what a PE sent."""
        links = self.file.points["pe_link_bytes"][self.point.index][cube][pe]
        return STEPS[int(numpy.argmax(links))]

    def places(self, cube):
        """{PE: (column, row)}, from the root against the links that were used."""
        places, waiting = {self.root[cube]: (0, 0)}, [self.root[cube]]
        while waiting:
            at = waiting.pop()
            for sender, receiver in self.edges[cube].items():
                if receiver == at:
                    step = self._step(cube, sender)
                    places[sender] = (places[at][0] - step[0], places[at][1] - step[1])
                    waiting.append(sender)
        left, top = (min(place[i] for place in places.values()) for i in (0, 1))
        return {pe: (x - left, y - top) for pe, (x, y) in places.items()}

    def head(self, cube):
        """(KV head, batch) that a CUBE's group works on."""
        heads = int(self.file.machine["model.kv_heads"])
        group = int(self.file.points["group"][self.point.index][cube])
        return group % heads, group // heads


def _draw_cube(axes, mapping, cube):
    places = mapping.places(cube)
    for sender, receiver in mapping.edges[cube].items():
        axes.annotate("", places[receiver], places[sender],
                      arrowprops=dict(arrowstyle="-|>", color=BLUE, linewidth=0.9, shrinkA=5.5,
                                      shrinkB=5.5, mutation_scale=6))
    for pe, (x, y) in places.items():
        root = pe == mapping.root[cube]
        axes.plot(x, y, "s", markersize=9, color=RED if root else "white", markeredgewidth=0.8,
                  markeredgecolor=RED if root else GREY)
        axes.text(x, y, str(pe), ha="center", va="center", fontsize=6.5,
                  color="white" if root else "black")
    axes.set_title(f"CUBE {cube}: KV head {mapping.head(cube)[0]}", fontsize=7, pad=3)
    axes.set_xlim(-0.6, max(x for x, _ in places.values()) + 0.6)
    axes.set_ylim(max(y for _, y in places.values()) + 0.6, -0.6)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    for side in axes.spines.values():
        side.set(visible=True, color=ORANGE, linewidth=0.8)


def draw_mapping(mapping):
    """The CUBEs of the first batch, as they lie in the SIP."""
    point, columns = mapping.point, int(mapping.file.machine["topology.cubes_x"])
    cubes = [cube for cube in sorted(mapping.edges) if mapping.head(cube)[1] == 0]
    rows = -(-(1 + max(cubes)) // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(5.4, 0.65 + 0.8 * rows),
                                   layout="constrained", squeeze=False)
    for cube, at in enumerate(axes.flat):
        if cube in cubes:
            _draw_cube(at, mapping, cube)
        else:
            at.set_axis_off()
    again = sorted(set(mapping.edges) - set(cubes))
    more = f"; CUBEs {again[0]} to {again[-1]}: the next batch" if again else ""
    figure.suptitle(f"{point.kernel}, {tokens(point.context)} tokens: a KV head per CUBE{more}.\n"
                    f"{mapping.copies[cubes[0]]} copies of m, l and O in each, along the chain to PE "
                    f"{mapping.root[cubes[0]]}, which stores O.", fontsize=8, x=0.01, ha="left")
    return figure
