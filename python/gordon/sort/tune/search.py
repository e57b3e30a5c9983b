"""The search: which point is tried next, and when one counts as better.

It knows nothing of files: `measure` sorts at a point and `clock` tells the time.

1. The defaults, once to warm up and then several times: their deviation is the noise.
2. The starts: methods, and the transfer sizes of the JouleSort paper's table 3.
3. One setting after the other, twice over: transfer sizes on a grid of powers of two, coarse and
   then next to the best; the order in memory, threads, buffered, who carries transfers out,
   overwriting, folders.
4. A point is better where it is beyond the noise in one trial, and still is with more.
5. Best and defaults in turn: the gain that is told is theirs alone. Where nothing was beyond the
   noise, the point that cost least has its chance here.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from gordon._core import GordonError
from gordon.sort.tune.point import TRANSFERS, Point

#: Trials of the defaults, from which noise is first told.
BASE = 3
#: More trials of a point that seems better.
CONFIRM = 2
#: How many deviations are beyond the noise.
BEYOND = 2.0
#: The least deviation that is believed, of the mean (assumed: a few trials may agree by chance).
LEAST_NOISE = 0.005
#: Best and defaults in turn: at least and at most so often.
PAIRS = (3, 12)
#: The grid of transfer sizes: every other power of two, then the neighbours of the best.
COARSE = tuple(1 << n for n in range(16, 27, 2))
#: Two-sided 95 % quantiles of Student's t for 1, 2 ... degrees of freedom (any table of it).
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201)


@dataclass
class Trial:
    """One sort."""

    number: int
    role: str
    point: Point
    cost: float | None = None
    """What is to be least: seconds, or joules. None where it failed."""
    facts: dict[str, Any] = field(default_factory=dict)
    error: str | None = None

    def about(self) -> dict[str, Any]:
        return {
            "trial": self.number,
            "role": self.role,
            "settings": self.point.about(),
            "what": self.point.label(),
            "cost": self.cost,
            **self.facts,
            "error": self.error,
        }


#: What a sort at a point costs, and what else there is to say; a role goes with it.
Measure = Callable[[Point, str], tuple[float, dict[str, Any]]]


class Spent(Exception):  # noqa: N818 - it is the usual end of a search
    """The budget leaves no room for another trial."""


@dataclass(kw_only=True)
class Space:
    """What may be chosen."""

    starts: list[Point]
    methods: list[str]
    most_transfer: int
    least_transfer: int = COARSE[0]
    in_core: list[str] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    io: list[str] = field(default_factory=list)
    folders: list[int] = field(default_factory=list)
    may_overwrite: bool = False


class Search:
    """A search, until its budget is spent. Everything that it did is in `trials`."""

    def __init__(
        self,
        measure: Measure,
        space: Space,
        *,
        budget_s: float,
        clock: Callable[[], float],
        seed: int = 0,
        tell: Callable[[Trial, "Search"], None] | None = None,
    ) -> None:
        self.trials: list[Trial] = []
        self.best = Point()
        self.interrupted = False
        self.finished = False
        """All that it wanted to try was tried."""
        self._measure = measure
        self._space = space
        self._clock = clock
        self._end = clock() + budget_s
        self._random = random.Random(seed)  # noqa: S311 - an order, no secret
        self._tell = tell
        self._usual_s = 0.0

    # What is known.

    def costs(self, point: Point) -> list[float]:
        """Of its trials, but for warming up."""
        return [
            trial.cost
            for trial in self.trials
            if trial.point == point and trial.cost is not None and trial.role != "warm-up"
        ]

    def noise(self) -> float:
        """The deviation of one trial, of its mean: pooled over all points that were tried more
        than once before the last comparison."""
        groups: dict[Point, list[float]] = {}
        for trial in self.trials:
            if trial.cost is not None and trial.role != "warm-up":
                groups.setdefault(trial.point, []).append(trial.cost)
        squares, free = 0.0, 0
        for costs in groups.values():
            if len(costs) > 1:
                squares += (len(costs) - 1) * (stdev(costs) / fmean(costs)) ** 2
                free += len(costs) - 1
        return max(LEAST_NOISE, sqrt(squares / free)) if free else LEAST_NOISE

    def better(self, one: Point, other: Point) -> bool:
        """Whether it costs less, beyond the noise."""
        ours, theirs = self.costs(one), self.costs(other)
        if not ours or not theirs:
            return False
        slack = BEYOND * self.noise() * sqrt(1 / len(ours) + 1 / len(theirs))
        return fmean(ours) < fmean(theirs) * (1 - slack)

    def left(self) -> float:
        return self._end - self._clock()

    # What is done.

    def run(self) -> None:
        """All of it; Ctrl-C ends it, and what is best so far stays."""
        try:
            self._base()
            try:
                self._starts()
                for _ in range(2):
                    before = self.best
                    self._coordinates()
                    if self.best == before:
                        break
                self._figures()
                self.finished = True
            except Spent:
                pass
            self._compare()
        except KeyboardInterrupt:
            if not self.costs(Point()):
                raise
            self.interrupted = True

    def _base(self) -> None:
        """Whatever the budget, and errors are the user's: nothing else would work either."""
        for n in range(BASE + 1):
            self._one(Point(), "defaults" if n else "warm-up", strict=True)

    def _may(self, point: Point) -> bool:
        """Whether it may be chosen: some are tried for the figures alone."""
        return self._space.may_overwrite or not point.overwrite

    def _one(self, point: Point, role: str, *, strict: bool = False) -> Trial:
        trial = Trial(len(self.trials) + 1, role, point)
        begin = self._clock()
        try:
            trial.cost, trial.facts = self._measure(point, role)
        except GordonError as error:
            if strict:
                raise
            trial.error = str(error.args[0])
        self.trials.append(trial)
        if trial.cost is not None:
            self._usual_s = max(0.7 * self._usual_s, self._clock() - begin)
        if self._tell is not None:
            self._tell(trial, self)
        return trial

    def _try(self, point: Point, role: str) -> None:
        """Once for each point; more often where it seems better, and then it is the best."""
        if any(trial.point == point for trial in self.trials):
            return
        reserve = 2 * PAIRS[0] * self._usual_s
        if self.left() < reserve + self._usual_s:
            raise Spent
        self._one(point, role)
        if role.startswith("figure") or not self.better(point, self.best):
            return
        for _ in range(CONFIRM):
            if self.left() < reserve + self._usual_s:
                raise Spent
            self._one(point, "confirm")
        if self.better(point, self.best):
            self.best = point

    def _all(self, points: Iterable[Point], role: str) -> None:
        """In an order of the seed: what drifts with time favours none."""
        found = list(dict.fromkeys(points))
        self._random.shuffle(found)
        for point in found:
            self._try(point, role)

    def _starts(self) -> None:
        self._all((Point(method=method) for method in self._space.methods), "method")
        self._all(
            (start.to(method=self.best.method) for start in map(self._fit, self._space.starts)),
            "preset",
        )

    def _fit(self, point: Point) -> Point:
        """Transfers no larger than may be."""
        most = self._space.most_transfer
        sizes = {name: getattr(point, name) for name in TRANSFERS}
        return point.to(**{name: size and min(size, most) for name, size in sizes.items()})

    def sizes(self) -> list[int]:
        """The grid."""
        space = self._space
        return [size for size in COARSE if space.least_transfer <= size <= space.most_transfer]

    def _coordinates(self) -> None:
        for name in TRANSFERS:
            self._all((self.best.to(**{name: size}) for size in self.sizes()), name)
            best = getattr(self.best, name)
            near = [] if best is None else [best // 2, best * 2]
            most, least = self._space.most_transfer, self._space.least_transfer
            fit = [size for size in near if least <= size <= most]
            self._all((self.best.to(**{name: size}) for size in fit), name)
        self._all((self.best.to(in_core=how) for how in self._space.in_core), "in_core")
        self._all((self.best.to(threads=n) for n in self._space.threads), "threads")
        self._all([self.best.to(buffered=not self.best.buffered)], "buffered")
        self._all((self.best.to(io=io) for io in self._space.io), "io")
        if self._space.may_overwrite:
            self._all([self.best.to(overwrite=not self.best.overwrite)], "overwrite")
        self._all((self.best.to(folders=n) for n in self._space.folders), "folders")

    def _figures(self) -> None:
        """With what time is left: the curves of the paper's figures 8 and 10."""
        self._all(
            (
                self.best.to(overwrite=overwrite, output_transfer=size)
                for size in self.sizes()
                for overwrite in (False, True)
            ),
            "figure-overwrite",
        )
        self._all(
            (
                self.best.to(folders=count, temp_transfer=size)
                for size in self.sizes()
                for count in self._space.folders
            ),
            "figure-folders",
        )

    def _compare(self) -> None:
        """Best and defaults in turn, each first as often as the other."""
        if self.best == Point():
            tried = [trial.point for trial in self.trials if trial.cost is not None]
            known = [p for p in tried if p == Point() or self._may(p)]
            self.best = min(known, key=lambda point: fmean(self.costs(point)))
        if self.best == Point():
            return
        for n in range(PAIRS[1]):
            if n >= PAIRS[0] and self.left() < 2 * self._usual_s:
                break
            pair = [Point(), self.best]
            for point in pair if n % 2 else reversed(pair):
                self._one(point, "compare", strict=True)

    # What it comes to.

    def gain(self) -> dict[str, Any]:
        """Of the best over the defaults, of what those cost."""
        paired = [
            [t.cost for t in self.trials if t.role == "compare" and t.point == point]
            for point in (Point(), self.best)
        ]
        count = min(map(len, paired))
        if self.best == Point() or count < PAIRS[0]:
            return self._unpaired()
        base, best = ([cost or 0.0 for cost in costs[:count]] for costs in paired)
        differences = [a - b for a, b in zip(base, best, strict=True)]
        mean, error = fmean(differences), stdev(differences) / sqrt(count)
        quantile = STUDENT[min(count - 1, len(STUDENT)) - 1]
        return {
            "compared": "in turn",
            "pairs": count,
            "default": fmean(base),
            "best": fmean(best),
            "gain": mean / fmean(base),
            "deviation": error / fmean(base),
            "beyond_noise": mean > quantile * error,
        }

    def _unpaired(self) -> dict[str, Any]:
        """Nothing was found, or the comparison was cut short."""
        base, best = self.costs(Point()), self.costs(self.best)
        gain = 1 - fmean(best) / fmean(base)
        error = self.noise() * sqrt(1 / len(base) + 1 / len(best))
        none = self.best == Point()
        return {
            "compared": "nothing was better than the defaults" if none else "not in turn",
            "pairs": 0,
            "default": fmean(base),
            "best": fmean(best),
            "gain": 0.0 if none else gain,
            "deviation": 0.0 if none else error,
            "beyond_noise": not none and gain > BEYOND * error,
        }
