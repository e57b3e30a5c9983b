"""Batteries as a meter: the power that the machine draws while it runs on battery only."""

from pathlib import Path

from gordon.energy.meter import MICRO, Candidate, Channel, Meter, number_of, text_of
from gordon.errors import GordonError

FOLDER = "sys/class/power_supply"
NAME, MEASURES = "battery", "the whole machine, from its battery"
DISCHARGING = "Discharging"


class Battery(Meter):
    """`power_now`, or `current_now` times `voltage_now`, of each battery that discharges."""

    name, measures, kind, how = NAME, MEASURES, "power", "measured"
    step = "1 uW"

    def __init__(self, batteries: list[Path]) -> None:
        super().__init__()
        self._batteries = batteries
        self.channels = [Channel(path.name, "battery") for path in batteries]

    def read(self) -> list[float | None]:
        """Another of two batteries may rest; but while one charges, none shows the power drawn."""
        states = [text_of(path / "status") for path in self._batteries]
        if DISCHARGING not in states or "Charging" in states:
            self.warn("the battery was not discharging all the time: some samples are missing")
            return [None] * len(states)
        return [
            watts(path) if state == DISCHARGING else 0.0
            for path, state in zip(self._batteries, states, strict=True)
        ]


def watts(battery: Path) -> float:
    """The power of a battery in watts; the sign that some drivers give the current is ignored."""
    power = number_of(battery / "power_now")
    if power is not None:
        return abs(power) * MICRO
    current, voltage = number_of(battery / "current_now"), number_of(battery / "voltage_now")
    if current is None or voltage is None:
        raise GordonError(
            f"{battery}: it has neither power_now nor both current_now and voltage_now",
            kind="bad-meter",
        )
    return abs(current) * MICRO * voltage * MICRO


def find(root: Path) -> list[Candidate]:
    """One meter for all batteries that feed the machine, without those of mice and keyboards."""
    folder = root / FOLDER
    batteries = [
        path
        for path in (sorted(folder.iterdir()) if folder.is_dir() else [])
        if _is(path / "type", "Battery") and not _is(path / "scope", "Device")
    ]
    if not batteries:
        return [Candidate(NAME, MEASURES, why="there is no battery in /sys/class/power_supply")]
    meter = Battery(batteries)
    try:
        now = meter.read()
    except (GordonError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        return [Candidate(NAME, MEASURES, why=why or str(error.args[0]))]
    meter.warnings.clear()
    if now[0] is None:
        states = ", ".join(f"{p.name} {text_of(p / 'status')}" for p in batteries)
        return [
            Candidate(
                NAME, MEASURES, why=f"not discharging: {states}", hint="unplug the mains adapter"
            )
        ]
    return [Candidate(NAME, MEASURES, meter)]


def _is(path: Path, what: str) -> bool:
    return path.exists() and text_of(path) == what
