"""Linux powercap: the energy counters of processors (RAPL).

`package-N` zones hold `core` and `uncore`; `dram` is beside them, although its zone lies below;
`psys` is the platform that the processor sits on, with all of these in it: a meter of its own. The
same counters over memory-mapped registers (`intel-rapl-mmio`) are left out, they would count twice.
"""

from pathlib import Path

from gordon._core import GordonError
from gordon.energy.counter import Counter, unreadable
from gordon.energy.meter import Candidate, Channel, How, Meter, number_of, text_of

FOLDER = "sys/class/powercap"
PACKAGES, PLATFORM = "rapl", "rapl-psys"


class Rapl(Meter):
    """Zones of powercap that are read together."""

    kind = "energy"
    # "The registers are updated every 1 ms": Linux, Documentation/hwmon/amd_energy.rst; Intel's
    # manual, volume 3B, 15.10.3, says the same of its own.
    update_s = 0.001
    step = "1 uJ"  # the file's; the register's is 15 to 61 uJ

    def __init__(self, name: str, measures: str, zones: list[tuple[Channel, Path]], how: How):
        super().__init__()
        self.name, self.measures, self.how = name, measures, how
        self.channels = [channel for channel, _ in zones]
        self._counters = [
            Counter(zone / "energy_uj", number_of(zone / "max_energy_range_uj"))
            for _, zone in zones
        ]
        turns = [counter.turn_s for counter in self._counters if counter.turn_s is not None]
        self.longest_s = min(turns, default=None)

    def read(self) -> list[float | None]:
        return [counter.read() for counter in self._counters]


def find(root: Path) -> list[Candidate]:
    """The packages with their memory, and the platform where it has a counter."""
    measures = {PACKAGES: "processor packages and their memory", PLATFORM: "platform"}
    zones: dict[str, list[tuple[Channel, Path]]] = {PACKAGES: [], PLATFORM: []}
    folder = root / FOLDER
    for zone in sorted(folder.glob("intel-rapl:*")) if folder.is_dir() else []:
        where, channel = _channel(folder, zone)
        zones[where].append((channel, zone))
    if not any("dram" in channel.name for channel, _ in zones[PACKAGES]):
        measures[PACKAGES] = "processor packages"
    found = []
    for name, of in zones.items():
        if name == PLATFORM and not of:
            continue
        found.append(_candidate(name, measures[name], of, how(root)))
    return found


def _candidate(
    name: str, measures: str, zones: list[tuple[Channel, Path]], known: How
) -> Candidate:
    if not zones:
        why = "no zones of intel-rapl in /sys/class/powercap"
        hint = "sudo modprobe intel_rapl_msr; virtual machines have none"
        return Candidate(name, measures, why=why, hint=hint)
    for _, zone in zones:
        try:
            (zone / "energy_uj").read_bytes()
        except OSError as error:
            what, hint = unreadable(zone / "energy_uj", error).args
            if isinstance(error, PermissionError):
                hint = f"sudo chmod a+r /{FOLDER}/intel-rapl:*/energy_uj, or run as root"
            return Candidate(name, measures, why=what, hint=hint)
    return Candidate(name, measures, Rapl(name, measures, zones, known))


def _channel(folder: Path, zone: Path) -> tuple[str, Channel]:
    """Which meter a zone belongs to, and what it is there."""
    try:
        own = text_of(zone / "name")
        top = text_of(folder / ":".join(zone.name.split(":")[:2]) / "name")
    except OSError as error:
        raise GordonError(f"{zone}: {error.strerror}") from None
    if own == "psys":
        return PLATFORM, Channel("psys", "platform")
    if zone.name.count(":") == 1:
        return PACKAGES, Channel(own, "package")
    where = PLATFORM if top == "psys" else PACKAGES
    beside = own == "dram" and where == PACKAGES
    return where, Channel(f"{top}/{own}", own, counted=beside)


def how(root: Path) -> How:
    """AMD's counters are a model of events inside the processor (Schöne et al., "Energy Efficiency
    Aspects of the AMD Zen 2 Architecture", CLUSTER 2021); Intel's are of its regulators since
    Haswell (Hackenberg et al., HPPAC 2015).
    """
    try:
        amd = "AuthenticAMD" in (root / "proc/cpuinfo").read_text(errors="replace")
    except OSError:
        amd = False
    return "estimated" if amd else "measured"
