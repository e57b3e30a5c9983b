"""A point of a characterisation, the line of a figure that it is on, and words on the device."""

from gordon.reports.storage import MeasuredPoint, SimulatedPoint, TargetDescription

#: A line reaches its best from the least size that has this part of it.
FLAT = 0.9
#: Timed on real storage, or simulated.
Point = MeasuredPoint | SimulatedPoint


def series(point: Point) -> tuple[str, int]:
    """The line that a point is on: pattern and depth."""
    return f"{point['pattern']}-{point['op']}", point["queue_depth"]


def facts(target: TargetDescription, between: str) -> str:
    """The device of a target and its model with `between` them, and whether it rotates."""
    turns = {True: "rotational", False: "not rotational", None: None}[target["rotational"]]
    device = between.join(part for part in (target["device"], target["model"]) if part)
    return ", ".join(part for part in (device, turns) if part)
