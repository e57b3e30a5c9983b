"""The result of a run on a simulated flash device."""

from typing import TYPE_CHECKING, ClassVar

from gordon import fields
from gordon.reports.devices import FlashRun
from gordon.results import Run

if TYPE_CHECKING:
    from gordon.report.kinds import DeviceKind


class Result(Run[FlashRun], fields.FlashResult):
    """A run on a simulated flash device. Its tables are Arrow columns."""

    RATIOS: ClassVar = {
        "simulated_s": "simulated_s",
        "bandwidth_mb_s": "bandwidth_mb_s",
        "iops": "iops",
        "read_mean_us": "read.latency_us.mean",
        "read_p99_us": "read.latency_us.p99",
        "read_p999_us": "read.latency_us.p999",
        "write_mean_us": "write.latency_us.mean",
        "write_p99_us": "write.latency_us.p99",
        "write_p999_us": "write.latency_us.p999",
        "write_amplification": "write_amplification",
        "write_amplification_bytes": "write_amplification_bytes",
        "erases": "erases",
        "energy_j": "energy_j",
        "endurance_used": "endurance_used",
        "lifetime_years": "lifetime_years",
    }

    def kind(self) -> "DeviceKind[FlashRun]":
        from gordon.flash.page import Flash

        return Flash()


class AmplificationResult(fields.AmplificationResult):
    """The write amplification of random overwrites."""

    SAYS: ClassVar = ("write_amplification", "theory")
