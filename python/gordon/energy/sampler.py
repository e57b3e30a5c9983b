"""A thread that reads a meter at absolute deadlines and on request."""

import math
import threading
import time
from collections.abc import Callable

from gordon import threads
from gordon.energy.meter import EndedError, Meter
from gordon.energy.series import Series
from gordon.errors import GordonError

#: The shortest time between two readings, also of a program that prints without a pause.
LEAST_S = 0.001
#: The longest that a run waits for the sample at its beginning or end.
MARK_S = 0.25


class Sampler:
    """Reads one meter in a thread of its own, so that a slow meter does not delay others."""

    def __init__(
        self, meter: Meter, interval_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.meter = meter
        longest = meter.longest_s
        #: At most half the time in which the counter can wrap.
        self.interval_s = interval_s if longest is None else min(interval_s, longest / 2)
        if not self.interval_s >= LEAST_S:
            raise GordonError(
                f"{meter.name}: the interval of {self.interval_s:g} s is too short",
                f"{LEAST_S:g} s or more",
                kind="bad-interval",
            )
        self.series = Series(meter)
        #: The error that ended the meter before the session did.
        self.error: GordonError | None = None
        #: The last reading that failed.
        self.failure: GordonError | None = None
        self._clock = clock
        self._wake = threading.Condition()
        self._requested = self._given = 0
        self._ended = False
        self._thread = threading.Thread(target=self._run, name=meter.name, daemon=True)

    def start(self) -> None:
        threads.start(self._thread)

    def mark(self) -> None:
        """Takes a sample of a quick meter; it is recorded when this returns."""
        if not (self.meter.quick and self.meter.paced):
            return
        with self._wake:
            self._requested += 1
            mine = self._requested
            self._wake.notify_all()
            self._wake.wait_for(lambda: self._given >= mine or self.error is not None, MARK_S)

    def stop(self) -> Series:
        """Takes a last sample, ends the thread and returns all samples."""
        self.mark()
        with self._wake:
            self._ended = True
            self._wake.notify_all()
        self.meter.close()
        self._thread.join(timeout=5)
        return self.series

    def _run(self) -> None:
        deadline = self._clock()
        try:
            while True:
                requested, begin = self._requested, self._clock()
                self._try()
                with self._wake:
                    self._given = requested
                    self._wake.notify_all()
                    now = self._clock()
                    if self.meter.paced:
                        # The next multiple of the interval, however late it is.
                        deadline += self.interval_s * max(
                            1, math.floor((now - deadline) / self.interval_s) + 1
                        )
                    else:
                        deadline = begin + LEAST_S
                    self._wake.wait_for(
                        lambda seen=requested: self._ended or self._requested > seen,  # type: ignore[misc]
                        max(0.0, deadline - now),
                    )
                    if self._ended:
                        return
        except EndedError as error:
            self._fail(error)

    def _try(self) -> None:
        """A sample, or a gap where the reading fails: the next one may succeed."""
        try:
            self._sample()
        except EndedError:
            raise
        except GordonError as error:
            self._miss(error)
        except OSError as error:
            self._miss(GordonError(f"{self.meter.name}: {error.filename}: {error.strerror}"))

    def _miss(self, error: GordonError) -> None:
        if not self._ended:
            self.failure = error
            self.series.miss(self._clock(), str(error.message))

    def _fail(self, error: GordonError) -> None:
        with self._wake:
            if not self._ended:
                self.error = error
            self._wake.notify_all()

    def _sample(self) -> None:
        """Takes a sample. Its time is the middle of the reading, or that at which the line of a
        program has come."""
        before = self._clock()
        values = self.meter.read()
        after = self._clock()
        at = (before + after) / 2 if self.meter.paced else after
        longest = self.meter.longest_s
        if longest is not None and self.series.times and at - self.series.times[-1] > longest:
            gap = at - self.series.times[-1]
            self.meter.warn(
                f"{gap:.0f} s passed between two samples, but the counter can wrap around within "
                f"{longest:.0f} s: energy may be missing"
            )
        self.series.add(at, values, self.meter.resets)
