"""What a meter is: a few channels that are read together, and what is known about them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Literal

from gordon._core import GordonError

#: `energy`: joules since some moment, which only grow; `power`: watts now.
Kind = Literal["energy", "power"]
How = Literal["measured", "estimated", "modelled", "replayed"]

MICRO = 1e-6


class EndedError(GordonError):
    """A meter gives no more readings."""


def drawn(watts: float, where: str) -> float:
    """A reading in watts; an error that begins with `where` if no machine can draw it."""
    if not isfinite(watts):
        raise GordonError(f"{where} is not a finite number of watts")
    if watts < 0:
        raise GordonError(
            f"{where} is below zero, and no machine draws that", "watts drawn, 0 or more"
        )
    return watts


@dataclass(frozen=True)
class Channel:
    """One number of a meter. What is not `counted` is part of another channel."""

    name: str
    measures: str
    counted: bool = True


class Meter(ABC):
    """A meter of this machine, or of something that stands for it.

    `read` is asked by one thread only, again and again; it gives a number for each channel, or None
    where there is none now. A reading that fails raises a `GordonError`, and the next one may
    succeed; a meter that will give no more readings raises `EndedError`.
    """

    name: str
    #: package, dram, platform, gpu, battery, wall, machine ...
    measures: str
    kind: Kind
    how: How
    channels: Sequence[Channel]
    #: How often the meter itself has a new value; None where nobody says.
    update_s: float | None = None
    #: The smallest step of its values.
    step: str = ""
    #: It must be read at least so often, or a counter may go round unseen.
    longest_s: float | None = None
    #: Reading takes microseconds, so it is read when a run begins and ends, too.
    quick = True
    #: Read on a clock; else `read` waits for the next value itself.
    paced = True

    #: For each channel, whether its counter was reset since the reading before; none is empty.
    resets: Sequence[bool] = ()

    def __init__(self) -> None:
        #: What the values suffer from, for the report.
        self.warnings: list[str] = []

    @abstractmethod
    def read(self) -> list[float | None]:
        """Joules or watts of each channel."""

    def close(self) -> None:  # noqa: B027
        """Ends what the meter has started; may be called while another thread reads."""

    def warn(self, what: str) -> None:
        """Once each."""
        if what not in self.warnings:
            self.warnings.append(what)

    def about(self) -> dict[str, object]:
        """What is known of it, for JSON."""
        return {
            "name": self.name,
            "measures": self.measures,
            "kind": self.kind,
            "how": self.how,
            "resolution": {"update_s": self.update_s, "step": self.step},
            "channels": [
                {"name": c.name, "measures": c.measures, "counted": c.counted}
                for c in self.channels
            ],
        }


@dataclass(frozen=True)
class Candidate:
    """A meter that could be: it is there, or why it is not."""

    name: str
    measures: str
    meter: Meter | None = None
    why: str = ""
    hint: str = ""


def text_of(path: Path) -> str:
    """A file of sysfs."""
    return path.read_text(encoding="ascii", errors="replace").strip()


def number_of(path: Path) -> int | None:
    """The number in a file of sysfs; None where there is none to read."""
    try:
        return int(text_of(path))
    except (OSError, ValueError):
        return None
