"""The total cost of a job on machines that are bought or rented, by run and by year, and how far
that is known.

The time, the energy and the wear are those of a survey (`gordon.survey.run`); the equations are
those of its bills (docs/design/cluster.md, "Total cost").
"""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from gordon import __version__
from gordon.errors import GordonError
from gordon.options import Path, Progress
from gordon.options.costs import TcoOptions
from gordon.parts import unknown
from gordon.reports.survey import BillReport, JobReport, Operation, TasksTime
from gordon.survey import doubts, run
from gordon.survey import space as spaces
from gordon.survey.doubts import Sensitivity
from gordon.survey.results import JobResult, MachineDesign, TasksDesign, TasksResult

#: Designs of a survey, at most: more than any space has machines.
_ROWS = 100_000
_GB = 1e9


class Tco(TypedDict):
    """The total cost of a job on nodes of a machine."""

    version: str
    design: str
    machine: str
    nodes: int
    space: str
    currency: str
    model: Literal["job", "tasks"]
    time_s: float
    time_s_low: float
    time_s_high: float
    energy_j: float | None
    operation: Operation
    operation_sources: dict[str, str]
    #: Of a run.
    run: BillReport
    #: Bytes that the traced job read and wrote; None if that is unknown.
    processed_bytes: float | None
    #: Of a GB that is read or written.
    per_gb: float | None
    #: Of a year; None if machines are rented for as many runs as one likes.
    per_year: float | None
    carbon_kg_per_year: float | None
    cost: Sensitivity | None
    carbon: Sensitivity | None
    #: Why a sum is unknown.
    unknown: list[str]
    warnings: list[str]


def tco(
    traces: Path | Sequence[Path],
    node: str,
    *,
    nodes: int | None = None,
    space: str | None = None,
    reference: str | float | None = None,
    years: float | None = None,
    runs_per_day: float | None = None,
    price_kwh: float = TcoOptions.price_kwh,
    pue: float = TcoOptions.pue,
    grid: str | float | None = None,
    progress: Progress | None = None,
) -> Tco:
    """The total cost of a traced job on nodes of a machine.

    `traces` are those of `gordon.survey.run`, `node` is a machine of `space`, or with one of its
    storages, as `framework-desktop/nvme-qlc-2tb`; without a space, of the first shipped one that
    has it. Raises GordonError.
    """
    found = space if space is not None else _space_of(node)
    result = run(
        traces,
        space=found,
        nodes=nodes,
        reference=reference,
        years=years,
        runs_per_day=runs_per_day,
        price_kwh=price_kwh,
        pue=pue,
        grid=grid,
        rows=_ROWS,
        progress=progress,
    )
    if not ("verdict" in result and "operation" in result):
        raise GordonError(
            "several jobs are given, and the total cost is of one",
            "one trace, run or event log",
            kind="several-jobs",
        )
    row = _design(result, node, nodes)
    return _of(result, row)


def _space_of(node: str) -> str:
    """The first shipped space that has a machine."""
    machine = node.partition("/")[0]
    known: list[str] = []
    for name in spaces.names():
        ids = [one["id"] for one in spaces.machines(spaces.load(name))]
        if machine in ids:
            return name
        known += ids
    raise unknown("machine", machine, known)


def _design(
    result: JobResult | TasksResult, node: str, nodes: int | None
) -> MachineDesign | TasksDesign:
    """The design of a node. Raises GordonError if there is none, or several."""
    rows: list[MachineDesign | TasksDesign] = list(result["designs"])
    machine = node.partition("/")[0]
    of_machine = [row for row in rows if row["machine"].partition("/")[0] == machine]
    if not of_machine:
        raise unknown("machine", machine, sorted({row["machine"] for row in rows}))
    if nodes is None:
        least = min(row["nodes"] for row in of_machine)
        of_machine = [row for row in of_machine if row["nodes"] == least]
    named = [row for row in of_machine if row["id"].rpartition(" x ")[2] == node]
    chosen = named or (of_machine if node == machine else [])
    if not chosen:
        ids = [row["id"].rpartition(" x ")[2] for row in of_machine]
        raise unknown("machine with a storage", node, ids)
    # The first storage and network of a machine is its usual one.
    return chosen[0]


def _of(result: JobResult | TasksResult, row: MachineDesign | TasksDesign) -> Tco:
    outcome = _outcome(row)
    bill, operation = row["bill"], result["operation"]
    assert bill is not None
    assert operation is not None
    times = (outcome["time_s_low"], outcome["time_s_high"])
    processed = sum(trace["read_bytes"] + trace["write_bytes"] for trace in result["traces"])
    total, carbon, runs = bill["total"], bill["carbon_kg"], bill["runs_per_year"]
    return {
        "version": __version__,
        "design": row["id"],
        "machine": row["machine"],
        "nodes": row["nodes"],
        "space": result["space"]["name"],
        "currency": result["space"]["currency"],
        "model": result["model"],
        "time_s": outcome["time_s"],
        "time_s_low": outcome["time_s_low"],
        "time_s_high": outcome["time_s_high"],
        "energy_j": outcome["energy_j"],
        "operation": operation,
        "operation_sources": result["operation_sources"],
        "run": bill,
        "processed_bytes": processed or None,
        "per_gb": total / (processed / _GB) if processed and total is not None else None,
        "per_year": None if total is None or runs is None else total * runs,
        "carbon_kg_per_year": None if carbon is None or runs is None else carbon * runs,
        "cost": doubts.sensitivity(bill, times, operation, "total"),
        "carbon": doubts.sensitivity(bill, times, operation, "carbon_kg"),
        "unknown": _unknown(bill, operation),
        "warnings": result["warnings"],
    }


def _outcome(row: Any) -> JobReport | TasksTime:
    """The time of a design by its model."""
    outcome: JobReport | TasksTime = row["job"] if "job" in row else row["tasks"]
    return outcome


def _unknown(bill: BillReport, operation: Operation) -> list[str]:
    """Why the total or the carbon is unknown."""
    inputs = bill["inputs"]
    if (bill["busy"] or 0) > 1:
        return [
            f"the nodes do not keep up: {operation.get('runs_per_day', 0):g} runs a day of "
            f"{inputs['time_s']:.4g} s take {bill['busy']:.0%} of the day"
        ]
    reasons = {
        "the price of the machine": bill["rent"] is None and inputs["purchase_price"] is None,
        "the power of the machine": inputs["energy_j"] is None,
        "the price of its drives": inputs["drives_price"] is None and bill["rent"] is None,
        "the carbon of making the machine": inputs["embodied_kg"] is None,
        "the carbon of making its drives": inputs["drives_embodied_kg"] is None,
    }
    return [f"{what} is unknown" for what, is_unknown in reasons.items() if is_unknown]
