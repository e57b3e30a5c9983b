"""How fast a flash image is served, beside nbdkit's memory plugin and qemu-nbd on a raw file; how
soon after a start; and how often it writes.

    cargo build --release -p gordon-py  (`make build`)
    python bench/block.py [speed] [mount] [wa] [--seconds 1.5] [--rounds 4] [--folder DIR]

Speed is measured as in bench/nbd.py: an image of 4 GB of which 1 GiB is used, page cache below,
all blocks written once before.
A mount is measured from the start of the process until it greets a client, with no page of the
image in the page cache; images have every block closed (`--fill metadata`), and the one of 256 GB
takes 1.6 GB in the folder meanwhile. Write amplification is what the served device tells of itself
between two moments of uniform random writes in the steady state, beside what `gordon flash wa`
simulates and theory says for as many closed blocks of as many pages.
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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import nbd

GORDON = [sys.executable, "-m", "gordon"]

#: Times that the image is written over before its speed is measured, so that each of its blocks has
#: been written: erases are among what is measured, the first touch of memory is not.
TOUCHES = 4

#: What a mount may take: seconds, bytes.
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


def command(image: Path, place: Path) -> list[str | Path]:
    return [*GORDON, "block", "serve", image, "--socket", place]


def speed(folder: Path, seconds: float, rounds: int) -> None:
    """Beside the peers."""
    if not shutil.which("fio"):
        print("left out: speed: fio is not installed")
        return
    image = folder / "flash"
    create(image, "--capacity", "4GB")
    with ExitStack() as stack:
        commands = {"gordon": command(image, folder / "gordon"), **nbd.peers(folder)}
        found = nbd.servers(stack, commands, folder)
        for _ in range(TOUCHES):
            nbd.fio(found[0], nbd.Load("again", "write", "1m", 4), None)
        # What is yet to go to disk would slow whoever comes first.
        os.sync()
        nbd.race(found, seconds, rounds)
        told = stat(folder / "gordon")
        print(f"gordon: {pages(told)}; {told['erases']:,} erases, {told['syncs']:,} syncs")
    image.unlink()


def stat(place: Path) -> Any:
    return json.loads(gordon("block", "stat", "--socket", place, "--json", "-"))


def pages(told: Any) -> str:
    """Pages programmed, by cause."""
    return "pages: " + ", ".join(f"{count:,} {why}" for why, count in told["programmed"].items())


@contextmanager
def started(image: Path, place: Path) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    """A server that greets clients, and how long that took; killed at the end."""
    begin = time.monotonic()
    said = place.with_suffix(".said")
    with said.open("wb") as words:
        child = subprocess.Popen(command(image, place), stderr=words)
    try:
        while not greets(place):
            if child.poll() is not None:
                raise RuntimeError(f"{image}: the server ended")
            time.sleep(0.002)
        yield child, time.monotonic() - begin
    except BaseException:
        print(said.read_text(), file=sys.stderr)
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
    """The served device beside simulation and theory."""
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
    """What the device tells when so many bytes have been written to it."""
    while (told := stat(place))["host_bytes_written"] < written:
        time.sleep(0.2)
    return told


PARTS = ("speed", "mount", "wa")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all")
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--folder", help="where images are made")
    asked = parser.parse_args()
    for part in asked.parts or PARTS:
        # What is written does not depend on what is below; how long a sync takes does.
        memory = "/dev/shm" if part == "wa" and Path("/dev/shm").is_dir() else None  # noqa: S108
        with tempfile.TemporaryDirectory(dir=asked.folder or memory) as name:
            folder = Path(name)
            if part == "speed":
                speed(folder, asked.seconds, asked.rounds)
            elif part == "mount":
                mount(folder)
            elif part == "wa":
                amplification(folder)
            else:
                parser.error(f"no part {part!r}")


if __name__ == "__main__":
    main()
