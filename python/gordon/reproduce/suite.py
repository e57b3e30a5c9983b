"""All comparisons with the paper, of a folder of runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gordon import bundled
from gordon.errors import GordonError
from gordon.options import Path as GivenPath
from gordon.options import Progress
from gordon.reproduce import designs, disk_use, flash_array
from gordon.reproduce.row import NEAR, Row
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
    progress: Progress | None = None,
) -> list[Row]:
    """All comparisons: Table 2, Figure 5 and section 4.2.2, Table 6, Figures 6 to 8, and the
    claims; with `first_only`, of the first run of each job. `progress` is called with the replays
    of flash arrays (done, total). Raises GordonError."""
    runs = jobs(folder)
    if first_only:
        runs = {job: of_job[:1] for job, of_job in runs.items()}
    found = disk_use.rows([disk_use.of(job, runs[job]) for job in runs])
    found += flash_array.rows(flash_array.simulate(runs, progress))
    found += designs.rows(designs.run(runs))
    return found


@dataclass(frozen=True)
class Agreement:
    """How many figures of a table of the paper agree, and how many are near."""

    table: str
    figures: int
    agree: int
    near: int


def agreement(rows: Sequence[Row]) -> list[Agreement]:
    """One entry for each table, in the order of names."""
    found = []
    for name in sorted({row.table for row in rows}):
        of = [row for row in rows if row.table == name and row.agrees is not None]
        agree = sum(bool(row.agrees) for row in of)
        near = sum(1 / NEAR <= (row.ratio or 0) <= NEAR for row in of)
        found.append(Agreement(name, len(of), agree, near))
    return found
