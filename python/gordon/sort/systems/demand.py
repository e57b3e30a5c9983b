"""The work of a sort by phase: bytes for each group of drives, and core-seconds."""

from dataclasses import dataclass, field
from typing import Literal

Group = Literal["files", "temp"]


@dataclass(frozen=True)
class Phase:
    """Bytes read and written, by group of drives, and core-seconds of the processor; `None` where
    nobody says how many."""

    name: str
    reads: dict[Group, float]
    writes: dict[Group, float]
    core_s: float | None


@dataclass(frozen=True)
class Demand:
    records: int
    phases: list[Phase] = field(default_factory=list)


def passes(memory: float, data: float) -> int:
    """The number of passes: one if all records fit in memory, else two."""
    return 1 if memory > data else 2


def of_sort(
    records: int, record_bytes: int, passes: int, core_s: tuple[float, float] | None
) -> Demand:
    """The sort of the paper: the input is read, the output written, in two passes with temporary
    files between; `core_s` of both phases."""
    data = float(records * record_bytes)
    first, last = core_s if core_s else (None, None)
    through: dict[Group, float] = {"temp": data} if passes == 2 else {}
    return Demand(
        records,
        [
            Phase("input", {"files": data}, through, first),
            Phase("output", through, {"files": data}, last),
        ],
    )
