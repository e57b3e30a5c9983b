"""Tables and text for a terminal or a pipe.

A truncated number is wrong, so nothing is truncated: on a terminal too narrow for a table, the
least important columns are left out, which a line below it says, and text is wrapped; columns that
still do not fit are printed as a table below. A pipe gets all columns, with one line per row. Plain
text in a pipe does not import rich, which takes longer than many commands.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TextIO, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

    from gordon.report.entries import Entry, Row

Item = TypeVar("Item")
GAP = 2
#: Variables with which rich takes a pipe for a terminal.
_FORCED = ("FORCE_COLOR", "TTY_COMPATIBLE")


@dataclass
class Column:
    title: str
    cells: list[str]
    right: bool = False
    wraps: bool = False
    spare: int = 0  # left out of a narrow terminal, the highest first; 0: never
    enough: int | None = None  # cells for which others are left out, if it wraps; None: its width

    @property
    def texts(self) -> list[str]:
        return [self.title, *self.cells]

    @property
    def is_plain(self) -> bool:
        """Whether each character takes one cell, and none is a control character."""
        return all(t.isascii() and t.isprintable() and t[-1:] != " " for t in self.texts)

    @property
    def needed(self) -> int:
        """Cells for which spare columns are left out."""
        if not self.wraps or self.enough is None:
            return self.width
        return max(self.longest_word, min(self.enough, self.width))

    @property
    def longest_word(self) -> int:
        """Cells of the longest word, which a column that wraps keeps on one line."""
        from rich.cells import cell_len

        return max(cell_len(word) for text in self.texts for word in (*text.split(), ""))

    @property
    def width(self) -> int:
        if self.is_plain:
            return max(map(len, self.texts))
        from rich.cells import cell_len

        return max(map(cell_len, self.texts))


@dataclass(frozen=True)
class ColumnsOf(Generic[Item]):
    """Makes columns of a table with a row for each item."""

    items: Sequence[Item]

    def text(self, title: str, cell: Callable[[Item], str], **how: Any) -> Column:
        """A column of texts."""
        return Column(title, [cell(item) for item in self.items], **how)

    def number(self, title: str, cell: Callable[[Item], str], **how: Any) -> Column:
        """A column of numbers, which are aligned at the right."""
        return self.text(title, cell, right=True, **how)


class Output:
    """Where one kind of output goes: the command's answer, or everything else."""

    def __init__(self, stderr: bool) -> None:
        self._stderr = stderr

    @property
    def _file(self) -> TextIO | None:
        """None where it was closed before Python began."""
        return sys.stderr if self._stderr else sys.stdout

    @cached_property
    def console(self) -> "Console":
        from rich.console import Console

        return Console(stderr=self._stderr, highlight=False, markup=False)

    @property
    def is_terminal(self) -> bool:
        file = self._file
        may_be = file is not None and file.isatty()
        return (may_be or any(name in os.environ for name in _FORCED)) and self.console.is_terminal

    @property
    def line_width(self) -> int | None:
        """Columns of the terminal; `None` for a pipe."""
        return self.console.width if self.is_terminal else None

    def text(self, line: str, style: str = "") -> None:
        if line.isprintable() and not self.is_terminal:
            self._plain([line])
            return
        from rich.text import Text

        self.console.print(Text(line, style=style), soft_wrap=not self.is_terminal)

    def table(self, columns: list[Column]) -> None:
        """Prints a table; nothing of one without rows."""
        if not any(c.cells for c in columns):
            return
        if all(c.is_plain and c.width for c in columns) and not self.is_terminal:
            self._plain(_rows(columns))
            return
        from rich.table import Table
        from rich.text import Text

        shown = columns
        for column in sorted((c for c in columns if c.spare), key=lambda c: -c.spare):
            if self.line_width is None or _needed(shown) <= self.line_width:
                break
            shown = [c for c in shown if c is not column]
        left_out = [c.title for c in columns if not any(c is one for one in shown)]
        for part in self._fitted(shown):
            table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
            for c in part:
                table.add_column(
                    c.title, justify="right" if c.right else "left", no_wrap=True, min_width=c.width
                )
            for row in zip(*(c.cells for c in part), strict=True):
                table.add_row(*map(Text, row))
            # A terminal that is narrower wraps the lines; rich would cut them.
            console = self.console
            before, console.width = console.width, width(part)
            console.print(table)
            console.width = before
        if left_out:
            self.text(f"left out, as the terminal is narrow: {', '.join(left_out)}")

    def _fitted(self, columns: list[Column]) -> Iterable[list[Column]]:
        """Tables of the columns, each as wide as the terminal at most, and with the names of the
        rows."""
        line_width = self.line_width
        if line_width is None or width(columns) <= line_width:
            return [columns]
        wrapped = self._wrapped(columns, line_width)
        if width(wrapped) <= line_width:
            return [wrapped]
        return [self._wrapped(part, line_width) for part in _parts(columns, line_width)]

    def _wrapped(self, columns: list[Column], line_width: int) -> list[Column]:
        """The columns with the lines of each cell as cells, as narrow as they need to be."""
        from rich.text import Text

        widths = [c.width for c in columns]
        while _joined(widths) > line_width:
            wider = [i for i, c in enumerate(columns) if c.wraps and widths[i] > c.longest_word]
            if not wider:
                break
            widths[max(wider, key=lambda i: widths[i])] -= 1
        rows: list[list[str]] = []
        for row in zip(*(c.cells for c in columns), strict=True):
            cells = [
                [line.plain.rstrip() for line in Text(cell).wrap(self.console, size)] or [""]
                if column.wraps
                else [cell]
                for column, cell, size in zip(columns, row, widths, strict=True)
            ]
            for number in range(max(map(len, cells))):
                rows.append([lines[number] if number < len(lines) else "" for lines in cells])
        return [
            replace(column, cells=[row[at] for row in rows], wraps=False)
            for at, column in enumerate(columns)
        ]

    def _plain(self, lines: Iterable[str]) -> None:
        if (file := self._file) is not None:
            file.write("".join(f"{line}\n" for line in lines))
            file.flush()


def of_entries(
    entries: "Iterable[Entry[Row]]",
    rows: "Sequence[Row]",
    unknown: str = "",
    spare: Mapping[str, int] | None = None,
) -> list[Column]:
    """A column for each entry, with `spare` of its key."""
    return [
        Column(
            entry.short or entry.title,
            [entry.on_screen(row, unknown) for row in rows],
            right=not entry.unit.is_text,
            spare=(spare or {}).get(entry.key, 0),
        )
        for entry in entries
    ]


def _rows(columns: list[Column]) -> Iterable[str]:
    """A table's lines, as rich lays them out in a pipe."""
    widths = [(c.width, ">" if c.right else "<") for c in columns]
    for row in zip(*(c.texts for c in columns), strict=True):
        yield (" " * GAP).join(
            f"{text:{side}{size}}" for text, (size, side) in zip(row, widths, strict=True)
        )


def _parts(columns: list[Column], line_width: int) -> Iterable[list[Column]]:
    """The columns of each table. A table has the first column, and as many others as fit in a line
    if columns that wrap take half of it. A single column that does not fit makes its table too
    wide."""
    first, *rest = columns
    part = [first]
    for column in rest:
        widths = [min(c.width, line_width // 2) if c.wraps else c.width for c in (*part, column)]
        if len(part) > 1 and _joined(widths) > line_width:
            yield part
            part = [first]
        part.append(column)
    yield part


def width(columns: Iterable[Column]) -> int:
    """The width of the table of these columns."""
    return _joined(c.width for c in columns)


def _needed(columns: Iterable[Column]) -> int:
    """The width of their table, if columns that wrap are wide enough."""
    return _joined(c.needed for c in columns)


def _joined(widths: Iterable[int]) -> int:
    listed = list(widths)
    return sum(listed) + GAP * (len(listed) - 1)


def data() -> Output:
    """The console of a command's answer."""
    return Output(stderr=False)


def messages() -> Output:
    """The console of everything that is not the answer."""
    return Output(stderr=True)
