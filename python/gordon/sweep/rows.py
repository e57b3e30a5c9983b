"""Rows of a sweep: results with flat names, objectives, the Pareto front, the effect of a range."""

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from statistics import fmean, quantiles
from typing import Any

from gordon import _core
from gordon.columns import arrow
from gordon.errors import GordonError
from gordon.parts import unknown
from gordon.scratch import scratch
from gordon.sweep.config import Objective, Sweep
from gordon.sweep.result import Effect, Level
from gordon.sweep.store import unwritable
from gordon.untyped import Row

#: Parts of a result that are not about one configuration's outcome.
LEFT_OUT = ("provenance", "config", "input", "version", "seed")
#: Columns that a sweep adds to ranges and results.
ADDED = ("configuration", "error", "warnings", "pareto", "version", "seed", "inputs", "settings")


def flat(report: Mapping[str, Any]) -> Row:
    """The numbers and texts of a result by dotted keys. Lists are left out, but for levels, which
    have names."""
    row: Row = {}
    _flatten({k: v for k, v in report.items() if k not in LEFT_OUT}, "", row)
    return row


def _flatten(value: Mapping[str, Any], before: str, row: Row) -> None:
    for key, inner in value.items():
        name = before + key
        if isinstance(inner, list) and all(
            isinstance(one, dict) and "level" in one for one in inner
        ):
            inner = {one["level"]: one for one in inner}
        if name == "warnings":
            row[name] = "\n".join(value[key]) or None
        elif isinstance(inner, dict):
            _flatten(inner, f"{name}.", row)
        elif not isinstance(inner, list):
            row[name] = inner


def made(sweep: Sweep, number: int, outcome: Mapping[str, Any], version: str) -> Row:
    """A row: the configuration, its ranges, its results or error, and where they come from. A
    result with the name of another column is called `result.NAME`."""
    parameters = sweep.parameters(number)
    row: Row = {"configuration": number, **parameters, "error": outcome.get("error")}
    taken = {*row, *ADDED} - {"warnings"}
    for name, value in outcome.get("result", {}).items():
        row[f"result.{name}" if name in taken else name] = value
    values = sweep.settings | parameters
    if "seed" in sweep.command.options and "seed" not in parameters:
        row["seed"] = values.get("seed", 1)
    row["version"] = version
    row["inputs"] = json.dumps(sweep.inputs_of(number))
    row["settings"] = json.dumps(sweep.settings)
    return row


def check_objectives(objectives: list[Objective], row: Row) -> None:
    """Raises GordonError if a row of results lacks the number of an objective."""
    numbers = [name for name, value in row.items() if is_number(value)]
    for objective in objectives:
        if objective.name not in row:
            error = unknown("result", objective.name, numbers)
            leaf = objective.name.rpartition(".")[2]
            same = [name for name in numbers if name.rpartition(".")[2] == leaf]
            hint = error.hint if len(error.hint) < 200 else ", ".join(numbers[:20])
            if same:
                hint = " or ".join(f"`{name}`" for name in same[:5])
            raise GordonError(f"objectives: {error.message}", hint, kind=error.kind)
        if row[objective.name] is not None and not is_number(row[objective.name]):
            raise GordonError(
                f"objectives: the result {objective.name} is not a number",
                "a column of numbers",
                kind="bad-objective",
            )


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def best(rows: list[Row], objective: Objective) -> list[Row]:
    """The rows that have the objective's number, the best first."""
    known = [row for row in rows if is_number(row.get(objective.name))]
    return sorted(known, key=lambda row: objective.sign * row[objective.name])


def front(rows: list[Row], objectives: list[Objective]) -> list[int]:
    """The configurations that no other beats in all objectives, by the first objective. Only rows
    that have the same objectives are compared: reads have no write amplification."""
    alike: dict[tuple[bool, ...], list[tuple[tuple[float, ...], int]]] = {}
    for row in rows:
        numbers = [row.get(one.name) for one in objectives]
        point = tuple(
            one.sign * number
            for one, number in zip(objectives, numbers, strict=True)
            if number is not None and is_number(number)
        )
        if point:
            has = tuple(map(is_number, numbers))
            alike.setdefault(has, []).append((point, row["configuration"]))
    kept = [one for points in alike.values() for one in _unbeaten(points)]
    return [number for _, number in sorted(kept)]


def _unbeaten(points: list[tuple[tuple[float, ...], int]]) -> list[tuple[tuple[float, ...], int]]:
    return [points[at] for at in _core.pareto_front([point for point, _ in points])]


def effects(sweep: Sweep, rows: list[Row]) -> list[Effect]:
    """The distribution of each objective at each value of each range; the effect of the range is
    the difference of the means."""
    found: list[Effect] = []
    for name, values in sweep.ranges.items():
        for objective in sweep.objectives:
            numbers: dict[str, list[float]] = {}
            for row in rows:
                if is_number(row.get(objective.name)):
                    numbers.setdefault(repr(row[name]), []).append(row[objective.name])
            levels = [
                _level(value, sorted(numbers[repr(value)]))
                for value in values
                if repr(value) in numbers
            ]
            if levels:
                means = [level["mean"] for level in levels]
                found.append(
                    {
                        "range": name,
                        "objective": objective.name,
                        "effect": max(means) - min(means),
                        "best": min(levels, key=lambda one: objective.sign * one["mean"])["value"],
                        "levels": levels,
                    }
                )
    return found


def _level(value: Any, numbers: list[float]) -> Level:
    """The distribution of sorted numbers at a value."""
    q1, median, q3 = (
        quantiles(numbers, method="inclusive") if len(numbers) > 1 else [numbers[0]] * 3
    )
    return {
        "value": value,
        "count": len(numbers),
        "mean": fmean(numbers),
        "min": numbers[0],
        "q1": q1,
        "median": median,
        "q3": q3,
        "max": numbers[-1],
    }


def write(rows: list[Row], path: str | PathLike[str]) -> None:
    """Writes the rows as Parquet, completely or not at all, without columns that have no value."""
    names = dict.fromkeys(name for row in rows for name in row)
    last = [name for name in ("version", "seed", "inputs", "settings") if name in names]
    order = [name for name in names if name not in last] + last
    columns = [(name, [row.get(name) for row in rows]) for name in order]
    kept = [
        (name, values)
        for name, values in columns
        if name == "error" or any(value is not None for value in values)
    ]
    target = Path(path)
    try:
        with scratch(target.parent, f".{target.name}.partial-") as folder:
            part = folder / "rows.parquet"
            arrow(dict(kept)).write(str(part))
            part.replace(target)
    except GordonError:
        raise
    except OSError as error:
        raise unwritable(target, error) from None
