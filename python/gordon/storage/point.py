"""A point of a characterisation, and the line of a figure that it is on."""

from gordon.reports.storage import MeasuredPoint, SimulatedPoint

#: Timed on real storage, or simulated.
Point = MeasuredPoint | SimulatedPoint


def series(point: Point) -> tuple[str, int]:
    """The line that a point is on: pattern and depth."""
    return f"{point['pattern']}-{point['op']}", point["queue_depth"]
