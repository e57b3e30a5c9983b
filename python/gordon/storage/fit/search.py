"""The values of a flash device that its measured bandwidths depend on, and a search for them.

Pattern search (Hooke and Jeeves, JACM 8, 1961): each value in turn is multiplied and divided by a
factor as long as that lowers the error; then the factor is reduced. An optimiser with derivatives
has no use here, because the number of channels is whole, and simulated times have steps.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from math import log
from typing import Any

from gordon import _core, quantity
from gordon.errors import GordonError
from gordon.storage.fit.estimate import estimate
from gordon.storage.fit.points import Observed
from gordon.untyped import Config

#: Factors of the searches from both starts, and of that from the better of their ends.
COARSE, FINE = (1.4,), (1.2, 1.1, 1.05)
#: Multiples of the suggested number of channels, of which the best is a start: how many dies work
#: at a time is less certain than all else, and no small step leads from one number to another.
MORE = (1.0, 1.4, 2.0)
#: Values that compensate each other, and are changed together: both by a factor, or one by the
#: inverse of the other.
TOGETHER = (
    {"geometry.buses": 1, "timing.program": 1},
    {"geometry.buses": 1, "timing.read": 1},
    {"geometry.buses": 1, "geometry.packages_per_bus": -1},
    {"geometry.packages_per_bus": 1, "timing.program": 1},
    {"host.latency": 1, "timing.read": -1},
)
#: A change that lowers the cost by less than this share of it is none.
LEAST_GAIN = 0.005
#: The cost of a value that is e times that of the start, in mean error: small enough to matter only
#: where points do not determine the value.
PULL = 0.003
#: The ends of a range make the mean error this much larger (0.01: bandwidths differ by 1 % more),
#: and are looked for in these steps.
RANGE, RANGE_STEP, RANGE_MOST = 0.01, 1.1, 10.0

#: Values that are changed together, and whether by a factor (1) or by its inverse (-1).
Direction = dict["Knob", int]
#: The bandwidths of a device at the points.
Simulate = Callable[[Config], Sequence[float]]


_PARSERS: dict[str, Callable[[Any], float]] = {
    "ns": _core.parse_ns,
    "B/s": _core.parse_rate,
    "Hz": _core.parse_hertz,
    "": float,
}


@dataclass(frozen=True)
class Knob:
    """A value of the device: its key, its unit and the largest range that makes sense."""

    key: str
    unit: str
    least: float
    most: float

    def get(self, device: Config) -> float:
        """The value, or the mean of those of the types of pages."""
        found = quantity.value(self._table(device)[self._name])
        every = found if isinstance(found, list) else [found]
        return sum(map(self._parsed, every)) / len(every)

    def set(self, device: Config, value: float, why: str) -> None:
        """Changes the value. Those of several types of pages keep their ratios."""
        table = self._table(device)
        found = quantity.value(table[self._name])
        if isinstance(found, list):
            factor = value / self.get(device)
            new: Any = [self._text(self._parsed(one) * factor) for one in found]
        else:
            new = self._text(value)
        table[self._name] = {"value": new, "assumed": why}

    def _table(self, device: Config) -> Config:
        table: Config = device[self.key.partition(".")[0]]
        return table

    @property
    def _name(self) -> str:
        return self.key.partition(".")[2]

    def _parsed(self, value: Any) -> float:
        return _PARSERS[self.unit](value)

    def _text(self, value: float) -> str | int:
        name = {"": "", "ns": "ns", "B/s": "B", "Hz": "Hz"}[self.unit]
        return f"{round(value)}{name}" if name else round(value)


#: The latency of the controller, the rate of the host link, the numbers of channels and of packages
#: on each, the rate of a channel, and the times of the array.
READS = (
    Knob("host.latency", "ns", 500, 1e8),
    Knob("host.link", "B/s", 1e6, 1e12),
    Knob("geometry.buses", "", 1, 64),
    Knob("geometry.packages_per_bus", "", 1, 64),
    Knob("timing.bus_rate", "Hz", 1e6, 1e11),
    Knob("timing.read", "ns", 1e3, 1e8),
)
WRITES = Knob("timing.program", "ns", 1e3, 1e9)


def knobs(points: Iterable[Observed], device: Config) -> list[Knob]:
    """The values that the points may say something of."""
    has_writes = any(one.pattern.endswith("write") for one in points)
    found = [*READS, WRITES] if has_writes else list(READS)
    return [knob for knob in found if knob._name in device.get(knob.key.partition(".")[0], {})]


def changed(like: Config, values: dict[Knob, float], why: str = "") -> Config:
    """The device with these values. Its capacity and its share of spare capacity stay."""
    made = deepcopy(like)
    for knob, value in values.items():
        knob.set(made, value, why)
    if "spare" in made:
        return made
    capacity = str(quantity.value(like["capacity"]))
    provisioned: Config = json.loads(
        _core.flash_provision(json.dumps(like), json.dumps(made), capacity, True)
    )
    return provisioned


def error(simulated: Sequence[float], points: Sequence[Observed]) -> float:
    """The mean distance of the logarithms of the bandwidths: few points that no value explains do
    not move the others, as squares would."""
    return sum(
        abs(log(found / one.mb_s)) for found, one in zip(simulated, points, strict=True)
    ) / len(points)


@dataclass(frozen=True)
class Found:
    """A value that was searched for."""

    value: float
    start: float
    is_determined: bool
    low: float | None = None
    high: float | None = None


class Search:
    """A search that starts from a device."""

    def __init__(
        self,
        like: Config,
        points: Sequence[Observed],
        simulate: Simulate,
        tick: Callable[[str, int], None] | None = None,
    ) -> None:
        self._like, self._points, self._simulate, self._tick = like, points, simulate, tick
        self.knobs = knobs(points, like)
        self._about = "start"
        self._start = {knob: knob.get(like) for knob in self.knobs}
        of = {knob.key: knob for knob in self.knobs}
        self._directions: list[Direction] = [{knob: 1} for knob in self.knobs]
        self._directions += [
            {of[key]: sign for key, sign in direction.items()}
            for direction in TOGETHER
            if direction.keys() <= of.keys()
        ]
        self._errors: dict[tuple[float, ...], float] = {}

    def run(self) -> dict[Knob, Found]:
        """The values with the least cost. One that the error does not depend on keeps the value of
        the start."""
        suggested = [{**self._start, **self._suggested(more)} for more in MORE]
        starts = [self._start, min(suggested, key=self._cost)]
        ends = [self._descended(start, COARSE) for start in starts]
        at = self._descended(min(ends, key=self._cost), FINE)
        for knob in self.knobs:
            back = {**at, knob: self._start[knob]}
            at = min(back, at, key=self._cost)
        self._about = "ranges"
        return {knob: self._found(at, knob) for knob in self.knobs}

    def _found(self, at: dict[Knob, float], knob: Knob) -> Found:
        """A value with its range. Without any end of the range it is that of the start."""
        low, high = self._range(at, knob)
        start = self._start[knob]
        if low is None and high is None:
            return Found(start, start, False)
        return Found(at[knob], start, True, low, high)

    def _suggested(self, more: float) -> dict[Knob, float]:
        """The values that the bandwidths suggest, with `more` times the channels."""
        found = estimate(self._points, self._like, more)
        return {
            knob: float(round(min(max(found[knob.key], knob.least), knob.most)))
            for knob in self.knobs
            if knob.key in found
        }

    def _descended(self, start: dict[Knob, float], steps: Sequence[float]) -> dict[Knob, float]:
        """The values that no step from these improves."""
        at = dict(start)
        for step in steps:
            self._about = f"in steps of {step:g}"
            has_moved = True
            while has_moved:
                has_moved = False
                for direction in self._directions:
                    has_moved |= self._improve(at, direction, step)
        return at

    def _improve(self, at: dict[Knob, float], direction: Direction, step: float) -> bool:
        """Moves values by a factor as long as that lowers the cost. Returns whether they moved."""
        has_moved = False
        for factor in (step, 1 / step):
            while True:
                tried = self._moved(at, direction, factor)
                if tried is None or self._cost(tried) >= self._cost(at) * (1 - LEAST_GAIN):
                    break
                at.update(tried)
                has_moved = True
        return has_moved

    def _moved(
        self, at: dict[Knob, float], direction: Direction, factor: float
    ) -> dict[Knob, float] | None:
        """The values with some multiplied by a factor or its inverse; None if they cannot be."""
        moved = dict(at)
        for knob, sign in direction.items():
            value = at[knob] * factor**sign
            moved[knob] = float(round(value))
            if moved[knob] == at[knob]:
                moved[knob] += 1 if value > at[knob] else -1
            if not knob.least <= moved[knob] <= knob.most:
                return None
        return moved

    def _range(self, at: dict[Knob, float], knob: Knob) -> Iterator[float | None]:
        """The smallest and the largest value whose error is little larger."""
        most = self.error_at(at) + RANGE
        for factor in (1 / RANGE_STEP, RANGE_STEP):
            end, now = at[knob], at
            while (moved := self._moved(now, {knob: 1}, factor)) is not None:
                if self.error_at(moved) > most:
                    yield end
                    break
                now, end = moved, moved[knob]
                if not 1 / RANGE_MOST < end / at[knob] < RANGE_MOST:
                    yield None
                    break
            else:
                yield None

    def _cost(self, values: dict[Knob, float]) -> float:
        """The error, and how far the values are from the start: the search makes the sum small."""
        # A value below the least one, such as a latency of 0, is as far as that.
        ratios = (
            max(values[knob], knob.least) / max(self._start[knob], knob.least)
            for knob in self.knobs
        )
        far = sum(abs(log(ratio)) for ratio in ratios)
        return self.error_at(values) + PULL * far / len(self.knobs)

    def error_at(self, values: dict[Knob, float]) -> float:
        """The mean error of these values; infinite for an array that cannot be."""
        key = tuple(values[knob] for knob in self.knobs)
        if key not in self._errors:
            if self._tick is not None:
                self._tick(self._about, len(self._errors))
            self._errors[key] = self._error_of(values)
        return self._errors[key]

    def _error_of(self, values: dict[Knob, float]) -> float:
        try:
            device = changed(self._like, values)
        except GordonError:
            # An array that cannot be, such as one with less than a block for each plane.
            return float("inf")
        return error(self._simulate(device), self._points)
