"""The samples of a meter, and energy and power between two moments."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median, stdev
from typing import TypedDict

from gordon.energy.meter import Meter

#: A hole in the samples, in usual distances.
HOLE = 3.0
#: Number of steps of a counter over which power is computed, for a resolution of a tenth.
STEPS = 10


@dataclass(frozen=True)
class Span:
    """A span of time between two moments."""

    begin: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.begin


class Series:
    """The moments of samples, with the meter's total and the value of each channel."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.times: list[float] = []
        self.totals: list[float] = []
        self.channels: list[list[float]] = [[] for _ in meter.channels]
        #: Readings that failed: when, and why.
        self.missed: list[tuple[float, str]] = []
        #: The last reading in which a channel had no value.
        self.empty_at = -math.inf
        #: Samples before which the total was reset; and those before which each channel was.
        self.resets: list[int] = []
        self.channel_resets: list[list[int]] = [[] for _ in meter.channels]

    def miss(self, at: float, why: str) -> None:
        """Records a failed reading."""
        self.missed.append((at, why))

    def add(self, at: float, values: list[float | None], resets: Sequence[bool] = ()) -> None:
        """Adds a sample, unless a channel has no value."""
        # A sample that is left out leaves its reset to the next one.
        for number, was_reset in enumerate(resets):
            if was_reset:
                self.channel_resets[number].append(len(self.times))
                if self.meter.channels[number].counted:
                    self.resets.append(len(self.times))
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            self.empty_at = at
        if len(known) < len(values) or (self.times and at <= self.times[-1]):
            return
        total = sum(v for v, c in zip(known, self.meter.channels, strict=True) if c.counted)
        for channel, value in zip(self.channels, known, strict=True):
            channel.append(value)
        self.totals.append(total)
        # Last: who reads along sees whole samples alone.
        self.times.append(at)

    def energy(self, span: Span, channel: int | None = None) -> float | None:
        """Joules in a span, of one channel or all: the difference of a counter, or the integral of
        power by trapezoids. None without samples there, or if a counter was reset in the span."""
        values = self.totals if channel is None else self.channels[channel]
        resets = self.resets if channel is None else self.channel_resets[channel]
        count = len(self.times)
        if not self.covers(span) or self.was_reset(span, resets):
            return None
        if self.meter.kind == "energy":
            joules = self._at(span.end, values) - self._at(span.begin, values)
            return None if math.isnan(joules) else joules
        inside = [i for i in range(count) if span.begin < self.times[i] < span.end]
        points = [
            (span.begin, self._at(span.begin, values)),
            *((self.times[i], values[i]) for i in inside),
            (span.end, self._at(span.end, values)),
        ]
        return math.fsum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))

    def was_reset(self, span: Span, resets: list[int] | None = None) -> bool:
        """Whether a counter was reset between two samples that the span touches."""
        return any(
            0 < i < len(self.times) and self.times[i - 1] < span.end and span.begin < self.times[i]
            for i in (self.resets if resets is None else resets)
        )

    def covers(self, span: Span) -> bool:
        """Whether samples cover the span, apart from holes of the usual sampling interval."""
        usual = self.interval()
        if usual is None:
            one = self.meter.kind == "power" and len(self.times) == 1
            return one and span.begin <= self.times[0] <= span.end
        slack = HOLE * usual
        return self.times[0] <= span.begin + slack and span.end - slack <= self.times[-1]

    def _at(self, when: float, values: list[float]) -> float:
        """The value at a moment: interpolated, and constant before the first and after the last."""
        count = min(len(self.times), len(values))
        i = bisect_left(self.times, when, 0, count)
        if i == 0 or i == count:
            return values[min(i, count - 1)]
        a, b = self.times[i - 1], self.times[i]
        return values[i - 1] + (values[i] - values[i - 1]) * (when - a) / (b - a)

    def mean(self, span: Span) -> float | None:
        """Mean watts over a span; None if the energy is unknown."""
        energy = self.energy(span)
        return None if energy is None or span.seconds <= 0 else energy / span.seconds

    def rate(self, span: Span, joules: list[float]) -> float:
        """Mean watts over a span, of one channel of a counter."""
        return (self._at(span.end, joules) - self._at(span.begin, joules)) / span.seconds

    def watts(self) -> list[float | None]:
        """The power at each sample; that of a counter is the mean since an earlier sample."""
        if self.meter.kind == "power":
            return [*self.totals]
        return [
            None if since is None else self._rate_between(since, i)
            for i, since in enumerate(self._since())
        ]

    def last(self) -> float | None:
        """The power at the last sample, in watts."""
        count = len(self.times)
        if not count or self.meter.kind == "power":
            return self.totals[count - 1] if count else None
        least = STEPS * (self.meter.update_s or 0.0)
        for i in range(count - 2, -1, -1):
            if self.times[count - 1] - self.times[i] >= least:
                return self._rate_between(i, count - 1)
        return None

    def _rate_between(self, first: int, last: int) -> float | None:
        """Mean watts of a counter between two samples; None if it was reset between them."""
        if any(first < i <= last for i in self.resets):
            return None
        gone = self.times[last] - self.times[first]
        return (self.totals[last] - self.totals[first]) / gone

    def _since(self) -> list[int | None]:
        """For each sample, the last one before it at a distance of `STEPS` steps of the counter:
        what runs between two nearer ones is noise."""
        least = STEPS * (self.meter.update_s or 0.0)
        found: list[int | None] = []
        j = -1
        for i, at in enumerate(self.times):
            while j + 1 < i and at - self.times[j + 1] >= least:
                j += 1
            found.append(j if j >= 0 else None)
        return found

    def within(self, span: Span) -> list[tuple[float, float]]:
        """Moments and watts of the samples in a span; those of a counter are of intervals in it."""
        counted = self.meter.kind == "energy"
        begins = self._since() if counted else range(len(self.times))
        return [
            (at, rate)
            for at, since, rate in zip(self.times, begins, self.watts(), strict=True)
            if rate is not None
            and since is not None
            and span.begin <= self.times[since]
            and at <= span.end
        ]

    def interval(self) -> float | None:
        """The median time between two samples."""
        gaps = [b - a for a, b in pairwise(self.times)]
        return median(gaps) if gaps else None

    def update(self) -> float | None:
        """The observed time between two changes of the value: a meter that is slower than its
        sampling repeats values."""
        changes = [
            self.times[i] for i in range(1, len(self.times)) if self.totals[i] != self.totals[i - 1]
        ]
        if len(changes) < 2:
            return None
        return (changes[-1] - changes[0]) / (len(changes) - 1)

    def hole(self, span: Span) -> float:
        """The longest time in a span without a sample, if it is unusual; else 0."""
        usual = self.interval()
        if usual is None:
            return span.seconds
        moments = [span.begin, *(t for t in self.times if span.begin < t < span.end), span.end]
        longest = max(b - a for a, b in pairwise(moments))
        return longest if longest > HOLE * usual else 0.0


def deviation(values: list[float]) -> float | None:
    """The sample standard deviation."""
    return stdev(values) if len(values) > 1 else None


class Summary(TypedDict):
    """Values of several runs."""

    mean: float
    #: Sample deviation; None for one value.
    sd: float | None


def summary(values: list[float]) -> Summary | None:
    """Mean and deviation."""
    return {"mean": fmean(values), "sd": deviation(values)} if values else None
