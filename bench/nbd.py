"""How fast blocks are served, compared with nbdkit's memory plugin and qemu-nbd on a raw file.

    cargo build --release -p gordon-nbd --example memory
    python bench/nbd.py [--seconds 1.5] [--rounds 4]

All hold 1 GiB, written once before, at a unix socket; one connection; the client is fio with its
NBD engine. Servers take turns in short windows, for machines are busy: of each the best counts,
and the least processor time of the server (user and system) for an operation. Peers that are not
installed are left out, by name (Debian: nbdkit, qemu-utils; fio, libnbd-bin).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OURS = ROOT / "target/release/examples/memory"
SIZE = 1 << 30
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Load:
    """One load, as fio spells it."""

    name: str
    rw: str
    block: str
    depth: int
    #: A flush follows each write.
    flush: bool = False


#: Writes everything once.
FILL = Load("fill", "write", "1m", 4)

LOADS = [
    Load("random 4 KiB read, QD1", "randread", "4k", 1),
    Load("random 4 KiB read, QD32", "randread", "4k", 32),
    Load("random 4 KiB write, QD1", "randwrite", "4k", 1),
    Load("random 4 KiB write, QD32", "randwrite", "4k", 32),
    Load("sequential 1 MiB read, QD4", "read", "1m", 4),
    Load("sequential 1 MiB write, QD4", "write", "1m", 4),
]


@dataclass(frozen=True)
class Server:
    """A server at work."""

    name: str
    pid: int
    uri: str

    def cpu_s(self) -> float:
        """Processor seconds so far, of all its threads."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


@dataclass(frozen=True)
class Rate:
    """The measurements of a client."""

    iops: float
    operations: int


@dataclass
class Best:
    """The best of all windows."""

    iops: float = 0.0
    cpu_us: float = float("inf")


@contextmanager
def serve(name: str, command: list[str | Path], socket: Path) -> Iterator[Server]:
    """Starts a server; stops it at the end."""
    log = socket.with_suffix(".log")
    with log.open("wb") as file:
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=file
        )
    try:
        for _ in range(500):
            if socket.exists():
                break
            time.sleep(0.01)
        yield Server(name, child.pid, f"nbd+unix:///?socket={socket}")
    except BaseException:
        print(log.read_text(), file=sys.stderr)
        raise
    finally:
        child.terminate()
        child.wait()
        # The next server at this place is awaited by its socket.
        socket.unlink(missing_ok=True)


def client(uri: str, load: Load, *options: str) -> list[str]:
    """The command that runs a load."""
    flush = ("--fsync=1",) if load.flush else ()
    return [
        *("fio", "--name=bench", "--ioengine=nbd", f"--uri={uri}", f"--rw={load.rw}"),
        *(f"--bs={load.block}", f"--iodepth={load.depth}", *flush, *options),
        *("--randrepeat=0", "--norandommap", "--output-format=json"),
    ]


def fio(server: Server, load: Load, seconds: float | None) -> Rate:
    """Runs a load; without seconds, once over everything. Flushes are not counted as operations."""
    timed = [] if seconds is None else ["--time_based", f"--runtime={seconds * 1000:.0f}ms"]
    out = subprocess.run(
        client(server.uri, load, f"--size={SIZE}", *timed),
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    job = json.loads(out[out.index("{") :])["jobs"][0]
    sides = (job["read"], job["write"])
    return Rate(sum(side["iops"] for side in sides), sum(side["total_ios"] for side in sides))


Commands = dict[str, list[str | Path]]


def peers(folder: Path) -> Commands:
    """How the others are started; their sockets are named as they are."""
    raw = folder / "raw"
    raw.touch()
    os.truncate(raw, SIZE)
    return {
        "nbdkit": ["nbdkit", "-f", "-U", folder / "nbdkit", "memory", str(SIZE)],
        "qemu-nbd": ["qemu-nbd", "-t", "-f", "raw", "-k", folder / "qemu-nbd", raw],
    }


def servers(stack: ExitStack, commands: Commands, folder: Path) -> list[Server]:
    """Starts and fills all servers that are installed."""
    found = []
    for name, command in commands.items():
        if shutil.which(command[0]):
            found.append(stack.enter_context(serve(name, command, folder / name)))
            fio(found[-1], FILL, None)
        else:
            print(f"left out: {name}: {command[0]} is not installed")
    return found


def race(found: list[Server], seconds: float, rounds: int) -> None:
    """Prints a table, the first server's figures the measure of the others'."""
    print(f"{'':28}" + "".join(f"{server.name:>24}" for server in found))
    for load in LOADS:
        best = [Best() for _ in found]
        for _ in range(rounds):
            for server, record in zip(found, best, strict=True):
                before = server.cpu_s()
                rate = fio(server, load, seconds)
                used = (server.cpu_s() - before) * 1e6 / rate.operations
                record.iops = max(record.iops, rate.iops)
                record.cpu_us = min(record.cpu_us, used)
        row = "".join(
            f"{record.iops:>10,.0f} {record.iops / best[0].iops:>4.2f} {record.cpu_us:>5.1f}us"
            for record in best
        )
        print(f"{load.name:28}{row}", flush=True)
    print("operations a second, ratio to gordon, server's processor time for an operation")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    if not shutil.which("fio"):
        print("left out: all of it: fio is not installed")
        return
    if not OURS.exists():
        sys.exit(f"{OURS} is not built\n  try: the first line of this file's description")
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        commands: Commands = {"gordon": [OURS, folder / "gordon", str(SIZE)], **peers(folder)}
        race(servers(stack, commands, folder), options.seconds, options.rounds)


if __name__ == "__main__":
    main()
