"""The nodes of a job and its stages, for people."""

from collections.abc import Sequence
from typing import Literal

from gordon.cli.terminal import Column, data
from gordon.human import counted, duration, figures, percent, short
from gordon.reports.spark import RecordedStage, RecordedStages
from gordon.reports.trace import TraceSummary
from gordon.trace.summary import kind_of

#: Stages that are shown, the longest ones.
_MOST = 20


#: Columns of a trace that are shown.
_Column = Literal[
    "cpu_s", "memory_bytes", "disk_read_bytes", "disk_write_bytes", "rx_bytes", "tx_bytes"
]
_COUNTS: tuple[tuple[Literal["failed_tasks", "killed_tasks"], str], ...] = (
    ("failed_tasks", "failed"),
    ("killed_tasks", "killed"),
)


def separate(index: int) -> None:
    """An empty line between jobs."""
    if index:
        data().text("")


def show(job: str, nodes: Sequence[TraceSummary]) -> None:
    """A row for each node of a job: its length and what it used."""
    console = data()
    name = f"{job}: " if job else ""
    console.text(f"{name}{counted(len(nodes), 'node')}", style="bold")
    right: dict[str, bool] = {"right": True}
    columns = [
        Column("node", [node["path"] for node in nodes]),
        Column("cores", [str(node["manifest"]["machine"]["cores"]) for node in nodes], **right),
        Column("ran", [duration(sum(node["samples"]["span_s"])) for node in nodes], **right),
        Column("cpu", [_total(node, "cpu_s", "s") for node in nodes], **right),
        Column("cores used", [_cores_used(node) for node in nodes], spare=3, **right),
        Column("memory, max", [_most(node, "memory_bytes") for node in nodes], **right),
        Column("read", [_total(node, "disk_read_bytes", "B") for node in nodes], **right),
        Column("written", [_total(node, "disk_write_bytes", "B") for node in nodes], **right),
        Column("received", [_total(node, "rx_bytes", "B") for node in nodes], spare=2, **right),
        Column("sent", [_total(node, "tx_bytes", "B") for node in nodes], spare=1, **right),
    ]
    console.table(columns)


def _known(node: TraceSummary, key: _Column) -> list[float]:
    """The values of a column; none if the trace lacks it."""
    if kind_of(node, key) == "missing":
        return []
    return [*node["samples"][key]]


def _total(node: TraceSummary, key: _Column, unit: str) -> str:
    values = _known(node, key)
    return short(sum(values), unit) if values else ""


def _most(node: TraceSummary, key: _Column) -> str:
    values = _known(node, key)
    return short(max(values), "B") if values else ""


def _cores_used(node: TraceSummary) -> str:
    values, length = _known(node, "cpu_s"), sum(node["samples"]["span_s"])
    return figures(sum(values) / length) if values and length > 0 else ""


def show_stages(application: RecordedStages) -> None:
    """The stages of an application of Spark, how uneven their tasks are, and the time outside."""
    stages = application["stages"]
    console = data()
    name = application["application"] or "an application without a name"
    version = f" of Spark {application['spark']}" if application["spark"] else " of Spark"
    span, outside = application["span_s"], application["outside_s"]
    share = f" ({percent(outside / span)})" if span > 0 else ""
    tasks = counted(sum(stage["tasks"] for stage in stages), "task")
    console.text(
        f"{name}{version}: {counted(len(stages), 'stage')}, {tasks}, {duration(span)}; the "
        f"driver's time outside of stages: {duration(outside)}{share}",
        style="bold",
    )
    if not stages:
        return
    longest = sorted(stages, key=lambda stage: stage["start_s"] - stage["end_s"])[:_MOST]
    shown = [stage for stage in stages if stage in longest]
    right: dict[str, bool] = {"right": True}
    columns = [
        Column("stage", [stage["name"] for stage in shown], wraps=True, enough=30),
        Column("start", [_seconds(stage["start_s"]) for stage in shown], spare=3, **right),
        Column("time", [_seconds(stage["end_s"] - stage["start_s"]) for stage in shown], **right),
        Column("tasks", [f"{stage['tasks']:,}" for stage in shown], **right),
        Column("median", [_seconds(stage["task_median_s"]) for stage in shown], **right),
        Column("longest", [_seconds(stage["task_longest_s"]) for stage in shown], **right),
        Column("skew", [_skew(stage) for stage in shown], **right),
        Column("task time", [_seconds(stage["tasks_s"]) for stage in shown], spare=2, **right),
        Column("gc", [_collecting(stage) for stage in shown], spare=4, **right),
        Column("spilled", [_spilled(stage) for stage in shown], spare=5, **right),
        Column("", [_remark(stage) for stage in shown], wraps=True, enough=12),
    ]
    console.table([column for column in columns if any(column.cells)])
    notes = ["skew: longest task / median"]
    if len(shown) < len(stages):
        notes.append(f"the {len(shown)} longest of {len(stages)} stages; --json has all")
    if application["not_started"]:
        count = application["not_started"]
        notes.append(f"{counted(count, 'stage')} skipped or never started")
    console.text("; ".join(notes))


def _seconds(value: float | None) -> str:
    return "" if value is None else duration(value)


def _skew(stage: RecordedStage) -> str:
    median, longest = stage["task_median_s"], stage["task_longest_s"]
    return figures(longest / median) if median and longest is not None else ""


def _collecting(stage: RecordedStage) -> str:
    """The share of garbage collection in the time of the tasks."""
    part, whole = stage["gc_s"], stage["tasks_s"]
    return f"{part / whole:.0%}" if part and whole else ""


def _spilled(stage: RecordedStage) -> str:
    size = stage["spill_disk_bytes"]
    return short(size, "B") if size else ""


def _remark(stage: RecordedStage) -> str:
    parts = [f"{stage[key]} {word}" for key, word in _COUNTS if stage[key]]
    return ", ".join([*parts, *([] if stage["is_complete"] else ["not complete"])])
