"""Tuning on one's own devices, from options to the file of settings."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from os import fspath
from pathlib import Path
from typing import Any

from gordon import __version__, _core, sort
from gordon._core import GordonError
from gordon.human import duration, short
from gordon.sort.presets import names, transfer_sizes
from gordon.sort.tune.live import Steered, answering
from gordon.sort.tune.point import Point, toml
from gordon.sort.tune.search import Search, Space, Trial
from gordon.sort.tune.trial import Metered, Trials

RECORD = 100
#: Records of the first look at a device, from which the size of the file follows.
LOOK = 500_000
#: So many sorts fit in the budget where nobody says how many records there are.
TRIALS = 60
#: At most so many records are made, and so little of what is free is taken.
MOST, SHARE = 100_000_000, 6
#: Without --memory: a part of the file, so that it takes two passes as the paper's files did.
PART = 4

Tell = Callable[[Trial, Search], None]


def tune(
    output: str | os.PathLike[str],
    *,
    budget_s: float = 600.0,
    records: int | None = None,
    memory: str | None = None,
    temp: Sequence[str | os.PathLike[str]] = (),
    folder: str | os.PathLike[str] = ".",
    source: str | os.PathLike[str] | None = None,
    objective: str = "time",
    meter: Metered | None = None,
    may_overwrite: bool = False,
    seed: int = 0,
    tell: Tell | None = None,
    export: str | None = None,
) -> dict[str, Any]:
    """Searches the settings that sort fastest, or on the fewest joules, and writes them to
    `output`, for `gordon.sort.run(config=...)`. Files are in `folder`, and gone afterwards.

    Without a `source` of benchmark records a file is made: of `records`, or of as many as fit into
    the budget. `tell` hears of each trial. With the socket of an `export` that all folders are on,
    its telemetry steers the search.
    """
    begin = time.monotonic()
    folders = tuple(fspath(one) for one in temp)
    for one in (fspath(folder), *folders):
        if not Path(one).is_dir():
            raise GordonError(f"{one}: no such folder", f"mkdir -p {one}")
    if source is not None and records is not None:
        raise GordonError("--records is of a file that is made", "without --input, or without it")
    if export is not None:
        answering(export)
    place = Path(tempfile.mkdtemp(prefix=".gordon-tune-", dir=folder))
    try:
        given = None if source is None else Path(source)
        made = _made(given, place, records, budget_s)
        file, size, checksum = made
        limit = memory if memory is not None else f"{max(size // PART >> 20, 16)}MiB"
        trials = Trials(
            file,
            place,
            memory=limit,
            temp=folders,
            seed=seed,
            meter=meter,
            objective=objective,
        )
        space = _space(_core.parse_bytes(limit), len(folders), may_overwrite)
        rest: dict[str, Any] = {
            "budget_s": budget_s - (time.monotonic() - begin),
            "clock": time.monotonic,
            "seed": seed,
            "tell": tell,
        }
        if export is None:
            search = Search(trials.measure, space, **rest)
        else:
            search = Steered(trials, space, export=export, **rest)
        search.run()
        gain = search.gain()
        chosen = search.best if gain["beyond_noise"] else Point()
        report: dict[str, Any] = {
            "version": __version__,
            "kind": "measured",
            "meter": None if meter is None else meter.about,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "device": [device(one) for one in (fspath(folder), *folders)],
            "budget_s": budget_s,
            "spent_s": time.monotonic() - begin,
            "bytes": size,
            "input": None if source is None else fspath(source),
            "memory": limit,
            "temp": list(folders),
            "objective": objective,
            "seed": seed,
            "interrupted": search.interrupted,
            "finished": search.finished,
            "noise": search.noise(),
            "gain": gain,
            "best": search.best.about(),
            "chosen": {"settings": chosen.about(), "what": chosen.label()},
            "trials": [trial.about() for trial in search.trials],
        }
        if isinstance(search, Steered):
            report |= {"export": search.export, "steps": search.steps}
        text = toml(chosen, folders, memory, head(report))
        draft = place / "tuned.toml"
        draft.write_text(text, encoding="utf-8")
        if not search.interrupted:
            trials.check(draft, checksum)
        report["toml"] = text
        report["checked"] = not search.interrupted
        from gordon.cli.output import write

        write({fspath(output): text})
        return report
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _made(
    source: Path | None, place: Path, records: int | None, budget_s: float
) -> tuple[Path, int, str | None]:
    """The file to sort, its bytes and, where it is ours, its checksum."""
    if source is not None:
        try:
            size = source.stat().st_size
        except OSError as error:
            raise GordonError(f"{source}: {error.strerror}") from None
        if size == 0:
            raise GordonError(f"{source}: it is empty", "a file like those that will be sorted")
        return source, size, None
    file = place / "in"
    free = shutil.disk_usage(place).free // SHARE // RECORD
    if records is None:
        sort.generate(file, records=LOOK)
        spent = sort.run(file, place / "out", memory=f"{LOOK * RECORD // PART}B").report["time_s"]
        records = min(max(int(LOOK * budget_s / TRIALS / spent), LOOK), MOST, free)
    elif records > free:
        raise GordonError(
            f"{place.parent}: {short(records * RECORD, 'B')} of records need "
            f"{short(records * RECORD * SHARE, 'B')} of room",
            "fewer --records, or another --folder",
        )
    found = sort.generate(file, records=records)
    return file, records * RECORD, found["checksum"]


def _space(memory: int, folders: int, may_overwrite: bool) -> Space:
    """What there is to choose from."""
    starts = []
    for name in names():
        read, write, temp = transfer_sizes(name)
        starts.append(Point(input_transfer=read, output_transfer=write, temp_transfer=temp))
    cores = len(os.sched_getaffinity(0))
    return Space(
        starts=starts,
        methods=["one-pass", "distribute", "merge"],
        most_transfer=memory // 4,
        in_core=["radix", "merge"],
        threads=sorted({1, max(1, cores // 2), cores, 2 * cores}),
        io=["threads", "uring"],
        folders=list(range(1, folders)),
        may_overwrite=may_overwrite,
    )


def device(folder: str) -> dict[str, Any]:
    """The block device that a folder lies on, as the system tells it."""
    number = Path(folder).stat().st_dev
    node = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    found: dict[str, Any] = {"folder": folder, "name": None, "model": None, "rotational": None}
    if not node.exists():
        return found
    node = node.resolve()
    found["name"] = node.name
    # A partition's device is the folder above.
    disk = node if (node / "queue").exists() else node.parent
    for key, path in (("model", "device/model"), ("rotational", "queue/rotational")):
        try:
            text = (disk / path).read_text(encoding="utf-8").strip()
        except OSError:
            continue
        found[key] = text == "1" if key == "rotational" else text
    return found


def head(report: dict[str, Any]) -> list[str]:
    """The comments of the file of settings."""
    devices = [
        f"{one['folder']} on {one['name'] or 'no block device'}"
        + (f" ({one['model']})" if one["model"] else "")
        for one in report["device"]
    ]
    return [
        f"gordon {report['version']}, gordon sort tune, {report['date']}",
        f"{short(report['bytes'], 'B')} in files of {', '.join(devices)}",
        f"memory {report['memory']}, budget {duration(report['budget_s'])}, "
        f"{len(report['trials'])} trials, seed {report['seed']}; {known(report)}",
        told(report),
    ]


def known(report: dict[str, Any]) -> str:
    """How the values are known."""
    meter = report["meter"]
    if meter is None or meter["how"] == "measured":
        return "all values are measured"
    return f"times are measured, energy is {meter['how']} (meter {meter['name']})"


def told(report: dict[str, Any]) -> str:
    """The gain, in a sentence."""
    gain = report["gain"]
    unit = "s" if report["objective"] == "time" else "J"
    stopped = ", interrupted" if report["interrupted"] else ""
    if not gain["beyond_noise"]:
        found = (
            f", {gain['gain']:.1%} +- {gain['deviation']:.1%}" if gain["pairs"] else ""
        ) + stopped
        return f"no gain beyond noise over the defaults{found}: these are the defaults"
    how = f"{gain['pairs']} pairs in turn" if gain["pairs"] else "not compared in turn"
    return (
        f"gain over the defaults {gain['gain']:.1%} +- {gain['deviation']:.1%} of "
        f"{report['objective']}: "
        f"{gain['best']:.3g} instead of {gain['default']:.3g} {unit}, {how}{stopped}"
    )
