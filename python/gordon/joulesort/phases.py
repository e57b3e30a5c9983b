"""Time and power of each phase of `gordon sort`.

The sort reports how long each phase was; they follow each other and the last ends with the process,
so what is left at the beginning is the start of the program. The energy of phases that are
shorter than two samples of a meter is left out.
"""

import json
from pathlib import Path
from statistics import fmean

from gordon.energy.series import Series, Span, summary
from gordon.energy.session import Session
from gordon.energy.work import Usage
from gordon.joulesort.report import PhaseEnergy, PhaseReport
from gordon.reports.sort import Phase, SortReport

START = "start of the program"
#: Samples in a phase, at least.
LEAST = 2


def read(path: Path) -> list[Phase]:
    """The phases of a run, as `gordon sort --json` wrote them."""
    report: SortReport = json.loads(path.read_text(encoding="utf-8"))
    return report["phases"]


def spans(used: Usage, phases: list[Phase]) -> dict[str, Span]:
    """The time span of each phase."""
    at = max(used.span.begin, used.span.end - sum(phase["seconds"] for phase in phases))
    found = {START: Span(used.span.begin, at)}
    for phase in phases:
        found[phase["name"]] = Span(at, at + phase["seconds"])
        at += phase["seconds"]
    return found


def of(session: Session, runs: list[list[Phase]]) -> list[PhaseReport]:
    """Each phase over all runs: time, bytes and processors measured, energy as each meter knows
    it."""
    if not runs or not all(runs):
        return []
    when = [spans(used, phases) for used, phases in zip(session.runs, runs, strict=True)]
    rows: list[PhaseReport] = []
    for name in when[0]:
        same = [spans[name] for spans in when if name in spans]
        phases = [phase for run in runs for phase in run if phase["name"] == name]
        rows.append(
            {
                "name": name,
                "how": "measured",
                "time_s": summary([span.seconds for span in same]),
                "cpu_s": fmean(p["cpu_s"] for p in phases) if phases else None,
                "read_bytes": fmean(p["bytes_read"] for p in phases) if phases else None,
                "written_bytes": fmean(p["bytes_written"] for p in phases) if phases else None,
                "meters": [_drawn(sampler.series, same) for sampler in session.samplers],
            }
        )
    return rows


def _drawn(series: Series, same: list[Span]) -> PhaseEnergy:
    """The energy and power of a phase by one meter."""
    interval = series.interval()
    joules = [series.energy(span) for span in same]
    known = [value for value in joules if value is not None]
    seconds = fmean(span.seconds for span in same)
    enough = interval is not None and seconds >= LEAST * interval and len(known) == len(same)
    mean = fmean(known) if enough else None
    return {
        "meter": series.meter.name,
        "how": series.meter.how,
        "energy_j": mean,
        "mean_w": mean / seconds if mean is not None else None,
    }
