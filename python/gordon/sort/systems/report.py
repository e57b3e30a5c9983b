"""The report of `extrapolate`: the keys of its JSON."""

from typing import Literal, NotRequired, TypedDict


class Figures(TypedDict):
    """Time, power and score of a sort, as modelled or measured; None is not known."""

    time_s: float | None
    power_w: float | None
    energy_j: float | None
    records_per_j: float | None


class PhaseTime(TypedDict):
    """A modelled phase: the time that each part needs alone, and the part that limits it."""

    name: str
    time_s: float
    limit: str
    limits_s: dict[str, float]


class Modelled(Figures):
    """A system as modelled."""

    board_w: float | None
    parts_w: dict[str, float]
    phases: list[PhaseTime]


class RowCheck(TypedDict, total=False):
    """Whether the printed score of a row follows from its time and power. Empty without power or
    score; a row without time has the time that the other two imply."""

    printed_records_per_j: float
    implied_time_s: float
    records_per_j: float
    lowest: float
    highest: float
    printed_over: float
    follows: bool


class MeasuredRow(Figures):
    """A measured row of a file of systems, or the user's own run, which has no row to check."""

    records: int
    passes: NotRequired[int | None]
    row: NotRequired[RowCheck]


class Errors(TypedDict):
    """Modelled over measured, less one, for as many records as the row has."""

    time_s: float | None
    power_w: float | None
    records_per_j: float | None
    records: int
    power_fitted_to_it: bool
    power_w_without_it: NotRequired[float]


class SystemRow(TypedDict):
    """A system, as modelled and as measured."""

    name: str
    summary: str
    cpu: str | None
    board: str | None
    passes: int | None
    modelled: Modelled | None
    measured: MeasuredRow | None
    error: NotRequired[Errors]


class Point(TypedDict):
    """A system in Figure 13; without its power it has no time."""

    name: str
    kind: Literal["measured", "modelled", "claimed"]
    records_per_j: float
    power_w: float | None
    time_s: float | None


class Plateau(TypedDict):
    """Systems of about the same score, with the range of their power."""

    systems: list[str]
    records_per_j: float
    lowest: float
    highest: float
    power_w: list[float] | None


class Plateaus(TypedDict):
    """The plateaus of the points, and the ratios of neighbours within them and between them."""

    step: float
    largest_within: float
    smallest_between: float | None
    plateaus: list[Plateau]
    points: list[Point]


class OwnRun(TypedDict):
    """The user's own run, which was modelled in place of the paper's sort."""

    time_s: float
    power_w: float | None
    power_how: str | None
    system: str | None


class BoardPower(TypedDict):
    """The power of a board itself, and what each measured row leaves for it."""

    value: float
    rows: dict[str, float]


class Fitted(TypedDict):
    """The parts of the model that come from measured rows and from statements about them."""

    busy_share_of_tdp: float
    memory_w_per_gib: float
    core_s_per_gb: dict[str, list[float] | None]
    board_w: dict[str, BoardPower]


class Extrapolation(TypedDict):
    """Every system of a file, modelled and compared with its measured row."""

    kind: Literal["modelled"]
    version: str
    source: str
    records: int
    set: list[str]
    run: OwnRun | None
    fitted: Fitted
    systems: list[SystemRow]
    warnings: list[str]
    plateaus: Plateaus
