"""The page of a measurement: a sentence, figures, tables, terms and inputs in one HTML file that
works offline. The same result gives the same bytes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gordon import __version__
from gordon.report import page
from gordon.report.entries import Entry, known
from gordon.untyped import Spec

#: Letters of a text that is not wrapped.
LONG = 40


@dataclass(frozen=True)
class Table:
    """A table of a page: a row for each of `rows`, a column for each entry that has a value."""

    name: str
    title: str
    rows: Sequence[Any]
    columns: Sequence[Entry[Any]]
    note: str = ""
    marked: Callable[[Any], bool] = lambda _: False
    """Rows with a dot."""
    mark: str = ""
    """Meaning of the dot."""
    is_folded: bool = False
    """Whether only its title is shown until it is clicked."""

    @property
    def entries(self) -> list[Entry[Any]]:
        return known(self.columns, self.rows)

    @property
    def wrapped(self) -> list[str]:
        """The keys of columns with sentences."""
        return [
            one.key
            for one in self.entries
            if one.unit.is_text and any(len(one.on_page(row)) > LONG for row in self.rows)
        ]


@dataclass(frozen=True, kw_only=True)
class Page:
    """The content of a page."""

    what: str
    """The command."""
    subject: str
    """The thing that was measured, for the line below the answer."""
    sentence: str
    """The answer."""
    lead: str
    figures: Mapping[str, Spec]
    """Figures by name, each with its title in the layout."""
    notes: Mapping[str, str]
    """Explanations of figures."""
    tables: Sequence[Table]
    terms: Mapping[str, str]
    warnings: Sequence[tuple[str, str]]
    """Pairs of the part that a warning is of, which can be empty, and its text."""
    settings: Mapping[str, object]
    """The inputs."""
    result: Any
    """The whole result."""


def render(shown: Page) -> str:
    """The page's HTML."""
    layouts = {name: spec["layout"] for name, spec in shown.figures.items()}
    return page.render(
        "measured",
        {"figures": shown.figures, "result": shown.result},
        script="runs",
        first={"provenance": {"version": __version__}},
        what=shown.what,
        trace=shown.subject,
        sentence=shown.sentence,
        lead=shown.lead,
        titles={name: layout["title"]["text"] for name, layout in layouts.items()},
        heights={name: layout.get("height") for name, layout in layouts.items()},
        notes={name: shown.notes.get(name, "") for name in shown.figures},
        tables=[table for table in shown.tables if table.rows],
        terms=shown.terms,
        warnings=list(shown.warnings),
        settings=shown.settings,
    )
