"""Results as tables: columns by name, a value for each row.

The table `values` has one row, with all values of a result except lists of rows; nested keys are
joined by `_` (`run_inputs_energy_j`). Each list of rows is a table of its own, by its key.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from gordon import _core
from gordon.untyped import Row

#: Rows that a notebook shows, and names of columns that a text shows.
SHOWN, SHOWN_NAMES = 20, 6
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


def as_csv(columns: Columns) -> str:
    """Columns as CSV, with `true` and `false` as in JSON."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([str(one).lower() if isinstance(one, bool) else one for one in row])
    return text.getvalue()


def said(rows: int, names: Sequence[str]) -> str:
    """A table in a line: its rows and the first of its columns."""
    shown = [*names[:SHOWN_NAMES], "..."] if len(names) > SHOWN_NAMES else names
    return f"<Table: {rows:,} row{'' if rows == 1 else 's'} of {', '.join(shown)}>"


def html(table: "_core.Table") -> str:
    """The first rows of a table, for notebooks."""
    first = json.loads(table.head(SHOWN).json())
    return html_of({name: first[name] for name in table.names()}, len(table))


def html_of(columns: Columns, rows: int) -> str:
    """The first rows of columns, and how many more of `rows` there are."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    cells = zip(*(column[:SHOWN] for column in columns.values()), strict=True)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(short(value))}</td>" for value in row) + "</tr>"
        for row in cells
    )
    more = f"<p>{rows - SHOWN:,} more rows</p>" if rows > SHOWN else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def short(value: Any) -> str:
    """A value of a table that is only looked at."""
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


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
