"""A log of `gordon meter record`, or any CSV with `time_s` and `watts`, as a meter: its power over
time, from the moment of the first reading. `replay:FILE.csv`, or `replay:FILE.csv#METER`.
"""

import bisect
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median

from gordon.energy import log
from gordon.energy.meter import Channel, Meter
from gordon.errors import GordonError

PREFIX = "replay:"


class Replay(Meter):
    """The last value of the log at each moment. A gap in the log fails the reading."""

    kind, how = "power", "replayed"

    def __init__(self, where: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        path, _, meter = where.partition("#")
        self.name = PREFIX + where
        self.measures = "the logged machine"
        self.channels = [Channel(meter or Path(path).name, "a log")]
        self._clock = clock
        self._times, self._watts = log.power(Path(path), meter)
        steps = [b - a for a, b in pairwise(self._times)]
        self.update_s = median(steps) if steps else None
        self._start: float | None = None

    def read(self) -> list[float | None]:
        now = self._clock()
        if self._start is None:
            self._start = now
        at = self._times[0] + now - self._start
        if at > self._times[-1] + 1:
            self.warn(f"the log ends after {self._times[-1] - self._times[0]:.1f} s")
            return [None]
        row = bisect.bisect_right(self._times, at) - 1
        if self._watts[row] is None:
            gap = f"{self.name}: the log has a gap at time_s {self._times[row]:g}"
            raise GordonError(gap, kind="no-sample")
        return [self._watts[row]]


def opened(where: str) -> Meter:
    """The meter of a log. Raises GordonError that names the file."""
    try:
        return Replay(where)
    except GordonError:
        raise
    except OSError as error:
        raise GordonError(f"replay: {where}: {error.strerror}", kind="unreadable-file") from None
