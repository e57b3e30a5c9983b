"""The screen of a survey of clusters: time and price of each number of nodes, the stages of the
recommended cluster, and the verdict."""

from gordon.cli import warn
from gordon.cli.designs_view import NEAR, RANGE, interval, legend, spread, table
from gordon.cli.terminal import Column, ColumnsOf, Output
from gordon.human import counted, duration
from gordon.reports.survey import ApplicationReport
from gordon.survey import entries
from gordon.survey.doubts import described
from gordon.survey.machines import compared, is_notable, recommended
from gordon.survey.prices import dated
from gordon.survey.results import TasksDesign, TasksResult
from gordon.survey.tasks import MODEL, outcome, recorded_line, remarks

#: The entries on the screen, with what is left out of a narrow one.
SPARE = {"slots": 4, "time": 0, "interval": 1, "price": 0, "month": 4, "energy": 2, "limit": 3}
#: Stages on the screen: those that take longest.
_STAGES = 12


def show_tasks(console: Output, result: TasksResult, show_all: bool) -> None:
    """The tables, the verdict, and the warnings."""
    rows = result["designs"]
    chosen = recommended(result)
    ordered = sorted(rows, key=lambda row: outcome(row)["time_s"])
    front = [row for row in ordered if row["pareto"]]
    distinct = {row["id"] for row in spread(front, lambda row: outcome(row)["time_s"])}
    shown = [r for r in ordered if show_all or r["id"] in distinct or is_notable(r, chosen)]
    console.text(
        f"{counted(result['designs_total'], 'cluster')} of {result['space']['name']}; times by the "
        f"{result['model']} model{dated(result)}"
    )
    console.text(recorded_line(result["application"]))
    listed = [*entries.clusters(result), interval(MODEL)]
    console.table(table("cluster", shown, listed, SPARE | entries.asked(result), remarks))
    text = legend(result, compared(result), bool(result["front"]), len(shown))
    if len(distinct) < len(front) and not show_all:
        text += f"; of those within {NEAR:.0%} in time, one is printed"
    console.text(f"{text}; {RANGE}")
    by_id = {row["id"]: row for row in rows}
    best = by_id.get(chosen or result["named"]["fastest"] or "")
    if best is not None and best.get("stages"):
        console.text(f"stages on {best['id']}, and as recorded:")
        console.table(_stages(result["application"], best))
    console.text(result["sentence"])
    if result["ranking"] is not None:
        console.text(described(result["ranking"]))
    warn(result["warnings"], [trace["path"] for trace in result["traces"]])


def _stages(application: ApplicationReport, best: TasksDesign) -> list[Column]:
    """The longest stages of a cluster in their order."""
    pairs = list(zip(application["stages"], best["stages"], strict=True))
    longest = sorted(pairs, key=lambda pair: pair[1]["start_s"] - pair[1]["end_s"])[:_STAGES]
    shown = [pair for pair in pairs if pair in longest]
    recorded = ColumnsOf([stage for stage, _ in shown])
    modelled = ColumnsOf([stage for _, stage in shown])
    return [
        modelled.text("stage", lambda stage: f"{stage['id']}: {stage['name']}", wraps=True),
        modelled.number("tasks", lambda stage: str(stage["tasks"])),
        recorded.number("recorded", lambda stage: duration(stage["end_s"] - stage["start_s"])),
        modelled.number("here", lambda stage: duration(stage["end_s"] - stage["start_s"])),
        modelled.number("longest task", lambda stage: duration(stage["longest_s"]), spare=1),
        modelled.text("limited by", lambda stage: stage["limit"]),
    ]
