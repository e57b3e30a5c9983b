"""`gordon storage characterise`: simulated storage by its closed forms, a real file, bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gordon import GordonError, storage
from gordon._core import io_probe, io_target
from gordon.sizes import doubling
from limits import PATIENCE_S
from serving import loop_device, mount, need, quietly, sh

from conftest import Run

QUICK = ("--sizes", "4KiB,64KiB", "--span", "2MiB", "--seconds", "0.01", "--bytes", "1MiB")
WRITES = ("sequential-write", "random-write")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An empty folder whose file system does direct I/O."""
    probe = tmp_path / "probe"
    probe.write_bytes(bytes(4096))
    try:
        sector = json.loads(io_target(str(probe)))["sector_bytes"]
    except GordonError as error:
        pytest.skip(str(error.args[0]))
    if sector > 4096:
        pytest.skip(f"{tmp_path}: direct I/O is of {sector} bytes at least")
    probe.unlink()
    return tmp_path


def test_four_disks_stream_at_four_times_the_rate_of_one() -> None:
    how = {"preset": "sata-7200-1tb", "sizes": "4MiB", "depths": [1, 4], "bytes": "256MiB"}
    one, four = (storage.characterise(**how, **more) for more in ({}, {"stripe": 4}))  # type: ignore[arg-type]
    for depth in (1, 4):
        rate = one.point("sequential-read", "4MiB", depth)["bandwidth_mb_s"]
        # Outer zone: `gordon disk show sata-7200-1tb`.
        assert rate == pytest.approx(105, rel=0.02)
        striped = four.point("sequential-read", "4MiB", depth)["bandwidth_mb_s"]
        assert striped == pytest.approx(4 * rate, rel=0.03)
    assert "devices" in one.report
    assert "devices" in four.report
    assert four.report["devices"] == 4
    assert four.report["capacity_bytes"] == pytest.approx(4 * one.report["capacity_bytes"])


@pytest.mark.parametrize("preset", ["laptop-7200-320gb", "sata-10000-300gb", "gordon-slc-256g"])
def test_what_the_joulesort_paper_says_of_its_figures(preset: str) -> None:
    """3: "maximum read and write bandwidth at transfer sizes between 16 KB and 64 KB"; 11, of five
    striped: "the sum of the individual drives"."""
    lines = ["sequential-read", "sequential-write"]
    how = {"preset": preset, "sizes": "4KiB,16KiB..4MiB", "depths": [4], "patterns": lines}
    one, five = (storage.characterise(**how, **more) for more in ({}, {"stripe": 5}))  # type: ignore[arg-type]
    for line in lines:
        rates = [p["bandwidth_mb_s"] for p in one.report["points"] if p["op"] in line]
        best = max(rates)
        assert rates[0] < 0.9 * best
        # From 64 KiB on.
        assert min(rates[3:]) > 0.9 * best
        sum_of_all = 5 * one.point(line, "4MiB", 4)["bandwidth_mb_s"]
        assert five.point(line, "4MiB", 4)["bandwidth_mb_s"] == pytest.approx(sum_of_all, rel=0.03)


def test_json_of_simulated_storage(run: Run) -> None:
    words = ("--preset", "laptop-7200-320gb", "--sizes", "4KiB..16KiB", "--depths", "1,8")
    ran = run("storage", "characterise", *words, "--bytes", "1MiB", "--json", "-")
    assert ran.status == 0, ran.err
    report = json.loads(ran.out)
    assert report["kind"].startswith("modelled")
    # Every pattern, depth and size, once.
    found = [
        (f"{p['pattern']}-{p['op']}", p["queue_depth"], p["size_bytes"]) for p in report["points"]
    ]
    expected = [(p, d, s << 10) for p in storage.PATTERNS for d in (1, 8) for s in (4, 8, 16)]
    assert found == expected
    for point in report["points"]:
        moved = point["requests"] * point["size_bytes"]
        assert point["bandwidth_mb_s"] == pytest.approx(moved / point["elapsed_s"] / 1e6)
        assert point["iops"] == pytest.approx(point["requests"] / point["elapsed_s"])
        assert {"mean", "p50", "p99", "p999", "max"} <= set(point["latency_us"])
        assert point["latency_us"]["p50"] <= point["latency_us"]["max"]
    provenance = report["provenance"]
    assert provenance["seed"] == 1
    assert provenance["version"]
    assert "laptop" in json.dumps(provenance["config"]["device"]).lower()
    again = run("storage", "characterise", *words, "--bytes", "1MiB", "--json", "-")
    assert again.out == ran.out


def test_flash_alone_striped_and_worn_in() -> None:
    small = {
        "preset": "gordon-slc-256g",
        "sizes": "64KiB",
        "depths": [16],
        "bytes": "32MiB",
        "set": ["capacity=1GiB"],
    }
    new: Any = storage.characterise(**small)  # type: ignore[arg-type]
    two: Any = storage.characterise(**small, stripe=2)  # type: ignore[arg-type]
    old: Any = storage.characterise(**small, precondition=1.0)  # type: ignore[arg-type]

    def rate(result: storage.Result, pattern: str) -> float:
        return float(result.point(pattern, "64KiB", 16)["bandwidth_mb_s"])

    assert rate(new, "random-read") < rate(two, "random-read") < 2.1 * rate(new, "random-read")
    # Garbage collection.
    assert rate(old, "random-write") < 0.8 * rate(new, "random-write")
    assert new.report["span_bytes"] == new.report["capacity_bytes"]


def test_the_table_and_the_plot(run: Run, tmp_path: Path) -> None:
    words = ("--preset", "sata-7200-1tb", "--sizes", "4KiB..1MiB", "--depths", "1")
    for kind, start in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        path = tmp_path / f"plot{kind}"
        ran = run("storage", "characterise", *words, "--bytes", "1MiB", "--plot", str(path))
        assert ran.status == 0, ran.err
        assert path.read_bytes().startswith(start)
        assert f"wrote {path}" in ran.err
    lines = ran.out.splitlines()
    assert "all values are modelled" in lines[0]
    assert lines[1] == "MB/s, 1 outstanding"
    assert lines[2].split() == ["size", *storage.PATTERNS]
    assert [line.split()[:2] for line in lines[3:12]] == [
        *([str(size), "KiB"] for size in (4, 8, 16, 32, 64, 128, 256, 512)),
        ["1", "MiB"],
    ]
    assert lines[12].split()[:2] == ["90%", "from"]
    # No other file is left.
    assert len(list(tmp_path.iterdir())) == 3


def test_a_scratch_file_is_measured_and_gone(run: Run, place: Path) -> None:
    ran = run("storage", "characterise", str(place), *QUICK, "--json", "-")
    assert ran.status == 0, ran.err
    report = json.loads(ran.out)
    assert report["kind"].startswith("measured")
    assert (report["scratch"], report["span_bytes"]) == (True, 2 << 20)
    assert len(report["points"]) == 4 * 2 * 2
    for point in report["points"]:
        assert point["requests"] >= point["queue_depth"]
        assert point["bandwidth_mb_s"] > 0
        moved = point["requests"] * point["size_bytes"]
        assert point["bandwidth_mb_s"] == pytest.approx(moved / point["elapsed_s"] / 1e6)
        keys = {"mean", "min", "p50", "p90", "p99", "p999", "p9999", "max"}
        assert set(point["latency_us"]) == keys
    assert report["provenance"]["time"]
    assert list(place.iterdir()) == []


def test_a_target_that_does_not_exist_is_an_error(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    for name in ("nosuch", str(place / "nosuch")):
        ran = run("storage", "characterise", name, *QUICK)
        assert (ran.status, ran.out) == (1, "")
        assert f"{name}: no such file" in ran.err
    small = place / "small"
    small.write_bytes(b"x" * 300)
    ran = run("disk", "probe", str(small), "-o", "log")
    assert ran.status == 1
    assert "300 bytes, less than a sector of" in ran.err
    ran = run("disk", "probe", str(place), "-o", "log")
    assert ran.status == 1
    assert "scratch" not in ran.err
    assert [file.name for file in place.iterdir()] == ["small"]


def test_an_existing_target_is_only_read_without_write(run: Run, place: Path) -> None:
    file = place / "data"
    file.write_bytes(b"x" * (2 << 20))
    ran = run("storage", "characterise", str(file), *QUICK, "--json", "-")
    assert ran.status == 0, ran.err
    assert {point["op"] for point in json.loads(ran.out)["points"]} == {"read"}
    assert f"warning: {file} was only read; --write" in ran.err
    ran = run("storage", "characterise", str(file), *QUICK, "--patterns", "random-write")
    assert ran.status == 1
    assert "writing to it destroys what is there" in ran.err
    assert file.read_bytes() == b"x" * (2 << 20)
    ran = run("storage", "characterise", str(file), *QUICK, "--write", "--json", "-")
    assert ran.status == 0, ran.err
    assert f"warning: --write: all 2.10 MB of the file {file} will be overwritten" in ran.err
    assert [p["op"] for p in json.loads(ran.out)["points"]] == ["read"] * 8 + ["write"] * 8
    assert len(file.read_bytes()) == 2 << 20 != file.read_bytes().count(b"x")


@pytest.fixture
def loop(place: Path) -> Iterator[str]:
    """A block device of 64 MiB with a file system."""
    need("mkfs.ext4")
    if os.geteuid() != 0:
        pytest.skip("not as root: no loop devices")
    with (place / "disk").open("wb") as file:
        file.truncate(64 << 20)
    device = loop_device(place / "disk", "--direct-io=on")
    try:
        sh("mkfs.ext4", "-q", device)
        yield device
    finally:
        quietly("umount", str(place / "mnt"))
        sh("losetup", "-d", device)


def test_a_block_device_is_written_to_only_where_nothing_uses_it(
    run: Run, place: Path, loop: str
) -> None:
    words = ("storage", "characterise", loop, *QUICK[:2], "--span", "1MiB", *QUICK[4:])
    before = Path(loop).read_bytes()[: 1 << 20]
    ran = run(*words, "--json", "-")
    assert ran.status == 0, ran.err
    report = json.loads(ran.out)
    assert (report["target"]["kind"], report["target"]["capacity_bytes"]) == (
        "block-device",
        64 << 20,
    )
    assert report["target"]["device"] == Path(loop).name
    assert {point["op"] for point in report["points"]} == {"read"}
    (place / "mnt").mkdir()
    mount("-o", "ro", loop, place / "mnt")
    ran = run(*words, "--write")
    assert ran.status == 1
    assert f"{loop}: in use (mounted, or part of something): it is not written to" in ran.err
    sh("umount", place / "mnt")
    assert Path(loop).read_bytes()[: 1 << 20] == before
    ran = run(*words, "--write", "--patterns", "sequential-write")
    assert ran.status == 0, ran.err
    assert f"the first 1.05 MB of the block device {loop} will be overwritten" in ran.err
    pages = Path(loop).read_bytes()[: 1 << 20]
    assert not any(
        pages[at : at + 4096] == before[at : at + 4096] for at in range(0, 1 << 20, 4096)
    )


def test_an_interrupt_leaves_nothing(place: Path) -> None:
    words = ["storage", "characterise", str(place), "--span", "64MiB", "--seconds", "60"]
    started = subprocess.Popen([sys.executable, "-m", "gordon", *words], stderr=subprocess.PIPE)
    files = Path(f"/proc/{started.pid}/fd")
    scratch = f"{place}/.gordon-scratch-{started.pid} (deleted)"
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        links = [os.path.realpath(fd) for fd in files.iterdir()]
        if scratch in links or started.poll() is not None:
            break
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=PATIENCE_S)
    assert started.returncode == 130, err
    assert list(place.iterdir()) == []


def test_probes_from_python(place: Path) -> None:
    file = place / "data"
    file.write_bytes(b"x" * 65536)
    about = json.loads(io_target(str(file)))
    assert (about["kind"], about["capacity_bytes"]) == ("file", 65536)
    assert {"sector_bytes", "rotational", "model"} <= set(about)
    timed = io_probe(str(file), bytes([0, 0]), [0, 8192], [4096, 8192], [0, 2_000_000])
    (first, done), (second, end) = timed
    assert first < done <= second - 2_000_000 < second < end
    io_probe(str(file), bytes([1]), [4096], [4096], [0], write=True)
    now = file.read_bytes()
    assert now[:4096] == now[8192:12288] == b"x" * 4096 != now[4096:8192]
    with pytest.raises(GordonError, match="different lengths"):
        io_probe(str(file), bytes([0]), [0, 4096], [4096], [0])


def test_sizes() -> None:
    assert doubling("4KiB..64MiB", "--sizes") == [4096 << i for i in range(15)]
    assert doubling("6KiB..30KiB,512B", "--sizes") == [512, 6144, 12288, 24576, 30720]
    assert doubling(["1MiB", "4KiB", "4KiB"], "--sizes") == [4096, 1 << 20]


@pytest.mark.parametrize(
    ("args", "kind", "named"),
    [
        ((), "one-storage", ""),
        ((".", "--preset", "sata-7200-1tb"), "one-storage", ""),
        ((".", "--stripe", "4"), "other-storage-only", "--stripe"),
        (("--preset", "sata-7200-1tb", "--write"), "other-storage-only", "--write"),
        (("--preset", "sata-7200-1tb", "--precondition", "1"), "flash-only", "--precondition"),
        (("--preset", "gordon-slc-256g", "--scheduler", "sptf"), "disk-only", "--scheduler"),
        (("--preset", "sata-7200-2tb"), "unknown-name", "preset `sata-7200-2tb`"),
        (("--preset", "./none.toml"), "unreadable-file", "./none.toml"),
        (("--preset", "sata-7200-1tb", "--sizes", "4XB"), "bad-size", "unknown unit"),
        (("--preset", "sata-7200-1tb", "--sizes", "8KiB..4KiB"), "bad-size", "--sizes 8KiB..4KiB"),
        (("--preset", "sata-7200-1tb", "--sizes", "1000B"), None, "multiple of 512B"),
        (("--preset", "sata-7200-1tb", "--depths", "0"), "", "--depths"),
        (("--preset", "sata-7200-1tb", "--patterns", "random"), "unknown-name", "`random`"),
        (("--preset", "sata-7200-1tb", "--plot", "x.bmp"), "bad-image-format", "x.bmp"),
        (("--preset", "sata-7200-1tb", "--json", "no/where"), "missing-folder", "no/where"),
        (("/dev/null",), None, "neither a regular file nor a block device"),
        (("/no/where/at/all",), None, "no such file or device"),
        ((".", "--seconds", "0"), "bad-number", "--seconds 0.0"),
        ((".", "--span", "1MiB"), None, "requests of 2MiB in 1MiB"),
    ],
)
def test_bad_input(
    run: Run,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    args: tuple[str, ...],
    kind: str | None,
    named: str,
) -> None:
    monkeypatch.chdir(place)
    ran = run("storage", "characterise", *args)
    assert ran.status in (1, 2)
    assert kind in (None, ran.kind)  # None: an error of the core
    assert named in ran.err
    assert list(place.iterdir()) == []
