"""Reports of caches as tables: columns by name, a value for each row.

The table `caches` has a row for each cache. Its columns are the keys of the report; nested keys are
joined by `_` (`levels_dram_requests`). Each list of a report is a table of its own: `lifetimes`,
`erases`, `roadmap`, `servers`. The first columns of such a table identify the cache. A miss-ratio
curve is the table `curve`, with a row for each size.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gordon.cache.results import Tabled
from gordon.columns import Columns, of_rows
from gordon.untyped import Row

#: Keys that identify a cache of a sweep; a report may lack some.
CACHE = ("policy", "dram_policy", "layout", "dram_bytes", "flash_bytes")
#: Columns of the provenance.
FROM = ("version", "trace", "crc32")
#: Parts of a report that a cache may not have.
PARTS = ("flash", "wear", "backend_head", "warmup")


def tables(report: Tabled) -> dict[str, Columns]:
    """Returns the tables of a report of `replay`, `sweep`, `mrc` or
    `gordon.cache.tiered.replay`."""
    values: Mapping[str, Any] = report
    if "sampled_requests" in values:
        key = {name: values[name] for name in ("policy", "unit", "exact", "sample")}
        return {"curve": of_rows([key | point | _of(values) for point in values["points"]])}
    found: dict[str, list[Row]] = {"caches": []}
    points: Sequence[Mapping[str, Any]] = values.get("points", [values])
    for point in points:
        key = {name: point[name] for name in CACHE if name in point}
        row: Row = {}
        lists: dict[str, list[Row]] = {}
        _flatten(point, "", row, lists)
        found["caches"].append(key | row | _of(point))
        for name, rows in lists.items():
            found.setdefault(name, []).extend(key | one for one in rows)
    return {name: of_rows(rows) for name, rows in found.items() if rows}


def _of(report: Mapping[str, Any]) -> Row:
    """Returns the columns that name the version of the program and the trace."""
    provenance = report["provenance"]
    path, crc32 = provenance["config"]["trace"]["path"], provenance["trace"]["crc32"]
    return dict(zip(FROM, (provenance["version"], path, crc32), strict=True))


def _flatten(value: Mapping[str, Any], before: str, row: Row, lists: dict[str, list[Row]]) -> None:
    """Adds the numbers and texts of a report to `row`, and its lists to `lists`."""
    for key, inner in value.items():
        name = before + key
        if key == "levels" and isinstance(inner, list):
            inner = {level["level"]: level for level in inner}
        if isinstance(inner, dict):
            if name != "provenance":
                _flatten(inner, f"{name}_", row, lists)
        elif not isinstance(inner, list):
            if inner is not None or name not in PARTS:
                row[name] = inner
        elif name != "warnings" and all(isinstance(one, dict) for one in inner):
            each: list[Row] = lists.setdefault(key, [])
            for one in inner:
                each.append({})
                _flatten(one, "", each[-1], {})
