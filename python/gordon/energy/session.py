"""A session of meters: an idle baseline, consecutive runs, the tail, and the log of samples."""

import signal
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TypedDict

from gordon.energy.meter import How, Meter
from gordon.energy.sampler import Sampler
from gordon.energy.series import Series, Span
from gordon.energy.work import Usage
from gordon.errors import GordonError


class Row(TypedDict):
    """A row of the log: a sample of a meter, without values for a failed reading."""

    time_s: float
    unix_s: float
    phase: str
    meter: str
    how: How
    watts: float | None
    joules: float | None


class Session:
    """A session, whose samplers run from its beginning to its end."""

    def __init__(self, meters: Sequence[Meter], interval_s: float) -> None:
        self.interval_s = interval_s
        self.samplers = [Sampler(meter, interval_s) for meter in meters]
        self.idle: Span | None = None
        self.runs: list[Usage] = []
        self.tail: Span | None = None
        self.unix_s = 0.0
        self._begin = 0.0

    def __enter__(self) -> "Session":
        self._begin, self.unix_s = time.monotonic(), time.time()
        for number, sampler in enumerate(self.samplers):
            try:
                sampler.start()
            except GordonError:
                for started in self.samplers[:number]:
                    started.stop()
                raise
        self._mark()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        for sampler in self.samplers:
            sampler.stop()

    def rest(self, seconds: float) -> None:
        """Measures the idle baseline. Raises GordonError if a meter ends here, or if all its
        readings fail, so that the work is not started."""
        if seconds <= 0:
            return
        begin = time.monotonic()
        time.sleep(seconds)
        self._mark()
        self.idle = Span(begin, time.monotonic())
        for sampler in self.samplers:
            if sampler.failure is not None and not sampler.series.times:
                raise sampler.failure
            if sampler.error is not None:
                raise sampler.error

    def run(self, work: Callable[[], Usage]) -> Usage:
        """Runs the work between two samples of each quick meter."""
        self._mark()
        used = work()
        self._mark()
        self.runs.append(used)
        return used

    def wait(self, seconds: float) -> None:
        """Measures the tail after the last run. Ctrl-C ends the wait only, SIGTERM the session."""
        if seconds <= 0 or not self.runs:
            return
        try:
            time.sleep(max(0.0, self.runs[-1].span.end + seconds - time.monotonic()))
        except KeyboardInterrupt as interrupt:
            if getattr(interrupt, "number", signal.SIGINT) != signal.SIGINT:
                raise
        self._mark()
        self.tail = Span(self.runs[-1].span.end, time.monotonic())

    def failed(self) -> list[GordonError]:
        """The errors of meters that ended before the session."""
        return [sampler.error for sampler in self.samplers if sampler.error is not None]

    def rows(self) -> list[Row]:
        """The rows of the log, in order of time."""
        found = []
        for sampler in self.samplers:
            series = sampler.series
            counted = series.meter.kind == "energy"
            for at, _ in series.missed:
                found.append(self._row(series, at, None, None))
            for i, (at, watts) in enumerate(zip(series.times, series.watts(), strict=True)):
                joules = series.totals[i] - series.totals[0] if counted else None
                found.append(self._row(series, at, watts, joules))
        return sorted(found, key=lambda row: (row["time_s"], row["meter"]))

    def since(self, at: float) -> float:
        """Seconds since the beginning of the session."""
        return at - self._begin

    def _row(self, series: Series, at: float, watts: float | None, joules: float | None) -> Row:
        """The row of a sample; without values for a failed reading."""
        return {
            "time_s": self.since(at),
            "unix_s": self.since(at) + self.unix_s,
            "phase": self.phase(at),
            "meter": series.meter.name,
            "how": series.meter.how,
            "watts": watts,
            "joules": joules,
        }

    def phase(self, at: float) -> str:
        """The phase of the session at a moment: idle, a run, the tail, or empty."""
        for number, used in enumerate(self.runs, 1):
            if used.span.begin <= at <= used.span.end:
                return f"run {number}"
        if self.idle is not None and self.idle.begin <= at <= self.idle.end:
            return "idle"
        return "tail" if self.tail is not None and self.tail.begin < at <= self.tail.end else ""

    def _mark(self) -> None:
        for sampler in self.samplers:
            sampler.mark()
