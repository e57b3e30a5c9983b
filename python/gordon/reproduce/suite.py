"""All comparisons with the Gordon paper, of a folder of runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gordon import bundled
from gordon.errors import GordonError
from gordon.options import Path as GivenPath
from gordon.options import Progress
from gordon.reproduce import array, costs, designs, disk_use, flash_array
from gordon.reproduce.papers import paper
from gordon.reproduce.row import NEAR, Compared, Row
from gordon.run import folder as run_folder
from gordon.workload.jobs import JOBS


def jobs(folder: GivenPath = bundled.FOLDER) -> dict[str, list[Path]]:
    """The runs of each job in a folder of FOLDER/JOB/N, in the order of Table 2. Raises GordonError
    with the kind `no-runs` if there is none."""
    found = {}
    for job in JOBS:
        numbered = [run for run in Path(folder, job).glob("*/") if run.name.isdecimal()]
        runs = sorted(filter(run_folder.is_run, numbered), key=lambda run: int(run.name))
        if runs:
            found[job] = runs
    if not found:
        raise GordonError(
            f"{folder} has no runs of the jobs of the Gordon paper",
            "a folder with runs FOLDER/JOB/1, as of `gordon workload run all --repeats 2`",
            kind="no-runs",
        )
    return found


def rows(
    folder: GivenPath = bundled.FOLDER,
    *,
    first_only: bool = False,
    figure: str | None = None,
    progress: Progress | None = None,
) -> list[Row]:
    """All comparisons, or those of a table or figure (`table 6`; `6` for Figure 6); with
    `first_only`, of the first run of each job. `progress` is called with the replays of flash
    arrays (done, total). Raises GordonError."""
    runs = jobs(folder)
    if first_only:
        runs = {job: of_job[:1] for job, of_job in runs.items()}
    parts: dict[str, Callable[[], list[Row]]] = {
        "disk use": lambda: disk_use.rows([disk_use.of(job, runs[job]) for job in runs]),
        "jobs": lambda: flash_array.rows(flash_array.simulate(runs, progress)),
        "designs": lambda: designs.rows(designs.run(runs)),
        "array": array.rows,
        "racks": costs.racks,
        "petabyte": costs.petabyte,
        "plans": costs.plans,
    }
    places = paper("gordon").chosen(figure)
    wanted = {place.by for place in places}
    names = {place.place for place in places}
    found = [row for name, part in parts.items() if name in wanted for row in part()]
    return found if figure is None else [row for row in found if row.table in names]


@dataclass(frozen=True)
class Agreement:
    """How many figures of a table of the paper agree, and how many are near."""

    table: str
    figures: int
    agree: int
    near: int


def agreement(rows: Sequence[Compared]) -> list[Agreement]:
    """One entry for each table, in the order of names."""
    found = []
    for name in sorted({row["table"] for row in rows}):
        of = [row for row in rows if row["table"] == name and row["agrees"] is not None]
        agree = sum(bool(row["agrees"]) for row in of)
        near = sum(1 / NEAR <= (row["ratio"] or 0) <= NEAR for row in of)
        found.append(Agreement(name, len(of), agree, near))
    return found
