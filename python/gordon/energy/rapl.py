"""Linux powercap: the energy counters of processors (RAPL).

`package-N` zones include `core` and `uncore`; `dram` is not included, although it is a subzone.
`psys` is the platform, which includes all of these; it is a separate meter. The same counters over
memory-mapped registers (`intel-rapl-mmio`) are left out, as they would count twice.
"""

import math
from pathlib import Path

from gordon.energy.counter import MOST_W, Counter, unreadable
from gordon.energy.meter import MICRO, Candidate, Channel, How, Meter, number_of, text_of
from gordon.errors import GordonError

FOLDER = "sys/class/powercap"
#: Where zones lie: as links side by side, or nested, as a container may have them mounted.
PLACES = (FOLDER, f"{FOLDER}/intel-rapl", "sys/devices/virtual/powercap/intel-rapl")
PACKAGES, PLATFORM = "rapl", "rapl-psys"


class Rapl(Meter):
    """A meter of powercap zones that are read together."""

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
            Counter(zone / "energy_uj", _range(zone), most_w(zone)) for _, zone in zones
        ]
        turns = [counter.turn_s for counter in self._counters if counter.turn_s is not None]
        self.longest_s = min(turns, default=None)

    def read(self) -> list[float | None]:
        values: list[float | None] = []
        for channel, counter in zip(self.channels, self._counters, strict=True):
            try:
                values.append(counter.read())
            except GordonError as error:
                if channel.counted:
                    raise
                self.warn(
                    f"a subzone, which is not part of the sum, cannot be read: {error.message}"
                )
                values.append(math.nan)
            if counter.was_reset:
                self.warn(
                    f"the counter of {channel.name} was reset, as it changed by more than the zone "
                    "can draw: the energy of that time is unknown"
                )
        self.resets = [counter.was_reset for counter in self._counters]
        return values


def _range(zone: Path) -> int | None:
    """Microjoules at which a zone's counter wraps around; None if unknown."""
    path = zone / "max_energy_range_uj"
    if not path.exists():
        return None
    found = number_of(path)
    if found is None or found <= 0:
        raise GordonError(
            f"{path}: {'the content' if found is None else found} is not a range in microjoules",
            "another meter: without the range, wrap-arounds of this counter cannot be detected",
            kind="bad-meter",
        )
    return found


def most_w(zone: Path) -> float:
    """More than a zone can draw for the time between two readings: twice the greatest of its
    constraints, as bursts of some milliseconds exceed a limit, which holds for a mean; 2,000 W
    where it has none, and where firmware sets a limit as high as none.

    Linux, Documentation/power/powercap/powercap.rst: `constraint_N_max_power_uw` is the greatest
    power that a constraint takes, `constraint_N_power_limit_uw` the one that is set.
    """
    known = [
        number_of(path)
        for what in ("max_power_uw", "power_limit_uw")
        for path in zone.glob(f"constraint_*_{what}")
    ]
    greatest = max((found for found in known if found is not None), default=0) * MICRO
    return min(2 * greatest, MOST_W) if greatest > 0 else MOST_W


def find(root: Path) -> list[Candidate]:
    """The meters of packages with memory and, if it has a counter, of the platform."""
    measures = {PACKAGES: "processor packages and their memory", PLATFORM: "platform"}
    zones: dict[str, list[tuple[Channel, Path]]] = {PACKAGES: [], PLATFORM: []}
    there = _zones(root)
    for _, zone in sorted(there.items()):
        where, channel = _channel(there, zone)
        zones[where].append((channel, zone))
    if not any("dram" in channel.name for channel, _ in zones[PACKAGES]):
        measures[PACKAGES] = "processor packages"
    found = []
    for name, of in zones.items():
        if name == PLATFORM and not of:
            continue
        found.append(_candidate(name, measures[name], of, how(root)))
    return found


def _zones(root: Path) -> dict[str, Path]:
    """Each zone once, by its name."""
    found: dict[str, Path] = {}
    folders = [root / place for place in PLACES]
    while folders:
        folder = folders.pop(0)
        for zone in sorted(folder.glob("intel-rapl:*")):
            # A zone may be there twice: as a link, and below the one that it is a part of.
            if zone.is_dir() and found.setdefault(zone.name, zone) == zone:
                folders.append(zone)
    return found


def _candidate(
    name: str, measures: str, zones: list[tuple[Channel, Path]], known: How
) -> Candidate:
    if not zones:
        why = "there are no intel-rapl zones in /sys/class/powercap"
        hint = "sudo modprobe intel_rapl_msr; virtual machines have no zones"
        return Candidate(name, measures, why=why, hint=hint)
    readable = []
    for channel, zone in zones:
        try:
            (zone / "energy_uj").read_bytes()
            readable.append((channel, zone))
        except OSError as error:
            if not channel.counted:
                continue
            found = unreadable(zone / "energy_uj", error)
            hint = found.hint
            if isinstance(error, PermissionError):
                hint = f"sudo chmod a+r /{FOLDER}/intel-rapl:*/energy_uj, or run as root"
            return Candidate(name, measures, why=found.message, hint=hint)
    if not any(channel.counted for channel, _ in readable):
        why = "only subzones can be read, and no top-level zone"
        return Candidate(name, measures, why=why, hint="mount the top-level zone, too")
    try:
        return Candidate(name, measures, Rapl(name, measures, readable, known))
    except GordonError as error:
        return Candidate(name, measures, why=error.message, hint=error.hint)


def _channel(there: dict[str, Path], zone: Path) -> tuple[str, Channel]:
    """Which meter a zone belongs to, and what it is there."""
    try:
        own = text_of(zone / "name")
        above = there.get(":".join(zone.name.split(":")[:2]))
        top = own if above is None else text_of(above / "name")
    except OSError as error:
        raise GordonError(f"{zone}: {error.strerror}") from None
    if own == "psys":
        return PLATFORM, Channel("psys", "platform")
    if zone.name.count(":") == 1:
        return PACKAGES, Channel(own, "package")
    where = PLATFORM if top == "psys" else PACKAGES
    counted = own == "dram" and where == PACKAGES
    return where, Channel(f"{top}/{own}", own, counted=counted)


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
