"""Tuning a sort on your own devices, from options to the file of settings."""

import os
import shutil
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from os import fspath
from pathlib import Path
from typing import ClassVar

from gordon import __version__, _core, fields
from gordon.errors import GordonError
from gordon.files import write_all
from gordon.human import duration, short
from gordon.options import Size, in_bytes, several
from gordon.options.sorting import Tuning
from gordon.scratch import scratch
from gordon.sort.data import generate
from gordon.sort.presets import names, transfer_sizes
from gordon.sort.run import run
from gordon.sort.tune import mounted
from gordon.sort.tune.live import Steered, answering
from gordon.sort.tune.point import Point, toml
from gordon.sort.tune.report import FolderDevice, TuneReport, devices, gain_sentence, holds, known
from gordon.sort.tune.search import BASE, Search, Space, Trial
from gordon.sort.tune.trial import Metered, Trials
from gordon.untyped import Given

RECORD = 100
#: Records of the first look at a device, from which the size of the file follows.
LOOK = 500_000
#: Sorts of the generated file that fit into the budget when neither records nor memory is given.
TRIALS = 60
#: The most records of a file sized by the budget, and the part of the free space that a file takes.
MOST, SHARE = 100_000_000, 6
#: The least memory of a sort (crates/sort/src/plan.rs).
LEAST_MEMORY = 1 << 20
#: Size of the file over the memory: it takes two passes, as the paper's files did.
PART = 4

Notify = Callable[[Trial, Search], None]


class TuneResult(fields.TuneResult):
    """A search of the best settings: the chosen ones, their gain, and all trials."""

    ROWS: ClassVar = "trials"

    def says(self) -> str:
        return gain_sentence(self.report)

    def html(self) -> str:
        from gordon.sort.tune.page import render

        return render(self.report)


def tune(
    output: str | os.PathLike[str],
    *,
    budget_s: float = Tuning.budget_s,
    records: int | None = None,
    memory: Size | None = None,
    temp: Sequence[str | os.PathLike[str]] = (),
    folder: str | os.PathLike[str] = Tuning.folder,
    source: str | os.PathLike[str] | None = None,
    objective: str = Tuning.objective,
    meter: Metered | None = None,
    may_overwrite: bool = False,
    curves: bool = False,
    seed: int = Tuning.seed,
    notify: Notify | None = None,
    export: str | None = None,
) -> TuneResult:
    """Searches the settings that sort fastest or with the least energy, and writes them to `output`
    for `gordon.sort.run(config=...)`.

    Input and output of the trials are in `folder` and are removed afterwards. Without a `source` of
    benchmark records a file is generated: of `records`, else of 4 times `memory`, else of as many
    records as can be sorted 60 times within `budget_s` seconds. `notify` is called with each trial.
    `curves` adds the trials for the curves of a picture. With `export`, the socket of the served
    device that all folders are on, its telemetry steers the search.

    The report of an interrupted search has `interrupted`, the name of the signal. Without an
    alternating comparison of best and defaults it has no gain, and the settings are the defaults.
    Raises GordonError.
    """
    begin = time.monotonic()
    memory = in_bytes(memory, "--memory")
    # The settings are read from another working directory.
    folders = tuple(fspath(Path(one).absolute()) for one in several(temp))
    for one in (fspath(folder), *folders):
        if not Path(one).is_dir():
            raise GordonError(f"there is no folder {one}", f"mkdir -p {one}", "missing-folder")
    if source is not None and records is not None:
        raise GordonError(
            "--records and --input exclude each other: --records applies to a generated file",
            "give only one of them",
            kind="exclusive-options",
        )
    if export is not None:
        answering(export)
    with scratch(folder, ".gordon-tune-") as place:
        given = None if source is None else Path(source)
        file, size, checksum = _made(given, place, records, memory, budget_s)
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
        space = _space(_core.parse_bytes(limit), len(folders), may_overwrite, curves)
        rest: Given = {
            "budget_s": budget_s - (time.monotonic() - begin),
            "clock": time.monotonic,
            "seed": seed,
            "notify": notify,
        }
        if export is None:
            search = Search(trials.measure, space, **rest)
        else:
            search = Steered(trials, space, export=export, **rest)
        search.run()
        gain = search.gain()
        chosen = search.best if gain["beyond_noise"] else Point()
        report: TuneReport = {
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
            "stopped": search.stopped(),
            "warnings": warnings([fspath(folder), *folders]),
            "noise": search.noise(),
            "gain": gain,
            "best": search.best.about(),
            "chosen": chosen.chosen(),
            "trials": [trial.about() for trial in search.trials],
        }
        if isinstance(search, Steered):
            report["export"], report["steps"] = search.export, search.steps
        text = toml(chosen, folders, memory, head(report))
        draft = place / "tuned.toml"
        draft.write_text(text, encoding="utf-8")
        if not search.interrupted:
            trials.check(draft, checksum)
        report["toml"] = text
        report["checked"] = not search.interrupted
        write_all({fspath(output): text})
        return TuneResult(report)


def _made(
    source: Path | None, place: Path, records: int | None, memory: str | None, budget_s: float
) -> tuple[Path, int, str | None]:
    """The file to sort, its size in bytes and, if it is generated, its checksum."""
    if source is not None:
        try:
            size = source.stat().st_size
        except OSError as error:
            raise GordonError(f"{source}: {error.strerror}", kind="unreadable-file") from None
        if size == 0:
            raise GordonError(
                f"{source}: the file is empty",
                "a file like those that will be sorted",
                kind="empty-file",
            )
        return source, size, None
    file = place / "in"
    free = shutil.disk_usage(place).free // SHARE // RECORD
    if records is None:
        records = _records(file, memory, free, budget_s)
    if records > free:
        raise GordonError(
            f"{place.parent}: {short(records * RECORD, 'B')} of records need "
            f"{short(records * RECORD * SHARE, 'B')} of free space",
            "fewer --records, or another --folder",
            kind="no-space",
        )
    found = generate(file, records=records)
    return file, records * RECORD, found["checksum"]


def _records(file: Path, memory: str | None, free: int, budget_s: float) -> int:
    """The size of the generated file: 4 times the memory, or as much as 60 sorts take."""
    wanted = None if memory is None else max(PART * _core.parse_bytes(memory) // RECORD, 1)
    look = LOOK if wanted is None else min(LOOK, wanted)
    if look > free:
        return look
    generate(file, records=look)
    limit = f"{max(look * RECORD // PART, LEAST_MEMORY)}B"
    spent = run(file, file.with_name("out"), memory=limit).report["time_s"] / look
    if wanted is None:
        return min(max(int(budget_s / TRIALS / spent), LOOK), MOST, free)
    needed = (BASE + 1) * wanted * spent
    if needed > budget_s:
        raise GordonError(
            f"--budget {duration(budget_s)} is too short: {BASE + 1} sorts of "
            f"{short(wanted * RECORD, 'B')} ({PART} times --memory {memory}) with the defaults "
            f"alone take about {duration(needed)}",
            "a longer --budget, or --records for a smaller file",
            kind="budget-too-short",
        )
    return wanted


def warnings(folders: Sequence[str]) -> list[str]:
    """Warnings about folders whose results do not apply to a storage device."""
    found = []
    for one in dict.fromkeys(folders):
        if mounted.in_memory(Path(one)):
            found.append(
                f"{one} is on a file system in memory: the settings do not apply to a storage "
                "device"
            )
    return found


def _space(memory: int, folders: int, may_overwrite: bool, curves: bool) -> Space:
    """The values of each setting that may be chosen."""
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
        curves=curves,
    )


def device(folder: str) -> FolderDevice:
    """The block device that a folder lies on, as the system reports it."""
    number = Path(folder).stat().st_dev
    node = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    found: FolderDevice = {"folder": folder, "name": None, "model": None, "rotational": None}
    if not node.exists():
        return found
    node = node.resolve()
    found["name"] = node.name
    # A partition's device is the folder above.
    disk = node if (node / "queue").exists() else node.parent
    found["model"] = _fact(disk / "device/model")
    rotational = _fact(disk / "queue/rotational")
    found["rotational"] = None if rotational is None else rotational == "1"
    return found


def _fact(path: Path) -> str | None:
    """The text of a file of sysfs, if there is one."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return None


def head(report: TuneReport) -> list[str]:
    """The comments of the file of settings."""
    return [
        f"gordon {report['version']}, gordon sort tune, {report['date']}",
        f"{short(report['bytes'], 'B')} in files of {', '.join(devices(report))}",
        f"memory {report['memory']}, budget {duration(report['budget_s'])}, "
        f"{len(report['trials'])} trials, seed {report['seed']}; {known(report)}",
        gain_sentence(report),
        holds(report),
        *report["warnings"],
    ]
