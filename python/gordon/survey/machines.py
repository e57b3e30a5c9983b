"""Runs a survey of machines: their time, price and energy, the Pareto front and the verdict.

The core simulates the machines; the result is a dict that can be written as JSON.
"""

import re
from collections.abc import Callable
from os import fspath
from typing import Any

from gordon import _core
from gordon.human import counted, duration, figures, short
from gordon.options import Path
from gordon.parts import Catalogue
from gordon.run.inputs import Inputs
from gordon.survey import measured, parameters, prices, quotas, references, settings
from gordon.survey import space as spaces
from gordon.survey.replays import Replays
from gordon.survey.replays import machines as simulate

Row = dict[str, Any]

#: The model of machines.
MODEL = "job"


def run(
    inputs: Inputs,
    chosen: spaces.Space,
    *,
    nodes: int | None,
    set_values: list[str],
    charge: str,
    reference: str | float | None,
    reported: list[dict[str, Any]],
    rows: int,
    table: Path | None,
    replays: Replays,
    progress: Callable[[int, int], None] | None,
) -> dict[str, Any]:
    """Surveys the machines of a space; see `gordon.survey.run`. `reported` are the stages whose
    limits the result has."""
    of_traces = len(inputs.paths)
    if nodes not in (None, of_traces):
        raise _core.GordonError(
            f"the job model needs a trace of each node: {counted(of_traces, 'trace')} given, "
            f"--nodes {nodes}",
            "leave out --nodes: the cluster is as large as the traced one. --space gordon-2009 "
            "surveys clusters of any size",
            kind="bad-nodes",
        )
    parts = Catalogue(chosen.get("parts"))
    settings.apply_to_machines(set_values, chosen, parts)
    prices_date = prices.day(chosen)
    prices.per_hour(chosen)
    machines = spaces.machines(chosen)
    quotas.resolve(machines)
    traced = references.of_machines(reference, chosen, inputs.paths)
    ids = [machine["id"] for machine in machines]
    tables: dict[str, measured.Measured] = {}
    for machine in machines:
        for storage in spaces.storages(machine):
            name = storage.get("part")
            if name is not None:
                _use(parts, name, machine["id"])
            file = storage.get("measured")
            # The core refuses another type, which --set may give.
            if isinstance(file, str) and file not in tables:
                tables[file] = measured.read(file, machine["id"])
    config = {
        "traces": inputs.paths,
        "lags": inputs.lags,
        "nodes": of_traces,
        "charge": charge,
        "machines": machines,
        "unit": chosen.get("reference", {}).get("machine"),
        "parts": {kind: parts.used[kind] for kind in ("flash", "disk")},
        "measured": tables,
        "report_stages": reported,
        "rows": rows,
        "table": None if table is None else fspath(table),
        **traced.config,
    }
    try:
        raw = simulate(config, replays, progress)
    except _core.GordonError as error:
        raise _with_ids(error, ids) from None
    result = _result(raw, chosen, parts, tables)
    result["space"]["prices_date"] = prices_date
    result["warnings"] = traced.warnings + result["warnings"]
    result["warnings"] += prices.age_warnings(chosen["name"], prices_date)
    if "timeline" in raw:
        result["timeline"] = raw["timeline"]
    return result


def _use(parts: Catalogue, name: str, machine: str) -> None:
    """Reads a storage part of a machine."""
    try:
        parts.get(parts.storage_kind(name), name)
    except _core.GordonError as error:
        what, hint = error.args
        raise _core.GordonError(f"machine `{machine}`: {what}", hint, kind=error.kind) from None


def _with_ids(error: _core.GordonError, ids: list[str]) -> _core.GordonError:
    """The error with ids instead of places in the list of machines, which --set does not show."""
    message = re.sub(r"machines\[(\d+)\]", lambda m: f"machines.{ids[int(m[1])]}", error.args[0])
    return _core.GordonError(message, error.args[1], kind=error.kind)


def _result(
    raw: dict[str, Any],
    chosen: spaces.Space,
    parts: Catalogue,
    tables: dict[str, measured.Measured],
) -> dict[str, Any]:
    rows: list[Row] = raw["machines"]
    by_id = {row["id"]: row for row in rows}
    if all(outcome(row)["time_s"] <= 0 for row in rows):
        raise _core.GordonError(
            "the traces have no work to simulate: no CPU time, network or block I/O",
            "trace a longer job; many machines count CPU time in ticks of 10 ms",
            kind="no-work",
        )
    front = set(raw["front"])
    for row in rows:
        part = row["storage_part"]
        row["storage_kind"] = None if part is None else parts.storage_kind(part)
        row["pareto"] = row["id"] in front
        row["names"] = [name for name, id in raw["named"].items() if id == row["id"]]
    shown = {row["machine"] for row in rows}
    listed = [machine for machine in chosen["machines"] if machine["id"] in shown]
    warnings = list(raw["warnings"])
    if spaces.has_grid(chosen):
        warnings.append(
            f"the grid of designs of the space `{chosen['name']}` is left out; --model paper "
            "surveys it, and leaves out the machines"
        )
    return {
        "version": raw["version"],
        "model": MODEL,
        "nodes": raw["nodes"],
        "space": {
            "name": chosen["name"],
            "summary": chosen["summary"],
            "region": chosen.get("region"),
            "currency": chosen.get("currency", "USD"),
            "unit": chosen.get("reference"),
            "sources": chosen.get("sources", {}),
            "not_modelled": chosen.get("not_modelled", []),
        },
        "charge": raw["charge"],
        "reference": raw["reference"],
        "traces": raw["traces"],
        "peak_memory_bytes": raw["peak_memory_bytes"],
        "peak_cache_bytes": raw["peak_cache_bytes"],
        "designs_total": raw["designs_total"],
        "designs": rows,
        "front": raw["front"],
        "named": raw["named"],
        "verdict": raw["verdict"],
        "floor_s": raw["floor_s"],
        "sentence": _sentence(raw, by_id, chosen.get("currency", "USD")),
        "storages": raw["storages"],
        "parameters": parameters.of_machines(listed, chosen.get("sources", {}))
        + parameters.rows(parts.used)
        + parameters.rows(_ownership(chosen))
        + parameters.of_measured(tables),
        "assumptions": raw["assumptions"],
        "warnings": warnings,
    }


def _ownership(space: spaces.Space) -> dict[str, dict[str, Any]]:
    """The values that made prices of an hour of purchase prices, if any, as `parameters.rows`
    takes them."""
    ownership = space.get("ownership")
    return {} if ownership is None else {"space": {space["name"]: {"ownership": ownership}}}


def noun(rows: list[Row]) -> str:
    """What a row is: a machine, or a design where a machine has several storages or networks."""
    return "machine" if all(row["id"] == row["machine"] for row in rows) else "design"


def outcome(row: Row) -> Row:
    """Time, energy and price of a machine."""
    found: Row = row[MODEL]
    return found


def recommended(result: Row) -> str | None:
    """The id of the recommended machine, if there is one."""
    verdict = result["verdict"]
    return None if verdict is None else str(verdict["machine"])


def answer(result: Row) -> str:
    """The sentence that a survey of machines ends with."""
    text: str = result["sentence"]
    return text


def is_notable(row: Row, verdict: str | None) -> bool:
    """Whether a machine has a name, is the traced one, or is the recommended one, `verdict`."""
    return bool(row["names"]) or row["is_reference"] or row["id"] == verdict


def remarks(row: Row) -> list[str]:
    """What a reader is to know of a machine, apart from its figures."""
    found = list(row["names"])
    if row["is_reference"]:
        found.append("traced here")
    if row["memory_fits"] is False:
        found.append("too little memory")
    elif "memory" in outcome(row)["range_by_s"]:
        found.append("little memory")
    return found


def front_figures(rows: list[Row]) -> list[str]:
    """The figures of the front: the time, and the others that are known of all of `rows`."""
    keys = ("time_s", "price", "energy_j")
    return [key for key in keys if all(outcome(row)[key] is not None for row in rows)]


def _sentence(raw: dict[str, Any], by_id: dict[str, Row], currency: str) -> str:
    """What the survey says in a sentence: the recommended machine, or why there is none."""
    verdict = raw["verdict"]
    if verdict is not None:
        return _recommended(verdict, by_id, currency)
    fastest = raw["named"]["fastest"]
    if fastest is None:
        used = short(raw["peak_memory_bytes"], "B")
        return f"No machine of the space is known to have the memory that the job used ({used})."
    return (
        f"No machine makes this job faster than {duration(raw['floor_s'])}: it waits for what no "
        f"machine shortens, such as timers, other machines or a service. The fastest is "
        f"{_described(by_id[fastest])}."
    )


def _recommended(verdict: dict[str, Any], by_id: dict[str, Row], currency: str) -> str:
    """A sentence about the recommended machine."""
    best, fastest = by_id[verdict["machine"]], by_id[verdict["fastest"]]
    within = f"within {verdict['slack']:.0%} of the fastest"
    match verdict["by"]:
        case "price":
            price = figures(outcome(best)["price"])
            text = f"Cheapest {within}: {_described(best)}, {price} {currency}"
        case "energy":
            energy = short(outcome(best)["energy_j"], "J")
            text = f"Least energy {within}: {_described(best)}, {energy}"
        case _:
            text = f"Fastest: {_described(best)}; neither prices nor powers are known"
    if best is not fastest:
        text += f"; the fastest is {_described(fastest)}"
    return text + "."


def _described(row: Row) -> str:
    of = outcome(row)
    ends = f"{duration(of['time_s_low'])} to {duration(of['time_s_high'])}"
    return f"{row['id']}, {duration(of['time_s'])} ({ends})"
