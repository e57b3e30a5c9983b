"""The screen of a survey: the best designs, compared with the paper's."""

from typing import Literal

from gordon.cli import warn
from gordon.cli.terminal import Column, ColumnsOf, Output
from gordon.human import figures, percent, short
from gordon.reports.survey import OutcomeReport
from gordon.survey.jobs import gains, traces
from gordon.survey.results import GridDesign, GridMean, GridResult


def show(console: Output, result: GridResult | GridMean, show_all: bool) -> None:
    """The table, what it says in a few lines, and the warnings."""
    rows, by = result["designs"], result["by"]
    shown = [r for r in rows if show_all or r["pareto"] or r["names"]]
    shown.sort(key=lambda r: (r[by]["time_s"], r[by]["energy_j"]))
    console.text(
        f"{result['designs_total']} designs of {result['space']['name']}, each a cluster of "
        f"{result['nodes']} nodes; time and energy by the {by} model, rel.: relative to "
        f"{result['baseline']['id']}"
    )
    console.table(_table(result, shown))
    if len(shown) < len(rows):
        console.text(f"* on the Pareto front; --all also prints {len(rows) - len(shown)} others")
    left_out = result["designs_total"] - len(rows)
    if left_out:
        console.text(f"{left_out} more designs are not in the result; --rows sets the number")
    for line in _summary(result):
        console.text(line)
    warn(result["warnings"], traces(result))


def _table(result: GridResult | GridMean, shown: list[GridDesign]) -> list[Column]:
    by = result["by"]
    column = ColumnsOf(shown)
    disk = next((r for r in result["designs"] if "MaxE-disk" in r["names"]), None)
    return [
        column.text("  design", lambda r: ("* " if r["pareto"] else "  ") + r["id"]),
        column.text("name", lambda r: " ".join(r["names"])),
        column.number("time", lambda r: short(r[by]["time_s"], "s")),
        column.number("rel.", lambda r: figures(r["relative"]["time"]), spare=2),
        column.number("energy", lambda r: short(r[by]["energy_j"], "J")),
        column.number("rel.", lambda r: figures(r["relative"]["energy"]), spare=3),
        column.number("node", lambda r: f"{figures(r[by]['node_power_w'])} W"),
        column.number("perf/W", lambda r: _per_watt(r[by], disk and disk[by]), spare=1),
        column.text("limited by", lambda r: most(r["limits"])),
        column.text("then", lambda r: most(r["limits"], 1), spare=4),
        column.number("flash life", _life, spare=5),
    ]


def _per_watt(row: OutcomeReport, disk: OutcomeReport | None) -> str:
    return f"{figures(disk['energy_j'] / row['energy_j'])}x" if disk else ""


def most(limits: dict[str, float], place: int = 0) -> str:
    """The largest limit, or the next one where that matters: `storage 30%`."""
    top = sorted(limits.items(), key=lambda item: -item[1])
    name, share = top[place] if place < len(top) else ("", 0)
    return f"{name} {share:.0%}" if share >= 0.05 else ""


def _life(row: GridDesign) -> str:
    """Years, or the part of the rated endurance that a short job uses; nothing without writes."""
    flash = row["flash"]
    if not flash or flash["endurance_used"] == 0:
        return ""
    years = flash["lifetime_years"]
    return f"{percent(flash['endurance_used'])} used" if years is None else short(years, "years")


def _summary(result: GridResult | GridMean) -> list[str]:
    lines = _gains(result)
    if "charged" in result:
        lines += [line for line in (result["charged"], result["spread"]) if line]
    over = result["space"]["over_budget_total"]
    if over:
        budget = result["space"]["budget_w"]
        lines.append(f"{over} designs left out, as they need more than {budget:g} W per node")
    if result["sensitivity"]["text"]:
        lines.append(result["sensitivity"]["text"])
    return lines


def _gains(result: GridResult | GridMean) -> list[str]:
    """The gains of flash over disks, next to the paper's figures in the paper's space."""
    gained = gains(result)
    if not gained:
        return []
    paper = {}
    if result["table6"]:
        rows = result["table6"]["rows"]
        paper = {r["paper_name"]: r["paper"]["sync"] for r in rows if r["paper"]}

    def theirs(
        name: str, key: Literal["perf_per_watt_vs_maxe_disk", "speedup_vs_mint_disk"]
    ) -> str:
        return f" (paper: {paper[name][key]})" if paper else ""

    return [
        f"MaxE does {gained['MaxE']:.2f} times the work per joule of the best disk design"
        + theirs("MaxE", "perf_per_watt_vs_maxe_disk"),
        f"MinT is {gained['MinT']:.2f} times as fast as the fastest disk design"
        + theirs("MinT", "speedup_vs_mint_disk"),
    ]
