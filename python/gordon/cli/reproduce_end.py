"""The end of the commands that compare with a paper: pages, JSON, and the summary."""

from collections.abc import Callable, Sequence

from gordon.cli import output
from gordon.cli.terminal import Column, Output
from gordon.options.outputs import Tables
from gordon.reproduce import PaperResult
from gordon.reproduce.page import ours, printed
from gordon.reproduce.papers import Outcome
from gordon.reproduce.row import TOLERANCE, Item


def finish(
    result: PaperResult,
    view: Callable[[Output], None],
    to: Tables,
    folder: str | None,
    plots: Sequence[tuple[str | None, Callable[[str], None]]] = (),
) -> None:
    """Writes JSON, pages and pictures, and prints the comparison and its summary."""
    items = result["items"]

    def screen(console: Output) -> None:
        if len(result.places) == len(result.of.places):
            view(console)
        elif items:
            _items(console, items)
        _close(console, items, result.outcomes)

    output.finish(screen, made=[(folder, result.pages), *plots], to=to, result=result)


def _items(console: Output, items: Sequence[Item]) -> None:
    """A row for each figure of a place."""
    jobs = [item["job"] for item in items]
    console.table(
        [
            Column("figure", [item["what"] for item in items], wraps=True),
            *([Column("of", jobs, spare=1)] if any(jobs) else []),
            Column("paper", [printed(item) for item in items], right=True, wraps=True),
            Column("ours", [ours(item) for item in items], right=True, wraps=True),
            Column("agrees", ["yes" if item["agrees"] else "no" for item in items]),
        ]
    )


def _close(console: Output, items: Sequence[Item], found: Sequence[Outcome]) -> None:
    """How many figures agree, and what cannot be reproduced."""
    missing = [one.place for one in found if one.place.missing]
    if missing:
        console.table(
            [
                Column("not reproduced", [place.place for place in missing]),
                Column("reason", [place.missing for place in missing], wraps=True),
                Column("nearest command", [place.see for place in missing], wraps=True, spare=1),
            ]
        )
    agree = sum(item["agrees"] is True for item in items)
    ended = []
    if items:
        of = f"{agree} of {len(items)} figures and statements"
        ended.append(f"{of} agree within {TOLERANCE:.0%} or a bound")
    if agree < len(items):
        ended.append(f"{len(items) - agree} differ, with reasons in JSON and pages")
    if len(missing) == 1:
        ended.append("1 table or figure is not reproduced")
    elif missing:
        ended.append(f"{len(missing)} tables and figures are not reproduced")
    console.text("; ".join(ended))
