"""The screen of `gordon storage characterise`."""

import json
from pathlib import Path

from gordon import _core
from gordon.cli import say, warn_each
from gordon.cli.terminal import Column, Output
from gordon.human import binary, figures, short
from gordon.reports.storage import TargetDescription
from gordon.storage import PATTERNS
from gordon.storage.point import FLAT, facts, series
from gordon.storage.result import Characterisation


def warn_of_loss(target: str, span: str | None) -> None:
    """Before anything is written: what will be lost."""
    path = Path(target)
    if not path.exists() or path.is_dir():
        return
    about: TargetDescription = json.loads(_core.io_target(target))
    capacity = about["capacity_bytes"]
    size = capacity if span is None else min(_core.parse_bytes(span), capacity)
    part = "all" if size == capacity else "the first"
    model = f" ({about['model']})" if about["model"] else ""
    what = f"the {about['kind'].replace('-', ' ')} {target}{model}"
    say(f"--write: {part} {short(size, 'B')} of {what} will be overwritten", kind="warning")


def show(console: Output, report: Characterisation) -> None:
    """The storage, a table for each depth, and the least size that is as good as the best."""
    for line in _about(report):
        console.text(line)
    depths = sorted({point["queue_depth"] for point in report["points"]})
    for depth in depths:
        console.text(f"MB/s, {depth} outstanding")
        console.table(_table(report, depth))
    warn_each(report["warnings"])


def _about(report: Characterisation) -> list[str]:
    span = short(report["span_bytes"], "B")
    if "target" not in report:
        held = short(report["capacity_bytes"], "B")
        if "raw_capacity_bytes" in report:
            raw, spare = report["raw_capacity_bytes"], report["spare_capacity_bytes"]
            held += f" ({short(raw, 'B')} raw, {short(spare, 'B')} spare)"
        return [f"{report['storage']}: {span} of {held}; all values are modelled"]
    target = report["target"]
    about = facts(target, " ")
    kind = "scratch file" if report["scratch"] else target["kind"].replace("-", " ")
    suffix = f" (on {about})" if about else ""
    return [
        f"{report['storage']}: {kind} of {span}{suffix}; all values are measured, I/O is direct"
    ]


def _table(report: Characterisation, depth: int) -> list[Column]:
    lines: dict[str, dict[int, float]] = {}
    for point in report["points"]:
        name, at = series(point)
        if at == depth:
            lines.setdefault(name, {})[point["size_bytes"]] = point["bandwidth_mb_s"]
    sizes = sorted({size for line in lines.values() for size in line})
    columns = [Column("size", [*map(binary, sizes), f"{FLAT:.0%} from"], right=True)]
    for name in PATTERNS:
        if name in lines:
            line = lines[name]
            cells = [figures(line[size]) for size in sizes]
            columns.append(Column(name, [*cells, binary(_flat(line))], right=True))
    return columns


def _flat(line: dict[int, float]) -> int:
    """The least size that reaches that part of the line's best."""
    least = FLAT * max(line.values())
    return min(size for size, rate in line.items() if rate >= least)
