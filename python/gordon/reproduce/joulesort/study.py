"""The systems of the JouleSort paper: modelled, measured, and what the paper claims about them."""

from collections.abc import Iterator
from typing import Any

from gordon import settings, tables
from gordon.options import Settings
from gordon.reproduce.joulesort import claims, stripe
from gordon.reproduce.papers import paper
from gordon.reproduce.row import Row, as_result
from gordon.sort.systems import data, extrapolate, plateaus
from gordon.sort.systems.model import Parts
from gordon.sort.systems.schema import Systems

Json = dict[str, Any]

_FITTED = "The power of the board is fitted to this row alone"
_ESTIMATED = "The paper estimates these systems from measured ones; nobody built them"


def report(set: Settings = ()) -> Json:
    """The report of `gordon.sort.systems.extrapolate`, with the paper's estimates among the
    plateaus, and its claims next to its tables and the model. Raises GordonError."""
    changes = settings.listed(set)
    found = extrapolate(set=changes)
    table = data.shipped()
    # The paper's estimates are for the size of its own sort.
    size = int(table["records"]["value"])
    same = found["records"] == size
    at_size = found if same else extrapolate(set=[*changes, f"records={size}"])
    data.change(table, changes)
    parts = Parts(tables.read(Systems, table, ""))
    points = claims.points(parts, found["systems"])
    found["plateaus"] = plateaus.of(points) | {"points": points}
    found["claims"] = claims.compare(parts, found | {"systems": at_size["systems"]}, size)
    found |= as_result(items(found))
    found["items"] += [
        {
            "id": f"{one['where']}: {one['paper']}",
            "table": _place(one),
            "job": "",
            "what": one["paper"],
            "unit": "",
            "paper": one["paper"],
            "ours": one["here"],
            "ratio": None,
            "agrees": one["agrees"],
            "reason": f"{one['here']}.",
            "source": f"{_title()}, section {one['where']}",
        }
        for one in found["claims"]["statements"]
        if one["agrees"] is not None
    ]
    return found


def _place(statement: Json) -> str:
    """The place of a statement: the table or figure that it is of, or the text."""
    if statement["here"].startswith("table 3"):
        return "Table 3"
    where: str = statement["where"]
    return where.rpartition(", ")[2].capitalize() if "figure" in where else "text"


def items(found: Json) -> Iterator[Row]:
    """The measured rows of table 2 next to the model, and the paper's statements."""
    units = {"time_s": ("time", "s"), "power_w": ("power", "W"), "records_per_j": ("records/J", "")}
    for one in found["systems"]:
        if one["modelled"] is None or one["measured"] is None:
            continue
        limits = "; ".join(f"{p['name']}: {p['limit']}" for p in one["modelled"]["phases"])
        for key, (what, unit) in units.items():
            printed, error = one["measured"][key], one["error"]
            is_fitted = key == "power_w" and error["power_fitted_to_it"]
            reason = _FITTED if is_fitted else limits
            ours = printed * (1 + error[key])
            yield _row("table 2", one["name"], what, ours, printed, unit, reason)
    for name in ("ideal", "balanced"):
        claim = found["claims"][name]
        ours, printed = claim["records_per_j"], claim["paper_records_per_j"]
        if ours is not None:
            yield _row("section 4.2.2", name, "records/J", ours, printed, "", _ESTIMATED)
    span, old = found["claims"]["power_span"], found["claims"]["old_plateau"]
    yield _row(
        "Figure 13",
        "measured systems",
        "largest power over the least",
        span["measured"],
        span["paper"],
        "x",
        "The paper says almost",
    )
    yield _row(
        "Figure 13",
        "older systems",
        "records/J of the nearest plateau",
        old["nearest"]["records_per_j"],
        old["paper_records_per_j"],
        "",
        f"The nearest plateau has {', '.join(old['nearest']['systems'])}",
    )
    yield from stripe.rows()


def _row(
    table: str, system: str, what: str, ours: float, paper: float, unit: str, reason: str
) -> Row:
    return Row(table, system, what, ours, paper, paper, unit, f"{reason}.", paper=_title())


def _title() -> str:
    return paper("joulesort").title
