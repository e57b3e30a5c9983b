"""Rows of a result as CSV, with the same numbers as `--json`."""

from collections.abc import Mapping, Sequence
from typing import Any

from gordon.columns import Columns, as_csv, of_rows
from gordon.survey.prices import day_of_prices
from gordon.survey.results import Result
from gordon.untyped import Row


def to_csv(result: Result) -> str:
    """One line per design; nested keys are joined with `_`, with the unit of energies last. The
    stages of a cluster, which are rows of their own, are only in `--json`."""
    return rows_to_csv(_rows(result))


def table(result: Result) -> Columns:
    """The designs of a result by column, with the names of `to_csv`."""
    return _columns(_rows(result))


def _rows(result: Result) -> list[Row]:
    """The designs, with the day of their prices and the use that their bills are of."""
    common = {"prices_date": day_of_prices(result), "operation": result.get("operation")}
    known = {key: value for key, value in common.items() if value is not None}
    return [{**design, **known} for design in result["designs"]]


def fastest(result: Result) -> str:
    """The number of designs, and the first one on the front."""
    first = f", fastest {result['front'][0]}" if result["front"] else ""
    return f"{result['designs_total']} designs{first}"


def rows_to_csv(tables: Sequence[Mapping[str, Any]]) -> str:
    """One line per table; nested keys are joined with `_`, with the unit of energies last."""
    return as_csv(_columns(tables))


def _columns(tables: Sequence[Mapping[str, Any]]) -> Columns:
    return of_rows([_flat(table) for table in tables])


def _flat(design: Mapping[str, Any]) -> Row:
    row: Row = {}
    for key, field in design.items():
        if _is_table(field):
            continue
        if isinstance(field, dict):
            stem, unit = (key[:-2], "_j") if key.endswith("_j") else (key, "")
            for inner, number in _flat(field).items():
                row[f"{stem}_{inner}{unit}"] = number
        elif isinstance(field, list):
            row[key] = " ".join("-" if item is None else str(item) for item in field)
        elif isinstance(field, bool):
            row[key] = str(field).lower()
        elif field is not None:
            row[key] = field
    return row


def _is_table(field: Any) -> bool:
    """Whether a value has rows of its own."""
    return isinstance(field, list) and any(isinstance(row, dict) for row in field)
