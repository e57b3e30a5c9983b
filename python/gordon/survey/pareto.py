"""The Pareto front: the designs that no other beats on run time and energy, or on more figures."""

from collections.abc import Sequence


def front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Which points are on the front, least of both being best.

    A point is off it when another is no worse on both and better on one; equal points are on it
    together.
    """
    on = [False] * len(points)
    best = float("inf")
    order = sorted(range(len(points)), key=lambda i: points[i])
    for position, i in enumerate(order):
        equal = position > 0 and points[order[position - 1]] == points[i]
        if (equal and on[order[position - 1]]) or points[i][1] < best:
            on[i] = True
            best = points[i][1]
    return on


def front_of(points: Sequence[tuple[float, ...]]) -> list[bool]:
    """Which points are on the front of any number of figures, least of each being best."""
    found: list[tuple[float, ...]] = []
    # In this order, only an earlier point can beat a later one.
    for point in sorted(set(points)):
        if not any(all(a <= b for a, b in zip(other, point, strict=True)) for other in found):
            found.append(point)
    best = set(found)
    return [point in best for point in points]
