"""Figure 13: plateaus of records/J at which systems cluster, independent of their power.

Two-pass systems in order of records/J; a plateau ends where the next score is more than `STEP`
times the last one's. Any step between the largest ratio of neighbours within plateaus and the
smallest between them gives the same ones.
"""

from collections.abc import Sequence
from typing import Literal

from gordon.sort.systems.report import Plateau, Plateaus, Point, SystemRow

STEP = 1.25
Kind = Literal["measured", "modelled", "claimed"]


def points(records: float, systems: Sequence[SystemRow]) -> list[Point]:
    """The two-pass systems as measured, or as modelled if they are not measured. Times are for
    `records`."""
    found = []
    for row in systems:
        measured = row["measured"]
        figures = measured or row["modelled"]
        passes = measured.get("passes", row["passes"]) if measured else row["passes"]
        if figures is None or passes == 1:
            continue
        kind: Kind = "measured" if measured else "modelled"
        score = figures["records_per_j"]
        if score is not None:
            found.append(point(records, row["name"], kind, score, figures["power_w"]))
    return found


def point(records: float, name: str, kind: Kind, score: float, power: float | None) -> Point:
    """One point; without its power it has no time."""
    return {
        "name": name,
        "kind": kind,
        "records_per_j": score,
        "power_w": power,
        "time_s": records / (score * power) if power else None,
    }


def of(points: list[Point], step: float = STEP) -> Plateaus:
    """The plateaus of points, and the points."""
    ordered = sorted(points, key=lambda point: (point["records_per_j"], point["name"]))
    groups: list[list[Point]] = []
    within = 1.0
    between: float | None = None
    for point in ordered:
        if not groups:
            groups.append([point])
            continue
        ratio = point["records_per_j"] / groups[-1][-1]["records_per_j"]
        if ratio > step:
            groups.append([point])
            between = ratio if between is None else min(between, ratio)
        else:
            groups[-1].append(point)
            within = max(within, ratio)
    return {
        "step": step,
        "largest_within": within,
        "smallest_between": between,
        "plateaus": [_plateau(group) for group in groups],
        "points": points,
    }


def _plateau(group: list[Point]) -> Plateau:
    scores = [point["records_per_j"] for point in group]
    powers = [point["power_w"] for point in group if point["power_w"] is not None]
    return {
        "systems": [point["name"] for point in group],
        "records_per_j": sum(scores) / len(scores),
        "lowest": scores[0],
        "highest": scores[-1],
        "power_w": [min(powers), max(powers)] if powers else None,
    }
