"""The meter for machines without one: the power of parts of the catalogue times their activity.

    joules = overhead x (processors + memory + disks)
    processors  N x idle x time + (active - idle) x their busy seconds, /proc/stat
    memory      modules x (idle x time + (active - idle) x busy seconds / N): its accesses are not
                counted, so it is assumed to be as busy as the processors
    disk        idle x time + (read or write - idle) x seconds at work, /proc/diskstats, divided
                by bytes read and written

The counters are cumulative, so no activity between two readings is lost. Linux counts the time of a
request when it ends, so that a disk may seem busy for longer than the time between two readings:
the excess is charged to later readings, and no part draws more than its active power. The model
ignores clocks, temperature and instruction mix, and its values are always `modelled`. It counts all
programs: its idle baseline is the idle power of the parts only if nothing else runs.
"""

import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gordon import _core, parts, power
from gordon.energy.meter import Channel, Meter, MeterAbout
from gordon.errors import GordonError, located
from gordon.quantity import number

NAME = "model"
DEFAULT = "server-2023"
KIND = "machine"
SECTOR = 512
PROCESSORS, MEMORY = "processors", "memory"
#: The channel of what the overhead adds to the parts.
SUPPLY = "supply, regulators, fans"
_WHOLE_DISK = re.compile(r"(?:sd[a-z]+|vd[a-z]+|xvd[a-z]+|nvme\d+n\d+|mmcblk\d+)$")


@dataclass(frozen=True)
class Level:
    """The power of a part in watts, idle and active."""

    idle: float
    active: float


@dataclass(frozen=True)
class Storage:
    """The power of a disk in watts."""

    idle: float
    read: float
    write: float


@dataclass(frozen=True)
class Disk:
    """Bytes read and written and busy seconds of a disk since boot."""

    read: int
    written: int
    busy_s: float


@dataclass(frozen=True)
class State:
    """The counters of Linux at a moment."""

    at: float
    busy_s: float
    disks: dict[str, Disk]


@dataclass(frozen=True)
class Machine:
    """The power of one of each part, and the number of parts."""

    core: Level
    cores: int
    module: Level
    modules: float
    disk: Storage
    overhead: float
    #: The power supply, if its loss is not in the overhead, as the core takes it.
    supply: str | None

    def power(self, disks: list[str]) -> _core.MachinePower:
        """The power model of the machine with these disks."""
        disk = self.disk
        return _core.MachinePower(
            [
                (PROCESSORS, self.cores, self.core.idle, [self.core.active]),
                (MEMORY, self.modules, self.module.idle, [self.module.active]),
                *((name, 1, disk.idle, [disk.read, disk.write]) for name in disks),
            ],
            self.overhead,
            self.supply,
        )


class Model(Meter):
    """The modelled energy of the machine, as the sum of its parts."""

    measures, kind, how = "the whole machine, as the sum of its parts", "energy", "modelled"
    update_s = 0.01  # /proc/stat counts in hundredths of a second
    step = "10 ms of CPU time"

    def __init__(self, which: str, root: Path, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        which = which or DEFAULT
        self.name = NAME if which == DEFAULT else f"{NAME}:{which}"
        self._root, self._clock = root, clock
        self.machine = machine(which, root)
        self._last: State | None = None
        self._disks = sorted(disks(root))
        self._power = self.machine.power(self._disks)
        self._names = [PROCESSORS, MEMORY, *self._disks, SUPPLY]
        self.channels = [Channel(name, "a part") for name in self._names]
        self._joules = [0.0] * len(self._names)
        #: Busy seconds of each part that did not fit between two readings.
        self._due: dict[str, float] = {}

    def read(self) -> list[float | None]:
        now = State(self._clock(), busy_seconds(self._root), disks(self._root))
        if self._last is not None:
            for part, joules in enumerate(self._between(self._last, now)):
                self._joules[part] += joules
        self._last = now
        return [*self._joules]

    def _between(self, old: State, new: State) -> list[float]:
        """Joules of each channel."""
        m, span = self.machine, max(0.0, new.at - old.at)
        cores = self._busy(PROCESSORS, new.busy_s - old.busy_s, m.cores * span)
        busy = {PROCESSORS: [cores], MEMORY: [m.modules * cores / m.cores]}
        for disk in self._disks:
            before = old.disks.get(disk, Disk(0, 0, 0.0))
            after = new.disks.get(disk, before)
            read, written = after.read - before.read, after.written - before.written
            share = read / (read + written) if read + written > 0 else 0.0
            worked = self._busy(disk, after.busy_s - before.busy_s, span)
            busy[disk] = [worked * share, worked * (1 - share)]
        return self._power.energy(span, busy)

    def _busy(self, part: str, seconds: float, most: float) -> float:
        """Busy seconds to charge now, at most `most`; the rest is charged later."""
        due = self._due.get(part, 0.0) + max(0.0, seconds)
        used = min(due, most)
        self._due[part] = due - used
        return used

    def about(self) -> MeterAbout:
        m = self.machine
        about = super().about()
        about["model"] = {
            "cores": m.cores,
            "core_idle_w": m.core.idle,
            "core_active_w": m.core.active,
            "memory_modules": m.modules,
            "module_idle_w": m.module.idle,
            "module_active_w": m.module.active,
            "disks": self._disks,
            "disk_idle_w": m.disk.idle,
            "disk_read_w": m.disk.read,
            "disk_write_w": m.disk.write,
            "overhead_ratio": m.overhead,
            "rest_w": dict(zip(self._names, self._power.idle(), strict=True)),
            "most_w": dict(zip(self._names, self._power.max(), strict=True)),
        }
        return about


def names() -> list[str]:
    return parts.names(KIND)


def machine(which: str, root: Path) -> Machine:
    """A machine of the catalogue or a TOML file, with the processors and memory of this one."""
    if which in names():
        text = parts.text(KIND, which)
    else:
        try:
            text = Path(which).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise parts.unknown("machine", which, names()) from None
    catalogue = parts.Catalogue()
    try:
        table = json.loads(_core.load_toml(KIND, text, which))
        with located(which):
            core = catalogue.get("cpu", table["core"])
            module = catalogue.get("memory", table["memory"]["part"])
            overhead = catalogue.get("overhead", table["overhead"])
    except GordonError as error:
        raise GordonError(error.message, error.hint, kind="bad-machine") from None
    return Machine(
        core=_level(core),
        cores=count_of_processors(root),
        module=_level(module),
        modules=memory_bytes(root) / _core.parse_bytes(table["memory"]["size"]),
        disk=Storage(*power.storage(table["storage"], catalogue)),
        overhead=power.fit(overhead, catalogue)["ratio"],
        supply=power.supply(overhead, catalogue),
    )


def _level(part: parts.Part) -> Level:
    return Level(number(part["idle"], "idle"), number(part["active"], "active"))


def busy_seconds(root: Path) -> float:
    """Busy seconds of all processors; I/O wait and stolen time count as idle."""
    fields = [int(n) for n in _read(root / "proc/stat").splitlines()[0].split()[1:9]]
    user, nice, system, _, _, irq, softirq = fields[:7]
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def count_of_processors(root: Path) -> int:
    return sum(bool(re.match(r"cpu\d", line)) for line in _read(root / "proc/stat").splitlines())


def memory_bytes(root: Path) -> int:
    match = re.search(r"MemTotal:\s*(\d+) kB", _read(root / "proc/meminfo"))
    if match is None:
        raise GordonError(f"{root / 'proc/meminfo'}: MemTotal is missing", kind="bad-proc")
    return int(match[1]) * 1024


def disks(root: Path) -> dict[str, Disk]:
    """The counters of whole disks; partitions and composed devices would count twice."""
    found = {}
    for line in _read(root / "proc/diskstats").splitlines():
        fields = line.split()
        if len(fields) > 12 and _WHOLE_DISK.match(fields[2]):
            read, written, ms = int(fields[5]), int(fields[9]), int(fields[12])
            found[fields[2]] = Disk(read * SECTOR, written * SECTOR, ms / 1000)
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise GordonError(
            f"{path}: {error.strerror}",
            "a machine with Linux, whose /proc the model reads",
            "no-proc",
        ) from None
