"""The result of a run on simulated hard disks."""

from typing import TYPE_CHECKING, ClassVar

from gordon import fields
from gordon.reports.devices import DiskRun
from gordon.results import Run

if TYPE_CHECKING:
    from gordon.report.kinds import DeviceKind


class Result(Run[DiskRun], fields.DiskResult):
    """A run on simulated disks. Its tables are Arrow columns."""

    RATIOS: ClassVar = {
        "simulated_s": "simulated_s",
        "bandwidth_mb_s": "bandwidth_mb_s",
        "iops": "iops",
        "response_mean_ms": "response_ms.mean",
        "response_p50_ms": "response_ms.p50",
        "response_p99_ms": "response_ms.p99",
        "response_p999_ms": "response_ms.p999",
        "seek_mean_ms": "seek_ms.mean",
        "rotation_mean_ms": "rotation_ms.mean",
        "energy_j": "energy_j",
    }

    def kind(self) -> "DeviceKind[DiskRun]":
        from gordon.disk.page import Disk

        return Disk()
