"""The result of a comparison of devices of all kinds."""

import json
from collections.abc import Sequence
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Literal

from gordon import __version__
from gordon.compare.compared import Compared, ComparedDevice, Latencies
from gordon.errors import GordonError
from gordon.files import write_all
from gordon.reports.storage import MeasuredTimes
from gordon.results import DeviceRun, Run


class Estimate:
    """The time of the trace on measured storage."""

    def __init__(self, name: str, report: MeasuredTimes) -> None:
        self.name = name
        self.report = report


class Result:
    """A comparison. Keys of `report` are in snake_case and carry their units."""

    def __init__(self, trace: str, seed: int, devices: Sequence[Run[DeviceRun] | Estimate]) -> None:
        self._trace = trace
        self._seed = seed
        self.devices = list(devices)

    @property
    def runs(self) -> list[Run[DeviceRun]]:
        """The devices that were simulated."""
        return [one for one in self.devices if isinstance(one, Run)]

    @cached_property
    def report(self) -> Compared:
        """The figures of each device, and its own report."""
        from gordon.compare.entries import sentence

        devices = [_device(one) for one in self.devices]
        return {
            "kind": "modelled: simulated devices, and bounds from measured requests",
            "sentence": sentence(devices, self.runs),
            "devices": devices,
            "warnings": [
                f"{one.name}: {text}" for one in self.devices for text in one.report["warnings"]
            ],
            "provenance": {"version": __version__, "seed": self._seed, "trace": self._trace},
        }

    def html(self) -> str:
        """The report, one HTML file that works offline."""
        from gordon.compare.page import render

        return render(self.report, self.runs)

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the report to a `.html` file, or only its numbers to a `.json` file. Raises
        GordonError for another format, or if the file cannot be written."""
        target = Path(fspath(path))
        if target.suffix not in (".html", ".json"):
            raise GordonError(
                f"{target}: a report is .html or .json",
                "a name that ends in .html or .json",
                kind="bad-report-format",
            )
        is_page = target.suffix == ".html"
        text = self.html() if is_page else json.dumps(self.report, indent=1) + "\n"
        write_all({fspath(path): text})

    def __repr__(self) -> str:
        names = ", ".join(one.name for one in self.devices)
        return f"<gordon.compare.Result of {names}>"


def _device(one: Run[DeviceRun] | Estimate) -> ComparedDevice:
    if isinstance(one, Estimate):
        return _estimated(one)
    report = one.report
    flash = report if "endurance_used" in report else None
    return {
        "id": one.name,
        "kind": "disk" if flash is None else "flash",
        "time_s": report["simulated_s"],
        "time_s_low": None,
        "time_s_high": None,
        "bandwidth_mb_s": report["bandwidth_mb_s"],
        "iops": report["iops"],
        "read": _latencies(report, "read"),
        "write": _latencies(report, "write"),
        "energy_j": report["energy_j"],
        "endurance_used": None if flash is None else flash["endurance_used"],
        "lifetime_years": None if flash is None else flash["lifetime_years"],
        "report": report,
    }


def _latencies(report: DeviceRun, op: Literal["read", "write"]) -> Latencies | None:
    of_op = report[op]
    if of_op["requests"] == 0:
        return None
    us = of_op["latency_us"]
    return {
        "requests": of_op["requests"],
        "mean": us["mean"],
        "p50": us["p50"],
        "p99": us["p99"],
        "p999": us["p999"],
        "max": us["max"],
    }


def _estimated(one: Estimate) -> ComparedDevice:
    report = one.report
    return {
        "id": one.name,
        "kind": "measured",
        "time_s": None,
        "time_s_low": report["time_s_low"],
        "time_s_high": report["time_s_high"],
        "bandwidth_mb_s": None,
        "iops": None,
        "read": None,
        "write": None,
        "energy_j": None,
        "endurance_used": None,
        "lifetime_years": None,
        "report": report,
    }
