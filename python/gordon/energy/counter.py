"""Extends a counter that wraps around or is reset to one that only grows."""

import time
from collections.abc import Callable
from pathlib import Path

from gordon.energy.meter import MICRO
from gordon.errors import GordonError

#: No zone draws more: twice the 1,000 W or so of the largest sockets sold.
MOST_W = 2000.0
#: A counter is updated some milliseconds before it is read, whose thread may wait to run.
SLACK_S = 0.1
#: A counter that wraps around in less time cannot be followed: 10 ms is the shortest interval.
LEAST_TURN_S = 0.02


class Counter:
    """Joules from a file of microjoules that begins again after `range_uj`.

    One turn between two readings is added. Two would look like one less, so the file has to be read
    more often than it can wrap around: `turn_s`. A change of more than `most_w` allows since the
    last reading is a reset, and so is any fall without a range: the energy of that time is unknown,
    the total stays as it is, and `was_reset` is true until the next reading.
    """

    def __init__(
        self,
        path: Path,
        range_uj: int | None,
        most_w: float = MOST_W,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._range_uj = range_uj
        self._most_w = most_w
        self._clock = clock
        self._last: tuple[float, int] | None = None
        self._total_uj = 0
        self.was_reset = False
        turn_s = self.turn_s
        if turn_s is not None and turn_s < LEAST_TURN_S:
            raise GordonError(
                f"{path.with_name('max_energy_range_uj')}: the counter can wrap around within "
                f"{LEAST_TURN_S:g} s (range {range_uj} uJ at {most_w:g} W)",
                "another meter: wrap-arounds of this counter cannot be detected",
                kind="bad-meter",
            )

    @property
    def turn_s(self) -> float | None:
        """The shortest time in which the counter can wrap around, in seconds."""
        return None if self._range_uj is None else self._range_uj * MICRO / self._most_w

    def read(self) -> float:
        """The total in joules, which only grows. Raises GordonError if the file is not a number."""
        at = self._clock()
        now = read_number(self._path, "microjoules")
        self.was_reset = False
        if self._last is None:
            self._total_uj = now
        else:
            (before, last) = self._last
            passed = now - last
            if passed < 0 and self._range_uj is not None:
                passed += self._range_uj
            most = self._most_w * (at - before + SLACK_S) / MICRO
            self.was_reset = passed < 0 or (self._range_uj is not None and passed > most)
            if not self.was_reset:
                self._total_uj += passed
        self._last = (at, now)
        return self._total_uj * MICRO


def read_number(path: Path, unit: str) -> int:
    """The number in a file of sysfs. Raises GordonError, with the unit if it is not a number."""
    try:
        return int(path.read_bytes())
    except OSError as error:
        raise unreadable(path, error) from None
    except ValueError:
        raise GordonError(f"{path}: not a number of {unit}", kind="bad-meter") from None


def unreadable(path: Path, error: OSError) -> GordonError:
    """The error for a counter that cannot be read, with a hint if only root may read it."""
    hint = f"sudo chmod a+r {path}, or run as root" if isinstance(error, PermissionError) else ""
    return GordonError(f"{path}: {error.strerror or error}", hint, "unreadable-file")
