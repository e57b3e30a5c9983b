"""`gordon block serve` of a plain file in the time of simulated disks, with real clients."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import struct
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from serving import MIB, Serve, Server, need

from conftest import Run

FILE = "disk.raw"
SIZE = 8 << 30
DISK = ("--preset", "sata-7200-1tb")
REAL = (*DISK, "--timing", "real")

#: For nbdsh: reads of 4 KiB at random places, one after the other; the mean time, in us.
READS = """
import random, time
places = random.Random({seed})
start = time.monotonic()
for n in range({count}):
    h.pread(4096, places.randrange(h.get_size() // 4096) * 4096)
print((time.monotonic() - start) / {count} * 1e6)
"""


def together(path: Path, count: int, seed: int) -> None:
    """Reads at random places, all of them in one message, whatever else this machine does."""
    places = random.Random(seed)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))

        def take(size: int) -> bytes:
            data = b""
            while len(data) < size:
                data += client.recv(size - len(data))
            return data

        assert take(18)[:16] == b"NBDMAGICIHAVEOPT"
        # No zeroes; NBD_OPT_EXPORT_NAME of the default export.
        client.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0))
        size = struct.unpack(">QH", take(10))[0]
        requests = (
            struct.pack(">IHHQQI", 0x25609513, 0, 0, n, places.randrange(size // 4096) * 4096, 4096)
            for n in range(count)
        )
        client.sendall(b"".join(requests))
        for _ in range(count):
            assert take(16 + 4096)[:8] == struct.pack(">II", 0x67446698, 0)


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Path(FILE).open("wb") as file:
        file.truncate(SIZE)


def stat(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("block", "stat", "--socket", "s", "--json", "-").out)
    return found


def test_what_clients_write_is_in_the_file(run: Run, serve: Serve) -> None:
    need("nbdcopy", "nbdinfo", "qemu-img")
    data = random.Random(1).randbytes(16 * MIB)
    Path("in").write_bytes(data)
    for args in ((), ("--timing", "real"), ("--timing", "real", "--stripe", "3")):
        os.truncate(FILE, 0)
        os.truncate(FILE, 32 * MIB)
        server = serve(*DISK, *args, file=FILE)
        report = json.loads(server.client("nbdinfo", "--json", server.uri))["exports"][0]
        assert (report["export-size"], report["block_size_minimum"]) == (32 * MIB, 512)
        assert all(report[f"can_{what}"] for what in ("flush", "fua", "trim", "zero", "multi_conn"))
        assert report["is_rotational"]
        server.client("nbdcopy", "--connections=4", "--flush", "in", server.uri)
        assert Path(FILE).read_bytes()[: len(data)] == data
        server.client("qemu-img", "convert", "-f", "raw", "-O", "raw", server.uri, "out")
        assert Path("out").read_bytes() == Path(FILE).read_bytes()
        found = stat(run)
        assert found["host_bytes_written"] == 16 * MIB
        assert found["host_bytes_read"] >= 16 * MIB
        assert (found["flushes"] >= 1, found["syncs"] >= 1, found["failed"]) == (True, True, 0)
        assert (found["emulation"] is None, found["disk"] is None) == (not args, not args)
        assert "the file is synced" in server.stop()


def test_answers_take_the_time_of_the_disk(run: Run, serve: Serve) -> None:
    need("nbdsh")
    count = 120
    server = serve(*REAL, file=FILE)
    took = float(server.shell(READS.format(seed=5, count=count)))
    found = stat(run)
    late, disk = found["emulation"], found["disk"]
    assert late["requests"] == found["reads"] == count
    # What the client sees is never less than what the disk would have taken.
    assert took >= late["got_mean_us"] >= late["asked_mean_us"]
    # Which is what the simulation says of such a load; the standard error is some 3 %.
    load = ("--pattern", "random-read", "--span", str(SIZE), "--requests", "5000")
    bench = ("disk", "bench", *load, "--queue-depth", "1", "--json", "-")
    modelled = json.loads(run(*bench).out)["response_ms"]["mean"]
    assert late["asked_mean_us"] / 1e3 == pytest.approx(modelled, rel=0.2)
    assert disk["positionings"] >= count
    # It reads while a request is in the mechanism, and ahead while this machine pauses in between.
    read_us, asked_us = disk["reading"] * found["uptime_s"] * 1e6, late["asked_mean_us"] * count
    assert 0.5 * asked_us <= read_us <= found["uptime_s"] * 1e6
    assert 9 * found["uptime_s"] * 0.9 < disk["energy_j"] < 13 * found["uptime_s"] * 1.1
    output = run("block", "stat", "--socket", "s").out
    assert "mean per positioning" in output
    assert "lateness mean" in server.stop()


def test_disks_of_a_stripe_answer_at_a_time(run: Run, serve: Serve) -> None:
    times = []
    for stripe in ("1", "8"):
        server = serve(*REAL, "--stripe", stripe, "--scheduler", "fcfs", file=FILE)
        together(server.socket, count=32, seed=3)
        found = stat(run)
        assert (found["disks"], found["emulation"]["requests"]) == (int(stripe), 32)
        times.append(found["emulation"]["asked_mean_us"])
        server.stop()
    assert times[1] * 2 < times[0]


def test_a_buffer_answers_at_once_and_a_flush_empties_it(run: Run, serve: Serve) -> None:
    need("nbdsh")
    server = serve(*REAL, file=FILE)
    server.shell("for n in range(8): h.pwrite(b'x' * 4096, n << 28)\n")
    lazy = stat(run)
    # None waited for the medium.
    assert lazy["emulation"]["asked_mean_us"] < 1000
    # What was read is there for another read, unless the disk has read far ahead since.
    twice = "[h.pread(4096, n << 28) for again in range(2)]"
    server.shell(f"for n in range(8): assert {twice} == [b'x' * 4096] * 2\nh.flush()\n")
    found = stat(run)["disk"]
    assert (found["buffer_hits"] > 0, found["sectors_destaged"]) == (True, 64)
    before = stat(run)["emulation"]
    server.shell("for n in range(4): h.pwrite(b'y' * 512, n << 29, nbd.CMD_FLAG_FUA)\n")
    after = stat(run)["emulation"]
    # Each was on the medium before it was answered.
    total = [each["asked_mean_us"] * each["requests"] for each in (before, after)]
    assert after["requests"] - before["requests"] == 4
    assert total[1] - total[0] > 4 * 1000
    server.stop()


def test_what_is_flushed_survives_a_kill(serve: Serve) -> None:
    need("nbdsh")
    server = serve(*REAL, file=FILE)
    server.shell(
        "for n in range(8): h.pwrite(bytes([n + 1]) * 4096, n << 20)\n"
        "h.flush()\n"
        "h.pwrite(b'f' * 512, 9 << 20, nbd.CMD_FLAG_FUA)\n"
    )
    server.stop(signal.SIGKILL)
    with Path(FILE).open("rb") as file:
        for n in range(8):
            file.seek(n << 20)
            assert file.read(4096) == bytes([n + 1]) * 4096
        file.seek(9 << 20)
        assert file.read(512) == b"f" * 512
    # And it can be served again.
    server = serve(*REAL, file=FILE)
    server.shell("assert h.pread(512, 9 << 20) == b'f' * 512")
    server.stop()


def test_every_command_of_the_protocol(serve: Serve) -> None:
    need("nbdsh")
    for args in (DISK, REAL, (*REAL, "--preset", "seagate-cheetah-9lp", "--scheduler", "sstf")):
        server = serve(*args, file=FILE)
        server.shell(
            "h.pwrite(b'a' * 65536, 0)\n"
            "h.zero(8192, 4096 + 512)\n"
            "h.trim(16384, 32768, nbd.CMD_FLAG_FUA)\n"
            "h.zero(4096, 49152, nbd.CMD_FLAG_NO_HOLE | nbd.CMD_FLAG_FUA)\n"
            "h.cache(65536, 0)\n"
            "h.flush()\n"
            "read = h.pread(65536, 0)\n"
            "assert read[:4608] == b'a' * 4608 and read[4608:12800] == bytes(8192)\n"
            "assert read[32768:53248] == bytes(20480) and read[53248:] == b'a' * 12288\n"
            "try:\n"
            "    h.pread(512, h.get_size())\n"
            "except nbd.Error as error:\n"
            "    assert error.errnum\n"
            "else:\n"
            "    raise SystemExit('a read past the end')\n"
        )
        report = server.client("nbdinfo", "--map", server.uri)
        rows = [line.split() for line in report.splitlines()]
        assert sum(int(row[1]) for row in rows) == SIZE
        assert (rows[-1][2], int(rows[-1][1])) == ("3", SIZE - 65536)
        server.stop()


def test_fio_and_qemu_read_back_what_they_wrote(serve: Serve) -> None:
    need("fio", "qemu-io")
    server = serve(*REAL, "--stripe", "4", file=FILE)
    server.client(
        *("fio", "--name=v", "--ioengine=nbd", f"--uri={server.uri}", "--rw=randwrite", "--bs=4k"),
        *("--size=1m", "--iodepth=16", "--verify=crc32c", "--verify_fatal=1", "--fsync=64"),
    )
    steps = (
        *("write -P 0x11 0 1M", "aio_write -P 0x33 2M 256k", "aio_flush", "flush"),
        *("write -z -u 512k 128k", "read -P 0x11 0 512k", "read -P 0 512k 128k"),
        "read -P 0x33 2112k 192k",
    )
    commands = [word for step in steps for word in ("-c", step)]
    output = server.client("qemu-io", "-f", "raw", *commands, server.uri)
    assert "Pattern verification failed" not in output, output
    server.stop()


def test_ctrl_c_ends_it_and_a_file_has_one_user(run: Run, serve: Serve) -> None:
    server = serve(*REAL, file=FILE)
    ran = run("block", "serve", FILE, *DISK, "--socket", "other")
    assert ran.status == 1
    assert "in use" in ran.err
    assert "the file is synced" in server.stop(signal.SIGINT)


def test_read_only(serve: Serve) -> None:
    need("nbdinfo")
    Path(FILE).chmod(0o444)
    server = serve(*REAL, "--read-only", file=FILE)
    assert json.loads(server.client("nbdinfo", "--json", server.uri))["exports"][0]["is_read_only"]
    server.stop()


def test_metrics_are_what_prometheus_reads(serve: Serve) -> None:
    server = serve(*REAL, "--metrics", "127.0.0.1:0", file=FILE)
    url = server.place("http://")
    text = urllib.request.urlopen(f"{url}/metrics").read().decode()  # noqa: S310
    kinds = dict(row.split()[2:4] for row in text.splitlines() if row.startswith("# TYPE"))
    for row in text.splitlines():
        if not row.startswith("#"):
            name, value = row.rsplit(" ", 1)
            float(value)
            assert name.split("{")[0] in kinds
    for name in ("requests_total", "buffer_hits_total", "busy", "energy_joules_total", "late_us"):
        assert f"gordon_block_{name}" in kinds
    server.stop()


BAD: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    ((FILE,), ("not a NAND image", "gordon block create", "--preset sata-7200-1tb")),
    ((FILE, "--preset", "gordon-slc-256g"), ("not a NAND image", "gordon block create")),
    (("none", *DISK), ("none: no such file", "truncate -s 8G none")),
    (("empty", *DISK), ("empty: an empty file", "truncate -s 8G empty")),
    (("ragged", *DISK), ("1000 bytes", "512")),
    ((".", *DISK), (".: Is a directory",)),
    (
        (FILE, "--preset", "seagate-cheetah-9lp", "--stripe", "2", "--stripe-unit", "1B"),
        ("chunks of 1B",),
    ),
    (("large", *DISK), ("large: 3000000000000 bytes do not fit on sata-7200-1tb", "--stripe 3")),
    (("flash.img", *DISK), ("flash.img: a flash image", "sata-7200-1tb is a disk")),
    (("flash.img", "--stripe", "2"), ("--stripe", "--preset sata-7200-1tb")),
    ((FILE, "--preset", "gordon-slc-256g", "--scheduler", "look"), ("--scheduler", "flash")),
    ((FILE, "--preset", "sata-7200-1tB"), ("no flash or disk preset", "sata-7200-1tb")),
    ((FILE, *DISK, "--stripe-unit", "64KiB"), ("--stripe-unit", "--stripe 2")),
    ((FILE, *DISK, "--diskspecs", "x"), ("--diskspecs",)),
    ((FILE, "--diskspecs", "x.diskspecs"), ("x.diskspecs",)),
    ((FILE, *DISK, "--set", "rpm=1"), ("rpm",)),
    ((FILE, *DISK, "--backend", "direct"), ("--backend direct",)),
]


@pytest.mark.parametrize(("args", "what"), BAD)
def test_bad_input_is_one_clear_error(
    run: Run, tmp_path: Path, args: tuple[str, ...], what: tuple[str, ...]
) -> None:
    for name, size in (("empty", 0), ("ragged", 1000), ("large", 3 * 10**12 // 512 * 512)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    if "flash.img" in args:
        assert run("block", "create", "flash.img", "--capacity", "64MiB").status == 0
    ran = run("block", "serve", *args, "--socket", "s")
    assert ran.status == 1
    assert ran.err.startswith("error: ")
    for text in what:
        assert text in ran.err
    assert not (tmp_path / "s").exists()


def test_its_own_description_and_that_of_disksim(run: Run, serve: Serve) -> None:
    need("nbdsh")
    Path("mine.toml").write_text(run("disk", "show", "laptop-5400-160gb").out)
    server: Server = serve("--preset", "mine.toml", "--timing", "real", file=FILE)
    server.shell("h.pread(4096, 1 << 30)")
    found = stat(run)
    assert (found["preset"], found["kind"]) == ("mine", "disk-status")
    assert found["disk_capacity"] > 150 * 10**9
    server.stop()
