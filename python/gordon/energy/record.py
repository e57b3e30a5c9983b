"""Runs a command while meters are read; the report and the log."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, TypedDict

import gordon
from gordon import fields
from gordon.energy import account, find, log, work
from gordon.energy.account import Account
from gordon.energy.meter import How, Meter
from gordon.energy.series import Summary, summary
from gordon.energy.session import Row, Session
from gordon.energy.work import UsageReport
from gordon.errors import GordonError
from gordon.human import duration
from gordon.options import several, words
from gordon.options.meters import Metering, Rest


class Spread(Summary):
    """A summary of values of one source."""

    how: How


class Used(UsageReport):
    """A run."""

    how: How


class Report(TypedDict):
    """The report of a recording."""

    version: str
    command: list[str]
    started_unix_s: float
    interval_s: float
    exit_status: int
    records: float | None
    wall_s: Spread
    runs: list[Used]
    meters: list[Account]
    warnings: list[str]


class Recording(fields.RecordingResult):
    """A recording: the report, and `rows`, the samples of the log."""

    ROWS: ClassVar = "meters"

    def __init__(self, report: Report, rows: list[Row]) -> None:
        super().__init__(report)
        self.rows = rows

    def says(self) -> str:
        energy = ", ".join(
            f"{one['name']} {one['energy_j']['mean']:.4g} J"
            for one in self["meters"]
            if one["energy_j"] is not None
        )
        return (
            f"{len(self['runs'])} runs, {duration(self['wall_s']['mean'])}{energy and ', '}{energy}"
        )

    def log(self) -> str:
        """The samples as CSV."""
        return log.text(self.rows)


def record(
    command: Sequence[str],
    *,
    meters: Sequence[str] = (),
    interval_s: float = Metering.interval_s,
    idle_s: float = Rest.idle_s,
    tail_s: float = Rest.tail_s,
    runs: int = 1,
    records: float | None = None,
    root: Path = find.ROOT,
    stdout: int | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> Recording:
    """Runs a command `runs` times in succession while meters are read.

    `command` is a list of words, `meters` are names as of `gordon meter list`; the default is all
    meters that are found, else the model. Times are in seconds: `interval_s` between samples,
    `idle_s` of the idle baseline before the first run, `tail_s` at most after the last run.
    `records` is the number of records that a run processes, for records per joule. A run that fails
    is the last one; its status is `exit_status` of the result. Raises GordonError if there is no
    such program or meter.
    """
    argv = words(command)
    work.check(argv)
    opened: list[Meter] = find.chosen(several(meters), root)
    with Session(opened, interval_s) as session:
        if idle_s > 0:
            notify(f"idle baseline, {idle_s:g} s")
        session.rest(idle_s)
        for _ in range(runs):
            if session.run(lambda: work.run(argv, stdout)).exit_status != 0:
                break
        if tail_s > 0:
            notify(f"tail, at most {tail_s:g} s")
        session.wait(tail_s)
    status = session.runs[-1].exit_status
    return Recording(report(session, argv, runs, status, records), session.rows())


def report(
    session: Session, command: list[str], requested: int, status: int, records: float | None
) -> Report:
    """The report of a session; each meter names the source of its values."""
    warnings = []
    if len(session.runs) < requested:
        warnings.append(
            f"ended after {len(session.runs)} of {requested} runs: the last run failed with exit "
            f"status {status}"
        )
    return {
        "version": gordon.__version__,
        "command": command,
        "started_unix_s": session.unix_s,
        "interval_s": session.interval_s,
        "exit_status": status,
        "records": records,
        "wall_s": {"how": "measured", **spread([used.span.seconds for used in session.runs])},
        "runs": [{"how": "measured", **used.about()} for used in session.runs],
        "meters": account.of(session, records),
        "warnings": warnings,
    }


def spread(values: list[float]) -> Summary:
    """Mean and sample deviation. Raises GordonError for an empty list."""
    found = summary(values)
    if found is None:
        raise GordonError("there are no runs to summarise", kind="no-runs")
    return found
