"""hwmon: chips that report energy (`energyN_input`, microjoules) or power (`powerN_input` or
`powerN_average`, microwatts).

`amd_energy` counts sockets, which include their cores. For any other chip it is unknown which
channel includes which, so each channel is a meter: `hwmon:CHIP/power1`.
"""

import re
from collections import Counter as Count
from pathlib import Path

from gordon.energy.counter import Counter, read_number, unreadable
from gordon.energy.meter import MICRO, Candidate, Channel, Meter, number_of, text_of

FOLDER = "sys/class/hwmon"
AMD, AMD_CHIP = "amd-energy", "amd_energy"
SOCKETS = "processor sockets"


class Energies(Meter):
    """The counters of one chip. The driver widens them to 64 bits, so they do not wrap around."""

    kind = "energy"
    step = "1 uJ"

    def __init__(self, name: str, measures: str, files: list[tuple[Channel, Path]]) -> None:
        super().__init__()
        self.name, self.measures = name, measures
        self.how = "estimated" if name == AMD else "measured"
        # Linux, Documentation/hwmon/amd_energy.rst: the registers are updated every 1 ms.
        self.update_s = 0.001 if name == AMD else None
        self.channels = [channel for channel, _ in files]
        self._counters = [Counter(path, None) for _, path in files]

    def read(self) -> list[float | None]:
        values: list[float | None] = [counter.read() for counter in self._counters]
        self.resets = [counter.was_reset for counter in self._counters]
        if any(self.resets):
            self.warn("a counter was reset: the energy of that time is unknown")
        return values


class Power(Meter):
    """Watts of one channel of a chip."""

    kind = "power"
    how = "measured"
    step = "1 uW"

    def __init__(self, name: str, measures: str, path: Path, update_s: float | None) -> None:
        super().__init__()
        self.name, self.measures, self.update_s = name, measures, update_s
        self.channels = [Channel(path.name.partition("_")[0], measures)]
        self._path = path

    def read(self) -> list[float | None]:
        return [read_number(self._path, "microwatts") * MICRO]


def find(root: Path) -> list[Candidate]:
    """All channels of energy or power of all chips."""
    folder = root / FOLDER
    seen: Count[str] = Count()
    found = []
    for chip in sorted(folder.iterdir(), key=_order) if folder.is_dir() else []:
        if not (chip / "name").exists():
            continue
        name = text_of(chip / "name")
        seen[name] += 1
        found += _amd(chip) if name == AMD_CHIP else _any(chip, name, seen[name])
    if not any(c.name == AMD for c in found):
        hint = "sudo modprobe amd_energy, if the kernel has it; or the meter rapl"
        found.append(
            Candidate(
                AMD, SOCKETS, why="there is no chip amd_energy in /sys/class/hwmon", hint=hint
            )
        )
    return found


def _amd(chip: Path) -> list[Candidate]:
    files = []
    for path in sorted(chip.glob("energy*_input"), key=_order):
        label = _label(path) or path.name
        core = label.startswith("Ecore")
        channel = Channel(label, "core" if core else "socket", counted=not core)
        files.append((channel, path))
    if not any(channel.counted for channel, _ in files):
        return [Candidate(AMD, SOCKETS, why=f"{chip}: it has no counter of a socket")]
    return [_probed(AMD, SOCKETS, files[-1][1], Energies(AMD, SOCKETS, files))]


def _any(chip: Path, name: str, nth: int) -> list[Candidate]:
    found = []
    title = name if nth == 1 else f"{name}.{nth}"
    for path in sorted(chip.glob("energy*_input"), key=_order):
        own = f"hwmon:{title}/{path.name.partition('_')[0]}"
        measures = _label(path) or name
        found.append(
            _probed(
                own, measures, path, Energies(own, measures, [(Channel(measures, measures), path)])
            )
        )
    for number in sorted({int(m[1]) for p in chip.glob("power*_*") if (m := _POWER.match(p.name))}):
        now, mean = chip / f"power{number}_input", chip / f"power{number}_average"
        path = now if now.exists() else mean
        own = f"hwmon:{title}/power{number}"
        measures = "the whole machine" if name == "power_meter" else _label(path) or name
        every = number_of(chip / f"power{number}_average_interval")  # milliseconds
        update_s = every / 1000 if every and path == mean else None
        found.append(_probed(own, measures, path, Power(own, measures, path, update_s)))
    return found


_POWER = re.compile(r"power(\d+)_(?:input|average)$")


def _probed(name: str, measures: str, path: Path, meter: Meter) -> Candidate:
    try:
        int(path.read_bytes())
    except OSError as error:
        found = unreadable(path, error)
        return Candidate(name, measures, why=found.message, hint=found.hint)
    except ValueError:
        return Candidate(name, measures, why=f"{path}: not a number")
    return Candidate(name, measures, meter)


def _label(path: Path) -> str:
    label = path.with_name(path.name.rpartition("_")[0] + "_label")
    return text_of(label) if label.exists() else ""


def _order(path: Path) -> tuple[int, str]:
    """hwmon2 before hwmon10, energy2 before energy10."""
    digits = re.search(r"\d+", path.name)
    return (int(digits[0]) if digits else 0, path.name)
