"""Tables and text in the terminal, and in a pipe.

A number that is cut is wrong, so nothing is cut: where a terminal is too narrow for a table, the
columns least needed are left out, and text is wrapped. A pipe gets all columns, and a line of text
for each.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

GAP = 2


@dataclass
class Column:
    title: str
    cells: list[str]
    right: bool = False
    wraps: bool = False
    spare: int = 0  # left out of a narrow terminal, the highest first; 0: never

    @property
    def width(self) -> int:
        return max(map(cell_len, [self.title, *self.cells]))


class Output(Console):
    """A console for one kind of output: the command's answer, or everything else."""

    def __init__(self, stderr: bool) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False)

    @property
    def room(self) -> int | None:
        """Columns that fit; a pipe has no end."""
        return self.width if self.is_terminal else None

    def text(self, line: str, style: str = "") -> None:
        self.print(Text(line, style=style), soft_wrap=not self.is_terminal)

    def table(self, columns: list[Column]) -> None:
        for column in sorted((c for c in columns if c.spare), key=lambda c: -c.spare):
            if self.room is None or width(columns) <= self.room:
                break
            columns = [c for c in columns if c is not column]
        table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
        for c in columns:
            fixed = not (c.wraps and self.is_terminal)
            table.add_column(
                c.title,
                justify="right" if c.right else "left",
                no_wrap=fixed,
                min_width=c.width if fixed else None,
                overflow="fold",
            )
        for row in zip(*(c.cells for c in columns), strict=True):
            table.add_row(*map(Text, row))
        wraps = self.is_terminal and any(c.wraps for c in columns)
        before, self.width = self.width, self.width if wraps else width(columns)
        self.print(table)
        self.width = before


def width(columns: Iterable[Column]) -> int:
    """Of the table they make."""
    widths = [c.width for c in columns]
    return sum(widths) + GAP * (len(widths) - 1)


def data() -> Output:
    """The console of a command's answer."""
    return Output(stderr=False)


def messages() -> Output:
    """The console of everything that is not the answer."""
    return Output(stderr=True)
