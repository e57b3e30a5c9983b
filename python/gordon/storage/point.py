"""The line of a figure that a point of a characterisation is on."""

from typing import Any


def series(point: dict[str, Any]) -> tuple[str, int]:
    """The line that a point is on: pattern and depth."""
    return f"{point['pattern']}-{point['op']}", point["queue_depth"]
