"""A run of one's own, as JSON: what it asked of its machine, to be asked of others.

    {"records": 100000000, "time_s": 31.2, "power_w": 61.0, "system": "mine",
     "phases": [{"name": "input", "seconds": 14.9, "cpu_s": 40.1,
                 "bytes_read": 10000000000, "bytes_written": 10000000000}, ...]}

`power_w` and `system` may be left out. The first phase reads the input, later ones temporary files;
the last writes the output, earlier ones temporary files.
"""

import json
import math
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from gordon._core import GordonError
from gordon.parts import unknown
from gordon.sort.systems.demand import Demand, Group, Phase


@dataclass(frozen=True)
class Run:
    demand: Demand
    time_s: float
    power_w: float | None
    system: str | None


def read(path: str | PathLike[str]) -> Run:
    where = fspath(path)
    try:
        told = json.loads(Path(where).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a text file"
        raise GordonError(f"cannot read the run {where}: {why}") from None
    except json.JSONDecodeError as error:
        raise GordonError(f"{where}: no JSON: {error}", "what --json of a sort wrote") from None
    if not isinstance(told, dict):
        raise GordonError(f"{where}: not a table", "what --json of a sort wrote")
    phases = _of(told, "phases", list, where)
    if not phases:
        raise GordonError(f"{where}: no phases in it")
    records = _number(told, "records", where)
    if records < 1 or records != int(records):
        raise GordonError(f"{where}: records: {records:g} is no count")
    power = _number(told, "power_w", where) if told.get("power_w") is not None else None
    system = told.get("system")
    if system is not None and not isinstance(system, str):
        raise GordonError(f"{where}: system: {system!r} is not the name of a system")
    last = len(phases) - 1
    made = [
        _phase(one, "files" if at == 0 else "temp", "files" if at == last else "temp", where)
        for at, one in enumerate(phases)
    ]
    return Run(Demand(int(records), made), _number(told, "time_s", where), power, system)


def _phase(one: Any, reads: Group, writes: Group, where: str) -> Phase:
    if not isinstance(one, dict):
        raise GordonError(f"{where}: phases: {one!r} is not a table")
    name = str(one.get("name", ""))
    at = f"{where}: phase {name}" if name else f"{where}: a phase without name"
    read = _number(one, "bytes_read", at, zero=True)
    written = _number(one, "bytes_written", at, zero=True)
    cpu = _number(one, "cpu_s", at, zero=True)
    _number(one, "seconds", at)
    if read == written == cpu == 0:
        raise GordonError(f"{at}: it moved no bytes and took no processor time", "leave it out")
    return Phase(
        name, {reads: read} if read else {}, {writes: written} if written else {}, cpu or None
    )


def _number(table: dict[str, Any], key: str, where: str, zero: bool = False) -> float:
    value = _of(table, key, (int, float), where)
    if (
        isinstance(value, bool)
        or not math.isfinite(value)
        or value < 0
        or (value == 0 and not zero)
    ):
        raise GordonError(f"{where}: {key}: {value!r} is not a number above zero")
    return float(value)


def _of(table: dict[str, Any], key: str, kind: Any, where: str) -> Any:
    if key not in table:
        error = unknown("key", key, list(table))
        hint = f"is it {error.args[1]}?" if error.args[1].count("`") == 2 else ""
        raise GordonError(f"{where}: `{key}` is missing", hint)
    if not isinstance(table[key], kind):
        raise GordonError(f"{where}: {key}: {table[key]!r} is of another kind")
    return table[key]
