"""Entries, by which results are shown: each has a title, a value in the result, and a unit. A
screen and a page write the same entries."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from gordon.human import binary, figures, short
from gordon.report.numbers import percent, sig

#: A table of a result.
Row = TypeVar("Row", bound=Mapping[str, Any])
#: A value of a table.
Value = Callable[[Any], Any]
Written = Callable[[Any], str]


@dataclass(frozen=True)
class Unit:
    """How a value is written on a screen, and on a page, whose headings have units."""

    on_screen: Written
    on_page: Written
    is_text: bool = False
    """Whether it is a text, which is aligned at the left."""


@dataclass(frozen=True)
class Entry(Generic[Row]):
    """A figure or a text of a result."""

    key: str
    """Its name in a page, by which tables are sorted."""
    title: str
    """Its heading."""
    value: Callable[[Row], Any]
    """The value of a row of the result, None if it is unknown."""
    unit: Unit
    hint: str = ""
    """Explanation at its heading on a page."""
    short: str = ""
    """Its heading on a screen, if it is another one."""
    order: Callable[[Row], Any] | None = None
    """The value by which a page sorts it. Default: the value that is shown."""

    def on_screen(self, row: Row, unknown: str = "") -> str:
        """The cell of a screen."""
        value = self.value(row)
        return unknown if value is None else self.unit.on_screen(value)

    def on_page(self, row: Row) -> str:
        """The cell of a page; a dash if the value is unknown."""
        value = self.value(row)
        return "–" if value is None else self.unit.on_page(value)

    def sorted_by(self, row: Row) -> Any:
        """The value by which a page sorts the row; an empty text if the value is unknown."""
        value = (self.order or self.value)(row)
        return "" if value is None else value


def of(*path: str) -> Value:
    """A value of a report by its path; None if it is missing."""

    def value(report: Mapping[str, Any]) -> Any:
        inner: Any = report
        for key in path:
            inner = inner.get(key) if inner else None
        return inner

    return value


def known(entries: Iterable[Entry[Row]], rows: Sequence[Row]) -> list[Entry[Row]]:
    """The entries that have a value in any row."""
    return [one for one in entries if any(one.value(row) is not None for row in rows)]


def with_prefix(unit: str) -> Unit:
    """Values with a prefix and a unit: `12.3 GB`."""
    return Unit(lambda value: short(value, unit), lambda value: short(value, unit))


TEXT = Unit(str, str, is_text=True)
COUNT = Unit(str, str)
SIZE = Unit(binary, binary)
NUMBER = Unit(figures, sig)
SECONDS = Unit(lambda value: short(value, "s"), sig)
MONEY = Unit(figures, figures)
SHARE = Unit("{:.0%}".format, percent)
