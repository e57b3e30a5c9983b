"""Surveys a grid of designs: clusters of any number of nodes, by the models `paper` and `stages`.

The result adds figures relative to the baseline, a comparison with the paper's Table 6, and the
sensitivity to the overhead ratio.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from gordon import parameters, power
from gordon.errors import GordonError
from gordon.parameters import Parameter
from gordon.parts import Catalogue
from gordon.quantity import number, value
from gordon.reports.survey import BaselineReport, PaperMean, PaperSurvey
from gordon.survey import references, settings, table6
from gordon.survey import space as spaces
from gordon.survey.model import Model, Request, common, no_work, places
from gordon.survey.results import (
    Alternative,
    By,
    ChangedDesign,
    GridDesign,
    GridResult,
    GridSpace,
    Raw,
    Sensitivity,
)

#: Nodes of the paper's cluster, for a single trace.
NODES = 32
#: Models of a cluster of designs, each with as many nodes as one likes.
MODELS = ("paper", "stages")
_WHY_SHIFT = (
    "nodes of one job are in the same phase to within some seconds; with 0 they are in step, with "
    "1 every phase runs at all times, the worst case for sync"
)


def nodes(traces: int) -> int:
    """Nodes of a cluster, unless they are given."""
    return NODES if traces == 1 else traces


class Grid(Model[PaperSurvey, GridResult]):
    """A grid of designs."""

    core = "paper"

    def __init__(self, request: Request, chosen: spaces.Space) -> None:
        paths = request.inputs.paths
        count = nodes(len(paths)) if request.nodes is None else request.nodes
        if len(paths) > count:
            raise GordonError(
                f"there are {len(paths)} traces for {count} nodes: each trace needs a node",
                f"--nodes {len(paths)}",
                kind="too-few-nodes",
            )
        parts = Catalogue(chosen.get("parts"))
        # What the overhead is fitted to stays what it was, whatever this run changes.
        shipped = Catalogue.shipped_first(chosen.get("parts"))
        settings.apply(request.set_values, chosen, parts)
        with spaces.blamed(request.space, request.set_values):
            spaces.use(parts, chosen)
        overhead_name = chosen["node"]["overhead"]
        overhead = parts.get("overhead", overhead_name)
        fitted = power.fit(overhead, shipped, value(chosen["node"]["memory_per"]))
        # The core takes the ratio; the machines it was fitted to stay for the report.
        ratio = {"summary": overhead["summary"], "ratio": fitted["field"]}
        if power.supply(overhead, parts) is not None:
            ratio["supply"] = overhead["supply"]
        self.request, self.chosen, self.parts, self.fitted = request, chosen, parts, fitted
        self.is_paper = chosen["name"] == table6.SPACE
        self.config = request.config() | {
            "nodes": count,
            "shift": {"value": request.shift, "assumed": _WHY_SHIFT},
            "references": references.of(request.reference, shipped),
            "processors": chosen["processors"],
            "storage": chosen["storage"],
            "budget": value(chosen["budget"]),
            "baseline": chosen["baseline"],
            "other_ratios": [anchor["ratio"] for anchor in fitted["anchors"]],
            "node": chosen["node"],
            "parts": parts.used | {"overhead": {overhead_name: ratio}},
            "stages": request.stages,
            "keep": table6.designs() if self.is_paper else [],
        }
        overhead["ratio"] = fitted["field"]

    def check(self, raw: PaperSurvey) -> None:
        rows, base = raw["designs"], raw["baseline"]
        if not rows:
            budget = number(self.chosen["budget"], "budget")
            least = raw["over_budget"]["least_w"]
            raise GordonError(
                f"every design of the space `{self.chosen['name']}` needs more than the budget of "
                f"{budget:g} W per node; the least is {least:.1f} W",
                f"--set budget={least + 1:.0f}W",
                kind="over-budget",
            )
        by = _by(raw)
        if min(row[by]["time_s"] for row in [base, *rows]) <= 0:
            raise no_work()

    def result(self, raw: PaperSurvey) -> GridResult:
        names, by = raw["named"], _by(raw)
        kinds = {row["storage"]: self.parts.storage_kind(row["storage"]) for row in raw["designs"]}
        designs = placed(raw, by, kinds)
        node, over = self.chosen["node"], raw["over_budget"]["with_other_ratios"]
        return {
            **common(raw, self._parameters(), self._warnings(raw)),
            "space": self._space(raw),
            "designs": designs,
            "model": "paper" if by == "sync" else "stages",
            "by": by,
            "charged": _charged(raw),
            "spread": raw["spread"],
            "baseline": _baseline(raw),
            "table6": table6.compare(designs, names) if self.is_paper else None,
            "differences": table6.explain(raw["traces"], designs, names, node)
            if self.is_paper
            else [],
            "sensitivity": _sensitivity(self.fitted, designs, names, over, by),
            "series": raw["series"],
        }

    def _space(self, raw: PaperSurvey) -> GridSpace:
        over = raw["over_budget"]
        return {
            "name": self.chosen["name"],
            "summary": self.chosen["summary"],
            "budget_w": number(self.chosen["budget"], "budget"),
            "designs": raw["designs_total"] + over["total"],
            "over_budget_total": over["total"],
            "over_budget": over["ids"],
            "node": self.chosen["node"],
        }

    def _parameters(self) -> list[Parameter]:
        chosen = self.chosen
        sourced = {"budget": chosen["budget"], "memory_per": chosen["node"]["memory_per"]}
        return parameters.rows({"space": {chosen["name"]: sourced}} | self.parts.used)

    def _warnings(self, raw: PaperSurvey) -> list[str]:
        found = list(raw["warnings"])
        if spaces.machines(self.chosen):
            found.append(
                f"the machines of the space `{self.chosen['name']}` are left out; --model job "
                "surveys them, and leaves out the grid of designs"
            )
        reference = self.request.reference
        if reference is not None and not any(trace["estimated_ipc"] for trace in raw["traces"]):
            why = "all traces have counted instructions"
            found.append(f"--reference {reference} has no effect: {why}")
        return found


def placed(
    raw: PaperSurvey | PaperMean, by: By, kinds: Mapping[str, str | None]
) -> list[GridDesign]:
    """The designs with their places, and relative to the baseline. `kinds` has the kind of each
    storage part."""
    place, base = places(raw), raw["baseline"][by]
    designs: list[GridDesign] = []
    for row in raw["designs"]:
        at = place(row["id"], kinds[row["storage"]])
        designs.append(
            {
                **row,
                "storage_kind": at["storage_kind"],
                "pareto": at["pareto"],
                "relative": {
                    "time": row[by]["time_s"] / base["time_s"],
                    "energy": row[by]["energy_j"] / base["energy_j"],
                },
                "names": at["names"],
            }
        )
    return designs


def scaled(
    designs: Sequence[GridDesign], named: Mapping[str, str | None], by: By, factor: float
) -> dict[str, ChangedDesign]:
    """The powers and energies of the named designs, times a factor."""
    by_id = {design["id"]: design[by] for design in designs}
    return {
        name: {
            "node_power_w": by_id[id]["node_power_w"] * factor,
            "energy_j": by_id[id]["energy_j"] * factor,
        }
        for name, id in named.items()
        if id is not None
    }


def _by(raw: PaperSurvey) -> Literal["sync", "stages"]:
    """The outcome by which designs are compared."""
    return "stages" if "stages" in raw["baseline"] else "sync"


def _baseline(raw: PaperSurvey) -> BaselineReport:
    """The design with which others are compared."""
    base = raw["baseline"]
    found: BaselineReport = {"id": base["id"], "sync": base["sync"], "nosync": base["nosync"]}
    if "stages" in base:
        found["stages"] = base["stages"]
    return found


def _charged(raw: Raw) -> str:
    """Whose processor time was simulated, and the share of it that was not the command's."""
    traces = raw["traces"]
    shares = [t["other_cpu_share"] for t in traces if t["other_cpu_share"] is not None]
    if not shares:
        return "the CPU time of the traced machine is simulated; that of the command is unknown"
    least, most = f"{min(shares):.1%}", f"{max(shares):.1%}"
    share = least if least == most else f"{least} to {most}"
    if raw["charge"] == "auto":
        return (
            "the CPU time of the command is simulated where the trace has it, otherwise that of "
            f"the machine; {share} of it is of other programs"
        )
    if raw["charge"] == "command":
        return (
            f"the CPU time of the command is simulated; the other {share} of the machine's CPU "
            "time is left out"
        )
    return (
        f"the CPU time of the traced machine is simulated; {share} of it is of programs other than "
        "the command"
    )


def _sensitivity(
    fitted: power.Fitted,
    rows: list[GridDesign],
    names: dict[str, str | None],
    over_budget: list[int],
    by: By,
) -> Sensitivity:
    """The changes by the overhead ratio of each anchor alone.

    Overhead multiplies the power of all parts of all designs, so every watt and joule scales and
    no comparison between designs moves; what can change is which designs the budget allows.
    """
    used = fitted["ratio"]
    others: list[Alternative] = []
    for anchor, over in zip(fitted["anchors"], over_budget, strict=True):
        factor = anchor["ratio"] / used
        others.append(
            {
                **anchor,
                "energy_factor": factor,
                "over_budget": over,
                "named": scaled(rows, names, by, factor),
            }
        )
    text = ""
    if others:
        alone = "; ".join(
            f"{o['ratio']:.3f} for {o['what']} alone would change them by "
            f"{o['energy_factor'] - 1:+.1%}"
            for o in others
        )
        text = (
            f"All powers and energies include an overhead ratio of {used:.3f}, "
            f"{fitted['field']['assumed']}; a ratio of {alone}. The ratio multiplies all designs "
            "equally, so it does not change the front, the named designs or ratios between designs"
        )
        out = [f"{o['over_budget']} with {o['what']}" for o in others if o["over_budget"]]
        text += f", but some designs would exceed the budget: {', '.join(out)}." if out else "."
    return {"parameter": "overhead ratio", "used": used, "alternatives": others, "text": text}
