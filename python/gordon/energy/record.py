"""A command beside meters: the report and the log."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gordon
from gordon._core import GordonError
from gordon.energy import account, find, log, work
from gordon.energy.meter import Meter
from gordon.energy.series import summary
from gordon.energy.session import Session
from gordon.energy.work import Usage
from gordon.options import several, words

IDLE_S, TAIL_S, INTERVAL_S = 10.0, 5.0, 1.0


@dataclass(frozen=True)
class Recording:
    """What `--json` writes, and the log."""

    json: dict[str, Any]
    rows: list[dict[str, Any]]

    @property
    def exit_status(self) -> int:
        status: int = self.json["exit_status"]
        return status

    def log(self) -> str:
        """As CSV."""
        return log.text(self.rows)


def record(
    command: Sequence[str],
    *,
    meters: Sequence[str] = (),
    interval_s: float = INTERVAL_S,
    idle_s: float = IDLE_S,
    tail_s: float = TAIL_S,
    runs: int = 1,
    records: float | None = None,
    root: Path = find.ROOT,
    stdout: int | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Recording:
    """Runs a command so many times, one right after the other, beside the meters of those names.
    A run that fails is the last one."""
    argv = words(command)
    work.check(argv)
    opened: list[Meter] = find.chosen(several(meters), root)
    with Session(opened, interval_s) as session:
        if idle_s > 0:
            tell(f"idle for {idle_s:g} s")
        session.rest(idle_s)
        for _ in range(runs):
            if session.run(lambda: work.run(argv, stdout)).exit_status != 0:
                break
        if tail_s > 0:
            tell(f"the tail, {tail_s:g} s at most")
        session.wait(tail_s)
    status = session.runs[-1].exit_status
    return Recording(report(session, argv, runs, status, records), session.rows())


def report(
    session: Session, command: list[str], asked: int, status: int, records: float | None
) -> dict[str, Any]:
    """Everything about it, each meter with how its values are known."""
    warnings = []
    if len(session.runs) < asked:
        warnings.append(f"{len(session.runs)} of {asked} runs: the last failed with {status}")
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


def spread(values: list[float]) -> dict[str, float | None]:
    """Mean and sample deviation of what is never empty."""
    found = summary(values)
    if found is None:
        raise GordonError("no run")
    return found


__all__ = ["Recording", "Usage", "record", "report"]
