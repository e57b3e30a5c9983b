"""The schema of a file of systems: a dataclass per table, values with their sources."""

from dataclasses import dataclass

from gordon.tables import Bytes, Count, Hertz, Number, Printed, Share, Some, Watts


@dataclass(frozen=True, kw_only=True)
class Seen:
    """How busy a processor was: cores, over a system's run or one phase of it."""

    system: str
    cores_busy: Number
    phase: str | None = None


@dataclass(frozen=True, kw_only=True)
class Work:
    """Core-seconds per gigabyte of records, by phase."""

    input: Number
    output: Number


@dataclass(frozen=True, kw_only=True)
class Cpu:
    summary: str = ""
    cores: Count
    clock: Hertz | None = None
    tdp: Watts
    work: Work | None = None
    seen: Seen | None = None
    whole_like: str | None = None
    like: str | None = None


@dataclass(frozen=True, kw_only=True)
class Drive:
    summary: str = ""
    part: str | None = None
    read: Bytes | None = None
    write: Bytes | None = None
    active: Watts | None = None
    idle: Watts | None = None
    link: Bytes | None = None


@dataclass(frozen=True, kw_only=True)
class Board:
    """`base` is the board's own power. With `like` it is that of another board plus `cards`."""

    summary: str = ""
    efficiency: Some
    base: Watts | None = None
    like: str | None = None
    cards: Watts | None = None
    ports: Count | None = None
    link: Bytes | None = None


@dataclass(frozen=True, kw_only=True)
class Array:
    drive: str
    count: int = 1


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A row of table 2, or another published result, which may have only its energy. `records` is
    the size that was sorted; without it, the file's."""

    power: Printed | None = None
    records_per_j: Printed | None = None
    time: Printed | None = None
    energy: Printed | None = None
    records: int | None = None
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class Serves:
    """A published load other than a sort: operations a second at full load, operations a joule, and
    power of the whole system at full load."""

    what: str
    rate: Number
    per_joule: Number
    power: Watts


@dataclass(frozen=True, kw_only=True)
class System:
    summary: str = ""
    cpu: str | None = None
    board: str | None = None
    memory: Bytes | None = None
    memory_power: Watts | None = None
    files: Array | None = None
    temp: Array | None = None
    boot: Array | None = None
    passes: int | None = None
    read_share: Some | None = None
    write_share: Some | None = None
    transfer: dict[str, str] | None = None
    measured: Measured | None = None
    serves: Serves | None = None
    reason: str = ""
    """Why the model misses the published result, if it does."""


@dataclass(frozen=True, kw_only=True)
class CpuPower:
    acp_w: list[float]
    tdp_w: list[float]
    source: str
    idle_share: Share


@dataclass(frozen=True, kw_only=True)
class MemoryPower:
    part: str
    assumed: str = ""


@dataclass(frozen=True, kw_only=True)
class Systems:
    """The content of a file of systems."""

    source: str
    cpu_power: CpuPower
    memory_power: MemoryPower
    cpu: dict[str, Cpu]
    drive: dict[str, Drive]
    board: dict[str, Board]
    system: dict[str, System]
    records: Count
    record_bytes: Count
