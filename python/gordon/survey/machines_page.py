"""The report of a survey of machines: the verdict, time against price, each machine, sources.

One HTML file that works offline, like the report of designs. The same result gives the same bytes.
"""

import re
from collections.abc import Collection, Sequence
from typing import Literal

from gordon import notices
from gordon.human import figures
from gordon.parameters import Parameter
from gordon.report import page
from gordon.survey import bill_page, entries
from gordon.survey.jobs import traces as trace_paths
from gordon.survey.machines import (
    compared,
    in_nodes,
    is_notable,
    is_of,
    noun,
    outcome,
    recommended,
    remarks,
)
from gordon.survey.page import FILTERS, libraries, stage_columns
from gordon.survey.results import JobResult, MachineDesign, TasksDesign

#: Shares of the time, in the order of the bars: key and name.
SHARES = {
    "cpu": "processor",
    "storage": "storage",
    "network": "network",
    "idle": "idle",
}
#: Relative difference below which a time is shown as the measured one.
_SAME = 0.005
Cost = Literal["price", "energy_j"]
#: The axis against which times are drawn, in the order of preference.
_COSTS: tuple[Cost, ...] = ("price", "energy_j")
#: Key of the file of a measured storage, of one or of a list.
_MEASURED = re.compile(r"storage(\.\d+)?\.measured")


def render(result: JobResult) -> str:
    """The report's HTML."""
    rows = sorted(result["designs"], key=lambda row: outcome(row)["time_s"])
    verdict = recommended(result)
    notable = [row for row in rows if is_notable(row, verdict) or row["pareto"]]
    known = {key for row in rows for key in _COSTS if outcome(row)[key] is not None}
    measured = max(trace["span_s"] for trace in result["traces"])
    traced = [outcome(row)["time_s"] for row in rows if row["is_reference"]]
    said = {row["id"]: remarks(row, verdict) for row in rows}
    return page.render(
        "machines",
        result,
        FILTERS | {"outcome": outcome, "money": money, "capacity": entries.capacity},
        libraries=(*libraries(result), "bill"),
        notices=notices.grouped(result["warnings"], trace_paths(result)),
        r=result,
        rows=rows,
        noun=noun(rows),
        nodes=in_nodes(result),
        remarks=said,
        stage_columns=stage_columns(result, said),
        cards=[row for row in notable if is_notable(row, verdict)],
        against=next((key for key in _COSTS if key in known), None),
        known=known,
        compared=compared(result),
        has_more=not {"time", "price"}.issuperset(result["objectives"]),
        bill=bill_page.of(result, rows),
        columns=entries.on_page(entries.machines(result), rows, said),
        has_reference=bool(traced),
        measured_apart=not any(abs(time / measured - 1) < _SAME for time in traced),
        small=[row["id"] for row in rows if row["memory_fits"] is False],
        measured_s=measured,
        parts=page.grouped(sources(result["parameters"], notable)),
        names=SHARES,
        shares=_shares,
    )


def of_machines(parameters: list[Parameter], names: Collection[str]) -> list[Parameter]:
    """The values of the machines with these names, alone or with choices of storage and network."""
    return [
        p
        for p in parameters
        if p["kind"] == "machine" and any(is_of(name, p["part"]) for name in names)
    ]


def sources(
    parameters: list[Parameter], notable: Sequence[MachineDesign] | Sequence[TasksDesign]
) -> list[Parameter]:
    """The values of these machines, then those of their storage parts and measured storages."""
    names = list(dict.fromkeys(row["machine"] for row in notable))
    parts = {row["storage_part"] for row in notable}
    machines = of_machines(parameters, names)
    machines.sort(key=lambda p: [is_of(name, p["part"]) for name in names].index(True))
    parts |= {p["value"] for p in machines if _MEASURED.fullmatch(p["key"])}
    return machines + [p for p in parameters if p["kind"] != "machine" and p["part"] in parts]


def _shares(row: MachineDesign) -> dict[str, float]:
    """The limits of a machine, in the order of the bars."""
    limits = row["limits"]
    return {key: limits[key] for key in SHARES if key in limits}


def money(price: float | None) -> str:
    """A price in three significant figures; a dash for None."""
    return "–" if price is None else figures(price)
