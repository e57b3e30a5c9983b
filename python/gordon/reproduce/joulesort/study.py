"""The systems of the JouleSort paper: modelled, measured, and what the paper claims about them."""

from collections.abc import Iterator, Sequence
from typing import Literal

from gordon import settings, tables
from gordon.options import Settings
from gordon.reproduce.joulesort import claims, stripe
from gordon.reproduce.joulesort.report import Claimed, Statement, Study
from gordon.reproduce.papers import paper
from gordon.reproduce.row import Item, Row, as_result, known
from gordon.sort.systems import data, extrapolate, plateaus
from gordon.sort.systems.model import Parts
from gordon.sort.systems.report import SystemRow
from gordon.sort.systems.schema import Systems

Figure = Literal["time_s", "power_w", "records_per_j"]

_FITTED = "The power of the board is fitted to this row alone"
_ESTIMATED = "The paper estimates these systems from measured ones; nobody built them"


def report(set: Settings = ()) -> Study:
    """The report of `gordon.sort.systems.extrapolate`, with the paper's estimates among the
    plateaus, and its claims next to its tables and the model. Raises GordonError."""
    changes = settings.listed(set)
    found = extrapolate(set=changes).report
    table = data.shipped()
    # The paper's estimates are for the size of its own sort.
    size = int(table["records"]["value"])
    same = found["records"] == size
    at_size = found if same else extrapolate(set=[*changes, f"records={size}"]).report
    data.change(table, changes)
    parts = Parts(tables.read(Systems, table, ""))
    points = claims.points(parts, found["systems"])
    found["plateaus"] = plateaus.of(points)
    claimed = claims.compare(
        parts, at_size["systems"], found["fitted"], found["plateaus"]["plateaus"], size
    )
    study: Study = {**found, "claims": claimed, **as_result(items(found["systems"], claimed))}
    statements: list[Item] = [
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
        for one in claimed["statements"]
        if one["agrees"] is not None
    ]
    study["items"] += statements
    return study


def _place(statement: Statement) -> str:
    """The place of a statement: the table or figure that it is of, or the text."""
    if statement["here"].startswith("table 3"):
        return "Table 3"
    where = statement["where"]
    return where.rpartition(", ")[2].capitalize() if "figure" in where else "text"


def items(systems: Sequence[SystemRow], claimed: Claimed) -> Iterator[Row]:
    """The measured rows of table 2 next to the model, and the paper's statements."""
    units: dict[Figure, tuple[str, str]] = {
        "time_s": ("time", "s"),
        "power_w": ("power", "W"),
        "records_per_j": ("records/J", ""),
    }
    for one in systems:
        modelled, measured = one["modelled"], one["measured"]
        if modelled is None or measured is None:
            continue
        limits = "; ".join(f"{p['name']}: {p['limit']}" for p in modelled["phases"])
        for key, (what, unit) in units.items():
            printed, error = known(measured[key]), one["error"]
            is_fitted = key == "power_w" and error["power_fitted_to_it"]
            reason = _FITTED if is_fitted else limits
            ours = printed * (1 + known(error[key]))
            yield _row("table 2", one["name"], what, ours, printed, unit, reason)
    for name in ("ideal", "balanced"):
        claim = claimed[name]
        score = claim["records_per_j"]
        if score is not None:
            theirs = claim["paper_records_per_j"]
            yield _row("section 4.2.2", name, "records/J", score, theirs, "", _ESTIMATED)
    span, old = claimed["power_span"], claimed["old_plateau"]
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
