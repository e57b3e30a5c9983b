"""The result of a comparison of devices of all kinds."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from gordon import __version__, fields
from gordon.compare.compared import ComparedDevice, Latencies
from gordon.reports.storage import MeasuredTimes
from gordon.results import DeviceRun, Run


class Estimate:
    """The time of the trace on measured storage."""

    def __init__(self, name: str, report: MeasuredTimes) -> None:
        self.name = name
        self.report = report


class Result(fields.CompareResult):
    """A comparison of devices of all kinds."""

    ROWS: ClassVar = "devices"

    def __init__(self, trace: str, seed: int, devices: Sequence[Run[DeviceRun] | Estimate]) -> None:
        from gordon.compare.entries import sentence

        self.compared = list(devices)
        rows = [_device(one) for one in devices]
        super().__init__(
            {
                "kind": "modelled: simulated devices, and bounds from measured requests",
                "sentence": sentence(rows, self.runs),
                "devices": rows,
                "warnings": [
                    f"{one.name}: {text}" for one in devices for text in one.report["warnings"]
                ],
                "provenance": {"version": __version__, "seed": seed, "trace": trace},
            }
        )

    @property
    def runs(self) -> list[Run[DeviceRun]]:
        """The devices that were simulated."""
        return [one for one in self.compared if isinstance(one, Run)]

    def html(self) -> str:
        from gordon.compare.page import render

        return render(self.report, self.runs)


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
