"""The report of a survey of clusters: the verdict, time against price, parts, stages, sources.

One HTML file that works offline, like the report of machines. The same result gives the same bytes.
"""

from typing import Literal, NamedTuple

from gordon import notices
from gordon.errors import GordonError
from gordon.human import counted, duration
from gordon.report import page
from gordon.reports.survey import ApplicationReport, LeftOut, StageOnCluster, StageRecorded
from gordon.survey import bill_page, entries
from gordon.survey.jobs import traces as trace_paths
from gordon.survey.machines import compared, is_notable, recommended
from gordon.survey.machines_page import money, sources
from gordon.survey.page import FILTERS, LIBRARIES
from gordon.survey.results import TasksDesign, TasksResult
from gordon.survey.tasks import outcome, recorded_line, remarks

Cost = Literal["price", "energy_j", "nodes"]
#: Parts of a time, in the order of the bars: key and name.
PARTS = {
    "startup": "start-up",
    "driver": "driver",
    "scheduling": "scheduling",
    "compute": "compute",
    "warm_up": "warm-up",
    "uncounted": "uncounted",
    "gc": "garbage collection",
    "network": "network",
    "disk": "disk",
    "spill": "spill",
    "recompute": "evicted blocks",
}
#: Quantities with which a time may be compared, in the order of preference: key and name.
_COSTS: dict[Cost, str] = {"price": "price", "energy_j": "energy", "nodes": "nodes"}
#: Figures that may be unknown.
_FIGURES: tuple[Literal["price", "energy_j"], ...] = ("price", "energy_j")
#: Ratio of two times from which their stages are drawn on scales of their own.
_APART = 5


class Pair(NamedTuple):
    """A stage as it was recorded, and on a cluster."""

    recorded: StageRecorded
    there: StageOnCluster


def render(result: TasksResult) -> str:
    """The report's HTML."""
    rows = sorted(result["designs"], key=lambda row: outcome(row)["time_s"])
    by_id = {row["id"]: row for row in rows}
    verdict = recommended(result)
    # Limits may leave out all clusters: then the page is about the fastest one.
    if not rows:
        raise GordonError(
            "the result has no design, and a page is about one",
            "survey with --rows 1000",
            kind="no-designs",
        )
    best = by_id[verdict or result["named"]["fastest"] or rows[0]["id"]]
    notable = [best, *(row for row in rows if row is not best and is_notable(row, verdict))]
    said = {row["id"]: remarks(row, verdict) for row in rows}
    known: set[Cost] = {key for row in rows for key in _FIGURES if outcome(row)[key] is not None}
    against: Cost = next((key for key in _COSTS if key in known), "nodes")
    front = [row for row in rows if row["pareto"]]
    application = result["application"]
    return page.render(
        "tasks",
        result,
        FILTERS
        | {
            "outcome": outcome,
            "money": money,
            "capacity": entries.capacity,
            "duration": duration,
            "spaced": _spaced,
            "tone": str,
        },
        libraries=(*LIBRARIES, "bill"),
        notices=notices.grouped(result["warnings"], trace_paths(result)),
        r=result,
        rows=rows,
        best=best,
        is_recommended=verdict is not None,
        remarks=said,
        cards=notable,
        known=known,
        against=against,
        cost=_COSTS[against],
        not_drawn=sum(_cost(row, against) is None for row in rows),
        compared=compared(result),
        bill=bill_page.of(result, rows),
        columns=entries.on_page(entries.clusters(result), rows, said),
        names=_names(rows),
        shares=_parts,
        parts_of_cards=_names(notable),
        recorded=_capitalised(recorded_line(application)),
        not_simulated=_not_simulated(application["left_out"]),
        pairs=_pairs(application, best),
        has_one_scale=_ratio(application["time_s"], outcome(best)["time_s"]) < _APART,
        parameters=page.grouped(sources(result["parameters"], [*notable, *front])),
    )


def _names(rows: list[TasksDesign]) -> dict[str, str]:
    """The parts of all times, in the order of the bars, with their names."""
    found = dict.fromkeys(part for row in rows for part in outcome(row)["parts_s"])
    known = {part: name for part, name in PARTS.items() if part in found}
    return known | {part: _spaced(part) for part in found if part not in PARTS}


def _parts(row: TasksDesign) -> dict[str, float]:
    """The shares of a time, in the order of the bars."""
    limits = row["limits"]
    return {part: limits[part] for part in _names([row]) if part in limits}


def _spaced(name: str) -> str:
    """The words of a name."""
    return name.replace("_", " ")


def _cost(row: TasksDesign, key: Cost) -> float | None:
    """The cost of a cluster: price, energy, or its number of nodes."""
    return row["nodes"] if key == "nodes" else outcome(row)[key]


def _pairs(application: ApplicationReport, best: TasksDesign) -> list[Pair]:
    """The recorded stages, each with that of a cluster; none if the result has none of it."""
    there = best.get("stages")
    if not there:
        return []
    return [Pair(*pair) for pair in zip(application["stages"], there, strict=True)]


def _ratio(one: float, other: float) -> float:
    """How many times longer the longer of two times is."""
    least, most = sorted((one, other))
    return most / least if least > 0 else 1.0


def _not_simulated(counts: LeftOut) -> str:
    """How many recorded tasks are not simulated, by reason."""
    found = [f"{count:,} {_spaced(why)}" for why, count in counts.items() if count]
    return ", ".join(found) if found else counted(0, "task")


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
