"""Where the time, the energy and the money of a design go, and what to change first.

All figures are those of a survey's result. The time without a part, all else equal, is the least
that a better part can make of it (Amdahl's law). The designs of a service have no time: the use of
their resources says how much more load they take.
"""

import json
import sys
from collections.abc import Callable, Mapping
from ctypes import c_float
from math import inf
from os import fspath
from pathlib import Path as FilePath
from typing import Any, NotRequired, TypedDict, final

from gordon import __version__
from gordon.errors import GordonError
from gordon.files import STDOUT
from gordon.options import Path
from gordon.parts import unknown
from gordon.quantity import finite
from gordon.reports.survey import BillReport, Objective
from gordon.survey.machines import OBJECTIVES
from gordon.untyped import Config

#: Changes that shorten a part of the time.
REMEDIES = {
    "cpu": "faster cores, or more of them if the job can use them",
    "compute": "faster cores, or more slots",
    "warm_up": "faster cores; longer-lived executors",
    "uncounted": "faster cores, or more slots",
    "gc": "more memory for each executor",
    "spill": "more memory for each executor, or fewer tasks in each",
    "recompute": "more memory, so that cached blocks are kept",
    "memory": "more memory",
    "storage": "faster storage",
    "disk": "faster storage",
    "network": "a faster network",
    "idle": "nothing in the machine: the job waits for timers, other machines or a service",
    "driver": "a faster driver, or less work in it; more nodes do not help",
    "scheduling": "larger tasks",
    "startup": "executors that are already running",
}

#: Changes that lower the use of a resource of a service. More nodes than were recorded need
#: as much memory each.
USE_REMEDIES = {
    "cpu": "faster cores, more of them, or more nodes",
    "memory": "more memory",
    "disk": "faster storage, or more nodes",
    "network": "a faster network, or more nodes",
}

#: Characters of a list of names that nobody reads.
_LONG = 200
#: Share of a time that is the rounding of its sum.
ROUNDING = 1e-9
#: Keys that each design of a result has.
_KEYS = {"id", "limits", "names", "pareto"}
_SERVICE_KEYS = {"id", "use", "load_factor", "keeps_up", "short_of", "names", "pareto"}

#: The figures of a design of a result that are known, by the names of the objectives.
_Figures = Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, float]]


class Share(TypedDict):
    """A part of a figure."""

    what: str
    amount: float
    share: float


class Part(Share):
    """A part of the time, in seconds."""

    #: The time if this part took none.
    without_s: float
    remedy: str | None


class Doubt(TypedDict):
    """The time if one source of doubt alone is at the ends of its range."""

    what: str
    low_s: float
    high_s: float


class Instead(TypedDict):
    """A design of the front that is the best in figures, and better than the explained one."""

    id: str
    better: list[str]
    #: Figures of it over those of the explained design, by figure.
    ratios: dict[str, float]


class Explained(TypedDict):
    """The part of an explanation that does not depend on the model."""

    version: str
    design: str
    names: list[str]
    is_on_front: bool
    is_recommended: bool
    model: str
    space: str
    currency: str | None
    #: Of the total of a run; of a service, of a month.
    money: list[Share]
    total: float | None
    instead: list[Instead]


@final
class Explanation(Explained):
    """The explanation of one design of a survey of a job."""

    time_s: float
    #: The range of the time; None if its model has none.
    time_s_low: float | None
    time_s_high: float | None
    energy_j: float | None
    #: The largest first.
    time: list[Part]
    doubts: list[Doubt]
    energy: list[Share]


class Use(TypedDict):
    """The use of a resource of a service."""

    what: str
    #: The use that is not exceeded in 99 % of the time; None if it is unknown.
    use: float | None
    #: The ends of `use`, where the record leaves it open. The upper end is None if nothing bounds
    #: it.
    range: NotRequired[list[float | None]]
    #: The highest use of a sample.
    peak: float | None
    #: The recorded load times this number is the most that the resource keeps up with. None of
    #: memory, whose use is not in proportion to the load, and if the use is unknown or none.
    load_factor: float | None
    #: The ends of `load_factor` where the use has a range: None is 0 at the lower one, and no limit
    #: at the upper one.
    load_factor_range: NotRequired[list[float | None]]
    remedy: str


@final
class ServiceExplanation(Explained):
    """The explanation of one design of a survey of a service."""

    #: The recorded machine; None if it is unknown.
    reference: str | None
    headroom: float
    keeps_up: bool | None
    #: The resource with the highest use relative to what is allowed, by the end of its range.
    limited_by: str
    #: The resources that do not suffice, or, if there are none, those for which that is unknown.
    short_of: list[str]
    #: The most used first; unknown ones last.
    uses: list[Use]
    power_w: float | None
    price_per_month: float | None


def read(path: Path) -> Config:
    """The result of a survey of one job, of `gordon survey --json`; `-` is standard input. Raises
    GordonError."""
    is_stdin = fspath(path) == STDOUT
    name = "standard input" if is_stdin else fspath(path)
    try:
        result = json.loads(
            sys.stdin.read() if is_stdin else FilePath(path).read_text(encoding="utf-8"),
            parse_float=finite,
            parse_constant=finite,
        )
    except OSError as error:
        raise GordonError(
            f"cannot read {name}: {error.strerror}",
            "gordon survey TRACE --json RESULT.json",
            kind="unreadable",
        ) from None
    except (ValueError, RecursionError):
        result = None
    if not isinstance(result, dict) or "designs" not in result:
        raise GordonError(
            f"{name} is not the result of a survey",
            "a file of gordon survey TRACE --json RESULT.json",
            kind="not-a-result",
        )
    if "jobs" in result:
        raise GordonError(
            f"{name} has {len(result['jobs'])} jobs and their mean, and one job is explained",
            "survey one of the runs",
            kind="several-jobs",
        )
    rows = result["designs"]
    keys = _SERVICE_KEYS if _is_service(result) else _KEYS
    is_whole = isinstance(result.get("space"), dict) and isinstance(rows, list)
    if not is_whole or not all(isinstance(row, dict) and row.keys() >= keys for row in rows):
        raise _incomplete(name)
    return result


def _incomplete(name: str) -> GordonError:
    return GordonError(
        f"{name} lacks what this version writes of a survey",
        "survey again, with --json RESULT.json",
        kind="not-a-result",
    )


def _is_service(result: Mapping[str, Any]) -> bool:
    return "load" in result


def explain(
    result: Mapping[str, Any], design: str | None = None
) -> Explanation | ServiceExplanation:
    """Explains a design of the result of a survey: by default the recommended one, otherwise
    the fastest, or of a service the one that may keep up, or lacks least. Raises GordonError for a
    design that the result does not have, and for a result that lacks what a survey writes, which a
    file may."""
    try:
        return (_of_service if _is_service(result) else _of_job)(result, design)
    except GordonError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError) as error:
        raise _incomplete("the result") from error


def _chosen(
    result: Mapping[str, Any], design: str | None, best: Callable[[Mapping[str, Any]], float]
) -> Mapping[str, Any]:
    """The design of this name, or the recommended one, or the first by `best`."""
    rows = {row["id"]: row for row in result["designs"]}
    if not rows:
        raise GordonError("the result has no design", "survey with --rows 1000", kind="no-designs")
    first = min(rows.values(), key=best)["id"]
    default = (result.get("verdict") or {}).get("id") or first
    id = default if design is None else design
    if id not in rows:
        error = unknown("design", id, list(rows))
        near = error.hint if len(error.hint) < _LONG else f"one of its {len(rows)}, as `{first}`"
        hint = f"{near}; --rows of gordon survey says how many are in it"
        raise GordonError(f"{error.message} in the result", hint, kind=error.kind)
    chosen: Mapping[str, Any] = rows[id]
    return chosen


def _common(result: Mapping[str, Any], row: Mapping[str, Any], figures: _Figures) -> Explained:
    bill: BillReport | None = row.get("bill")
    return {
        "version": __version__,
        "design": row["id"],
        "names": row["names"],
        "is_on_front": row["pareto"],
        "is_recommended": row["id"] == (result.get("verdict") or {}).get("id"),
        "model": result["model"],
        "space": result["space"]["name"],
        "currency": result["space"].get("currency"),
        "money": [] if bill is None else _money(bill),
        "total": None if bill is None else bill["total"],
        "instead": _instead(result, row, figures),
    }


def _of_job(result: Mapping[str, Any], design: str | None) -> Explanation:
    row = _chosen(result, design, lambda row: float(_outcome(result, row)["time_s"]))
    of = _outcome(result, row)
    return {
        **_common(result, row, _figures),
        "time_s": of["time_s"],
        "time_s_low": of.get("time_s_low"),
        "time_s_high": of.get("time_s_high"),
        "energy_j": of["energy_j"],
        "time": _time(row["limits"], of["time_s"]),
        "doubts": [
            {"what": what, "low_s": low, "high_s": high}
            for what, (low, high) in of.get("range_by_s", {}).items()
        ],
        "energy": _energy(row, of, row.get("bill")),
    }


def _of_service(result: Mapping[str, Any], design: str | None) -> ServiceExplanation:
    # As the sentence of the survey: what may keep up is nearer than what does not.
    near = result.get("maybe") or result.get("nearest") or {}
    near_id = (result.get("verdict") or near).get("id")
    row = _chosen(result, near_id if design is None else design, lambda _: 0.0)
    uses: list[Use] = []
    for what, use in row["use"].items():
        found: Use = {
            "what": what,
            "use": use,
            "peak": row["peak"][what],
            "load_factor": row["load_factor"].get(what),
            "remedy": USE_REMEDIES[what],
        }
        if what in row["range"]:
            found["range"] = row["range"][what]
        if what in row["load_factor_range"]:
            found["load_factor_range"] = row["load_factor_range"][what]
        uses.append(found)
    return {
        **_common(result, row, _service_figures),
        "reference": result["reference"]["machine"],
        "headroom": result["headroom"],
        "keeps_up": row["keeps_up"],
        "limited_by": row["limited_by"],
        "short_of": row["short_of"],
        "uses": sorted(
            uses, key=lambda one: -1.0 if one["use"] is None else one["use"], reverse=True
        ),
        "power_w": row["power_w"],
        "price_per_month": row["price_per_month"],
    }


def _outcome(result: Mapping[str, Any], row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Time and energy of a design."""
    key = result["by"] if "by" in result else result["model"]
    outcome: Mapping[str, Any] = row[key]
    return outcome


def _time(limits: Mapping[str, float], time: float) -> list[Part]:
    """The parts of a time, the longest first."""
    parts: list[Part] = [
        {
            "what": what,
            "amount": share * time,
            "share": share,
            "without_s": (1 - share) * time,
            "remedy": REMEDIES.get(what),
        }
        for what, share in limits.items()
        if share > ROUNDING
    ]
    return sorted(parts, key=lambda part: -part["share"])


def _energy(row: Mapping[str, Any], of: Mapping[str, Any], bill: BillReport | None) -> list[Share]:
    """The parts of the energy: by part of a node, or what idle nodes would draw and the rest."""
    whole = of["energy_j"]
    if not whole:
        return []
    if "energy_by_part_j" in row:
        parts = row["energy_by_part_j"]
    elif bill is None or bill["inputs"]["idle_w"] is None:
        return []
    else:
        inputs = bill["inputs"]
        slept = of.get("spin_down")
        if slept and slept["is_used"]:
            # Idle nodes would draw less by what standby saves, which has the wait for the disks.
            awake_s = of["time_s"] - slept["waiting_s"]
            idle = row["nodes"] * inputs["idle_w"] * awake_s - (slept["saved_j"] or 0)
        else:
            idle = row["nodes"] * inputs["idle_w"] * of["time_s"]
        parts = {"idle power of the nodes": idle, "work of the job": whole - idle}
    return _shares(parts, sum(parts.values()))


def _money(bill: BillReport) -> list[Share]:
    """The parts of the total of a run."""
    total = bill["total"]
    parts = {
        "rent": bill["rent"],
        "purchase": bill["purchase"],
        "drives": bill["drives"],
        "electricity": bill["electricity"],
    }
    known = {what: amount for what, amount in parts.items() if amount is not None}
    return _shares(known, total) if total else []


def _shares(parts: Mapping[str, float], total: float) -> list[Share]:
    """The parts of a total, the largest first."""
    shares: list[Share] = [
        {"what": what, "amount": amount, "share": amount / total} for what, amount in parts.items()
    ]
    return sorted(shares, key=lambda share: -share["share"])


def _instead(result: Mapping[str, Any], row: Mapping[str, Any], figures: _Figures) -> list[Instead]:
    """The best of the front in each figure that is better than a design."""
    own = figures(result, row)
    front = [one for one in result["designs"] if one["pareto"] and one["id"] != row["id"]]
    found: list[Instead] = []
    for figure, value in own.items():
        others = [(one["id"], figures(result, one)) for one in front]
        # Of equal ones the best in the other figures; an unknown one is worse than any.
        known = [
            (of[figure], [of.get(other, inf) for other in OBJECTIVES.values()], id, of)
            for id, of in others
            if figure in of
        ]
        if not known:
            continue
        best, _, id, of = min(known, key=lambda one: one[:3])
        if best >= value:
            continue
        listed = next((one for one in found if one["id"] == id), None)
        if listed is not None:
            listed["better"].append(figure)
            continue
        ratios = {key: of[key] / own[key] for key in own if key in of and own[key] > 0}
        found.append({"id": id, "better": [figure], "ratios": ratios})
    return found


def _figures(result: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, float]:
    """The figures of a design that are known, by the names of the objectives."""
    of, bill = _outcome(result, row), row.get("bill") or {}
    values: dict[Objective, float | None] = {
        "time": of["time_s"],
        "price": of.get("price"),
        "energy": of["energy_j"],
        "tco": bill.get("total"),
        "carbon": bill.get("carbon_kg"),
    }
    return _compared(values)


def _service_figures(_: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, float]:
    """The figures of a design of a service that are known, by the names of the objectives."""
    bill = row.get("bill") or {}
    values: dict[Objective, float | None] = {
        "price": row["price_per_month"],
        "energy": row["power_w"],
        "tco": bill.get("total"),
        "carbon": bill.get("carbon_kg"),
    }
    return _compared(values)


def _compared(values: Mapping[Objective, float | None]) -> dict[str, float]:
    """The known figures by name, as surveys compare them: in single precision, so that the last
    digits of sums do not decide."""
    known = {OBJECTIVES[key]: value for key, value in values.items() if value is not None}
    return {name: c_float(value).value for name, value in known.items()}
