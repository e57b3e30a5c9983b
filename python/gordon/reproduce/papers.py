"""The papers: their tables, figures and sections, and the numbers that they print, of
`papers.toml`."""

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TypedDict

from gordon.errors import GordonError
from gordon.reproduce.row import Item, NotReproduced, Summary


@dataclass(frozen=True, kw_only=True)
class Place:
    """A table, figure or section of a paper."""

    place: str
    """Its name, which is also the table of its rows."""
    of: str
    """Section of the paper that discusses it."""
    title: str
    by: str = ""
    """The part of the package that computes it."""
    missing: str = ""
    """Why it cannot be computed, if it cannot."""
    see: str = ""
    """Nearest command for a place that cannot be computed here."""


class Bounds(TypedDict, total=False):
    """The ends of a printed number, as fields of `Row`."""

    low: float
    high: float


@dataclass(frozen=True)
class Paper:
    """A paper."""

    name: str
    title: str
    places: tuple[Place, ...]
    numbers: dict[str, Bounds]
    """Printed numbers: `low`, `high` or both, as `Row` has them."""

    def chosen(self, figure: str | None) -> list[Place]:
        """All places, or that of a name: `table 6`, or `6` for Figure 6. Raises GordonError."""
        if figure is None:
            return list(self.places)
        wanted = (f"figure {figure}" if figure.isdecimal() else figure).casefold()
        found = [one for one in self.places if wanted in one.place.casefold().split(", ")]
        found = found or [one for one in self.places if one.place.casefold() == wanted]
        if not found:
            raise GordonError(
                f"the paper ({self.title}) has no {wanted}", self._known(), kind="unknown-figure"
            )
        return found

    def _known(self) -> str:
        """The places with figures of ours: figures, tables and sections by number, then others."""
        numbers: dict[str, list[str]] = {"figure": [], "table": [], "section": []}
        others = []
        names = {name.casefold() for one in self.places if one.by for name in one.place.split(", ")}
        for name in sorted(names, key=lambda name: (_number(name), name)):
            kind, _, number = name.partition(" ")
            if kind in numbers:
                numbers[kind].append(number)
            else:
                others.append(name)
        listed = [f"{kind} {', '.join(found)}" for kind, found in numbers.items() if found]
        return "; ".join(listed + others)


def _number(place: str) -> list[int]:
    """The number at the end of a place, such as 4.2.2."""
    number = place.rpartition(" ")[2]
    return [int(part) for part in number.split(".") if part.isdecimal()]


@cache
def paper(name: str) -> Paper:
    """The paper of a name: gordon, joulesort or flashcache."""
    text = (files("gordon.reproduce") / "papers.toml").read_text(encoding="utf-8")
    found = tomllib.loads(text)[name]
    places = tuple(Place(**place) for place in found["place"])
    return Paper(name, found["title"], places, found["numbers"])


@dataclass(frozen=True)
class Outcome:
    """The result of a place: its figures and statements, or the reason that there are none."""

    place: Place
    figures: Sequence[Item]

    @property
    def agree(self) -> int:
        return sum(item["agrees"] is True for item in self.figures)


def outcomes(places: Iterable[Place], items: Sequence[Item]) -> list[Outcome]:
    """The outcome of each place, in the order of the paper."""
    return [
        Outcome(
            place, [item for item in items if item["table"].casefold() == place.place.casefold()]
        )
        for place in places
    ]


def summary(found: Sequence[Outcome]) -> Summary:
    """The outcomes as JSON has them."""
    computed = [one for one in found if not one.place.missing]
    figures = sum(len(one.figures) for one in computed)
    agree = sum(one.agree for one in computed)
    return {
        "figures": figures,
        "agree": agree,
        "differ": figures - agree,
        "places": [
            {
                "place": one.place.place,
                "title": one.place.title,
                "section": one.place.of,
                "figures": len(one.figures),
                "agree": one.agree,
            }
            for one in computed
        ],
        "not_reproduced": [_missing(one.place) for one in found if one.place.missing],
    }


def _missing(place: Place) -> NotReproduced:
    row: NotReproduced = {"place": place.place, "title": place.title, "reason": place.missing}
    if place.see:
        row["see"] = place.see
    return row
