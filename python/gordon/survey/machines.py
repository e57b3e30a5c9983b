"""Runs a survey of machines: their time, price and energy, the Pareto front and the verdict.

The core simulates the machines; the result is a dict that can be written as JSON.
"""

import re
from collections.abc import Callable
from os import fspath
from typing import Any

from gordon import _core
from gordon.human import duration, figures, short
from gordon.options import Path
from gordon.parts import Catalogue, unknown
from gordon.survey import named, parameters, pareto, settings
from gordon.survey import space as spaces
from gordon.survey.replays import Replays
from gordon.survey.replays import machines as simulate

Row = dict[str, Any]

#: How much longer than the fastest machine the cheapest may take in the verdict.
SLACK = 0.1


def run(
    traces: list[Path],
    chosen: spaces.Space,
    *,
    model: str,
    nodes: int | None,
    shift: dict[str, Any],
    set_values: list[str],
    charge: str,
    reference: str | None,
    rows: int,
    replays: Replays,
    progress: Callable[[int, int], None] | None,
) -> dict[str, Any]:
    """Surveys the machines of a space; see `gordon.survey.run`."""
    if nodes is None:
        nodes = len(traces)
    _check_nodes(model, len(traces), nodes)
    parts = Catalogue(chosen.get("parts"))
    settings.apply_to_machines(set_values, chosen, parts)
    machines = spaces.machines(chosen)
    unit = chosen.get("reference", {}).get("machine")
    ids = [machine["id"] for machine in machines]
    if reference is not None and reference not in (*ids, unit):
        raise unknown("machine", reference, ids)
    for machine in machines:
        name = machine["storage"].get("part")
        if name is not None:
            parts.get(parts.storage_kind(name), name)
    config = {
        "traces": [fspath(trace) for trace in traces],
        "nodes": nodes,
        "shift": shift,
        "charge": charge,
        "model": model,
        "machines": machines,
        "reference": reference,
        "unit": unit,
        "parts": {kind: parts.used[kind] for kind in ("flash", "disk")},
    }
    try:
        raw = simulate(config, replays, progress)
    except _core.GordonError as error:
        raise _with_ids(error, ids) from None
    return _result(raw, chosen, parts, rows)


def _with_ids(error: _core.GordonError, ids: list[str]) -> _core.GordonError:
    """The error with ids instead of places in the list of machines, which --set does not show."""
    message = re.sub(r"machines\[(\d+)\]", lambda m: f"machines.{ids[int(m[1])]}", error.args[0])
    return _core.GordonError(message, error.args[1], kind=error.kind)


def _check_nodes(model: str, traces: int, nodes: int) -> None:
    if model == "job" and nodes != traces:
        raise _core.GordonError(
            f"the job model needs a trace of each node: {traces} given, --nodes {nodes}",
            f"--nodes {traces}, or --model paper",
            kind="bad-nodes",
        )
    if traces > nodes:
        raise _core.GordonError(
            f"there are {traces} traces for {nodes} nodes: each trace needs a node",
            f"--nodes {traces}",
            kind="too-few-nodes",
        )


def _result(
    raw: dict[str, Any], chosen: spaces.Space, parts: Catalogue, most: int
) -> dict[str, Any]:
    every: list[Row] = raw["machines"]
    if min(outcome(row)["time_s"] for row in every) <= 0:
        raise _core.GordonError(
            "the traces have no work to simulate: no CPU time, network or block I/O",
            "trace a longer job; many machines count CPU time in ticks of 10 ms",
            kind="no-work",
        )
    for row in every:
        part = row["storage_part"]
        row["storage_kind"] = None if part is None else parts.storage_kind(part)
    on_front = _front(every)
    names = _named(every, raw["model"])
    verdict = _verdict(every, chosen.get("currency", "USD"))
    special = {*names.values(), verdict["machine"], verdict["fastest"]}
    for row, on in zip(every, on_front, strict=True):
        row["pareto"] = on
        row["names"] = [name for name, id in names.items() if id == row["id"]]
    kept = [r for r in every if r["pareto"] or r["id"] in special or r["is_reference"]]
    others = [r for r in every if r not in kept][: max(0, most - len(kept))]
    rows = [r for r in every if r in kept or r in others]
    front = [r["id"] for r in sorted(rows, key=_time) if r["pareto"]]
    warnings = list(raw["warnings"])
    if spaces.has_grid(chosen):
        warnings.append(
            f"the grid of designs of the space `{chosen['name']}` is left out; --model paper "
            "surveys it, and leaves out the machines"
        )
    return {
        "version": raw["version"],
        "model": raw["model"],
        "nodes": raw["nodes"],
        "space": {
            "name": chosen["name"],
            "summary": chosen["summary"],
            "region": chosen.get("region"),
            "currency": chosen.get("currency", "USD"),
            "unit": chosen.get("reference"),
            "sources": chosen.get("sources", {}),
        },
        "charge": raw["charge"],
        "reference": raw["reference"],
        "traces": raw["traces"],
        "peak_memory_bytes": raw["peak_memory_bytes"],
        "designs_total": len(every),
        "designs": rows,
        "front": front,
        "named": names,
        "verdict": verdict,
        "storages": raw["storages"],
        "parameters": parameters.of_machines(chosen["machines"], chosen.get("sources", {}))
        + parameters.rows(parts.used),
        "assumptions": raw["assumptions"],
        "warnings": warnings,
    }


def outcome(row: Row) -> Row:
    """Time, energy and price of a machine by the model that ran: `job`, or the `sync` bound."""
    found: Row = row["job"] if "job" in row else row["sync"]
    return found


def _time(row: Row) -> tuple[float, float]:
    price = outcome(row)["price"]
    return (outcome(row)["time_s"], float("inf") if price is None else price)


def _front(rows: list[Row]) -> list[bool]:
    """The machines that no other beats on time, price and energy.

    If some machines have a price, those without are not on the front. Energy counts only if it is
    known of all that are compared: an unknown energy can neither beat another nor be beaten.
    """
    priced = [outcome(row)["price"] is not None for row in rows]
    compared = priced if any(priced) else [True] * len(rows)
    candidates = [row for row, is_in in zip(rows, compared, strict=True) if is_in]
    figures_of = front_figures(candidates)
    points = [tuple(outcome(row)[key] for key in figures_of) for row in candidates]
    on = iter(pareto.front_of(points))
    return [is_in and next(on) for is_in in compared]


def front_figures(rows: list[Row]) -> list[str]:
    """The figures of the front: the time, and the others that are known of all of `rows`."""
    keys = ("time_s", "price", "energy_j")
    return [key for key in keys if all(outcome(row)[key] is not None for row in rows)]


def _named(rows: list[Row], model: str) -> dict[str, str | None]:
    """The fastest, the cheapest and the one of least energy; by the paper's model, its six names.

    A name without a candidate is None.
    """
    if model == "paper":
        return _paper_names(rows)
    best: dict[str, str | None] = {}
    for name, key in (("fastest", "time_s"), ("cheapest", "price"), ("least-energy", "energy_j")):
        known = [row for row in rows if outcome(row)[key] is not None]
        least = min(known, key=lambda row: (outcome(row)[key], _time(row)), default=None)
        best[name] = None if least is None else least["id"]
    return best


def _paper_names(rows: list[Row]) -> dict[str, str | None]:
    metered = [row for row in rows if row["sync"]["energy_j"] is not None]
    names: dict[str, str | None] = {}
    for suffix, of in (
        ("", lambda row: True),
        ("-disk", lambda row: row["storage_kind"] == "disk"),
    ):
        for name, by in named.BEST.items():
            candidates = [row for row in metered if of(row)]
            best = min(candidates, key=by, default=None)
            names[name + suffix] = None if best is None else best["id"]
    return names


def _verdict(rows: list[Row], currency: str) -> dict[str, Any]:
    """The cheapest machine that takes at most a tenth longer than the fastest; in a space without
    prices, the one of least energy; otherwise the fastest."""
    fastest = min(rows, key=_time)
    limit = outcome(fastest)["time_s"] * (1 + SLACK)
    near = [row for row in rows if outcome(row)["time_s"] <= limit]
    priced = [row for row in near if outcome(row)["price"] is not None]
    metered = [row for row in near if outcome(row)["energy_j"] is not None]
    within = f"within {SLACK:.0%} of the fastest"
    if priced:
        best = min(priced, key=lambda row: (outcome(row)["price"], _time(row)))
        text = (
            f"Cheapest {within}: {_described(best)}, {figures(outcome(best)['price'])} {currency}"
        )
    elif metered:
        best = min(metered, key=lambda row: (outcome(row)["energy_j"], _time(row)))
        text = f"Least energy {within}: {_described(best)}, {short(outcome(best)['energy_j'], 'J')}"
    else:
        best = fastest
        text = f"Fastest: {_described(best)}; neither prices nor powers are known"
    if best is not fastest:
        time = duration(outcome(fastest)["time_s"])
        text += f"; the fastest is {fastest['id']}, {time}"
    return {"machine": best["id"], "fastest": fastest["id"], "slack": SLACK, "text": text + "."}


def _described(row: Row) -> str:
    of = outcome(row)
    text = f"{row['id']}, {duration(of['time_s'])}"
    if "time_s_low" in of:
        text += f" ({duration(of['time_s_low'])} to {duration(of['time_s_high'])})"
    return text
