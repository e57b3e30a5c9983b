"""Measured points of storage: the log of `gordon flash probe`, or a table of one's own."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from os import fspath
from pathlib import Path as File
from statistics import mode
from typing import Any

from gordon import _core, columns
from gordon.errors import GordonError
from gordon.options import Path
from gordon.options.devices import STORAGE_PATTERNS
from gordon.parts import unknown
from gordon.storage.point import Point, series

#: Columns of a table of one's own. A row has one of the last three.
COLUMNS = ("pattern", "size", "depth", "mb_s", "iops", "latency_us")
#: Columns of a log, and of the points of a characterisation.
MEASURED = ("pattern", "op", "size_bytes", "queue_depth", "bandwidth_mb_s")
_HINT = f"a table with the columns {','.join(COLUMNS[:4])}; iops or latency_us in place of mb_s"


@dataclass(frozen=True)
class Observed:
    """The bandwidth of requests of a pattern, a size and a depth."""

    pattern: str
    size: int
    depth: int
    mb_s: float


@dataclass(frozen=True)
class Log:
    """Measured points of a storage, in the order of the log."""

    storage: str
    points: list[Observed]
    #: Bytes over which the requests of most points were spread; None if that is unknown.
    span: int | None


def observed(points: Sequence[Point]) -> list[Observed]:
    """The points of a characterisation."""
    return [
        Observed(series(one)[0], one["size_bytes"], one["queue_depth"], one["bandwidth_mb_s"])
        for one in points
    ]


def write(path: Path, points: Sequence[Point], storage: str) -> None:
    """Writes a log: the points, each with what was measured."""
    table = {"storage": [storage] * len(points)} | columns.of({"points": points})["points"]
    columns.arrow(table).write(fspath(path))


def read(path: Path) -> Log:
    """Reads a log of `gordon flash probe` (Parquet) or a table (CSV). Raises GordonError."""
    place = File(path)
    try:
        raw = place.read_bytes()
    except OSError as error:
        raise GordonError(f"{place}: {error.strerror}", _HINT, kind="unreadable-file") from None
    log = _of_parquet(place, raw) if raw.startswith(b"PAR1") else _of_csv(place, raw)
    if not log.points:
        raise GordonError(f"{place}: no points", _HINT, kind="empty-log")
    return log


def _of_parquet(place: File, raw: bytes) -> Log:
    table: dict[str, list[Any]] = json.loads(_core.Table.restored(raw).json())
    missing = [name for name in MEASURED if name not in table]
    if missing:
        raise GordonError(
            f"{place}: no column `{missing[0]}`",
            "the log of `gordon flash probe`, or points.parquet of `gordon storage characterise "
            "--parquet`",
            kind="missing-column",
        )
    rows = zip(*(table[name] for name in MEASURED), strict=True)
    spans = [span for span in table.get("span_bytes", []) if span]
    return Log(
        storage=next(iter(table.get("storage", [])), place.name),
        points=[_measured(place, number, row) for number, row in enumerate(rows, 1)],
        span=mode(spans) if spans else None,
    )


def _measured(place: File, number: int, row: Sequence[Any]) -> Observed:
    pattern, op, size, depth, mb_s = row
    return _point(place, number, f"{pattern}-{op}", size, depth, mb_s)


def _of_csv(place: File, raw: bytes) -> Log:
    try:
        lines = raw.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise GordonError(
            f"{place}: neither Parquet nor text in UTF-8", _HINT, kind="bad-table"
        ) from None
    reader = csv.DictReader(lines, skipinitialspace=True)
    names = [name.strip() for name in reader.fieldnames or []]
    reader.fieldnames = names
    is_ours = set(MEASURED) <= set(names)
    if not is_ours:
        for name in names:
            if name not in COLUMNS:
                raise unknown("column", name, list(COLUMNS)).at(str(place))
        for name in COLUMNS[:3]:
            if name not in names:
                raise GordonError(f"{place}: no column `{name}`", _HINT, kind="missing-column")
    read = _of_our_row if is_ours else _of_row
    rows = [row for row in reader if any(row.values())]
    points = [read(place, number, row) for number, row in enumerate(rows, 1)]
    return Log(storage=place.name, points=points, span=None)


def _of_our_row(place: File, number: int, row: Mapping[str | None, Any]) -> Observed:
    """A row of `gordon storage characterise --csv`."""
    pattern, op, *texts = (str(row[name] or "") for name in MEASURED)
    figures = [
        _number(f"{place}: row {number}", name, text)
        for name, text in zip(MEASURED[2:], texts, strict=True)
    ]
    return _measured(place, number, [pattern, op, *figures])


def _of_row(place: File, number: int, row: Mapping[str | None, Any]) -> Observed:
    """A row of a table. The rate of a closed loop is its depth over the latency."""
    where = f"{place}: row {number}"
    if None in row:
        raise GordonError(f"{where}: more cells than columns", _HINT, kind="bad-table")
    cell = {str(name): (text or "").strip() for name, text in row.items()}
    given = [name for name in COLUMNS[3:] if cell.get(name)]
    if len(given) != 1:
        raise GordonError(
            f"{where}: {len(given)} of {', '.join(COLUMNS[3:])}", "one of them", kind="bad-table"
        )
    try:
        size = _core.parse_bytes(cell["size"])
    except GordonError as error:
        raise error.at(f"{where}: size") from None
    depth, value = _number(where, "depth", cell["depth"]), _number(where, given[0], cell[given[0]])
    rate = {"mb_s": value, "iops": value * size / 1e6}
    if given[0] == "latency_us":
        rate["latency_us"] = depth * size / value if value else 0.0
    return _point(place, number, cell["pattern"], size, depth, rate[given[0]])


def _number(where: str, name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise GordonError(
            f"{where}: {name}: `{text}` is not a number", "a number", kind="bad-number"
        ) from None


def _point(place: File, number: int, pattern: str, size: Any, depth: Any, mb_s: Any) -> Observed:
    where = f"{place}: row {number}"
    if pattern not in STORAGE_PATTERNS:
        raise unknown("pattern", pattern, list(STORAGE_PATTERNS)).at(where)
    for name, value, most in (("size", size, 2**30), ("depth", depth, 2**16), ("rate", mb_s, 1e6)):
        if not isinstance(value, int | float) or not isfinite(value) or not 0 < value <= most:
            raise GordonError(
                f"{where}: {name} {value} is not between 0 and {most:,.0f}",
                "leave out this row",
                kind="out-of-range",
            )
    if depth != int(depth):
        raise GordonError(f"{where}: depth {depth}: not a whole number", "1", kind="bad-number")
    return Observed(pattern, int(size), int(depth), float(mb_s))
