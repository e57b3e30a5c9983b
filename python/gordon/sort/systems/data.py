"""Files of systems: the shipped file, a user's file merged over it, and values set by option."""

import tomllib
from copy import deepcopy
from functools import cache
from importlib.resources import files
from os import PathLike, fspath
from typing import Any

from gordon import tables
from gordon.errors import GordonError, located
from gordon.files import read_text
from gordon.parts import unknown
from gordon.settings import split
from gordon.untyped import Config

Table = Config

PARTS = ("cpu", "drive", "board")
#: Keys of a user's file other than parts and systems.
OWN = ("records", "record_bytes", "cpu_power", "memory_power")
SET = "set for this run with --set"


@cache
def _shipped() -> Table:
    return _sized(tomllib.loads((files("gordon.sort.systems") / "paper.toml").read_text("utf-8")))


def _sized(table: Table) -> Table:
    """The table, each measured row with its number of records: a row keeps them when `records` is
    changed."""
    records = table.get("records")
    count = records.get("value") if isinstance(records, dict) else records
    systems = table.get("system")
    for system in systems.values() if isinstance(systems, dict) and type(count) is int else ():
        row = system.get("measured") if isinstance(system, dict) else None
        if isinstance(row, dict):
            row.setdefault("records", count)
    return table


def shipped() -> Table:
    """The systems of the paper and their parts, as their file has them."""
    return deepcopy(_shipped())


def read(path: str | PathLike[str]) -> Table:
    """The content of a user's file. Raises GordonError."""
    hint = "a TOML file of parts and systems, as in the guide"
    text = read_text(path, "the file of systems", hint)
    with located(fspath(path)):
        return tables.parse(text)


def joined(own: Table, where: str) -> tuple[Table, list[str]]:
    """The shipped tables with a user's parts and systems merged over them; the user's systems."""
    table = shipped()
    for key, value in _sized({"records": table["records"], **own}).items():
        if key in (*PARTS, "system"):
            if not isinstance(value, dict):
                raise GordonError(
                    f"{where}: {key} is not a table", f"[{key}.NAME]", kind="bad-value"
                )
            table[key] |= value
        elif key in OWN:
            table[key] = value
        elif key != "source":
            raise unknown("key", key, [*PARTS, "system", *OWN, "source"]).at(where)
    systems = list(own.get("system", {}))
    if not systems:
        raise GordonError(
            f"{where}: the file has no systems",
            "a table [system.NAME], as in the guide",
            kind="no-systems",
        )
    return table, systems


def change(table: Table, settings: list[str]) -> None:
    """`KEY=VALUE`, in place: `system.3B.cpu=core2-duo`. The value is checked with its table."""
    for setting in settings:
        key, text = split(setting, "system.3B.cpu=core2-duo")
        *folders, leaf = key.split(".")
        inner = table
        for at, folder in enumerate(folders):
            if at == 1 and folder not in inner:
                raise unknown(folders[0], folder, list(inner)).at(f"--set {key}")
            inner = inner.setdefault(folder, {})
            if not isinstance(inner, dict):
                raise GordonError(
                    f"--set {key}: `{folder}` is a value, not a table", kind="not-a-table"
                )
        inner[leaf] = _changed(inner.get(leaf), text)


def _changed(before: Any, text: str) -> Any:
    """Words stay words; what has a source gets that of the command line."""
    try:
        value: Any = int(text)
    except ValueError:
        try:
            value = float(text)
        except ValueError:
            value = text
    if isinstance(before, dict) and "value" in before:
        return {"value": value, "assumed": SET}
    return text if isinstance(before, str) else value
