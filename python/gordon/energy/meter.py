"""The interface of meters: channels that are read together, and what is known about them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Literal, NotRequired, TypedDict

from gordon.errors import GordonError

#: `energy`: joules since some moment, which only grow; `power`: watts now.
Kind = Literal["energy", "power"]
How = Literal["measured", "estimated", "modelled", "replayed"]

MICRO = 1e-6


class Resolution(TypedDict):
    """The resolution of a meter."""

    update_s: float | None
    step: str


class ChannelAbout(TypedDict):
    """A channel of a meter."""

    name: str
    measures: str
    counted: bool


class ModelAbout(TypedDict):
    """The parameters of a meter that is a model."""

    cores: int
    core_idle_w: float
    core_active_w: float
    memory_modules: float
    module_idle_w: float
    module_active_w: float
    disks: list[str]
    disk_idle_w: float
    disk_read_w: float
    disk_write_w: float
    overhead_ratio: float
    #: Watts of each channel, idle and at most.
    rest_w: dict[str, float]
    most_w: dict[str, float]


class MeterAbout(TypedDict):
    """The properties of a meter."""

    name: str
    measures: str
    kind: Kind
    how: How
    resolution: Resolution
    channels: list[ChannelAbout]
    model: NotRequired[ModelAbout]


class EndedError(GordonError):
    """A meter has ended and gives no further readings."""


def drawn(watts: float, where: str) -> float:
    """A reading in watts; an error that begins with `where` if no machine can draw it."""
    if not isfinite(watts):
        raise GordonError(f"{where} is not a finite number of watts", kind="bad-watts")
    if watts < 0:
        raise GordonError(
            f"{where} is below zero",
            "a meter that reports the power drawn, 0 W or more",
            "bad-watts",
        )
    return watts


@dataclass(frozen=True)
class Channel:
    """One value of a meter. A channel that is not `counted` is included in another channel."""

    name: str
    measures: str
    counted: bool = True


class Meter(ABC):
    """A meter of this machine, or a substitute such as a model or a log.

    One thread calls `read` repeatedly. It returns a number per channel, or None for a channel that
    has no value now. A failed reading raises GordonError, and the next one may succeed; a meter
    that has ended raises EndedError.
    """

    name: str
    #: package, dram, platform, gpu, battery, wall, machine ...
    measures: str
    kind: Kind
    how: How
    channels: Sequence[Channel]
    #: Interval at which the meter itself has a new value, in seconds; None if unknown.
    update_s: float | None = None
    #: The smallest step of its values.
    step: str = ""
    #: Longest time between two readings, in seconds: after it a counter may wrap around unseen.
    longest_s: float | None = None
    #: Reading takes microseconds, so it is read when a run begins and ends, too.
    quick = True
    #: Read on a clock; else `read` waits for the next value itself.
    paced = True

    #: For each channel, whether its counter was reset since the reading before; none is empty.
    resets: Sequence[bool] = ()

    def __init__(self) -> None:
        #: Doubts about the values, for the report.
        self.warnings: list[str] = []

    @abstractmethod
    def read(self) -> list[float | None]:
        """Joules or watts of each channel."""

    def close(self) -> None:  # noqa: B027
        """Stops the programs that the meter started; may be called while another thread reads."""

    def warn(self, what: str) -> None:
        """Adds a warning, once."""
        if what not in self.warnings:
            self.warnings.append(what)

    def of_controller(self, watts: float) -> list[float | None]:
        """The reading of a management controller, None for 0 W: a machine that runs this draws
        power."""
        if watts == 0:
            self.warn("the controller reported 0 W, which a running machine cannot draw: ignored")
            return [None]
        return [watts]

    def about(self) -> MeterAbout:
        """The meter's properties, for JSON."""
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
    """A meter that this machine may have. Without `meter`, `why` is the reason and `hint` the
    fix."""

    name: str
    measures: str
    meter: Meter | None = None
    why: str = ""
    hint: str = ""


def text_of(path: Path) -> str:
    """The content of a file of sysfs."""
    return path.read_text(encoding="ascii", errors="replace").strip()


def number_of(path: Path) -> int | None:
    """The number in a file of sysfs; None if it is not a readable number."""
    try:
        return int(text_of(path))
    except (OSError, ValueError):
        return None
