"""Figure 10 of the JouleSort paper on a served device: the cost of overwriting an old output, and
the garbage collection that causes it.

Each trial starts from the same state: the free space is trimmed, and a sort with the same transfers
has left its output. The old output is then overwritten; or it is deleted, with or without a discard
(TRIM), before a new file is written. All sorts take one pass, as in the paper (3.3.4).
"""

import os
import random
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, ClassVar

from gordon import __version__, _core, block, fields, sort
from gordon.errors import GordonError
from gordon.files import forget
from gordon.human import binary, short
from gordon.options.sorting import Rewriting
from gordon.reproduce import remounting
from gordon.reproduce.rewriting_report import (
    Explained,
    MeanTrial,
    Rewritten,
    RoundTrial,
    Trial,
)
from gordon.scratch import scratch
from gordon.sort.run import TimedSort
from gordon.sort.tune import mounted, telemetry
from gordon.sort.tune.telemetry import Watch
from gordon.untyped import Given

Notify = Callable[[str], None]

OVER, UNTRIMMED, TRIMMED = "overwritten", "deleted, not trimmed", "deleted and trimmed"
#: Treatment of an output that exists.
WAYS = (OVER, UNTRIMMED, TRIMMED)
#: The phases that the paper found slower: the output and its sync.
OUTPUT = ("write", "make durable")
RECORD = 100
#: Room for the input, an output, and as much again for the file system.
ROOM = 3
#: The part of a difference in time that additional copies explain, at least (assumed: time grows
#: with the bytes that are programmed).
SHOWN = 0.5
#: Seconds to wait for trims of what was deleted (assumed; they come with a commit).
PATIENCE = 10.0


class RewriteResult(fields.RewriteResult):
    """Sorts that overwrite, delete, or delete and trim the old output."""

    ROWS: ClassVar = "rows"
    SAYS: ClassVar = ("bytes", "rounds")

    def html(self) -> str:
        from gordon.reproduce.rewriting_page import page

        return page(self.report)


def rewrite(
    export: str,
    folder: str | os.PathLike[str] = Rewriting.folder,
    *,
    records: int = Rewriting.records,
    transfers: Sequence[str] = Rewriting.transfers,
    rounds: int = Rewriting.rounds,
    seed: int = Rewriting.seed,
    notify: Notify = lambda _: None,
) -> RewriteResult:
    """Measures sorts that overwrite, delete, or delete and trim the old output, with the reasons.

    `folder` is on the file system of the device served at the socket `export`. It needs root, as
    discards are switched by remounting. `transfers` are sizes as text. `notify` is called with a
    line about each sort. Raises GordonError.
    """
    if os.geteuid() != 0:
        raise GordonError("switching discards needs root", "run it with sudo", kind="needs-root")
    if not Path(folder).is_dir():
        raise GordonError(
            f"there is no folder {folder}", f"mkdir -p {folder}", kind="missing-folder"
        )
    sizes = [_core.parse_bytes(text) for text in transfers]
    about, size = telemetry.about(block.stat(export).report), records * RECORD
    free = shutil.disk_usage(folder).free
    if ROOM * size > free:
        raise GordonError(
            f"{folder}: {short(ROOM * size, 'B')} of free space are needed, and "
            f"{short(free, 'B')} are free",
            "fewer --records",
            kind="no-space",
        )
    where = mounted.point(Path(folder))
    dice = random.Random(seed)  # noqa: S311 an order, no secret
    with scratch(folder, ".gordon-rewrite-") as place:
        _write(place / "in", records, export)
        with remounting.as_it_was(where):
            trials: list[RoundTrial] = []
            for number in range(rounds):
                turn = [(transfer, way) for transfer in sizes for way in WAYS]
                dice.shuffle(turn)
                for transfer, way in turn:
                    row = Attempt(export, where, place, size, transfer).run(way)
                    trials.append({"round": number + 1, **row})
                    notify(
                        f"round {number + 1}, {binary(transfer)}, {way}: {row['time_s']:.2f} s, "
                        f"output {row['output_s']:.2f} s"
                    )
    rows = [_mean(trials, transfer, way) for transfer in sizes for way in WAYS]
    report: Rewritten = {
        "version": __version__,
        "kind": "measured: times, requests, pages, erases, trims; modelled: busy dies and buses",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "export": about,
        "folder": os.fspath(folder),
        "mounted": str(where),
        "bytes": size,
        "rounds": rounds,
        "seed": seed,
        "rows": rows,
        "trials": trials,
        "explained": explain(rows),
    }
    return RewriteResult(report)


def _write(path: Path, records: int, export: str) -> None:
    """The input, which must come to the export: no other file system is to be remounted."""
    before = block.stat(export)["host_bytes_written"]
    sort.generate(path, records=records)
    with path.open("rb") as file:
        os.fsync(file.fileno())
    came, size = block.stat(export)["host_bytes_written"] - before, path.stat().st_size
    if came < size // 2:
        raise GordonError(
            f"{path.parent.parent} is on another device: of {short(size, 'B')} written there, "
            f"{export} received only {short(came, 'B')}",
            "a folder on the file system of the export",
            kind="other-device",
        )


class Attempt:
    """A sort in the presence of an earlier output."""

    def __init__(self, export: str, where: Path, place: Path, size: int, transfer: int) -> None:
        self.export, self.where, self.place, self.size = export, where, place, size
        self.out = place / "out"
        self.transfer = transfer
        self.options: Given = {
            "method": "one-pass",
            "memory": f"{3 * size + 16 * transfer}B",
            **{f"{name}_transfer": f"{transfer}B" for name in ("input", "output")},
        }

    def run(self, way: str) -> Trial:
        """Runs the sort; returns its times and the counters of the device."""
        self._before()
        begin = time.monotonic()
        if way != OVER:
            self._delete(trimmed=way == TRIMMED)
        deleted_s = time.monotonic() - begin
        forget(self.place / "in")
        watch = telemetry.watch(self.export)
        report, started = self._watched(watch, overwrite=way == OVER)
        device = telemetry.by_phase(watch.samples, started, report["phases"])
        last = [phase for phase in report["phases"] if phase["name"] in OUTPUT]
        output_s = sum(phase["seconds"] for phase in last)
        begin = started + sum(p["seconds"] for p in report["phases"] if p not in last)
        unit, timed = watch.samples[-1][1]["unit"], watch.samples[-1][1]["emulation"] is not None
        first, end = (telemetry.at(watch.samples, when) for when in (begin, begin + output_s))
        return {
            "transfer": self.transfer,
            "way": way,
            "time_s": report["time_s"],
            "delete_s": deleted_s if way != OVER else None,
            "output_s": output_s,
            "mapped_before": device["mapped_before"],
            "mapped_after": device["mapped_after"],
            "output": telemetry.growth(first, end, unit, timed=timed),
            "whole": device["whole"],
            "series": device["series"],
        }

    def _watched(self, watch: Watch, *, overwrite: bool) -> tuple[TimedSort, float]:
        done: list[tuple[TimedSort, float]] = []

        def work() -> None:
            started = time.monotonic()
            found = sort.run(self.place / "in", self.out, overwrite=overwrite, **self.options)
            done.append((found.report, started))

        watch.run(work)
        return done[0]

    def _before(self) -> None:
        """Leaves the output of a sort, and trims the free space."""
        remounting.discards(self.where, on=True)
        self.out.unlink(missing_ok=True)
        self._commit()
        remounting.trim(self.where)
        sort.run(self.place / "in", self.out, **self.options)
        forget(self.out)

    def _delete(self, *, trimmed: bool) -> None:
        """Deletes the old output; with `trimmed`, waits until the device has received the trims."""
        remounting.discards(self.where, on=trimmed)
        before = block.stat(self.export)["host_bytes_trimmed"]
        self.out.unlink()
        self._commit()
        end = time.monotonic() + PATIENCE
        while trimmed and block.stat(self.export)["host_bytes_trimmed"] - before < self.size // 2:
            if time.monotonic() > end:
                raise GordonError(
                    f"{self.where}: the device received no trim for a deleted file of "
                    f"{short(self.size, 'B')}",
                    "a file system and a device that support discards",
                    kind="no-trim",
                )
            time.sleep(0.01)

    def _commit(self) -> None:
        """Makes the folder durable."""
        folder = os.open(self.place, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _mean(trials: Sequence[RoundTrial], transfer: int, way: str) -> MeanTrial:
    """The means over the rounds, with the deviations of times."""
    mine = [one for one in trials if one["transfer"] == transfer and one["way"] == way]
    times, outputs = [one["time_s"] for one in mine], [one["output_s"] for one in mine]
    deleted = [one["delete_s"] for one in mine if one["delete_s"] is not None]
    counters: list[Mapping[str, Any]] = [one["output"] for one in mine]
    numbers = [key for key, value in counters[0].items() if isinstance(value, int | float)]
    causes = mine[0]["output"]["pages"]
    return {
        "transfer": transfer,
        "way": way,
        "trials": len(mine),
        "time_s": fmean(times),
        "time_s_deviation": stdev(times) if len(times) > 1 else None,
        "output_s": fmean(outputs),
        "output_s_deviation": stdev(outputs) if len(outputs) > 1 else None,
        "mapped_before": fmean(one["mapped_before"] for one in mine),
        "mapped_after": fmean(one["mapped_after"] for one in mine),
        "delete_s": fmean(deleted) if deleted else None,
        "output": {key: fmean(one[key] or 0.0 for one in counters) for key in numbers},
        "pages": {cause: fmean(one["output"]["pages"][cause] for one in mine) for cause in causes},
    }


def explain(rows: Sequence[MeanTrial]) -> list[Explained]:
    """A row for each transfer size and way, compared with the old output trimmed: how much longer
    the output took, how much longer the dies worked, and what that says."""
    found: list[Explained] = []
    for row in rows:
        if row["way"] == TRIMMED:
            continue
        (base,) = (r for r in rows if r["way"] == TRIMMED and r["transfer"] == row["transfer"])
        more = row["output_s"] - base["output_s"]
        longer, deviation = more / base["output_s"], _deviation(row, base)
        now, then = row["output"], base["output"]
        timed = "dies_busy" in now
        worked = (
            now["dies_busy"] * now["seconds"] - then["dies_busy"] * then["seconds"]
            if timed
            else None
        )
        found.append(
            {
                "transfer": row["transfer"],
                "way": row["way"],
                "longer_s": more,
                "longer": longer,
                "longer_deviation": deviation,
                "dies_longer_s": worked,
                "copied_more_bytes": now["copied_bytes"] - then["copied_bytes"],
                "write_amplification": [now["write_amplification"], then["write_amplification"]],
                "mapped_before": [row["mapped_before"], base["mapped_before"]],
                "mapped_after": [row["mapped_after"], base["mapped_after"]],
                "why": _why(longer, deviation, now, then),
            }
        )
    return found


def _deviation(row: MeanTrial, base: MeanTrial) -> float | None:
    """The deviation of the difference of two means, as a share of the base; None if either is of
    one trial."""
    squares = 0.0
    for one in (row, base):
        if one["output_s_deviation"] is None:
            return None
        squares += one["output_s_deviation"] ** 2 / one["trials"]
    return float(squares**0.5 / base["output_s"])


def _why(
    longer: float, deviation: float | None, now: dict[str, float], then: dict[str, float]
) -> str:
    """The cause that the counters show, if any: collection, where additional copies are at least
    `SHOWN` of the difference in time. `longer`, its `deviation` and the additional copies are
    shares of the time and of the bytes programmed with the old output trimmed."""
    copies = now["copied_bytes"] - then["copied_bytes"]
    counted = f"{short(abs(copies), 'B')} {'more' if copies >= 0 else 'fewer'} copied"
    if deviation is None:
        return f"unknown, as a single round has no deviation; {counted}"
    if abs(longer) <= 2 * deviation:
        return f"no difference beyond two standard deviations; {counted}"
    programmed = (then["write_amplification"] or 0.0) * then["host_bytes_written"]
    share = copies / programmed / longer if programmed else 0.0
    if share >= SHOWN:
        return f"garbage collection: {counted}"
    return f"not garbage collection, {counted}: the counters show no cause"
