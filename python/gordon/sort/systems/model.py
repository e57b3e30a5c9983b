"""Time and power of a sort on a system made of parts.

A phase takes as long as the slowest of: the processor, with all cores busy; each group of drives,
which reads and writes sequentially and is striped evenly; and the link that the drives share, if
the board has one. The power is that of the core's model of machines: board, memory, the processor
between idle and busy, each drive between idle and active; the overhead at the wall is one over the
supply's efficiency.
"""

from dataclasses import dataclass
from typing import TypeVar

from gordon import _core, parts, quantity
from gordon._core import parse_bytes
from gordon.arrays import np
from gordon.errors import GordonError
from gordon.parts import unknown
from gordon.sort.systems.demand import Demand, Group, Phase
from gordon.sort.systems.schema import Array, Cpu, Drive, System, Systems
from gordon.tables import Value

GB = 1e9
P = TypeVar("P")


@dataclass(frozen=True)
class Taken:
    """A modelled phase: the time that each part needs alone, and the busy seconds of the processor
    and of the drives of each group, summed over them."""

    name: str
    time_s: float
    limits: dict[str, float]
    busy_s: dict[str, float]

    @property
    def limit(self) -> str:
        return max(self.limits, key=lambda name: self.limits[name])


class Parts:
    """The parts of systems by name, with values that are derived from them once."""

    def __init__(self, systems: Systems) -> None:
        self.all = systems
        power = systems.cpu_power
        acp, tdp = np.array(power.acp_w), np.array(power.tdp_w)
        if len(acp) != len(tdp) or not len(acp) or (tdp <= 0).any():
            raise GordonError(
                "cpu_power: acp_w and tdp_w are not lists of the same length with values above "
                "zero",
                kind="bad-value",
            )
        #: Busy power over TDP: least squares through the origin.
        self.busy_share = float(acp @ tdp / (tdp @ tdp))
        memory = parts.load("memory", systems.memory_power.part)
        #: Idle power of memory by the byte; the part is one of 2 GiB.
        self.memory_w = quantity.number(memory["idle"]) / parse_bytes("2GiB")
        self._drives: dict[str, Drive] = {}

    def cpu(self, name: str) -> Cpu:
        return named(self.all.cpu, name, "cpu")

    def drive(self, name: str) -> Drive:
        """A drive, with what its part of the catalogue says where it names one."""
        if name not in self._drives:
            self._drives[name] = _whole(named(self.all.drive, name, "drive"), name)
        return self._drives[name]

    def idle_w(self, cpu: Cpu) -> float:
        return self.all.cpu_power.idle_share.value * cpu.tdp.value

    def busy_w(self, cpu: Cpu) -> float:
        return max(self.busy_share * cpu.tdp.value, self.idle_w(cpu))

    def groups(self, system: System) -> dict[Group, Array]:
        """The drives of a system that the sort uses; those of the temporary files are the files'
        own where it has no others."""
        assert system.files is not None
        found: dict[Group, Array] = {"files": system.files}
        if system.temp is not None:
            found["temp"] = system.temp
        return found

    def ports(self, system: System) -> int:
        return sum(a.count for a in (system.files, system.temp, system.boot) if a is not None)


def phase(parts: Parts, system: System, demand: Phase) -> Taken:
    """Models the time of a phase on a system, and how long each part works in it."""
    assert system.cpu is not None
    assert system.board is not None
    cpu, board = parts.cpu(system.cpu), named(parts.all.board, system.board, "board")
    groups = parts.groups(system)
    busy: dict[Group, float] = dict.fromkeys(groups, 0.0)
    for bytes_by, writes in ((demand.reads, False), (demand.writes, True)):
        for group, size in bytes_by.items():
            own: Group = group if group in groups else "files"
            busy[own] += size / bandwidth(parts, system, groups[own], writes)
    limits = {_GROUP_NAMES[group]: time for group, time in busy.items() if time}
    if demand.core_s is not None:
        limits[PROCESSOR] = demand.core_s / cpu.cores.value
    if board.link is not None:
        moved = sum(demand.reads.values()) + sum(demand.writes.values())
        limits["link"] = moved / board.link.value
    time = max(limits.values(), default=0.0)
    if time <= 0:
        raise GordonError(
            f"phase {demand.name}: it has no CPU time and no I/O to model", kind="empty-phase"
        )
    busy_s = {PROCESSOR: min(time, (demand.core_s or 0.0) / cpu.cores.value)}
    for group, array in groups.items():
        busy_s[_GROUP_NAMES[group]] = array.count * min(time, busy[group])
    return Taken(demand.name, time, limits, busy_s)


def machine(parts: Parts, system: System, base: float) -> _core.MachinePower:
    """The power model of a system whose board draws `base` watts."""
    assert system.cpu is not None
    assert system.board is not None
    cpu, board = parts.cpu(system.cpu), named(parts.all.board, system.board, "board")
    made: list[tuple[str, float, float, list[float]]] = [
        (PROCESSOR, 1, parts.idle_w(cpu), [parts.busy_w(cpu)]),
        (MEMORY, 1, _memory_w(parts, system), []),
        (BOARD, 1, base, []),
    ]
    arrays = {_GROUP_NAMES[group]: array for group, array in parts.groups(system).items()}
    if system.boot is not None:
        arrays[BOOT] = system.boot
    for name, array in arrays.items():
        drive = parts.drive(array.drive)
        assert drive.active is not None
        assert drive.idle is not None
        made.append((name, array.count, drive.idle.value, [drive.active.value]))
    return _core.MachinePower(made, 1 / board.efficiency.value)


def _by_part(values: list[float]) -> dict[str, float]:
    """Values of a machine by part, those of all drives as one."""
    processor, memory, board, *drives, overhead = values
    return {
        PROCESSOR: processor,
        MEMORY: memory,
        "drives": sum(drives),
        BOARD: board,
        "overhead": overhead,
    }


def _memory_w(parts: Parts, system: System) -> float:
    if system.memory_power is not None:
        return system.memory_power.value
    assert system.memory is not None
    return parts.memory_w * system.memory.value


PROCESSOR, MEMORY, BOARD, BOOT = "processor", "memory", "board", "boot drives"
_GROUP_NAMES: dict[Group, str] = {"files": "input and output drives", "temp": "temporary drives"}


def bandwidth(parts: Parts, system: System, array: Array, writes: bool) -> float:
    """The bandwidth of a stripe over drives, in bytes per second."""
    drive = parts.drive(array.drive)
    rate = drive.write if writes else drive.read
    assert rate is not None
    each = min(rate.value, drive.link.value) if drive.link else rate.value
    share = system.write_share if writes else system.read_share
    return array.count * each * (share.value if share else 1.0)


def run(parts: Parts, system: System, demand: Demand) -> list[Taken]:
    return [phase(parts, system, one) for one in demand.phases]


def mean_w(parts: Parts, system: System, taken: list[Taken], base: float) -> dict[str, float]:
    """Mean power by part over all phases, with the board's own power and the losses of the supply;
    their sum is the power at the wall."""
    time = sum(t.time_s for t in taken)
    busy = {name: [sum(t.busy_s[name] for t in taken)] for name in taken[0].busy_s}
    joules = machine(parts, system, base).energy(time, busy)
    return _by_part([value / time for value in joules])


def parts_w(drawn: dict[str, float]) -> dict[str, float]:
    """The power of the parts other than the board, of what `mean_w` gives."""
    return {name: drawn[name] for name in (PROCESSOR, MEMORY, "drives")}


def levels_w(parts: Parts, system: System, base: float) -> tuple[float, float]:
    """Power at the wall with all parts idle, and with all parts busy."""
    made = machine(parts, system, base)
    return sum(made.idle()), sum(made.max())


def whole(system: System) -> bool:
    """Whether the parts of a system are known; some systems have only a measured row."""
    needed = (system.cpu, system.board, system.memory, system.files)
    return all(part is not None for part in needed)


def _whole(drive: Drive, name: str) -> Drive:
    if drive.part is not None:
        disk = parts.load("disk", drive.part) if drive.part in parts.names("disk") else None
        if disk is None:
            raise unknown("disk part", drive.part, parts.names("disk"))
        zones = disk["geometry"]["zones"].get("linear")
        if zones is None:
            raise GordonError(
                f"drive.{name}: the part {drive.part} has a table of zones, not a single rate",
                "read and write rates instead of `part`, or another part",
                kind="bad-value",
            )
        source = f"the part {drive.part}: rate of its outer tracks"
        rate = Value(float(parse_bytes(quantity.value(zones["outer_rate_per_s"]))), source)
        watts = {
            key: Value(quantity.number(disk["power"][of]), f"the part {drive.part}")
            for key, of in (("active", "write"), ("idle", "idle"))
        }
        drive = Drive(
            summary=drive.summary or disk["summary"],
            part=drive.part,
            read=drive.read or rate,
            write=drive.write or rate,
            active=drive.active or watts["active"],
            idle=drive.idle or watts["idle"],
            link=drive.link,
        )
    for key in ("read", "write", "active", "idle"):
        if getattr(drive, key) is None:
            raise GordonError(
                f"drive.{name}: `{key}` is missing",
                f"{key}, or the name of a disk part as `part`",
                kind="missing-key",
            )
    return drive


def named(table: dict[str, P], name: str, what: str) -> P:
    """The entry of a table of a file. Raises GordonError for an unknown name."""
    if name not in table:
        raise unknown(what, name, list(table))
    return table[name]
