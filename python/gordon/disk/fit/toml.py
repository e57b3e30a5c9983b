"""The file of a fitted disk."""

from gordon import device_file
from gordon.disk.fit.report import Goodness, Probed
from gordon.untyped import Config


def text(config: Config, about: Probed, goodness: Goodness) -> str:
    """The file."""
    simulated = " (simulated)" if about["simulated"] else ""
    comment = [
        f"Fitted by gordon {about['gordon']} to probes of {about['target']}{simulated}, seed "
        f"{about['seed']}.",
        f"{goodness['reads']} random reads on both disks: demerit figure (RMS distance of the "
        "response times)",
        f"{goodness['demerit_ms']:.3f} ms, {100 * goodness['demerit_of_mean']:.1f} % of the mean, "
        f"of which sampling noise explains {goodness['chance_ms']:.3f} ms.",
    ]
    return device_file.text(comment, config)
