"""Where the time, the energy and the money of a design go, and what to change first.

All figures are those of a survey's result. The time without a part, all else equal, is the least
that a better part can make of it (Amdahl's law).
"""

import json
import sys
from collections.abc import Mapping
from os import fspath
from pathlib import Path as FilePath
from typing import Any, NotRequired, TypedDict

from gordon import __version__
from gordon.errors import GordonError
from gordon.files import STDOUT
from gordon.options import Path
from gordon.parts import unknown
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

#: Characters of a list of names that nobody reads.
_LONG = 200
#: Share of a time that is the rounding of its sum.
ROUNDING = 1e-9
#: Keys that each design of a result has.
_KEYS = {"id", "limits", "names", "pareto"}


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


class Explanation(TypedDict):
    """The explanation of one design of a survey."""

    version: str
    design: str
    names: list[str]
    is_on_front: bool
    is_recommended: bool
    model: str
    space: str
    currency: str | None
    time_s: float
    time_s_low: NotRequired[float]
    time_s_high: NotRequired[float]
    energy_j: float | None
    #: The largest first.
    time: list[Part]
    doubts: list[Doubt]
    energy: list[Share]
    #: Of the total of a run.
    money: list[Share]
    total: float | None
    instead: list[Instead]


def read(path: Path) -> Config:
    """The result of a survey of one job, of `gordon survey --json`; `-` is standard input. Raises
    GordonError."""
    is_stdin = fspath(path) == STDOUT
    name = "standard input" if is_stdin else fspath(path)
    try:
        result = json.loads(
            sys.stdin.read() if is_stdin else FilePath(path).read_text(encoding="utf-8")
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
    if "load" in result:
        raise GordonError(
            f"{name} is of a service, whose designs have no time",
            "its table has the use of each resource",
            kind="wrong-model",
        )
    rows = result["designs"]
    is_whole = isinstance(result.get("space"), dict) and isinstance(rows, list)
    if not is_whole or not all(isinstance(row, dict) and row.keys() >= _KEYS for row in rows):
        raise GordonError(
            f"{name} lacks what this version writes of a survey",
            "survey again, with --json RESULT.json",
            kind="not-a-result",
        )
    return result


def explain(result: Mapping[str, Any], design: str | None = None) -> Explanation:
    """Explains a design of the result of a survey: by default the recommended one, otherwise
    the fastest. Raises GordonError for a design that the result does not have, and for a result
    that lacks what a survey writes, which a file may."""
    try:
        return _explained(result, design)
    except GordonError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError) as error:
        raise GordonError(
            "the result lacks what this version writes of a survey",
            "survey again, with --json RESULT.json",
            kind="not-a-result",
        ) from error


def _explained(result: Mapping[str, Any], design: str | None) -> Explanation:
    rows = {row["id"]: row for row in result["designs"]}
    verdict = result.get("verdict") or {}
    by_time = sorted(rows.values(), key=lambda row: _outcome(result, row)["time_s"])
    if not by_time:
        raise GordonError("the result has no design", "survey with --rows 1000", kind="no-designs")
    id = design or verdict.get("id") or by_time[0]["id"]
    if id not in rows:
        error = unknown("design of the result", id, list(rows))
        near = (
            error.hint
            if len(error.hint) < _LONG
            else f"one of its {len(rows)}, as `{by_time[0]['id']}`"
        )
        hint = f"{near}; --rows of gordon survey says how many are in it"
        raise GordonError(error.message, hint, kind=error.kind)
    row = rows[id]
    of = _outcome(result, row)
    bill: BillReport | None = row.get("bill")
    found: Explanation = {
        "version": __version__,
        "design": id,
        "names": row["names"],
        "is_on_front": row["pareto"],
        "is_recommended": id == verdict.get("id"),
        "model": result["model"],
        "space": result["space"]["name"],
        "currency": result["space"].get("currency"),
        "time_s": of["time_s"],
        "energy_j": of["energy_j"],
        "time": _time(row["limits"], of["time_s"]),
        "doubts": [
            {"what": what, "low_s": low, "high_s": high}
            for what, (low, high) in of.get("range_by_s", {}).items()
        ],
        "energy": _energy(row, of, bill),
        "money": [] if bill is None else _money(bill),
        "total": None if bill is None else bill["total"],
        "instead": _instead(result, row),
    }
    if "time_s_low" in of:
        found |= {"time_s_low": of["time_s_low"], "time_s_high": of["time_s_high"]}
    return found


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
        parts = row["energy_by_part_j"].items()
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
        parts = {"idle power of the nodes": idle, "work of the job": whole - idle}.items()
    total = sum(amount for _, amount in parts)
    shares: list[Share] = [
        {"what": what, "amount": amount, "share": amount / total} for what, amount in parts
    ]
    return sorted(shares, key=lambda share: -share["share"])


def _money(bill: BillReport) -> list[Share]:
    """The parts of the total of a run."""
    total = bill["total"]
    parts = {
        "rent": bill["rent"],
        "purchase": bill["purchase"],
        "drives": bill["drives"],
        "electricity": bill["electricity"],
    }
    shares: list[Share] = [
        {"what": what, "amount": amount, "share": amount / total}
        for what, amount in parts.items()
        if amount is not None and total
    ]
    return sorted(shares, key=lambda share: -share["share"])


def _instead(result: Mapping[str, Any], row: Mapping[str, Any]) -> list[Instead]:
    """The best of the front in each figure that is better than a design."""
    own = _figures(result, row)
    front = [one for one in result["designs"] if one["pareto"] and one["id"] != row["id"]]
    found: list[Instead] = []
    for figure, value in own.items():
        others = [(one["id"], _figures(result, one)) for one in front]
        known = [(of[figure], id, of) for id, of in others if figure in of]
        if not known:
            continue
        best, id, of = min(known, key=lambda one: one[:2])
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
    return {OBJECTIVES[key]: value for key, value in values.items() if value is not None}
