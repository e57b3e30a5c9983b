#!/usr/bin/env python3
"""Writes docs/validation/here.md: predicted against measured times of three jobs on this machine.

Each job is traced with its data on this machine's disk. The survey predicts one core instead of
two, an emulated flash array and an emulated disk; then the job runs there. As root on Linux, with
nbdfuse (apt install libnbd-bin), at least two cores and nothing else to do for 15 minutes.

    python scripts/validation/validate_here.py [OPTIONS]

Without options it measures and writes the page. `--busy` measures under other load and writes no
page in docs; `--page RESULTS.json` prints the page of recorded results.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "demo"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pages"))

from gordon import __version__, parts, quantity, survey
from gordon.errors import GordonError
from live_export import TOOLS, Export, sh, uninterrupted
from validation_page import (
    DISK,
    FLASH,
    INTERVAL,
    JOBS,
    MIB,
    TARGETS,
    Job,
    Json,
    cases,
    page,
    verdict,
)

import inputs

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/validation/here.md"
RESULTS = ROOT / "build/validate/results.json"
SEED = 1
RECORDS = 6_000_000
RUNS = 3
#: Load average above which times are not those of a quiet machine.
QUIET = 0.5

#: One of the array's four buses: this machine emulates it with less than half a core.
FLASH_SET = ("geometry.buses=1",)

#: Tables that the kernel would write later would delay the jobs, and memory is too small for those
#: of an inode for each 16 KiB.
DISK_FORMAT = (
    *("-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"),
    *("-i", str(8 * MIB), "-J", "size=64"),
)


def say(what: str) -> None:
    print(what, flush=True)


class Counters:
    """Totals of the machine and of a block device, for differences."""

    def __init__(self, device: Path) -> None:
        ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:8]]
        user, nice, system, _, _, irq, softirq = ticks
        self.cpu_s = (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
        fields = [int(word) for word in (device / "stat").read_text().split()]
        self.read_bytes, self.written_bytes = fields[2] * 512, fields[6] * 512
        self.busy_s = fields[9] / 1000


def evict() -> None:
    """Empties the page cache; the next run reads from the device."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3")


def prepare(folder: Path) -> None:
    """An empty folder for the output, and a cold cache."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    (folder / "out").mkdir()
    evict()


def ended(process: subprocess.Popen[bytes]) -> tuple[int, float]:
    """Exit status and CPU time of a process and its children. On an exception they are ended."""
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        # `gordon trace` ends its command and removes its control group on SIGTERM.
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime


def timed(words: list[str], device: Path, what: str) -> Json:
    """Runs a command; its time, CPU time and I/O."""
    before = Counters(device)
    start = time.monotonic()
    process = subprocess.Popen(words, start_new_session=True)
    status, cpu = ended(process)
    took = time.monotonic() - start
    after = Counters(device)
    if status != 0:
        raise GordonError(f"{what} failed with status {status}")
    return {
        "time_s": took,
        "cpu_s": cpu,
        "other_cpu_s": max(after.cpu_s - before.cpu_s - cpu, 0.0),
        "busy_s": after.busy_s - before.busy_s,
        "read_bytes": after.read_bytes - before.read_bytes,
        "written_bytes": after.written_bytes - before.written_bytes,
    }


class Validation:
    """The measurement of all jobs in one folder on this machine's disk."""

    def __init__(self, work: Path, records: int, runs: int, charge: str) -> None:
        self.work, self.records, self.runs, self.charge = work, records, runs, charge
        self.size = records * inputs.RECORD
        self.device = device_of(work)
        info = work.stat()
        node = f"{os.major(info.st_dev)}:{os.minor(info.st_dev)}"
        ahead = Path("/sys/class/bdi", node, "read_ahead_kb").read_text()
        self.read_ahead = int(ahead) * 1024
        self.cores = sorted(os.sched_getaffinity(0))
        self.jobs: dict[str, Json] = {}

    def measure(self) -> Json:
        load = os.getloadavg()[0]
        inputs.make_records(self.work / "records.txt", self.records, SEED)
        for job in JOBS:
            say(f"{job.name}: trace and predict")
            self.jobs[job.name] = self.traced(job)
        for job in JOBS:
            self.jobs[job.name]["here"] = self.repeated(job, "as traced", self.work, self.device)
        last = ["taskset", "-c", str(self.cores[-1])]
        for job in JOBS:
            runs = self.repeated(job, "one core", self.work, self.device, last)
            self.jobs[job.name]["targets"]["one core"]["runs"] = runs
        for job in JOBS:
            self.jobs[job.name]["half"]["runs"] = self.halved(job)
        shutil.rmtree(self.work / "out")
        for target in ("flash", "disk"):
            with tempfile.TemporaryDirectory(dir=self.work) as name:
                self.emulated(target, Path(name))
        return {
            "machine": self.machine(load),
            "versions": versions(),
            "seed": SEED,
            "records": self.records,
            "input_bytes": self.size,
            "jobs": self.jobs,
        }

    def traced(self, job: Job) -> Json:
        """The trace of a job, and its predictions."""
        folder = self.work / f"{job.name}.trace"
        shutil.rmtree(folder, ignore_errors=True)
        made = self.record(job, folder, [])
        self.jobs[job.name] = {"result_bytes": self.result(self.work)}
        memory = max(made["samples"]["command_memory_bytes"])
        space = self.work / "here.toml"
        space.write_text(SPACE)
        surveyed = surveys(folder, space, self.charge)
        disks = [device for device in made["devices"] if not device["is_virtual"]]
        return self.jobs[job.name] | {
            "command": job.words(self.work, self.size)[-1],
            "trace": {
                "time_s": sum(made["samples"]["span_s"]),
                "cpu_s": sum(made["samples"]["cpu_s"]),
                "read_bytes": sum(disk["read_bytes"] for disk in disks),
                "written_bytes": sum(disk["write_bytes"] for disk in disks),
                "memory_bytes": memory,
            },
            "targets": {name: {"predicted": surveyed[name]} for name in TARGETS},
            "half": {"memory_bytes": memory // 2, "predicted": surveyed["as traced"]},
        }

    def record(self, job: Job, folder: Path, options: list[str]) -> Json:
        """A trace of the job on this machine's disk, as `gordon trace show` prints it."""
        prepare(self.work)
        gordon = [sys.executable, "-m", "gordon", "trace"]
        words = job.words(self.work, self.size)
        command = [*gordon, "-o", str(folder), "--interval", INTERVAL, *options, "--", *words]
        messages = self.work / "trace.err"
        with messages.open("wb") as errors:
            process = subprocess.Popen(command, start_new_session=True, stderr=errors)
        status, _ = ended(process)
        if status != 0:
            raise GordonError(f"the trace of {job.name} failed: {messages.read_text().strip()}")
        shown: Json = json.loads(sh(*gordon, "show", folder, "--json", "-"))
        return shown

    def halved(self, job: Job) -> list[Json]:
        """Runs with half the memory, by `gordon trace`, which has the limit."""
        runs = []
        limit = self.jobs[job.name]["half"]["memory_bytes"]
        for _ in range(self.runs):
            with tempfile.TemporaryDirectory(dir=self.work) as name:
                made = self.record(job, Path(name) / "trace", ["--memory", str(limit)])
            self.check(job, self.work)
            disks = [device for device in made["devices"] if not device["is_virtual"]]
            runs.append(
                {
                    "time_s": sum(made["samples"]["span_s"]),
                    "read_bytes": sum(disk["read_bytes"] for disk in disks),
                    "written_bytes": sum(disk["write_bytes"] for disk in disks),
                }
            )
            say(f"{job.name}, half the memory: {runs[-1]['time_s']:.1f} s")
        return runs

    def repeated(
        self, job: Job, target: str, folder: Path, device: Path, before: list[str] | None = None
    ) -> list[Json]:
        runs = []
        for _ in range(self.runs):
            prepare(folder)
            words = (before or []) + job.words(folder, self.size)
            runs.append(timed(words, device, f"{job.name}, {target}"))
            self.check(job, folder)
            say(f"{job.name}, {target}: {runs[-1]['time_s']:.1f} s")
        return runs

    def result(self, folder: Path) -> int:
        return (folder / "out/result").stat().st_size

    def check(self, job: Job, folder: Path) -> None:
        """The output is as large as that of the traced run."""
        expected, found = self.jobs[job.name]["result_bytes"], self.result(folder)
        if expected != found:
            raise GordonError(f"{job.name}: {found} bytes of output, the traced run had {expected}")

    def emulated(self, target: str, folder: Path) -> None:
        """All jobs on an emulated device, whose image is in memory."""
        say(f"{target}: make the file system and copy the input")
        capacity = self.capacity()
        memory = folder / "memory"
        memory.mkdir()
        serve = ["--preset", DISK] if target == "disk" else []
        options = "defaults" if target == "disk" else "discard"
        with mounted_memory(memory, 2 * capacity):
            if target == "flash":
                export = Export.flash(memory, FLASH, f"{capacity}B", FLASH_SET)
            else:
                image = memory / "disk.img"
                image.touch()
                os.truncate(image, max(capacity, self.disk_size()))
                export = Export(memory, image, DISK_FORMAT)
            with export:
                # At full speed, because the time of the preparation is not measured.
                export.start(options, *serve, read_ahead=self.read_ahead)
                files = export.files / "validate"
                files.mkdir()
                shutil.copyfile(self.work / "records.txt", files / "records.txt")
                export.stop()
                export.start(options, "--timing", "real", *serve, read_ahead=self.read_ahead)
                device = Path("/sys/block", Path(export.loop).name)
                for job in JOBS:
                    runs = self.repeated(job, target, files, device)
                    self.jobs[job.name]["targets"][target]["runs"] = runs

    def capacity(self) -> int:
        """Bytes of an emulated device: input, temporary files, output, and the file system's."""
        return 4 * self.size + 512 * MIB

    def disk_size(self) -> int:
        """Bytes of the emulated disk: those of the traced one, in whose range requests of the trace
        lie, or of the drive if that is smaller."""
        traced = int((self.device / "size").read_text()) * 512
        sectors = parts.Catalogue(None).get("disk", DISK)["geometry"]["sectors"]
        return min(traced, int(quantity.value(sectors)) * 512)

    def machine(self, load: float) -> Json:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        return {
            "cpu": names[0] if names else os.uname().machine,
            "cores": len(self.cores),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "kernel": os.uname().release,
            "disk": self.device.name,
            "read_ahead_bytes": self.read_ahead,
            "load": load,
        }


#: The storage of the first two is the same, so that the ratio of their device times is 1.
MACHINES = {
    "as traced": (2, 'bandwidth = "1GB"'),
    "one core": (1, 'bandwidth = "1GB"'),
    "flash": (2, f'part = "{FLASH}"'),
    "disk": (2, f'part = "{DISK}"'),
}
SPACE = 'name = "here"\nsummary = "This machine, and its targets"\n' + "".join(
    f"""
[[machines]]
id = "{id}"
cores = {cores}
core_speed = 1.0
memory = "1TiB"
storage = {{ {storage} }}
network = "10Gb"
"""
    for id, (cores, storage) in MACHINES.items()
)


def surveys(trace: Path, space: Path, charge: Any) -> dict[str, Json]:
    """Predictions for all targets. With a machine as reference the traced disk would be that of the
    reference, whose bandwidth is not known; with its speed alone, its busy time stands for it. For
    one core the disk is the same, so it is surveyed with the machine."""
    found = {}
    for reference, targets in (("as traced", ("as traced", "one core")), (1.0, ("flash", "disk"))):
        result = survey.run(
            trace,
            space=str(space),
            reference=reference,
            charge=charge,
            set=[f"flash.{FLASH}.{setting}" for setting in (*FLASH_SET, "capacity=60GB")],
        ).report
        assert "peak_cache_bytes" in result
        for design in result["designs"]:
            if design["id"] in targets:
                found[design["id"]] = {**design["job"], "limits": design["limits"]}
    return found


@contextlib.contextmanager
def mounted_memory(folder: Path, size: int) -> Iterator[None]:
    """A file system in memory, so that images neither wait for this machine's disk nor load it."""
    try:
        sh("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder)
        yield
    finally:
        with uninterrupted():
            if folder.is_mount():
                try:
                    sh("umount", folder)
                except GordonError:
                    subprocess.run(["umount", "-l", str(folder)], check=False)


def device_of(folder: Path) -> Path:
    """The block device of a folder, in sysfs."""
    number = folder.stat().st_dev
    device = Path("/sys/dev/block", f"{os.major(number)}:{os.minor(number)}")
    if not device.exists():
        raise GordonError(
            f"{folder} is not on a block device of its own", "--work FOLDER on ext4 or xfs"
        )
    return device.resolve()


def versions() -> dict[str, str]:
    """The first line of what each program says about itself."""
    found = {"gordon": __version__}
    for name, option in (("sort", "--version"), ("xz", "--version"), ("nbdfuse", "--version")):
        found[name] = sh(name, option).splitlines()[0].split()[-1]
    # mawk and GNU awk are asked in different ways.
    awk = Path(shutil.which("awk") or "awk").resolve()
    ran = subprocess.run([awk, "-W", "version"], capture_output=True, text=True, check=False)
    first = (ran.stdout or ran.stderr).splitlines()[:1]
    found["awk"] = first[0] if first else awk.name
    return found


def lacks() -> list[str]:
    """The names of what this machine lacks for the validation."""
    found = []
    if sys.platform != "linux":
        return ["Linux"]
    if os.geteuid() != 0:
        found.append("root")
    programs = (*TOOLS, "taskset", "sort", "xz", "awk", "sync")
    found += [name for name in programs if shutil.which(name) is None]
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        found.append("/dev/fuse")
    if not Path("/dev/loop-control").exists():
        found.append("loop devices")
    if "ext4" not in Path("/proc/filesystems").read_text():
        found.append("ext4 in the kernel")
    if len(os.sched_getaffinity(0)) != 2:
        found.append("two cores (taskset -c 0,1 make validate)")
    if not os.access("/proc/sys/vm/drop_caches", os.W_OK):
        found.append("/proc/sys/vm/drop_caches to empty the page cache")
    return found


def check_space(work: Path, size: int) -> None:
    free, memory = shutil.disk_usage(work).free, 0
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            memory = int(line.split()[1]) * 1024
    # Input, temporary files, output; in memory an image, and the page cache of a job.
    for what, has, needs in (("disk", free, 4 * size), ("memory", memory, 8 * size)):
        if has < needs:
            raise GordonError(
                f"{what}: {has / 1e9:.1f} GB are free, {needs / 1e9:.1f} GB are needed",
                "--records N with fewer records",
            )


def stop(number: int, _: FrameType | None) -> None:
    """SIGTERM unwinds as Ctrl-C does."""
    raise SystemExit(128 + number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=RESULTS.parent, help="Folder for data.")
    parser.add_argument("--records", type=int, default=RECORDS, help="100-byte records of input.")
    parser.add_argument("--runs", type=int, default=RUNS, help="Runs of each case.")
    parser.add_argument("--busy", action="store_true", help="Measure next to other load.")
    parser.add_argument("--page", type=Path, help="Print the page of recorded results.")
    given = parser.parse_args()
    if given.page is not None:
        print(page(json.loads(given.page.read_text(encoding="utf-8"))), end="")
        return
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = lacks()
    if missing:
        say(f"skipped: not on this machine: {', '.join(missing)}")
        say("  try: as root, apt install libnbd-bin e2fsprogs xz-utils")
        return
    if not given.busy and os.getloadavg()[0] >= QUIET:
        raise SystemExit(
            f"error: the load average is {os.getloadavg()[0]:.2f}, and times need a machine with "
            f"less than {QUIET}\n  try: again in some minutes, or --busy for figures that count "
            "for nothing"
        )
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGHUP, stop)
    given.work.mkdir(parents=True, exist_ok=True)
    try:
        check_space(given.work, given.records * inputs.RECORD)
        # Next to other load, the processor time of other programs is left out of the prediction;
        # their block I/O cannot be.
        charge = "command" if given.busy else "machine"
        work = given.work.resolve()
        results = Validation(work, given.records, given.runs, charge).measure()
    except GordonError as error:
        hint = f"\n  try: {error.hint}" if error.hint else ""
        raise SystemExit(f"error: {error.message}{hint}") from None
    except KeyboardInterrupt:
        raise SystemExit("interrupted; devices and mounts are taken down") from None
    (given.work / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    out = given.work / "here.md" if given.busy else PAGE
    out.write_text(page(results), encoding="utf-8")
    for bar, value, met in verdict(cases(results)):
        say(f"{'met   ' if met else 'missed'}  {bar}: {value}")
    say(f"wrote {out}")


if __name__ == "__main__":
    main()
