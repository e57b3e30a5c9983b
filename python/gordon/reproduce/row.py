"""A figure of a paper next to ours."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NotRequired, TypedDict, TypeVar

from gordon import _core

#: The job of a row that is about the mean of all jobs, in which each weighs the same.
MEAN = "mean"
#: Relative difference up to which a figure agrees: that of the paper's power model to measurements
#: (section 5.2, "within 10% of our measurements").
TOLERANCE = 0.1
#: A factor up to which figures are counted as near to each other.
NEAR = 1.5
PAPER = "Gordon, ASPLOS 2009"


class Printed(TypedDict):
    """The ends of a printed figure; None is an open end."""

    low: float | None
    high: float | None


class Compared(TypedDict):
    """A comparison. The paper's side and ours are numbers, or the words of a statement."""

    table: str
    job: str
    what: str
    unit: str
    paper: Printed | str | None
    ours: float | str
    ratio: float | None
    agrees: bool | None
    reason: str


class Item(Compared):
    """A comparison with a name, and where the paper has its figure."""

    id: str
    source: str


class PlaceSummary(TypedDict):
    """How many figures of a place agree."""

    place: str
    title: str
    section: str
    figures: int
    agree: int


class NotReproduced(TypedDict):
    """A place that cannot be computed, and the nearest command."""

    place: str
    title: str
    reason: str
    see: NotRequired[str]


class Summary(TypedDict):
    """How many figures agree, in all and by place."""

    figures: int
    agree: int
    differ: int
    places: list[PlaceSummary]
    not_reproduced: list[NotReproduced]


class Comparison(TypedDict):
    """Comparisons with a figure of the paper to agree with, and the others."""

    version: str
    items: list[Item]
    not_compared: list[Item]
    requests: NotRequired[int]
    summary: NotRequired[Summary]


T = TypeVar("T")


def known(value: T | None) -> T:
    """A figure that may be None in a report, and that every load or system of a study has."""
    assert value is not None
    return value


@dataclass(frozen=True)
class Row:
    """One comparison. The paper's figure lies between `low` and `high`, which are equal where it
    prints one number; None is an open end. Without both the paper prints no figure."""

    table: str
    job: str
    what: str
    ours: float
    low: float | None = None
    high: float | None = None
    unit: str = ""
    reason: str = ""
    is_scaled: bool = False
    """Whether the figure grows with the size of the input, which differs."""
    paper: str = PAPER

    @property
    def id(self) -> str:
        """A name of the comparison that no other one has."""
        return ": ".join(part for part in (self.table, self.job, self.what) if part)

    @property
    def source(self) -> str:
        """Where the paper has its figure."""
        return f"{self.paper}, {self.table}"

    @property
    def nearest(self) -> float | None:
        """The paper's figure that is closest to ours."""
        if self.low is not None and self.ours < self.low:
            return self.low
        if self.high is not None and self.ours > self.high:
            return self.high
        return None if self.low is None and self.high is None else self.ours

    @property
    def ratio(self) -> float | None:
        """Our figure over the nearest one of the paper."""
        nearest = self.nearest
        if nearest is None or (nearest == 0 and self.ours != 0):
            return None
        return 1.0 if nearest == self.ours else self.ours / nearest

    @property
    def agrees(self) -> bool | None:
        """Whether the ratio is within the tolerance; None if there is nothing to agree with."""
        if self.is_scaled or self.nearest is None:
            return None
        return self.ratio is not None and abs(self.ratio - 1) <= TOLERANCE

    def as_dict(self) -> Compared:
        """The row as JSON has it."""
        return {
            "table": self.table,
            "job": self.job,
            "what": self.what,
            "unit": self.unit,
            "paper": None if self.nearest is None else {"low": self.low, "high": self.high},
            "ours": self.ours,
            "ratio": self.ratio,
            "agrees": self.agrees,
            "reason": self.reason,
        }


def as_result(rows: Iterable[Row]) -> Comparison:
    """Comparisons as JSON has them: `items` are those with a figure of the paper to agree with, the
    others are `not_compared`."""
    made: list[Item] = [{"id": row.id, **row.as_dict(), "source": row.source} for row in rows]
    return {
        "version": _core.version(),
        "items": [item for item in made if item["agrees"] is not None],
        "not_compared": [item for item in made if item["agrees"] is None],
    }
