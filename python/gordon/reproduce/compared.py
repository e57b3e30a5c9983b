"""Papers next to Gordon: a paper's tables and figures, computed again and compared."""

from collections.abc import Sequence
from os import PathLike
from typing import ClassVar

from gordon import bundled, fields
from gordon.errors import GordonError
from gordon.files import made_folder, write_all
from gordon.options import Path as GivenPath
from gordon.options import Progress, Settings
from gordon.parts import unknown
from gordon.reproduce.joulesort.report import Study
from gordon.reproduce.papers import Outcome, Paper, Place, outcomes, paper, summary
from gordon.reproduce.row import Comparison, as_result

PAPERS = ("gordon", "joulesort", "flashcache")


class PaperResult(fields.PaperResult):
    """A paper's figures next to Gordon's: a table of `items`, and those that are `not_compared`."""

    ROWS: ClassVar = "items"

    def __init__(self, report: Comparison | Study, of: Paper, places: Sequence[Place]) -> None:
        super().__init__(report)
        self.of, self.places = of, places

    def says(self) -> str:
        found = self["summary"]
        return f"{found['agree']} of {found['figures']} figures and statements agree"

    @property
    def outcomes(self) -> list[Outcome]:
        """The figures of each table and figure, or the reason that there are none."""
        return outcomes(self.places, self["items"])

    def pages(self, folder: str | PathLike[str]) -> list[str]:
        """Writes a page for each table and figure, and index.html with the summary; returns their
        paths. Raises GordonError if it cannot."""
        from gordon.reproduce.page import pages

        place = made_folder(folder)
        found = pages(self.of, self["items"], self.outcomes)
        write_all({str(place / name): text for name, text in found.items()})
        return [str(place / name) for name in found]


def compare(
    name: str = "gordon",
    *,
    runs: GivenPath | None = None,
    figure: str | None = None,
    quick: bool = False,
    set: Settings = (),
    progress: Progress | None = None,
) -> PaperResult:
    """Computes the tables and figures of a paper again: `gordon`, `joulesort` or `flashcache`.

    `figure` is one place of the paper: `table 6`, `section 6.3`, or `6` for Figure 6. `quick`
    leaves out repeats of runs, nine tenths of a generated load, and what a server measures. `runs`
    is a folder with runs FOLDER/JOB/1 of the Gordon paper's jobs, by default the bundled ones.
    `set` overrides values of the systems of the JouleSort paper. `progress` is called with the
    steps (done, total). Raises GordonError.
    """
    if name not in PAPERS:
        raise unknown("paper", name, list(PAPERS))
    for option, value, its in (("runs", runs, "gordon"), ("set", set, "joulesort")):
        if value not in (None, ()) and name != its:
            raise GordonError(
                f"{option} does not apply to the paper {name}",
                f'compare("{its}", {option}=...)',
                kind="needs-option",
            )
    of = paper(name)
    places = of.chosen(figure)
    wanted = {place.place.casefold() for place in places}
    found: Comparison | Study
    match name:
        case "gordon":
            found = _gordon(runs, figure, quick, progress)
        case "joulesort":
            from gordon.reproduce.joulesort import report

            found = report(set)
        case _:
            found = _flashcache(wanted, quick, progress)
    found["items"] = [item for item in found["items"] if item["table"].casefold() in wanted]
    found["summary"] = summary(outcomes(places, found["items"]))
    return PaperResult(found, of, places)


def _gordon(
    runs: GivenPath | None, figure: str | None, quick: bool, progress: Progress | None
) -> Comparison:
    from gordon.reproduce.suite import rows

    folder = bundled.FOLDER if runs is None else runs
    return as_result(rows(folder, first_only=quick, figure=figure, progress=progress))


def _flashcache(wanted: set[str], quick: bool, progress: Progress | None) -> Comparison:
    from gordon.reproduce import flashcache, flashcache_served

    served = not quick and flashcache_served.is_possible() and wanted & flashcache_served.TABLES
    steps = flashcache.STEPS + (flashcache_served.STEPS if served else 0)

    def after(done: int) -> Progress | None:
        if progress is None:
            return None
        return lambda at, _: progress(done + at, steps)

    requests = flashcache.QUICK if quick else flashcache.REQUESTS
    measured = flashcache.rows(flashcache.measure(requests, after(0)))
    if served:
        measured += flashcache_served.rows(
            flashcache_served.measure(progress=after(flashcache.STEPS))
        )
    rows = [row for row in measured if row.table.casefold() in wanted]
    return {**as_result(rows), "requests": requests}
