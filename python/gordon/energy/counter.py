"""A counter that goes round, as one that does not."""

from pathlib import Path

from gordon._core import GordonError
from gordon.energy.meter import MICRO


class Counter:
    """Joules from a file of microjoules that begins again after `range_uj`.

    One turn between two readings is made good. Two would look like one less, so the file has to be
    read more often than it can go round: `turn_s`.
    """

    #: No zone draws more: twice the 1,000 W or so of the largest sockets sold.
    MOST_W = 2000.0

    def __init__(self, path: Path, range_uj: int | None) -> None:
        self._path = path
        self._range_uj = range_uj
        self._last: int | None = None
        self._turned = 0

    @property
    def turn_s(self) -> float | None:
        """The least time in which it can go round."""
        return None if self._range_uj is None else self._range_uj * MICRO / self.MOST_W

    def read(self) -> float:
        try:
            now = int(self._path.read_bytes())
        except OSError as error:
            raise unreadable(self._path, error) from None
        except ValueError:
            raise GordonError(f"{self._path}: no number of microjoules in it") from None
        if self._last is not None and now < self._last:
            if self._range_uj is None:
                raise GordonError(
                    f"{self._path}: the counter fell from {self._last} to {now} and has no range",
                    "measure again: its driver was loaded anew",
                )
            self._turned += self._range_uj
        self._last = now
        return (now + self._turned) * MICRO


def unreadable(path: Path, error: OSError) -> GordonError:
    """What to do where a counter is for root alone."""
    hint = f"sudo chmod a+r {path}, or run as root" if isinstance(error, PermissionError) else ""
    return GordonError(f"{path}: {error.strerror or error}", hint)
