"""Compares the estimates of section 4.2.2 of the JouleSort paper with its tables and the model."""

from collections.abc import Mapping, Sequence

from gordon.reproduce.joulesort import paper, statements
from gordon.reproduce.joulesort.report import Claimed, Estimate, Swapped
from gordon.reproduce.row import known
from gordon.sort.systems import plateaus
from gordon.sort.systems.model import Parts
from gordon.sort.systems.report import Fitted, Plateau, Point, SystemRow


def points(parts: Parts, systems: Sequence[SystemRow]) -> list[Point]:
    """Two-pass systems as measured, and the paper's own two estimates. Times are for as many
    records as the paper sorts."""
    claims, records = paper.claims(), parts.all.records.value
    measured = [row for row in systems if row["measured"]]
    return [
        *plateaus.points(records, measured),
        *(
            plateaus.point(records, name, "claimed", score, None)
            for name, score in (
                ("paper's ideal", claims.ideal_records_per_j.value),
                ("paper's balanced", claims.balanced_records_per_j.value),
            )
        ),
    ]


def compare(
    parts: Parts,
    systems: list[SystemRow],
    fitted: Fitted,
    plateaus: Sequence[Plateau],
    records: int,
) -> Claimed:
    """The paper's estimates, what its own arithmetic gives, and the model's, for `records`."""
    claims = paper.claims()
    rows = {row["name"]: row for row in systems}
    measured = [row["measured"] for row in systems if row["measured"]]
    powers = [row["power_w"] for row in measured if row["power_w"] is not None]
    old = claims.old_plateau_records_per_j.value
    gained = claims.ideal_records_per_j.value * (1 + claims.balanced_gain.value)
    return {
        "ideal": {
            **_compared(rows[claims.ideal_system], claims.ideal_records_per_j.value),
            "swapped": _swapped(parts, rows, records),
        },
        "balanced": {
            **_compared(rows[claims.balanced_system], claims.balanced_records_per_j.value),
            "paper_gain": claims.balanced_gain.value,
            "gain_gives_records_per_j": gained,
            "gain_needed": claims.balanced_records_per_j.value / claims.ideal_records_per_j.value
            - 1,
        },
        "old_plateau": {
            "paper_records_per_j": old,
            "nearest": min(plateaus, key=lambda p: abs(p["records_per_j"] - old)),
        },
        "power_span": {"paper": claims.power_span.value, "measured": max(powers) / min(powers)},
        "statements": statements.rows(claims, parts, systems, fitted),
    }


def _swapped(parts: Parts, rows: Mapping[str, SystemRow], records: int) -> Swapped:
    """As the paper went: a system as measured, its processor's power taken out and the other's put
    in; both of them modelled. And what power the paper's score means in the same time."""
    claims = paper.claims()
    old, new = rows[claims.ideal_from], rows[claims.ideal_system]
    assert old["measured"] is not None
    time, power = known(old["measured"]["time_s"]), known(old["measured"]["power_w"])
    efficiency = parts.all.board[str(old["board"])].efficiency.value
    watts = [row["modelled"]["parts_w"]["processor"] for row in (old, new) if row["modelled"]]
    changed = power - (watts[0] - watts[1]) / efficiency
    return {
        "from": claims.ideal_from,
        "processor_w": watts,
        "power_w": changed,
        "records_per_j": records / (time * changed),
        "paper_power_w": records / (time * claims.ideal_records_per_j.value),
    }


def _compared(row: SystemRow, paper: float) -> Estimate:
    ours = row["modelled"]
    score = ours["records_per_j"] if ours else None
    return {
        "system": row["name"],
        "paper_records_per_j": paper,
        "records_per_j": score,
        "over_paper": score / paper - 1 if score else None,
    }
