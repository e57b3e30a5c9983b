"""Reads the JSON of a sort of your own: its work, to be modelled on other systems.

    {"records": 100000000, "time_s": 31.2, "power_w": 61.0, "system": "mine",
     "phases": [{"name": "input", "seconds": 14.9, "cpu_s": 40.1,
                 "bytes_read": 10000000000, "bytes_written": 10000000000}, ...]}

`power_w` and `system` may be left out, and other keys are ignored, so that the file may be the JSON
of `gordon sort`. The JSON of `gordon joulesort` is read too: means over its runs, and the power of
its result. Phases up to the first that writes read the input, later ones temporary files; the last
that writes writes the output, earlier ones temporary files.
"""

import json
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from gordon import __version__
from gordon.errors import GordonError
from gordon.files import read_text
from gordon.parts import unknown
from gordon.sort.systems.demand import Demand, Group, Phase
from gordon.untyped import Config

HINT = "a file written by --json of `gordon sort` or `gordon joulesort`"


@dataclass(frozen=True)
class Run:
    demand: Demand
    time_s: float
    power_w: float | None
    system: str | None
    power_how: str | None = None
    """How the power is known (`measured`, `modelled` ...), if the file says so."""


def read(path: str | PathLike[str], home: str | None = None) -> Run:
    """The run in a file; `home`, if given, is the system that it ran on."""
    where = fspath(path)
    text = read_text(path, "the run", HINT)
    try:
        report = json.loads(text)
    except json.JSONDecodeError as error:
        raise GordonError(f"{where}: not JSON: {error}", HINT, "bad-run") from None
    if not isinstance(report, dict):
        raise GordonError(f"{where}: not a JSON object", HINT, "bad-run")
    if "category" in report and "runs" in report:
        try:
            report = _of_benchmark(report, where)
        except (KeyError, TypeError, AttributeError) as error:
            raise GordonError(
                f"{where}: not the JSON of this version of `gordon joulesort`: {_missing(error)}",
                f"run the benchmark again with gordon {__version__}, or use the version that wrote "
                "the file",
                "another-version",
            ) from None
    phases = [_phase(one, where) for one in _of(report, "phases", list, where)]
    writing = [at for at, one in enumerate(phases) if one.written]
    if not writing:
        raise GordonError(f"{where}: phases: none of them writes", kind="bad-run")
    records = _number(report, "records", where)
    if records < 1 or records != int(records):
        raise GordonError(
            f"{where}: records: {records:g} is not a whole number above zero", kind="bad-run"
        )
    power = _number(report, "power_w", where) if report.get("power_w") is not None else None
    system = home or report.get("system")
    if system is not None and not isinstance(system, str):
        raise GordonError(
            f"{where}: system: {system!r} is not the name of a system", kind="bad-run"
        )
    made = [
        _demand(
            one, "files" if at <= writing[0] else "temp", "files" if at == writing[-1] else "temp"
        )
        for at, one in enumerate(phases)
        if one.read or one.written or one.cpu_s
    ]
    how = report.get("power_how")
    return Run(Demand(int(records), made), _number(report, "time_s", where), power, system, how)


def _missing(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"`{error.args[0]}` is missing"
    return "its values have another form"


def _of_benchmark(report: Config, where: str) -> Config:
    """The JSON of `gordon joulesort` as that of one run: the means over its runs."""
    if report.get("result") is None:
        failed = "; ".join(str(check["what"]) for check in report.get("failed", []))
        raise GordonError(
            f"{where}: this benchmark has no result, as checks failed: {failed}",
            "a benchmark whose checks hold",
            kind="bad-run",
        )
    if not report.get("phases"):
        raise GordonError(
            f"{where}: this benchmark has no phases: only `gordon sort` reports them",
            "the JSON of `gordon joulesort` without another sort as CMD",
            kind="bad-run",
        )
    result = report["result"]
    power = result["mean_w"]["mean"] if result.get("mean_w") else None
    phases = [
        {
            "name": phase["name"],
            "seconds": max(phase["time_s"]["mean"], 0.0),
            "cpu_s": phase["cpu_s"] or 0.0,
            "bytes_read": phase["read_bytes"] or 0.0,
            "bytes_written": phase["written_bytes"] or 0.0,
        }
        for phase in report["phases"]
    ]
    return {
        "records": report["category"]["records"],
        "time_s": report["time_s"]["mean"],
        "power_w": power,
        "power_how": result["how"],
        "phases": phases,
    }


@dataclass(frozen=True)
class _Phase:
    name: str
    read: float
    written: float
    cpu_s: float


def _phase(one: Any, where: str) -> _Phase:
    if not isinstance(one, dict):
        raise GordonError(f"{where}: phases: {one!r} is not an object", kind="bad-run")
    name = str(one.get("name", ""))
    at = f"{where}: phase {name}" if name else f"{where}: a phase without a name"
    _number(one, "seconds", at)
    read, written, cpu_s = (_number(one, key, at) for key in _COUNTS)
    return _Phase(name, read, written, cpu_s)


_COUNTS = ("bytes_read", "bytes_written", "cpu_s")


def _demand(one: _Phase, reads: Group, writes: Group) -> Phase:
    return Phase(
        one.name,
        {reads: one.read} if one.read else {},
        {writes: one.written} if one.written else {},
        one.cpu_s or None,
    )


def _number(table: Config, key: str, where: str) -> float:
    """Zero or more; time and power of the whole are above zero."""
    value = _of(table, key, (int, float), where)
    above = key in ("time_s", "power_w")
    fits = value >= 1e-9 if above else value == 0 or value >= 1e-9
    if isinstance(value, bool) or not fits or value > 1e18:
        raise GordonError(
            f"{where}: {key}: {value!r} is not a number {'above' if above else 'of at least'} zero",
            kind="bad-run",
        )
    return float(value)


def _of(table: Config, key: str, kind: Any, where: str) -> Any:
    if key not in table:
        error = unknown("key", key, list(table))
        near = error.hint if error.hint.count("`") == 2 else ""
        hint = f"`{key}` in place of {near}" if near else ""
        raise GordonError(f"{where}: `{key}` is missing", hint, "bad-run")
    if not isinstance(table[key], kind):
        wanted = "a list" if kind is list else "a number"
        raise GordonError(f"{where}: {key}: {table[key]!r} is not {wanted}", kind="bad-run")
    return table[key]
