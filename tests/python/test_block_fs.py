"""ext4, SQLite and fsx on a served flash image: what real programs were promised is there after a
server is stopped, or killed under load.

The chain: `gordon block serve`, nbdfuse, a loop device with direct I/O, ext4. So an fsync comes as
a flush, and a discard as a trim.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import writers
from serving import ENV, MIB, Server, clean, eventually, lacks, loop_device, need, quietly, sh

from conftest import Run

TOOLS = ("nbdfuse", "fusermount3", "losetup", "mkfs.ext4", "e2fsck", "fstrim", "mount", "umount")


class Writer:
    """A program of writers.py at work."""

    def __init__(self, what: str, folder: Path, first: int) -> None:
        self.out, self.err = Path(f"{what}.out"), Path(f"{what}.err")
        command = [sys.executable, writers.__file__, what, str(folder), str(first)]
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(command, stdout=out, stderr=err)

    def lines(self) -> list[list[int]]:
        """The complete lines of its output."""
        lines = self.out.read_text().split("\n")[:-1]
        return [[int(word) for word in line.split()] for line in lines]

    def is_at_work(self) -> bool:
        assert self.process.poll() is None, self.err.read_text()
        return len(self.lines()) > 50

    def end(self) -> None:
        """Nobody answers it any more."""
        try:
            self.process.wait(1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Disk:
    """A served image as a block device, and as a file system."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.fuse, self.files = folder, folder / "fuse", folder / "files"
        self.nbdfuse: subprocess.Popen[bytes] | None = None
        self.writers: list[Writer] = []
        self.loop = ""
        self.mounted = False
        self.fuse.mkdir()
        self.files.mkdir()
        self.serve()

    def serve(self) -> None:
        self.server = Server(self.folder)

    def attach(self) -> None:
        # nbdfuse 1.14 aborts where an answer is there before it has counted the request, on a
        # connection with others on their way: it gets about as many as it has requests.
        command = ["nbdfuse", "-C", "16", str(self.fuse), self.server.uri]
        self.nbdfuse = subprocess.Popen(command, env=ENV, stdin=subprocess.DEVNULL)
        eventually(lambda: (self.fuse / "nbd").exists())
        found = sh("losetup", "--direct-io=on", "--find", "--show", self.fuse / "nbd")
        self.loop = found.strip()

    def mount(self, options: str = "discard") -> None:
        sh("mount", "-t", "ext4", "-o", options, self.loop, self.files)
        self.mounted = True

    def unmount(self) -> None:
        sh("umount", self.files)
        self.mounted = False

    def check(self) -> None:
        sh("e2fsck", "-fn", self.loop)

    def detach(self) -> None:
        """Takes it all down, whether or not anybody answers below."""
        while self.writers:
            self.writers.pop().end()
        if self.mounted:
            quietly("umount", "-l", str(self.files))
            self.mounted = False
        if self.loop:
            quietly("losetup", "-d", self.loop)
            # It goes when the last user of the file system has gone.
            held = Path("/sys/block", Path(self.loop).name, "loop")
            eventually(lambda: not held.exists())
            self.loop = ""
        if self.nbdfuse:
            quietly("fusermount3", "-u", "-z", str(self.fuse))
            try:
                self.nbdfuse.wait(10)
            except subprocess.TimeoutExpired:
                self.nbdfuse.kill()
                self.nbdfuse.wait()
            self.nbdfuse = None

    def write(self, what: str, first: int) -> Writer:
        self.writers.append(Writer(what, self.files, first))
        return self.writers[-1]

    def stat(self) -> dict[str, int]:
        command = ("-m", "gordon", "block", "stat", "--socket", self.server.socket, "--json", "-")
        found: dict[str, int] = json.loads(sh(sys.executable, *command))
        return found

    def mapped(self) -> int:
        """Bytes of the device that are mapped."""
        report = json.loads(self.server.client("nbdinfo", "--map", "--json", self.server.uri))
        return sum(extent["length"] for extent in report if extent["type"] & 1 == 0)


def chain(
    folder: Path, monkeypatch: pytest.MonkeyPatch, run: Run, kind: type[Disk] = Disk
) -> Iterator[Disk]:
    """A new image, served and attached; skips where the machine lacks something for it."""
    need(*TOOLS)
    if lacks():
        pytest.skip(f"not on this machine: {lacks()}")
    (folder / "loop").write_bytes(bytes(MIB))
    sh("losetup", "-d", loop_device(folder / "loop"))
    monkeypatch.chdir(folder)
    ran = run("block", "create", "flash.img", "--capacity", "96MiB")
    assert ran.status == 0, ran.err
    disk = kind(folder)
    try:
        disk.attach()
        yield disk
    finally:
        try:
            disk.detach()
        finally:
            if disk.server.process.poll() is None:
                disk.server.process.kill()
            disk.server.process.communicate()


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Iterator[Disk]:
    yield from chain(tmp_path, monkeypatch, run)


def end(disk: Disk, run: Run) -> None:
    disk.detach()
    disk.server.stop()
    clean(run)


def test_files_outlive_a_restart_and_what_is_deleted_is_unmapped(disk: Disk, run: Run) -> None:
    sh("mkfs.ext4", "-q", disk.loop)
    disk.mount()
    seeds = random.Random(1)
    files = {f"f{n}": seeds.randbytes(seeds.randrange(1, MIB)) for n in range(60)}
    for name, data in files.items():
        writers.put(disk.files / name, data)
    disk.unmount()
    disk.check()
    disk.detach()
    assert "the image is closed cleanly" in disk.server.stop()
    assert ": closed cleanly" in run("block", "check", "flash.img").out

    disk.serve()
    disk.attach()
    disk.mount("nodiscard")
    for name, data in files.items():
        assert (disk.files / name).read_bytes() == data, name
    gone = list(files)[::2]
    for name in gone:
        (disk.files / name).unlink()
    sh("sync", "-f", disk.files)
    # What is deleted is mapped until the file system says so.
    before, least = disk.mapped(), sum(len(files[name]) for name in gone) * 9 // 10
    sh("fstrim", disk.files)
    assert disk.mapped() <= before - least
    assert disk.stat()["host_bytes_trimmed"] >= least
    for name in set(files) - set(gone):
        assert (disk.files / name).read_bytes() == files[name], name
    disk.unmount()
    disk.check()
    # Discarded as it is deleted.
    disk.mount()
    before = disk.mapped()
    for name in set(files) - set(gone):
        (disk.files / name).unlink()
    sh("sync", "-f", disk.files)
    eventually(lambda: disk.mapped() <= before - least // 2)
    disk.unmount()
    disk.check()
    end(disk, run)


class Promised:
    """Acknowledged data: the least version of each file, and the last row."""

    def __init__(self) -> None:
        self.versions: dict[int, int] = {}
        self.version, self.row = 0, -1

    def found(self, folder: Path) -> None:
        """All of it is there; what is there beyond it may stay."""
        for name in range(writers.FILES):
            path = folder / str(name)
            if not path.exists():
                assert name not in self.versions, f"file {name} is lost"
                continue
            data = path.read_bytes()
            version = int(data.split(maxsplit=2)[1])
            assert data == writers.content(name, version), f"file {name}, version {version}"
            least = self.versions.get(name, 0)
            assert version >= least, f"file {name} is as old as {version}; promised was {least}"
            self.versions[name] = version
            self.version = max(self.version, version)
        database = sqlite3.connect(folder / "rows.db")
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = database.execute("SELECT id, body FROM rows ORDER BY id").fetchall()
        database.close()
        last = len(rows) - 1
        assert last >= self.row, f"row {self.row} was promised, {last} is the last"
        assert [row for row, _ in rows] == list(range(last + 1))
        assert all(data == writers.body(row) for row, data in rows)
        self.row = last


def test_durable_writes_outlive_kills_under_load(disk: Disk, run: Run) -> None:
    sh("mkfs.ext4", "-q", disk.loop)
    promised, seeds = Promised(), random.Random(3)
    for turn in range(3):
        disk.mount()
        if turn > 0:
            promised.found(disk.files)
        files = disk.write("files", promised.version)
        rows = disk.write("rows", promised.row + 1)
        eventually(files.is_at_work)
        eventually(rows.is_at_work)
        time.sleep(seeds.uniform(0, 1))
        assert files.is_at_work()
        assert rows.is_at_work()
        disk.server.stop(signal.SIGKILL)
        disk.detach()
        for name, version in files.lines():
            promised.versions[name] = promised.version = version
        promised.row = rows.lines()[-1][0]
        disk.serve()
        disk.attach()
        if turn % 2 == 0:
            # Its journal is replayed here; 1: and something was put right.
            sh("e2fsck", "-fy", disk.loop, codes=(0, 1))
        else:
            # Or by the kernel; that alone leaves it in order.
            disk.mount()
            disk.unmount()
        disk.check()
    disk.mount()
    promised.found(disk.files)
    disk.unmount()
    disk.check()
    end(disk, run)


def test_a_hole_punched_is_zeros_to_its_last_sector(disk: Disk, run: Run) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
    device = os.open(disk.loop, os.O_RDWR | os.O_DIRECT)
    try:
        memory = mmap.mmap(-1, 16384)
        memory.write(b"a" * 16384)
        assert os.pwritev(device, [memory], 0) == 16384
        # FALLOC_FL_PUNCH_HOLE and KEEP_SIZE; past the page cache, which would hide what is left.
        assert libc.fallocate(device, 3, 512, 8192) == 0, os.strerror(ctypes.get_errno())
        assert os.preadv(device, [memory], 0) == 16384
        assert memory[:] == b"a" * 512 + bytes(8192) + b"a" * 7680
    finally:
        os.close(device)
    end(disk, run)


def fsx(disk: Disk, operations: int, options: str, place: str | Path) -> None:
    need("fsx")
    (disk.folder / "fsx.toml").write_text(options)
    sh(*("fsx", "-N", operations, "-S", 1, "-f", "fsx.toml", "-P", disk.folder, place))


def test_fsx_finds_nothing_wrong(disk: Disk, run: Run) -> None:
    options = (
        "blockmode = true\nflen = 33554432\n[opsize]\nmax = 131072\nalign = 512\n"
        "[weights]\ntruncate = 0\nfsync = 0.5\nfdatasync = 0.5\npunch_hole = 1\ninvalidate = 0.5\n"
    )
    fsx(disk, 4000, options, disk.loop)
    end(disk, run)


def test_fsx_finds_nothing_wrong_in_a_file(disk: Disk, run: Run) -> None:
    options = (
        "flen = 4194304\n[opsize]\nmax = 131072\n"
        "[weights]\nfsync = 1\nfdatasync = 1\npunch_hole = 1\nposix_fallocate = 1\ninvalidate = 1\n"
    )
    sh("mkfs.ext4", "-q", disk.loop)
    disk.mount()
    fsx(disk, 2000, options, disk.files / "one")
    disk.unmount()
    disk.check()
    end(disk, run)
