"""The sentence and the columns that the screen and the page of a comparison show."""

from collections.abc import Sequence
from typing import Any

from gordon.compare.compared import ComparedDevice
from gordon.human import figures, interval, percent, short
from gordon.report.entries import TEXT, Entry, Unit, of, with_prefix
from gordon.report.run_summary import compared
from gordon.results import DeviceRun, Run

_TITLES = {"flash": "flash, simulated", "disk": "disk, simulated", "measured": "measured"}
_US = Unit(figures, figures)


def _time(device: ComparedDevice) -> str | None:
    if device["time_s"] is not None:
        return short(device["time_s"], "s")
    low, high = device["time_s_low"], device["time_s_high"]
    return None if low is None or high is None else interval(low, high, "to")


def _bandwidth(device: ComparedDevice) -> str | None:
    rate = device["bandwidth_mb_s"]
    return None if rate is None else short(rate * 1e6, "B/s")


#: The columns of the table; the time of measured storage is a range.
COLUMNS: tuple[Entry[Any], ...] = (
    Entry("id", "device", of("id"), TEXT),
    Entry("kind", "kind", lambda device: _TITLES[device["kind"]], TEXT),
    Entry("time_s", "time", _time, TEXT),
    Entry("bandwidth_mb_s", "bandwidth", _bandwidth, TEXT),
    *(
        Entry(f"{op}_{key}", f"{op} {title}, us", of(op, key), _US, short=f"{op} {title} us")
        for op in ("read", "write")
        for key, title in (("p50", "median"), ("p99", "p99"))
    ),
    Entry("energy_j", "energy", of("energy_j"), with_prefix("J")),
    Entry(
        "endurance_used",
        "rated endurance used",
        of("endurance_used"),
        Unit(percent, percent),
        short="endurance used",
    ),
    Entry("lifetime_years", "lifetime", of("lifetime_years"), with_prefix("years")),
)
#: Columns that a narrow terminal lacks, the last ones first.
SPARE = (
    "read_p99",
    "write_p99",
    "energy_j",
    "bandwidth_mb_s",
    "kind",
    "lifetime_years",
    "endurance_used",
    "read_p50",
    "write_p50",
)


def sentence(devices: Sequence[ComparedDevice], runs: Sequence[Run[DeviceRun]]) -> str:
    """How the simulated devices differ, and between which times the measured ones are."""
    said = []
    if len(runs) > 1:
        of_some = "Of the simulated devices, " if len(devices) > len(runs) else ""
        said.append(of_some + compared(runs))
    said += [
        f"{device['id']}, as measured, takes {_time(device)}."
        for device in devices
        if device["kind"] == "measured"
    ]
    said += [
        f"{device['id']} takes {_time(device)}."
        for device in devices
        if len(runs) == 1 and device["kind"] != "measured"
    ]
    return " ".join(said)
