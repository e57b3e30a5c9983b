"""Trials: timed sorts of a file on the devices to tune for."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from gordon.energy.meter import Meter, MeterAbout
from gordon.energy.series import Span
from gordon.energy.session import Session
from gordon.energy.work import Usage
from gordon.errors import GordonError
from gordon.files import forget
from gordon.sort.data import validate
from gordon.sort.run import TimedSort, run
from gordon.sort.tune.point import Point
from gordon.sort.tune.search import Facts
from gordon.untyped import Given

#: Runs work and returns the joules that were drawn meanwhile.
Drawn = Callable[[Callable[[], Any]], float | None]


class Metered:
    """Measures the energy of each trial with a new meter."""

    def __init__(self, meter: Callable[[], Meter], interval_s: float) -> None:
        self.meter, self.interval_s = meter, interval_s
        #: The properties of the meter; None before it was read.
        self.about: MeterAbout | None = None

    def __call__(self, work: Callable[[], Any]) -> float | None:
        def timed() -> Usage:
            begin = time.monotonic()
            work()
            return Usage(Span(begin, time.monotonic()), 0, 0, 0, 0, 0)

        meter = self.meter()
        self.about = meter.about()
        with Session([meter], self.interval_s) as session:
            used = session.run(timed)
        for error in session.failed():
            raise error
        return session.samplers[0].series.energy(used.span)


def forget_peak() -> bool:
    """Resets the peak of the resident memory of this process, so that the next peak is of what runs
    next; returns whether the kernel allows that."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


class Trials:
    """Repeated sorts of one file."""

    def __init__(
        self,
        source: Path,
        folder: Path,
        *,
        memory: str | None,
        temp: tuple[str, ...],
        seed: int,
        meter: Drawn | None = None,
        objective: str = "time",
    ) -> None:
        if objective == "energy" and meter is None:
            raise GordonError(
                "--objective energy needs a meter",
                "--meter NAME with one of `gordon meter list`",
                kind="needs-option",
            )
        self.source, self.output = source, folder / "out"
        self.given: Given = {"seed": seed}
        if memory is not None:
            self.given["memory"] = memory
        self.temp = temp
        self.meter = meter
        self.objective = objective
        self.began = 0.0
        """Start of the last sort, by `time.monotonic`."""
        self._own_peak = False

    def measure(self, point: Point, role: str) -> tuple[float, Facts]:
        """Measures a point: its cost by the objective, and the facts of the sort."""
        if point.overwrite and not self.output.exists():
            # The sort overwrites the output of one of its kind.
            self._sort(point.to(overwrite=False))
        if not point.overwrite:
            self.output.unlink(missing_ok=True)
        # A trial begins cold.
        for path in (self.source, self.output):
            with suppress(FileNotFoundError):
                forget(path)
        reports: list[TimedSort] = []
        joules: float | None = None
        if self.meter is None:
            reports.append(self._sort(point))
        else:
            joules = self.meter(lambda: reports.append(self._sort(point)))
        (report,) = reports
        cost = report["time_s"] if self.objective == "time" else joules
        if cost is None:
            raise GordonError(
                "the meter gave no energy of a trial",
                "more --records, or a meter with a shorter interval",
                kind="no-sample",
            )
        return cost, {
            "time_s": report["time_s"],
            "cpu_s": report["cpu_user_s"] + report["cpu_system_s"],
            "energy_j": joules,
            "power_w": None if joules is None else joules / report["time_s"],
            "peak_resident_bytes": report["peak_resident_bytes"] if self._own_peak else None,
            "plan": report["plan"],
            "phases": report["phases"],
            "direct": report["direct"],
            "io": report["io"],
            "passes": report["passes"],
            "temp_bytes": report["temp_bytes"],
        }

    def _sort(self, point: Point) -> TimedSort:
        options = self.given | point.options(self.temp)
        self._own_peak = forget_peak()
        self.began = time.monotonic()
        made: TimedSort = run(self.source, self.output, **options).report
        return made

    def check(self, config: Path, checksum: str | None) -> None:
        """Sorts with the file of settings and validates the output. Raises GordonError."""
        memory = {} if "memory" not in self.given else {"memory": self.given["memory"]}
        run(self.source, self.output, config=config, **memory)
        found = validate(self.output, checksum=checksum)
        if not found["in_order"] or found["all_there"] is False:
            raise GordonError(
                "the tuned settings do not sort correctly: this is a defect of gordon",
                "report it with the settings",
                kind="defect",
            )
