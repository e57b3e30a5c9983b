"""Results as tables: columns by name, a value for each row.

The table `values` has one row, with all values of a result except lists of rows; nested keys are
joined by `_` (`run_inputs_energy_j`). Each list of rows is a table of its own, by its key.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gordon import _core
from gordon.untyped import Row

#: The table of the values that are not lists of rows.
VALUES = "values"

Columns = dict[str, list[Any]]


def of(result: Mapping[str, Any]) -> dict[str, Columns]:
    """The tables of a result that have a column."""
    lists: dict[str, list[Row]] = {}
    row: Row = {}
    _flatten(result, "", row, lists)
    rows = {VALUES: [row]} | {name: _joined(table) for name, table in lists.items()}
    made = {name: of_rows(table) for name, table in rows.items()}
    return {name: table for name, table in made.items() if table}


def of_rows(rows: Sequence[Mapping[str, Any]]) -> Columns:
    """A column for each key of the rows, in order of appearance; None where a row lacks it."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def arrow(columns: Columns) -> "_core.Table":
    """Columns for libraries that read Arrow."""
    return _core.Table.of(json.dumps(list(columns.items())))


def _flatten(value: Mapping[str, Any], before: str, row: Row, lists: dict[str, list[Row]]) -> None:
    """Adds the numbers and texts of a result to `row`, and its lists of rows to `lists`."""
    for key, inner in value.items():
        name = before + key
        if isinstance(inner, Mapping):
            _flatten(inner, f"{name}_", row, lists)
        elif not isinstance(inner, list):
            row[name] = inner
        elif any(isinstance(one, Mapping) for one in inner):
            lists[name] = inner
        elif inner and all(isinstance(one, int | float) for one in inner):
            row |= {f"{name}_{place}": one for place, one in enumerate(inner, 1)}
        else:
            row[name] = "; ".join(map(str, inner)) or None


def _joined(rows: Sequence[Row]) -> list[Row]:
    """Rows without nested keys; lists of rows within rows are left to JSON."""
    found: list[Row] = []
    for row in rows:
        found.append({})
        _flatten(row, "", found[-1], {})
    return found
