"""The points of several result files, by what they ran."""

from _common import die
from _figures import MIB
from _study_file import StudyFile


class Point:
    """One point of a file, with what the figures ask of it."""

    def __init__(self, file, index):
        self.file, self.index = file, index
        numbers, text = file.points, file.text
        self.kernel, self.phase = text("kernel", index), text("phase", index)
        self.case, self.context, self.batch, self.cubes = (
            int(numbers[name][index]) for name in ("case", "context", "batch", "cubes_per_group"))
        dealt = self.phase == "prefill" and self.case in (1, 2)  # query positions, to the PEs
        self.shards = text("shards", index) if dealt else "-"
        self.latency_ps = int(numbers["latency_ps"][index])
        self.whole = self.phase == "decode" or int(numbers["query_len"][index]) == self.context
        self.form = tuple(text(name, index) for name in ("reduce_pe", "reduce_cube", "mlo"))
        self.traced = index in file.traced

    @property
    def name(self):
        """What tells it from the other points."""
        return self.phase, self.kernel, self.case, self.context, self.batch, self.shards, self.cubes

    def latency_us(self):
        return self.latency_ps / 1e6

    def request_us(self):
        return self.latency_us() / self.batch

    def cube_us(self):
        """CUBEs of a group times the time that a request of one KV head holds them."""
        return self.request_us() * self.cubes

    def fits(self):
        return bool(self.file.points["fits"][self.index].all())

    def _group(self, name, group=0):
        points = self.file.points
        return points[name][self.index][points["group"][self.index] == group]

    def link_mib(self):
        """Over the links between CUBEs, one group."""
        return int(self._group("cube_link_bytes").sum()) / MIB

    def slowest_cubes(self):
        points = self.file.points
        slowest = points["group_latency_ps"][self.index].argmax()
        return (points["group"][self.index] == slowest).nonzero()[0]

    def trace(self):
        return self.file.trace(self.index)


class Points:
    def __init__(self, paths):
        self.paths, self.all = paths, {}
        for path in paths:
            file = StudyFile(path)
            for index in range(len(file.points["case"])):
                self._add(Point(file, index))

    def _add(self, point):
        """The same point twice is one, with a trace if either has it."""
        if not point.whole:
            return
        other = self.all.setdefault(point.name, point)
        if (other.latency_ps, other.form) != (point.latency_ps, point.form):
            die(f"{other.file.path} and {point.file.path}: {point.kernel} case {point.case}, context "
                f"{point.context}, batch {point.batch} is in both, but of different runs")
        if point.traced and not other.traced:
            self.all[point.name] = point

    def find(self, **wanted):
        """Those with these attributes, in the order of their names."""
        return [self.all[name] for name in sorted(self.all)
                if all(getattr(self.all[name], key) == value for key, value in wanted.items())]

    def best_case(self, case, **wanted):
        """The fastest one of a case, over the ways of dealing query positions; None: none."""
        return min(self.find(case=case, **wanted), key=lambda p: p.latency_ps, default=None)
