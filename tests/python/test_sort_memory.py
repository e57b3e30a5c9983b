"""The greatest resident memory of `gordon sort`: 1.05 times `--memory` and 64 MiB."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gordon import sort
from serving import room

MIB = 1 << 20
RECORDS = 2_000_000
BYTES = RECORDS * 100


def equal(records: list[bytes]) -> list[bytes]:
    return [b"0123456789" + record[10:] for record in records]


def half(records: list[bytes]) -> list[bytes]:
    """Of one key, the others anywhere: among them."""
    return [
        b"0123456789" + record[10:] if number % 2 else record
        for number, record in enumerate(records)
    ]


KINDS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "equal": equal,
    "half": half,
    "sorted": sorted,
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    # Inputs, and temporary files and an output at a time.
    room(folder, (len(KINDS) + 5) * BYTES)
    sort.generate(folder / "uniform", records=RECORDS)
    sort.generate(folder / "skewed", records=RECORDS, skewed=True)
    content = (folder / "uniform").read_bytes()
    records = [content[at : at + 100] for at in range(0, BYTES, 100)]
    for name, change in KINDS.items():
        (folder / name).write_bytes(b"".join(change(records)))
    return folder


@pytest.fixture
def sorted_within(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Sorts in a process of its own, which must not take more."""

    def call(files: list[Path], memory: str, *args: object) -> dict[str, Any]:
        words = [sys.executable, "-m", "gordon", "sort", *files, tmp_path / "out"]
        # Each thread needs memory: as many on any machine.
        threads = () if "--threads" in args else ("--threads", "2")
        words += ["--memory", memory, "--json", tmp_path / "report", *threads, *args]
        subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)
        report: dict[str, Any] = json.loads((tmp_path / "report").read_text())
        most = 1.05 * report["memory_bytes"] + 64 * MIB
        peak = report["peak_resident_bytes"]
        assert peak <= most, (
            f"{peak / MIB:.0f} MiB of {most / MIB:.0f}: {words[3:]}, {report['plan']}"
        )
        return report

    return call


Within = Callable[..., dict[str, Any]]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("kind", ["uniform", "skewed", *KINDS])
@pytest.mark.parametrize(
    ("method", "memory"),
    [
        ("one-pass", "330MB"),
        *(("distribute", memory) for memory in ("1MiB", "16MiB", "64MB", "200MB")),
        *(("merge", memory) for memory in ("1MiB", "16MiB", "64MB", "200MB")),
    ],
)
def test_methods(inputs: Path, sorted_within: Within, kind: str, method: str, memory: str) -> None:
    report = sorted_within([inputs / kind], memory, "--method", method)
    assert report["records"] == RECORDS


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("method", ["distribute", "merge"])
@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("way", [(), ("--buffered",)], ids=["direct", "buffered"])
def test_threads_and_ways(
    inputs: Path, sorted_within: Within, method: str, threads: int, way: tuple[str, ...]
) -> None:
    args = ("--method", method, "--threads", threads, *way)
    assert sorted_within([inputs / "uniform"], "64MB", *args)["plan"]["threads"] == threads
    if method == "merge":
        sorted_within([inputs / "uniform"], "280MB", "--threads", threads, *way)


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("method", ["distribute", "merge"])
@pytest.mark.parametrize("sizes", [("4KiB",) * 3, ("16MB", "1MB", "64KiB"), ("1MB", "16MB", "8MB")])
def test_transfer_sizes(
    inputs: Path, sorted_within: Within, method: str, sizes: tuple[str, ...]
) -> None:
    args: list[object] = ["--method", method]
    for name, size in zip(("input", "output", "temp"), sizes, strict=True):
        args += [f"--{name}-transfer", size]
    sorted_within([inputs / "uniform"], "70MB", *args)


@pytest.mark.parametrize("preset", ["1B", "3B", "4D"])
def test_presets(inputs: Path, sorted_within: Within, preset: str) -> None:
    for method in ("distribute", "merge"):
        sorted_within([inputs / "uniform"], "256MB", "--method", method, "--preset", preset)


@pytest.mark.parametrize("memory", ["16MiB", "400MB"])
@pytest.mark.parametrize("io", ["threads", "auto"])
def test_stripes(tmp_path: Path, sorted_within: Within, memory: str, io: str) -> None:
    """More is read ahead, as there are more devices."""
    files = [tmp_path / str(number) for number in range(4)]
    room(tmp_path, 4 * BYTES)
    sort.generate(files, records=RECORDS, stripe="256KiB")
    report = sorted_within(files, memory, "--stripe", "256KiB", "--io", io)
    assert report["records"] == RECORDS
    assert report["plan"]["depth"] > 4


@pytest.mark.parametrize("method", ["auto", "distribute", "merge"])
def test_many_small_inputs(
    inputs: Path, tmp_path: Path, sorted_within: Within, method: str
) -> None:
    """Each ends a piece of memory that it does not fill."""
    rng = random.Random(1)
    files = []
    with (inputs / "uniform").open("rb") as whole:
        for number in range(400):
            path = tmp_path / f"{number:03}"
            path.write_bytes(whole.read(100 * rng.randrange(1, 2000)))
            files.append(path)
    held = sum(path.stat().st_size for path in files)
    report = sorted_within(files, "128MB", "--method", method)
    assert report["bytes"] == held


def wide(path: Path, count: int, length: int) -> list[bytes]:
    """Lines of one length, each with a key."""
    rng = random.Random(1)
    lines = [b"%08d " % rng.randrange(10**8) + b"x" * (length - 10) + b"\n" for _ in range(count)]
    path.write_bytes(b"".join(lines))
    return lines


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("method", ["auto", "distribute", "merge"])
@pytest.mark.parametrize("memory", ["8MB", "64MB"])
@pytest.mark.parametrize("length", [100_000, 1_000_000])
@pytest.mark.parametrize("what", ["lines", "records"])
def test_wide_records(
    tmp_path: Path, sorted_within: Within, method: str, memory: str, length: int, what: str
) -> None:
    """Records longer than a transfer."""
    room(tmp_path, 4 * 200_000_000)
    lines = wide(tmp_path / "in", 200_000_000 // length, length)
    args = ["--lines"] if what == "lines" else ["--record", length]
    report = sorted_within([tmp_path / "in"], memory, "--method", method, *args)
    assert report["longest_record_bytes"] == length
    assert (tmp_path / "out").read_bytes() == b"".join(sorted(lines))


def test_wide_records_in_one_pass(tmp_path: Path, sorted_within: Within) -> None:
    room(tmp_path, 2 * 300_000_000)
    wide(tmp_path / "in", 300, 1_000_000)
    report = sorted_within([tmp_path / "in"], "400MB", "--method", "one-pass", "--lines")
    assert report["warnings"] == []


def test_a_record_larger_than_memory_is_sorted_with_a_warning(tmp_path: Path) -> None:
    lines = [b"z" * 40_000_000 + b"\n", b"b\n", b"a\n"]
    (tmp_path / "in").write_bytes(b"".join(lines))
    words = [
        "sort",
        tmp_path / "in",
        tmp_path / "out",
        "--lines",
        "--memory",
        "16MB",
        "--json",
        "-",
    ]
    command = [sys.executable, "-m", "gordon", *map(str, words)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (tmp_path / "out").read_bytes() == b"".join(sorted(lines))
    report = json.loads(ran.stdout)
    assert report["longest_record_bytes"] == 40_000_001
    assert "40.0 MB" in report["warnings"][0]
    assert "warning: the longest record" in ran.stderr
    # The record three times at most: as it is read, put in order and written.
    assert report["peak_resident_bytes"] <= 3 * 40_000_000 + 1.05 * 16e6 + 64 * MIB
