"""The speed of a served flash image compared with qemu-nbd on a raw file, or with another build;
the time of a mount; and write amplification.

    make build
    python bench/block.py [speed] [mount] [wa] [--folder DIR]
    python bench/block.py speed [--seconds 1.5] [--windows 9] [--load TEXT] [--against PYTHON]

Speed: an image of 4 GB of which 1 GiB is used, and a raw file of 1 GiB, both through the page
cache. Windows of the two servers alternate, and the ratio is that of neighbours, for the speed of a
shared machine changes from second to second. All blocks of the image and the file have been
overwritten before, but for the first pass: there each window has a new image, and the ratio is
given for a file that was overwritten before and for a new one. With --against the other server is
gordon of another Python interpreter (of another checkout).

Mount: from the start of the process until it greets a client, with no page of the image in the page
cache; images have every block closed (`--fill metadata`), and the one of 256 GB takes 1.6 GB in the
folder.

Write amplification: counted by the served device between two moments of uniform random writes in
the steady state, compared with the simulation (`gordon flash wa`) and theory for as many closed
blocks of as many pages.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import nbd

Command = list[str | Path]

GORDON: Command = [sys.executable, "-m", "gordon"]

#: Times that the used part of an image is overwritten before its speed is measured, so that each
#: block of the image has been written.
TOUCHES = 4

#: Limits of a mount: seconds, bytes.
MOUNTS = {"8GB": (1.0, None), "256GB": (10.0, 1.2e9)}

#: One page is one program, so that theory's pages are the device's; one block is written at a time,
#: and few are kept free.
PAGE = 4096
PAGES = 64
EXPORTED = 512 << 20
AMPLIFIED = [
    *("--super-page", f"{PAGE}B", "--write-points", "1", "--set", "ftl.victim=greedy"),
    *("--set", f"capacity={EXPORTED}B", "--set", "geometry.blocks_per_plane=41"),
    *("--set", "ftl.reserve=2", "--set", "ftl.low_water=2", "--set", "ftl.idle_water=2"),
]
#: Times its capacity that the device is overwritten before it is measured, and while.
WARM_UP, MEASURED = 8, 8


def gordon(*args: str | Path) -> str:
    """One command; its output."""
    ran = subprocess.run([*GORDON, *args], capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    return ran.stdout


def create(image: Path, *args: str) -> None:
    gordon("block", "create", image, *args)


def command(image: Path, place: Path) -> Command:
    return [*GORDON, "block", "serve", image, "--socket", place]


@dataclass(frozen=True)
class Goal:
    """A load, and the least ratio to qemu-nbd and to another build that is accepted."""

    load: nbd.Load
    of_qemu: float | None = None
    of_build: float | None = None
    #: Runs once over both servers before the windows.
    before: nbd.Load | None = None


SCATTER = nbd.Load("scatter", "randwrite", "4k", 32)

#: In this order: what a load leaves in the image decides the speed of the next.
STEADY = [
    Goal(nbd.Load("sequential 1 MiB read, QD4", "read", "1m", 4), of_qemu=1.0),
    Goal(nbd.Load("sequential 1 MiB write, QD4", "write", "1m", 4), of_qemu=1.0),
    Goal(nbd.Load("random 4 KiB read, QD1", "randread", "4k", 1), of_build=0.95),
    Goal(nbd.Load("random 4 KiB read, QD32", "randread", "4k", 32), of_build=0.95),
    Goal(nbd.Load("random 4 KiB write, QD1", "randwrite", "4k", 1), of_build=0.95),
    Goal(nbd.Load("random 4 KiB write, QD32", "randwrite", "4k", 32), of_build=0.95),
    Goal(nbd.Load("random 4 KiB write and flush, QD1", "randwrite", "4k", 1, True), of_qemu=1.0),
    Goal(
        nbd.Load("1 MiB read after random writes, QD4", "read", "1m", 4),
        of_qemu=1.0,
        before=SCATTER,
    ),
]
FIRST_PASS = Goal(nbd.Load("first pass of 1 MiB writes, QD4", "write", "1m", 4), of_qemu=0.7)


@dataclass(frozen=True)
class Window:
    """One measurement: operations a second, and the server's processor time for each."""

    rate: float
    cpu_us: float


def measure(server: nbd.Server, load: nbd.Load, seconds: float | None) -> Window:
    # Data that an earlier window left to be written would slow this one.
    os.sync()
    before = server.cpu_s()
    rate = nbd.fio(server, load, seconds)
    return Window(rate.iops, (server.cpu_s() - before) * 1e6 / rate.operations)


Measure = Callable[[], Window]
Pair = tuple[Window, Window]


def alternate(windows: int, first: Measure, second: Measure) -> list[Pair]:
    """Pairs of windows; who comes first in a pair changes, so that a drift favours nobody."""
    pairs = []
    for number in range(windows):
        if number % 2 == 0:
            ours, theirs = first(), second()
        else:
            theirs, ours = second(), first()
        pairs.append((ours, theirs))
    return pairs


def row(name: str, pairs: list[Pair], goal: float | None) -> None:
    """Prints medians, and the median, least and greatest ratio of the pairs."""
    ratios = [ours.rate / theirs.rate for ours, theirs in pairs]
    middle = median(ratios)
    columns = "".join(
        f"{median(window.rate for window in side):>10,.0f}"
        f" {median(window.cpu_us for window in side):>6,.0f} us"
        for side in zip(*pairs, strict=True)
    )
    verdict = "" if goal is None else f"  goal {goal:.2f}: {'met' if middle >= goal else 'missed'}"
    print(
        f"{name:44}{columns}{middle:>8.2f} ({min(ratios):.2f}-{max(ratios):.2f}){verdict}",
        flush=True,
    )


def speed(folder: Path, seconds: float, windows: int, against: str | None, only: str) -> None:
    """Compares with qemu-nbd, or with another build of gordon."""
    missing = [tool for tool in ("fio", "qemu-nbd") if not shutil.which(tool)]
    if missing:
        print(f"left out: speed: not installed: {', '.join(missing)}")
        return
    other = f"gordon of {against}" if against else "qemu-nbd, raw file"
    print(f"{'':44}{'gordon':>20}{other[-20:]:>20}   ratio of pairs: median (least-greatest)")
    steady_speed(folder, seconds, windows, against, only)
    if only in FIRST_PASS.load.name:
        first_pass(folder, windows, against)
    print(f"operations a second and the server's processor time for one: medians of {windows}")


def steady_speed(
    folder: Path, seconds: float, windows: int, against: str | None, only: str
) -> None:
    """An image and a file of which each block was written before."""
    goals = [goal for goal in STEADY if only in goal.load.name]
    if not goals:
        return
    with ExitStack() as stack:
        ours = stack.enter_context(fresh(folder, "gordon", GORDON))
        theirs = stack.enter_context(
            fresh(folder, "other", [against, "-m", "gordon"])
            if against
            else raw_file(folder, "qemu-nbd")
        )
        for server, times in ((ours, TOUCHES), (theirs, TOUCHES if against else 1)):
            for _ in range(1 + times):
                nbd.fio(server, nbd.FILL, None)
        for goal in goals:
            if goal.before:
                nbd.fio(ours, goal.before, None)
                nbd.fio(theirs, goal.before, None)
            pairs = alternate(
                windows,
                partial(measure, ours, goal.load, seconds),
                partial(measure, theirs, goal.load, seconds),
            )
            row(goal.load.name, pairs, goal.of_build if against else goal.of_qemu)
        found = stat(folder / "gordon")
        print(f"gordon: {pages(found)}; {found['erases']:,} erases, {found['syncs']:,} syncs")


def first_pass(folder: Path, windows: int, against: str | None) -> None:
    """Each window has a new image, written once from start to end; the first pair is not counted:
    memory that was never used costs a guest more than memory that was freed."""
    load = FIRST_PASS.load

    def image(name: str, command: Command) -> Window:
        with fresh(folder, name, command) as server:
            return measure(server, load, None)

    def new_file() -> Window:
        with raw_file(folder, "new") as server:
            return measure(server, load, None)

    ours = partial(image, "gordon", GORDON)
    if against:
        pairs = alternate(1 + windows, ours, partial(image, "other", [against, "-m", "gordon"]))
        row(load.name, pairs[1:], FIRST_PASS.of_build)
        return
    with raw_file(folder, "old") as old:
        nbd.fio(old, nbd.FILL, None)
        pairs = alternate(1 + windows, ours, partial(measure, old, load, None))
        row(f"{load.name}; file not new", pairs[1:], FIRST_PASS.of_qemu)
    pairs = alternate(1 + windows, ours, new_file)
    row(f"{load.name}; new file", pairs[1:], None)


@contextmanager
def fresh(folder: Path, name: str, program: Command) -> Iterator[nbd.Server]:
    """Serves a new image."""
    image, place = folder / f"{name}.flash", folder / name
    create = [*program, "block", "create", image, "--capacity", "4GB"]
    subprocess.run(create, check=True, stdout=subprocess.DEVNULL)
    try:
        with nbd.serve(
            name, [*program, "block", "serve", image, "--socket", place], place
        ) as server:
            yield server
    finally:
        image.unlink()


@contextmanager
def raw_file(folder: Path, name: str) -> Iterator[nbd.Server]:
    """Serves a new file with qemu-nbd."""
    file, place = folder / f"{name}.raw", folder / name
    file.touch()
    os.truncate(file, nbd.SIZE)
    try:
        with nbd.serve(name, ["qemu-nbd", "-t", "-f", "raw", "-k", place, file], place) as server:
            yield server
    finally:
        file.unlink()


def stat(place: Path) -> Any:
    return json.loads(gordon("block", "stat", "--socket", place, "--json", "-"))


def pages(status: Any) -> str:
    """Pages programmed, by cause."""
    return "pages: " + ", ".join(f"{count:,} {why}" for why, count in status["programmed"].items())


@contextmanager
def started(image: Path, place: Path) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    """A server that greets clients, and how long that took; killed at the end."""
    begin = time.monotonic()
    log = place.with_suffix(".log")
    with log.open("wb") as words:
        child = subprocess.Popen(command(image, place), stderr=words)
    try:
        while not greets(place):
            if child.poll() is not None:
                raise RuntimeError(f"{image}: the server ended")
            time.sleep(0.002)
        yield child, time.monotonic() - begin
    except BaseException:
        print(log.read_text(), file=sys.stderr)
        raise
    finally:
        child.kill()
        child.wait()


def greets(place: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(place))
            return client.recv(8) == b"NBDMAGIC"
        except OSError:
            return False


def drop(image: Path) -> None:
    """Of the image nothing is left in the page cache."""
    with image.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def most_resident(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def mount(folder: Path) -> None:
    """First start, after a clean end, and after a kill."""
    for capacity, (goal_s, goal_bytes) in MOUNTS.items():
        image, place = folder / "flash", folder / "socket"
        create(image, "--capacity", capacity, "--fill", "metadata")
        print(
            f"mount of {capacity}, {image.stat().st_blocks * 512 / 1e9:.2f} GB on disk, cold cache"
        )
        for when in ("new", "closed in order", "killed"):
            drop(image)
            with started(image, place) as (child, seconds):
                server = nbd.Server(when, child.pid, "")
                used, memory = server.cpu_s(), most_resident(child.pid)
                if when == "new":
                    child.send_signal(signal.SIGTERM)
                    child.wait()
            room = "" if goal_bytes is None else f", {memory / goal_bytes:.2f} of the goal"
            print(
                f"  {when}: {seconds:.2f} s, {seconds / goal_s:.2f} of the goal, {used:.2f} s of a"
                f" processor; {memory / 1e6:,.0f} MB{room}",
                flush=True,
            )
        image.unlink()


def amplification(folder: Path) -> None:
    """The served device compared with simulation and theory."""
    if not shutil.which("fio"):
        print("left out: write amplification: fio is not installed")
        return
    image, place = folder / "flash", folder / "wa"
    create(image, *AMPLIFIED)
    fill = nbd.Load("fill", "write", "1m", 4)
    load = nbd.Load("overwrite", "randwrite", "4k", 32)
    with started(image, place):
        uri = f"nbd+unix:///?socket={place}"
        subprocess.run(
            nbd.client(uri, fill, f"--size={EXPORTED}"), check=True, stdout=subprocess.DEVNULL
        )
        endless = nbd.client(
            uri, load, f"--size={EXPORTED}", "--time_based", "--runtime=1h", "--thread"
        )
        writer = subprocess.Popen(endless, stdout=subprocess.DEVNULL)
        try:
            before = after(place, (1 + WARM_UP) * EXPORTED)
            end = after(place, (1 + WARM_UP + MEASURED) * EXPORTED)
        finally:
            writer.kill()
            writer.wait()
    image.unlink()
    host, copied, summaries = (
        end["programmed"][why] - before["programmed"][why] for why in ("host", "gc", "summary")
    )
    measured = (host + copied) / host
    # The open block and those kept free count in neither theory; of each, one page is its summary.
    blocks = before["good_blocks"] - before["free_blocks"] - 1
    data = PAGES - 1
    rho = EXPORTED / PAGE / (blocks * data)
    sizes = ("--pages-per-block", str(data), "--blocks", str(blocks))
    wa = ("flash", "wa", "--policy", "greedy", "--rho", f"{rho:.6f}", *sizes, "--json", "-")
    expected = json.loads(gordon(*wa))
    simulated, theory = expected["write_amplification"], expected["theory"]
    print(
        f"write amplification, greedy, {blocks:,} closed blocks of {data} pages, rho {rho:.4f}:"
        f" {host:,} pages of the host, {copied:,} copied, {summaries:,} summaries,"
        f" {(end['uptime_s'] - before['uptime_s']):.1f} s"
    )
    print(
        f"  measured {measured:.3f}; simulated {simulated:.3f}, {measured / simulated:.4f} of it;"
        f" theory {theory:.3f}, {measured / theory:.4f} of it;"
        f" with summaries {(host + copied + summaries) / host:.3f}"
    )


def after(place: Path, written: int) -> Any:
    """The status of the device once that many bytes have been written to it."""
    while (status := stat(place))["host_bytes_written"] < written:
        time.sleep(0.2)
    return status


PARTS = ("speed", "mount", "wa")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all")
    parser.add_argument(
        "--seconds", type=float, default=1.5, help="Length of a window [default: 1.5]."
    )
    parser.add_argument(
        "--windows", type=int, default=9, help="Windows of each server [default: 9]."
    )
    parser.add_argument("--load", default="", help="Loads whose name contains this [default: all].")
    parser.add_argument(
        "--against", metavar="PYTHON", help="Interpreter with another build of gordon."
    )
    parser.add_argument("--folder", help="Folder for images [default: that of temporary files].")
    options = parser.parse_args()
    for part in options.parts or PARTS:
        # What is written does not depend on what is below; how long a sync takes does.
        memory = "/dev/shm" if part == "wa" and Path("/dev/shm").is_dir() else None  # noqa: S108
        with tempfile.TemporaryDirectory(dir=options.folder or memory) as name:
            folder = Path(name)
            if part == "speed":
                speed(folder, options.seconds, options.windows, options.against, options.load)
            elif part == "mount":
                mount(folder)
            elif part == "wa":
                amplification(folder)
            else:
                parser.error(f"no part {part!r}")


if __name__ == "__main__":
    main()
