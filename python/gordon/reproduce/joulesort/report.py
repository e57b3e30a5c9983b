"""The report of `gordon reproduce joulesort`: the keys of its JSON."""

from typing import TypedDict

from gordon.reproduce.row import Comparison
from gordon.sort.systems.report import Errors, Extrapolation, MeasuredRow, Modelled, Plateau

Swapped = TypedDict(
    "Swapped",
    {
        "from": str,
        "processor_w": list[float],
        "power_w": float,
        "records_per_j": float,
        "paper_power_w": float,
    },
)


class Estimate(TypedDict):
    """A system that the paper estimates, next to the model's."""

    system: str
    paper_records_per_j: float
    records_per_j: float | None
    over_paper: float | None


class Ideal(Estimate):
    """The ideal system, and what the paper's way of estimating gives."""

    swapped: Swapped


class Balanced(Estimate):
    """The balanced system, and the two numbers that the paper prints for its gain."""

    paper_gain: float
    gain_gives_records_per_j: float
    gain_needed: float


class OldPlateau(TypedDict):
    """The plateau of older systems, and the nearest one that was found."""

    paper_records_per_j: float
    nearest: Plateau


class PowerSpan(TypedDict):
    """The largest power over the least."""

    paper: float
    measured: float


class Statement(TypedDict):
    """A statement of the paper, and what its tables or the model say; `agrees` is None where there
    is nothing to compare with."""

    where: str
    paper: str
    here: str
    agrees: bool | None


class Claimed(TypedDict):
    """The paper's estimates and statements, compared."""

    ideal: Ideal
    balanced: Balanced
    old_plateau: OldPlateau
    power_span: PowerSpan
    statements: list[Statement]


class Study(Extrapolation, Comparison):
    """The systems of the paper, with its claims."""

    claims: Claimed


class Served(TypedDict):
    """A published rate of operations at full load, next to the modelled power."""

    what: str
    rate: float
    power_w: float
    power_error: float
    per_joule: float
    published_per_joule: float
    per_joule_error: float


class PublishedMachine(TypedDict):
    """A machine with a published result, modelled from its parts."""

    name: str
    of_paper: bool
    summary: str
    idle_w: float
    most_w: float
    modelled: Modelled | None
    published: MeasuredRow | None
    error: Errors | None
    serves: Served | None
    board_share: float
    reason: str
