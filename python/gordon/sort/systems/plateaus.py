"""Figure 13: plateaus of records/J at which systems cluster, independent of their power.

Two-pass systems in order of records/J; a plateau ends where the next score is more than `STEP`
times the last one's. Any step between the largest ratio of neighbours within plateaus and the
smallest between them gives the same ones.
"""

from typing import Any

STEP = 1.25


def of(points: list[dict[str, Any]], step: float = STEP) -> dict[str, Any]:
    """Points have `name`, `records_per_j` and `power_w`, which may be `None`."""
    ordered = sorted(points, key=lambda point: (point["records_per_j"], point["name"]))
    groups: list[list[dict[str, Any]]] = []
    within, between = 1.0, None
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
    }


def _plateau(group: list[dict[str, Any]]) -> dict[str, Any]:
    scores = [point["records_per_j"] for point in group]
    powers = [point["power_w"] for point in group if point["power_w"] is not None]
    return {
        "systems": [point["name"] for point in group],
        "records_per_j": sum(scores) / len(scores),
        "lowest": scores[0],
        "highest": scores[-1],
        "power_w": [min(powers), max(powers)] if powers else None,
    }
