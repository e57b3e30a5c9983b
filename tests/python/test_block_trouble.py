"""A served image in trouble, at full speed and in the time of the flash: the disk below is full or
fails, the flash wears out. Clients hear of it, can read on, and keep what they were promised."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from limits import PATIENCE_S
from serving import Serve, Server, clean, lacks, mount, need, quietly, sh

from conftest import Run

pytestmark = pytest.mark.parametrize("timing", ["full", "real"])

#: For nbdsh: writes and reads of `SIZE` bytes that are all one number; how they went.
TRY = """
import errno, json
SIZE = {size}
def attempt(at, number, flush=True):
    try:
        h.pwrite(bytes([number]) * SIZE, at * SIZE)
        if flush:
            h.flush()
    except nbd.Error as error:
        return errno.errorcode[error.errnum]
    return ""
def holds(at, numbers):
    return set(h.pread(SIZE, at * SIZE)) <= set(numbers)
"""
BIG = TRY.format(size=1 << 20)


class Below:
    """The working folder is a file system with 24 MiB of memory."""

    def __init__(self, folder: Path) -> None:
        self.memory = folder / "memory"
        self.memory.mkdir()

    def grow(self) -> None:
        sh("mount", "-o", "remount,size=400m", self.memory)


@pytest.fixture
def below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Below]:
    need("nbdsh", "mount", "umount")
    if lacks():
        pytest.skip(f"not on this machine: {lacks()}")
    below = Below(tmp_path)
    mount("-t", "tmpfs", "-o", "size=24m", "none", below.memory)
    monkeypatch.chdir(below.memory)
    yield below
    monkeypatch.undo()
    quietly("umount", "-l", str(below.memory))


def create(run: Run, *args: str) -> None:
    ran = run("block", "create", "flash.img", *args)
    assert ran.status == 0, ran.err


def stat(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("block", "stat", "--socket", "s", "--json", "-").out)
    return found


def test_a_full_disk_loses_nothing(run: Run, below: Below, serve: Serve, timing: str) -> None:
    create(run, "--capacity", "64MiB")
    server = serve("--timing", timing)
    reasons = json.loads(
        server.shell(f"{BIG}\nprint(json.dumps([attempt(n, n + 1) for n in range(40)]))")
    )
    good = [n for n, why in enumerate(reasons) if not why]
    assert set(reasons) == {"", "ENOSPC"}
    assert len(good) > 8
    there = f"{BIG}\nassert all(holds(n, [n + 1]) for n in {good})\n"
    server.shell(there)
    found = stat(run)
    assert "no space" in found["read_only"]
    assert found["medium_errors"] > 0
    below.grow()
    server.shell(f"{there}assert not any(attempt(n, 99) for n in range(40, 60))")
    assert stat(run)["read_only"] is None
    server.stop()
    clean(run)
    server = serve("--timing", timing)
    server.shell(f"{there}assert all(holds(n, [99]) for n in range(40, 60))")
    server.stop()


#: An array of 10 MiB, whose blocks last for some four erases.
FRAIL = (
    *("geometry.packages_per_bus=1", "geometry.dies_per_package=1", "geometry.pages_per_block=16"),
    *("geometry.blocks_per_plane=40", "super_page.size=16KiB", "ftl.write_points=1"),
    *("capacity=4MiB", "endurance.erase_budget=3", "endurance.spread=0.1"),
)


def test_worn_out_flash_can_be_read(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Serve, timing: str
) -> None:
    need("nbdsh")
    monkeypatch.chdir(tmp_path)
    create(run, *(word for change in FRAIL for word in ("--set", change)))
    server = serve("--timing", timing)
    # Where in 4 MiB, what each 64 KiB last held for sure, and what it may hold since.
    small = TRY.format(size=1 << 16)
    last = json.loads(
        server.shell(
            f"{small}\nlast, round, why = [[0]] * 64, 0, ''\n"
            "while not why and round < 100:\n"
            "    round += 1\n"
            "    for at in range(64):\n"
            "        why = attempt(at, round)\n"
            "        last[at] = [*last[at], round] if why else [round]\n"
            "        if why: break\n"
            "assert why == 'EPERM' and round > 5, (why, round)\n"
            "assert attempt(0, 200) == 'EPERM'\n"
            "print(json.dumps(last))"
        )
    )
    there = f"{small}\nassert all(holds(at, numbers) for at, numbers in enumerate({last}))\n"
    server.shell(there)
    assert stat(run)["read_only"]
    server.stop()
    clean(run)
    worn = json.loads(run("block", "wear", "flash.img", "--json", "-").out)
    assert worn["grown_bad"] > 0
    server = serve("--timing", timing)
    server.shell(f"{there}assert attempt(0, 200) == 'EPERM'\n")
    server.stop()


@pytest.fixture
def failing(below: Below, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file system on a disk that fails writes once it has taken what memory there is."""
    need("losetup", "mkfs.ext4")
    disk, folder = below.memory / "disk", tmp_path / "failing"
    with disk.open("wb") as file:
        file.truncate(400 << 20)
    folder.mkdir()
    sh("mkfs.ext4", "-q", "-J", "size=4", "-E", "lazy_journal_init=0", disk)
    mount("-o", "loop,errors=continue", disk, folder)
    monkeypatch.chdir(folder)
    yield folder
    monkeypatch.undo()
    quietly("umount", "-l", str(folder))


def until_it_fails(server: Server) -> str:
    """Writes 8 MiB over and over until no sync works any more; a script that looks whether what was
    promised is there. Of what failed some may have been done."""
    reasons = json.loads(
        server.shell(
            f"{BIG}\nassert not any(attempt(n, 1) for n in range(8))\n"
            "print(json.dumps([attempt(n % 8, 2 + n) for n in range(40)]))"
        )
    )
    first = reasons.index("EIO")
    assert first > 4
    assert set(reasons[first:]) == {"EIO"}, "nothing is promised any more"
    last = {at: [1] for at in range(8)}
    for n, why in enumerate(reasons):
        last[n % 8] = [*last[n % 8], 2 + n] if why else [2 + n]
    return f"{BIG}\nfor at, numbers in {last}.items(): assert holds(at, numbers), at\n"


def test_a_sync_that_fails_ends_writing(run: Run, failing: Path, serve: Serve, timing: str) -> None:
    create(run, "--capacity", "64MiB")
    server = serve("--timing", timing)
    server.shell(until_it_fails(server))
    assert "file under the image" in stat(run)["read_only"]
    server.process.send_signal(signal.SIGTERM)
    errors = server.process.communicate(timeout=PATIENCE_S)[1]
    assert server.process.returncode == 1
    assert "could not be shut down in order" in errors


def test_what_was_flushed_outlives_a_sync_that_fails(
    run: Run,
    below: Below,
    failing: Path,
    serve: Serve,
    timing: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    create(run, "--capacity", "64MiB")
    server = serve("--timing", timing)
    there = until_it_fails(server)
    server.stop(signal.SIGKILL)
    # The disk works again, and nothing of it is in memory.
    monkeypatch.chdir(below.memory)
    sh("umount", failing)
    below.grow()
    mount("-o", "loop", "disk", failing)
    monkeypatch.chdir(failing)
    server = serve("--timing", timing)
    server.shell(f"{there}assert not any(attempt(at, 99) for at in range(8))\n")
    server.stop()
    clean(run)
