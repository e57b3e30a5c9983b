"""The search: which settings are tried next, and when a point counts as better.

The search knows nothing of files: `measure` sorts at a point and `clock` returns the time.

1. The defaults, once to warm up and then several times: their deviation is the noise.
2. The points that `_advised` proposes. A blind search has none; `gordon.sort.tune.live` proposes
   what the telemetry of a served device suggests.
3. The methods, and the transfer sizes of the JouleSort paper's table 3.
4. One setting at a time until a whole round finds nothing better: page cache, I/O engine, order in
   memory, threads, folders, overwriting; then transfer sizes on a grid of powers of two, coarse and
   then next to the best, and over several folders the unit of their stripe. A point is better if it
   is beyond the noise in one trial and still is after two more.
5. The cheapest point of all is repeated until the cheapest has `SURE` trials.
6. That point and the defaults in turn: the reported gain uses these trials only. They are repeated
   until the gain is known to `PRECISION` or the budget ends.
"""

import random
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean, stdev
from typing import NotRequired, TypedDict

from gordon.errors import GordonError
from gordon.reports.sort import Phase, Plan
from gordon.sort.tune.point import TRANSFERS, Point, Settings
from gordon.sort.tune.telemetry import Telemetry

#: Trials of the defaults, which give the first estimate of the noise.
BASE = 3
#: More trials of a point that seems better.
CONFIRM = 2
#: How many deviations are beyond the noise.
BEYOND = 2.0
#: The least deviation that is believed, of the mean (assumed: a few trials may agree by chance).
LEAST_NOISE = 0.005
#: Comparisons of best and defaults in turn, at least.
PAIRS = 3
#: Comparisons end early when half the 95 % interval of the gain is at most this share of the
#: defaults' cost.
PRECISION = 0.01
#: Trials of the cheapest point before it is compared with the defaults.
SURE = 5
#: Trials kept for step 5 while new points are tried.
FINAL = CONFIRM
#: The grid of transfer sizes: every other power of two, then the neighbours of the best.
COARSE = tuple(1 << n for n in range(16, 27, 2))
#: The least stripe unit that is tried: below it is the page of most flash.
STRIPE = 1 << 14
#: Two-sided 95 % quantiles of Student's t for 1, 2 ... degrees of freedom (any table of it).
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201)


class Facts(TypedDict):
    """The facts of a sort."""

    time_s: float
    cpu_s: float
    #: None without a meter.
    energy_j: float | None
    power_w: float | None
    peak_resident_bytes: int | None
    plan: Plan
    phases: list[Phase]
    direct: bool
    io: str
    passes: int
    temp_bytes: int
    #: The telemetry of a served device.
    device: NotRequired[Telemetry]


class TrialReport(TypedDict):
    """A trial; one that failed has no facts."""

    trial: int
    role: str
    settings: Settings
    what: str
    cost: float | None
    error: str | None
    time_s: NotRequired[float]
    cpu_s: NotRequired[float]
    energy_j: NotRequired[float | None]
    power_w: NotRequired[float | None]
    peak_resident_bytes: NotRequired[int | None]
    plan: NotRequired[Plan]
    phases: NotRequired[list[Phase]]
    direct: NotRequired[bool]
    io: NotRequired[str]
    passes: NotRequired[int]
    temp_bytes: NotRequired[int]
    device: NotRequired[Telemetry]


class Gain(TypedDict):
    """The gain of the best point over the defaults, as a share of their cost; None if unknown."""

    compared: str
    pairs: int
    default: float
    best: float | None
    gain: float | None
    deviation: float | None
    half_width: float | None
    beyond_noise: bool


@dataclass
class Trial:
    """One measured sort."""

    number: int
    role: str
    point: Point
    cost: float | None = None
    """The quantity to minimise, in seconds or joules; None for a failed trial."""
    facts: Facts | None = None
    error: str | None = None

    def about(self) -> TrialReport:
        known: TrialReport = {
            "trial": self.number,
            "role": self.role,
            "settings": self.point.about(),
            "what": self.point.label(),
            "cost": self.cost,
            "error": self.error,
        }
        return known if self.facts is None else {**known, **self.facts}


#: The cost of a sort at a point, for a role, and its facts.
Measure = Callable[[Point, str], tuple[float, Facts]]


class Spent(Exception):  # noqa: N818 - it is the usual end of a search
    """The budget does not allow another trial."""


@dataclass(kw_only=True)
class Space:
    """The search space."""

    starts: list[Point]
    methods: list[str]
    most_transfer: int
    least_transfer: int = COARSE[0]
    in_core: list[str] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    io: list[str] = field(default_factory=list)
    folders: list[int] = field(default_factory=list)
    """Numbers of folders of temporary files to try besides all of them."""
    may_overwrite: bool = False
    curves: bool = False
    """Whether a picture needs the curves of the paper's figures 8 and 10."""


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
        notify: Callable[[Trial, "Search"], None] | None = None,
    ) -> None:
        self.trials: list[Trial] = []
        self.best = Point()
        self.interrupted: str | None = None
        """Name of the signal that ended the search."""
        self.finished = False
        """Whether every point of the search was tried."""
        self._measure = measure
        self._space = space
        self._clock = clock
        self._end = clock() + budget_s
        self._random = random.Random(seed)  # noqa: S311 - an order, no secret
        self._notify = notify
        self._usual_s = 0.0

    # What is known.

    def costs(self, point: Point) -> list[float]:
        """The costs of the trials of a point, without the warm-up."""
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

    def better(self, one: Point, other: Point, by: float = BEYOND) -> bool:
        """Whether a point costs less than another by `by` deviations of the difference."""
        ours, theirs = self.costs(one), self.costs(other)
        if not ours or not theirs:
            return False
        slack = by * self.noise() * sqrt(1 / len(ours) + 1 / len(theirs))
        return fmean(ours) < fmean(theirs) * (1 - slack)

    def left(self) -> float:
        return self._end - self._clock()

    # What is done.

    def run(self) -> None:
        """Searches until the budget ends. After Ctrl-C `interrupted` is set."""
        try:
            self._base()
            try:
                self._advised()
                self._starts()
                while self._coordinates():
                    self._advised()
                if self._space.curves:
                    self._figures()
                self.finished = True
            except Spent:
                pass
            self._finalists()
            self._compare()
        except KeyboardInterrupt as interrupt:
            if not self.costs(Point()):
                raise
            number = getattr(interrupt, "number", signal.SIGINT)
            self.interrupted = signal.Signals(number).name

    def stopped(self) -> str:
        """The reason for the end of the search, as text."""
        if self.interrupted:
            return f"interrupted by {self.interrupted}"
        tried = "every setting was tried" if self.finished else "not every setting was tried"
        if self.best == Point():
            none = "none was better than the defaults"
            kept = (
                "" if self.finished else "; the time left is too short for a trial and a comparison"
            )
            return f"{tried}, and {none}{kept}"
        if self._precise():
            return f"{tried}, and the gain is known to within {PRECISION:.0%} of the cost of the "
            "defaults"
        return f"{tried}, and no further comparison fits into the budget"

    def _advised(self) -> None:
        """Tries points that a source outside the search proposes. A blind search has none."""

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
            trial.error = str(error.message)
        self.trials.append(trial)
        if trial.cost is not None:
            self._usual_s = max(0.7 * self._usual_s, self._clock() - begin)
        if self._notify is not None:
            self._notify(trial, self)
        return trial

    def _room(self, kept: int) -> None:
        """Ends the search unless the budget holds one more trial, `kept` others, and the least
        number of comparisons."""
        if self.left() < (1 + kept + 2 * PAIRS) * self._usual_s:
            raise Spent

    def _try(self, point: Point, role: str, *, again: bool = False) -> None:
        """Once for each point; more often where it seems better, and then it is the best."""
        if any(trial.point == point for trial in self.trials):
            return
        self._room(FINAL)
        self._one(point, role)
        if role.startswith("figure"):
            return
        if not self.better(point, self.best):
            if again:
                self._room(FINAL)
                self._one(point, role)
            if not self.better(point, self.best):
                return
        for _ in range(CONFIRM):
            self._room(FINAL)
            self._one(point, "confirm")
        if self.better(point, self.best):
            self.best = point

    def _all(self, points: Iterable[Point], role: str, *, again: bool = False) -> None:
        """Tries points in an order of the seed, so that a drift over time favours none; `again`:
        twice, so that one slow trial does not hide a setting that has no neighbours."""
        found = list(dict.fromkeys(points))
        self._random.shuffle(found)
        for point in found:
            self._try(point, role, again=again)

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
        """The grid of transfer sizes, in bytes."""
        space = self._space
        return [size for size in COARSE if space.least_transfer <= size <= space.most_transfer]

    def _coordinates(self) -> bool:
        """Varies one setting at a time; returns whether any of them gave a better point. Settings
        of two or three values come first: they cost few trials."""
        before = self.best
        self._all([self.best.to(buffered=not self.best.buffered)], "buffered", again=True)
        self._all((self.best.to(io=io) for io in self._space.io), "io", again=True)
        cores = (self.best.to(in_core=how) for how in self._space.in_core)
        self._all(cores, "in_core", again=True)
        self._all((self.best.to(threads=n) for n in self._space.threads), "threads")
        self._all((self.best.to(folders=n) for n in self._space.folders), "folders")
        if self._space.may_overwrite:
            self._all([self.best.to(overwrite=not self.best.overwrite)], "overwrite")
        for name in TRANSFERS:
            self._all((self.best.to(**{name: size}) for size in self.sizes()), name)
            best = getattr(self.best, name)
            near = [] if best is None else [best // 2, best * 2]
            most, least = self._space.most_transfer, self._space.least_transfer
            fit = [size for size in near if least <= size <= most]
            self._all((self.best.to(**{name: size}) for size in fit), name)
        if self._space.folders and self.best.folders != 1:
            self._all((self.best.to(stripe=size) for size in (STRIPE, *self.sizes())), "stripe")
        return self.best != before

    def _figures(self) -> None:
        """The curves of the paper's figures 8 and 10, around the best point."""
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

    def _finalists(self) -> None:
        """Makes the cheapest point the best, if it costs less by a deviation of the difference.
        One lucky trial is not enough: the cheapest is repeated until the cheapest has `SURE`
        trials, if the budget allows."""
        while True:
            points = {t.point for t in self.trials if t.cost is not None and self._may(t.point)}
            means = {point: fmean(costs) for point in points if (costs := self.costs(point))}
            cheapest = min(means, key=lambda point: (means[point], point.label()))
            try:
                if len(self.costs(cheapest)) < SURE:
                    self._room(0)
                    self._one(cheapest, "confirm")
                    continue
            except Spent:
                pass
            if self.better(cheapest, self.best, by=1.0):
                self.best = cheapest
            return

    def _compare(self) -> None:
        """Best and defaults in turn, each first as often as the other."""
        if self.best == Point():
            return
        count = 0
        while count < PAIRS or (self.left() >= 2 * self._usual_s and not self._precise()):
            pair = [Point(), self.best]
            for point in pair if count % 2 else reversed(pair):
                self._one(point, "compare", strict=True)
            count += 1

    def _precise(self) -> bool:
        """Whether the gain is known to `PRECISION`."""
        found = self._paired()
        width = None if found is None else found["half_width"]
        return width is not None and width <= PRECISION

    # What it comes to.

    def gain(self) -> Gain:
        """The gain of the best point over the defaults as a share of their cost. Without a
        comparison in turn `gain` is None: the trials of a search chose the point, so that its luck
        in them would count as a gain."""
        found = self._paired()
        if found is not None:
            return found
        cost = fmean(self.costs(Point()))
        none = self.best == Point() and not self.interrupted
        return {
            "compared": "nothing cost less than the defaults" if none else "not in turn",
            "pairs": 0,
            "default": cost,
            "best": cost if none else None,
            "gain": 0.0 if none else None,
            "deviation": 0.0 if none else None,
            "half_width": 0.0 if none else None,
            "beyond_noise": False,
        }

    def _paired(self) -> Gain | None:
        """The gain from the comparisons in turn, if there are enough of them."""
        paired = [
            [t.cost for t in self.trials if t.role == "compare" and t.point == point]
            for point in (Point(), self.best)
        ]
        count = min(map(len, paired))
        if self.best == Point() or count < PAIRS:
            return None
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
            "half_width": quantile * error / fmean(base),
            "beyond_noise": mean > quantile * error,
        }
