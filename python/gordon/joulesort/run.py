"""The benchmark: generates an input, meters runs of a sort, checks each output, reports."""

import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import gordon
from gordon import fields
from gordon.energy import account, find, work
from gordon.energy.account import Account
from gordon.energy.record import spread
from gordon.energy.series import Span
from gordon.energy.session import Row, Session
from gordon.energy.work import Usage
from gordon.errors import GordonError
from gordon.files import forget
from gordon.joulesort import files, phases, rules
from gordon.joulesort.report import CheckReport, Clocks, MachineReport, Outcome, Report, Skewed
from gordon.joulesort.rules import RECORD
from gordon.options import several, words
from gordon.options.meters import (
    Benchmark,
    BenchmarkFiles,
    BenchmarkFolder,
    Metering,
    Rest,
    Root,
)
from gordon.reports.sort import Generated, Phase, Validated

#: Generates records in a file, ASCII or not, skewed or not; its account has `checksum`.
Generate = Callable[..., Generated]
#: Checks the records of a file.
Validate = Callable[[Path], Validated]

INPUT, OUTPUT = "joulesort.in", "joulesort.out"
#: Words of a command that stand for the files.
IN, OUT = "{in}", "{out}"
#: The words of our own sort.
OWN = [sys.executable, "-m", "gordon", "sort"]
#: Maximum time of a Daytona sort of skewed keys, relative to uniform keys (assumed: the bound of
#: the FAQ from memory; read it before an entry).
MOST_SKEWED = 2.0


@dataclass(frozen=True)
class Tools:
    """The generator and the checker of files; tests replace them."""

    generate: Generate
    validate: Validate


@dataclass(frozen=True, kw_only=True)
class Plan(Root, BenchmarkFiles, BenchmarkFolder, Rest, Metering, Benchmark):
    """Options of the benchmark."""

    command: Sequence[str] = ()
    """Words of another sort, with `{in}` and `{out}` for its files. Default: `gordon sort`."""
    options: Sequence[str] = ()
    """Words of options for `gordon sort`."""


class Result(fields.JouleSortResult):
    """The result of the benchmark, and `rows`, the samples of the log."""

    ROWS: ClassVar = "runs"

    def __init__(self, report: Report, rows: list[Row]) -> None:
        super().__init__(report)
        self.rows = rows

    @property
    def holds(self) -> bool:
        """Whether no check has failed."""
        return all(check["held"] is not False for check in self["checks"])

    def says(self) -> str:
        found = self["result"]
        joules = None if found is None else found["records_per_joule"]
        return "no valid result" if joules is None else f"{joules['value']:.5g} records per joule"


def run(plan: Plan, tools: Tools, notify: Callable[[str], None] = lambda _: None) -> Result:
    """Runs the benchmark. The files are removed in any case, unless `keep` is set."""
    with (
        tempfile.TemporaryDirectory(prefix="gordon-joulesort-") as scratch,
        files.claimed(plan.folder, (INPUT, OUTPUT)) as left,
    ):
        for name in left:
            notify(f"removed {name}, left by a killed benchmark")
        return _run(plan, tools, notify, Path(scratch) / "sort.json")


def _run(plan: Plan, tools: Tools, notify: Callable[[str], None], phases_json: Path) -> Result:
    source, target = plan.folder / INPUT, plan.folder / OUTPUT
    command = argv(plan, source, target, phases_json)
    work.check(command)
    room(plan, source, target)
    meters = find.chosen(several(plan.meters), plan.root)
    try:
        notify(f"generating {plan.records:,} records")
        made = tools.generate(source, records=plan.records, ascii=plan.records <= rules.MOST_ASCII)
        before = files.stamp(source)
        found: list[Validated] = []
        held: list[float | None] = []
        parts: list[list[Phase]] = []
        with Session(meters, plan.interval_s) as session:
            forget(source)
            notify(f"idle baseline, {plan.idle_s:g} s")
            session.rest(plan.idle_s)
            for number in range(1, plan.runs + 1):
                held.append(files.prepare(source, target))
                notify(f"run {number} of {plan.runs}")
                _sorted(session.run(lambda: once(command, target)))
                if phases_json.exists():
                    parts.append(phases.read(phases_json))
                if number == plan.runs:
                    session.wait(plan.tail_s)
                notify(f"checking the output of run {number}")
                found.append(tools.validate(target))
        after = tools.validate(source)
        untouched = files.stamp(source) == before and after["checksum"] == made["checksum"]
        skewed = _skewed(plan, tools, command, session, notify) if plan.skewed else None
    finally:
        if not plan.keep:
            for path in (source, target):
                with suppress(FileNotFoundError):
                    path.unlink()
    checks = judged(plan, made, found, held, untouched)
    failed = session.failed()
    if len(failed) == len(meters):
        raise failed[0]
    return Result(
        report(plan, command, session, made, found, checks, skewed, parts), session.rows()
    )


def argv(plan: Plan, source: Path, target: Path, phases_json: Path) -> list[str]:
    """The words of the command of a run; `gordon sort` also writes its phases."""
    if not plan.command:
        return [*OWN, str(source), str(target), *plan.options, "--json", str(phases_json)]
    given = words(plan.command)
    if not all(any(name in word for word in given) for name in (IN, OUT)):
        raise GordonError(
            "the command does not contain both {in} and {out}",
            "-- CMD ... {in} ... {out}",
            kind="no-placeholders",
        )
    return [word.replace(IN, str(source)).replace(OUT, str(target)) for word in given]


def once(command: list[str], target: Path) -> Usage:
    """One run, which ends when its output is durable: with a sort that syncs its output, as
    `gordon sort` does, that is the end of the process."""
    if command[: len(OWN)] == OWN:
        used = _own(command)
    else:
        used = work.run(command, stdout=subprocess.DEVNULL)
    if used.exit_status == 0:
        try:
            with target.open("rb") as file:
                os.fsync(file.fileno())
        except FileNotFoundError:
            raise GordonError(
                f"the sort ended with exit status 0, but did not write {target}",
                "a command that writes its output to {out}",
                kind="sort-failed",
            ) from None
    return replace(used, span=Span(used.span.begin, time.monotonic()))


def _own(command: list[str]) -> Usage:
    """A run of `gordon sort`, whose message about the file of phases nobody wants."""
    with tempfile.TemporaryFile() as messages:
        try:
            return work.run(command, stdout=subprocess.DEVNULL, stderr=messages)
        finally:
            messages.seek(0)
            for line in messages.read().decode(errors="replace").splitlines(keepends=True):
                if line.strip() != f"wrote {command[-1]}":
                    sys.stderr.write(line)


class Stopped(KeyboardInterrupt):
    """A signal ended the sort; this process passes its own signals on to it."""

    def __init__(self, number: int) -> None:
        self.number = number


def _sorted(used: Usage) -> None:
    number = used.exit_status - 128
    if number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        raise Stopped(number)
    if used.exit_status != 0:
        raise GordonError(
            f"the sort failed with exit status {used.exit_status}",
            "see its own messages above",
            kind="sort-failed",
        )


def room(plan: Plan, source: Path, target: Path) -> None:
    """Raises GordonError unless input and output fit; the sort itself checks temporary files."""
    space = os.statvfs(plan.folder)
    free, wanted = space.f_bavail * space.f_frsize, 2 * plan.records * RECORD
    if free < wanted:
        raise GordonError(
            f"{plan.folder}: {source.name} and {target.name} need {wanted / 1e9:.1f} GB, but only "
            f"{free / 1e9:.1f} GB are free",
            "fewer --records, or another --dir",
            kind="no-space",
        )


def _skewed(
    plan: Plan,
    tools: Tools,
    command: list[str],
    session: Session,
    notify: Callable[[str], None],
) -> Skewed:
    """Sorts skewed keys with the same command."""
    source, target = plan.folder / INPUT, plan.folder / OUTPUT
    notify("generating skewed keys")
    source.unlink()
    made = tools.generate(
        source, records=plan.records, ascii=rules.category(plan.records)["ascii"], skewed=True
    )
    files.prepare(source, target)
    notify("sorting skewed keys")
    used = once(command, target)
    _sorted(used)
    found = tools.validate(target)
    usual = sum(u.span.seconds for u in session.runs) / len(session.runs)
    ratio = used.span.seconds / usual
    right = found["unordered"] == 0 and found["checksum"] == made["checksum"]
    return {
        "how": "measured",
        **used.about(),
        "time_ratio": ratio,
        "duplicates": found["duplicates"],
        "right": right,
        "held": right and ratio <= MOST_SKEWED,
    }


def judged(
    plan: Plan,
    made: Generated,
    found: list[Validated],
    held: list[float | None],
    untouched: bool,
) -> list[CheckReport]:
    """The checks of the benchmark, with their results."""
    place = files.durable_place(plan.folder)
    duplicates = sorted({output["duplicates"] for output in found})
    sums = {output["checksum"] for output in found}
    return [
        CheckReport(
            what="input and output on storage",
            held=place is not None,
            how=place or "the folder is on a file system in memory",
            failure="input and output are not on storage",
        ),
        _cold(held),
        CheckReport(
            what="output durable at the end of the timed run",
            held=True,
            how="fsync after the process ends, before the clock stops",
            failure="output was not durable at the end of the timed run",
        ),
        CheckReport(
            what="output in order",
            held=all(output["unordered"] == 0 for output in found),
            how=_order(found),
            failure="output is not in order",
        ),
        CheckReport(
            what="output has the same records as the input",
            held=sums == {made["checksum"]} and all(t["records"] == plan.records for t in found),
            how=_records(plan.records, made["checksum"], found),
            failure="records are missing, duplicated or changed",
        ),
        CheckReport(
            what="same number of duplicate keys in all runs",
            held=len(duplicates) == 1,
            how=f"{duplicates[0]:,} in each output"
            if len(duplicates) == 1
            else f"numbers of duplicate keys: {', '.join(f'{count:,}' for count in duplicates)}",
            failure="the number of duplicate keys differs from run to run",
        ),
        CheckReport(
            what="input unchanged",
            held=untouched,
            how="checksum, size, inode and modification time are the same after all runs as before",
            failure="input was changed",
        ),
        CheckReport(
            what="the same settings in all runs",
            held=True,
            how="one command, a new output file in each run",
            failure="settings differ from run to run",
        ),
    ]


def _order(found: list[Validated]) -> str:
    """The evidence for the order of the outputs."""
    for number, out in enumerate(found, 1):
        if out["unordered"]:
            return (
                f"run {number}: {out['unordered']:,} of {out['records']:,} records have a key "
                "smaller than the key of the record before"
            )
    return f"all {len(found)} outputs were read completely"


def _records(records: int, checksum: str, found: list[Validated]) -> str:
    """The evidence for the records of the outputs."""
    for number, out in enumerate(found, 1):
        if out["records"] != records:
            return f"run {number}: {out['records']:,} records instead of {records:,}"
        if out["checksum"] != checksum:
            return f"run {number}: sum of CRC-32s {out['checksum']} instead of {checksum}"
    return f"sum of CRC-32s {checksum}, as generated"


def _cold(held: list[float | None]) -> CheckReport:
    found: CheckReport = {
        "what": "input not in memory before a run",
        "held": None,
        "how": "the file system does not report it",
        "failure": "input was in memory before a run",
    }
    known = [share for share in held if share is not None]
    if len(known) == len(held):
        found["held"] = max(known) <= files.MOST_CACHED
        found["how"] = (
            f"after flushing and dropping it, at most {max(known):.0%} of {files.PLACES} sampled "
            "pages were in memory"
        )
    return found


def report(
    plan: Plan,
    command: list[str],
    session: Session,
    made: Generated,
    found: list[Validated],
    checks: list[CheckReport],
    skewed: Skewed | None,
    parts: list[list[Phase]],
) -> Report:
    """The report; each number names its source. If a check failed, `result` is None and no
    meter has records per joule: nothing was sorted by the rules."""
    failed = [check for check in checks if check["held"] is False]
    meters = account.of(session, None if failed else plan.records)
    best = chosen(meters)
    category = rules.category(plan.records)
    category["class"] = class_(skewed)
    result: Report = {
        "version": gordon.__version__,
        "started_unix_s": session.unix_s,
        "machine": machine(plan.folder),
        "command": command,
        "category": category,
        "interval_s": session.interval_s,
        "time_s": {"how": "measured", **spread([used.span.seconds for used in session.runs])},
        "runs": [
            {
                "how": "measured",
                "begin_s": session.since(used.span.begin),
                "end_s": session.since(used.span.end),
                **used.about(),
                "duplicates": out["duplicates"],
            }
            for used, out in zip(session.runs, found, strict=True)
        ],
        "input": {"records": plan.records, "checksum": made["checksum"]},
        "phases": phases.of(session, parts),
        "meters": meters,
        "result": None if failed else outcome(best),
        "failed": failed,
        "checks": checks,
        "skewed": skewed,
        "submission": [],
    }
    result["submission"] = [need.about() for need in rules.needs(result, best)]
    return result


def class_(skewed: Skewed | None) -> str:
    """The class: Daytona (general sorts) if skewed keys were also sorted in time, else Indy."""
    return "Daytona" if skewed is not None and skewed["held"] else "Indy"


def chosen(meters: list[Account]) -> Account:
    """The first meter that has records per joule, else the first with energy of the runs."""
    efficient = [meter for meter in meters if meter["records_per_joule"]]
    known = [meter for meter in meters if meter["energy_j"]]
    return [*efficient, *known, *meters][0]


def outcome(best: Account) -> Outcome:
    """The result of the benchmark, by one meter."""
    return {
        "meter": best["name"],
        "measures": best["measures"],
        "how": best["how"],
        "resolution_s": best["resolution_s"],
        "mean_w": best["mean_w"],
        "energy_j": best["energy_j"],
        "records_per_joule": best["records_per_joule"],
    }


def governors(root: Path = Path("/")) -> list[str] | None:
    """The kernel's policies for the clocks of the processors; None if it does not set clocks."""
    paths = (root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
    found = {path.read_text(encoding="ascii", errors="replace").strip() for path in paths}
    return sorted(found) or None


def clocks(lines: list[str]) -> Clocks | None:
    """The least and the highest clock of the processors, of the lines of /proc/cpuinfo, after the
    runs; None if they have none."""
    known = [float(line.partition(":")[2]) for line in lines if line.startswith("cpu MHz")]
    return {"least": min(known), "most": max(known)} if known else None


def machine(folder: Path) -> MachineReport:
    """The machine on which the benchmark ran."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except OSError:
        lines, memory = [], 0
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.processor(),
        "processors": os.cpu_count(),
        "governors": governors(),
        "clock_mhz": clocks(lines),
        "memory_bytes": memory,
        "kernel": platform.release(),
        "storage": files.durable_place(folder),
    }
