"""The time of the mechanism of a disk."""

from gordon.reports.shared import MechanismTime


def mechanism(times: MechanismTime) -> dict[str, float]:
    """Seconds of the mechanism by what it does."""
    return {
        "seek": times["seek"],
        "rotation": times["rotation"],
        "transfer": times["transfer"],
        "idle": times["idle"],
    }
