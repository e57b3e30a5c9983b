"""`gordon sort generate`, `validate`: what gensort 1.5 and valsort 1.5 print, files, devices,
pipes, bad input.

`GENSORT` and `VALSORT` are the paths of the programs themselves; if set, results are compared.
"""

from __future__ import annotations

import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gordon import sort
from limits import PATIENCE_S
from serving import loop_device, mount, need, quietly, sh

from conftest import Run, raises

# What `gensort -c [-a] [-s] 100000` of gensort 1.5 prints, and the CRC-32 of what it writes.
GENSORT_1_5 = [
    ((), "c3068574c6ff", 0x5527BEF2),
    (("-a",), "c34e19c81885", 0xDE6B3FAE),
    (("-s",), "c3480c053dda", 0xE865364B),
    (("-a", "-s"), "c30e6c1fe3e5", 0x73EA7C9B),
]


def named(variable: str) -> str:
    """The program that the environment names."""
    program = os.environ.get(variable, "")
    if not program:
        pytest.skip(f"{variable} names no {variable.lower()}")
    return program


def records(path: Path) -> list[bytes]:
    content = path.read_bytes()
    return [content[at : at + 100] for at in range(0, len(content), 100)]


def gordon(*args: str) -> list[str]:
    return [sys.executable, "-m", "gordon", "sort", *args]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("flags", "checksum", "crc"), GENSORT_1_5)
def test_records_are_those_of_gensort(
    run: Run, tmp_path: Path, flags: tuple[str, ...], checksum: str, crc: int
) -> None:
    ran = run("sort", "generate", *flags, "-n", "100k", "-o", "made", "--json", "made.json")
    assert ran.status == 0, ran.err
    assert ran.out.splitlines()[0].startswith("made: 100,000 records, 10.0 MB in ")
    assert ran.out.splitlines()[1] == f"checksum {checksum}"
    assert zlib.crc32((tmp_path / "made").read_bytes()) == crc
    report = json.loads((tmp_path / "made.json").read_text())
    assert (report["records"], report["bytes"], report["checksum"]) == (
        100_000,
        10_000_000,
        checksum,
    )
    assert (report["ascii"], report["skewed"]) == ("-a" in flags, "-s" in flags)


def test_parts_are_the_whole(run: Run, tmp_path: Path) -> None:
    """Each with its start; their sums together are the sum."""
    whole = sort.generate("whole", records=1000, start=2**64 - 500)
    parts = [
        sort.generate(f"part-{start}", records=250, start=2**64 - 500 + start)
        for start in range(0, 1000, 250)
    ]
    joined = b"".join((tmp_path / str(part["output"])).read_bytes() for part in parts)
    assert joined == (tmp_path / "whole").read_bytes()
    assert sum(int(part["checksum"], 16) for part in parts) == int(whole["checksum"], 16)
    ran = run("sort", "validate", *(part["output"] for part in parts), "--json", "-")
    report = json.loads(ran.out)
    assert ran.status == 1
    assert (report["records"], report["checksum"]) == (1000, whole["checksum"])
    assert [part["records"] for part in report["parts"]] == [250] * 4


def test_sorted_records_are_in_order(run: Run, tmp_path: Path) -> None:
    made = sort.generate("made", records=50_000, ascii=True, skewed=True)
    ordered = sorted(records(tmp_path / "made"), key=lambda record: record[:10])
    # Twice each: as many keys are that of the record before.
    (tmp_path / "sorted").write_bytes(b"".join(record * 2 for record in ordered))
    ran = run("sort", "validate", "sorted", "--json", "found.json")
    assert ran.status == 0, ran.out
    twice = 2 * int(made["checksum"], 16)
    keys = [record[:10] for record in ordered]
    equal = sum(a == b for a, b in pairwise(keys))
    assert ran.out.splitlines() == [
        f"100,000 records, {50_000 + equal:,} duplicate keys",
        f"checksum {twice:x}",
        "all records are in order",
    ]
    report = json.loads((tmp_path / "found.json").read_text())
    assert (report["in_order"], report["first_disorder"], report["all_there"]) == (True, None, None)
    assert (report["records"], report["duplicates"]) == (100_000, 50_000 + equal)


def test_a_lost_a_doubled_and_a_changed_record_are_missed(run: Run, tmp_path: Path) -> None:
    made = sort.generate("made", records=1000)
    ordered = sorted(records(tmp_path / "made"))
    changed = ordered[500][:50] + bytes([ordered[500][50] ^ 1]) + ordered[500][51:]
    for other in (
        ordered[:500] + ordered[501:],
        ordered[:501] + ordered[500:],
        [*ordered[:500], changed, *ordered[501:]],
        # As many records as there were.
        [*ordered[:500], ordered[499], *ordered[501:]],
    ):
        (tmp_path / "out").write_bytes(b"".join(other))
        assert run("sort", "validate", "out").status == 0
        ran = run("sort", "validate", "out", "--checksum", made["checksum"])
        assert ran.status == 1
        assert f" IS NOT {made['checksum']}" in ran.out
        assert "all records are in order" in ran.out
    (tmp_path / "out").write_bytes(b"".join(ordered))
    ran = run("sort", "validate", "out", "--checksum", f"0x{made['checksum'].upper()}")
    assert ran.status == 0
    assert ", as expected: no record is missing or changed" in ran.out


def test_disorder_is_placed_in_its_file(run: Run, tmp_path: Path) -> None:
    sort.generate("made", records=300)
    ordered = sorted(records(tmp_path / "made"))
    for part in range(3):
        (tmp_path / f"part{part}").write_bytes(b"".join(ordered[100 * part : 100 * part + 100]))
    assert run("sort", "validate", "part0", "part1", "part2").status == 0
    ran = run("sort", "validate", "part0", "part2", "part1")
    assert ran.status == 1
    assert (
        "NOT IN ORDER: 1 record sorts before its predecessor, the first is record 200 (from 0)"
        in ran.out
    )
    assert ran.out.rstrip().endswith(": record 0 of part1")


def test_summaries_of_partitions(run: Run, tmp_path: Path) -> None:
    sort.generate("made", records=300)
    ordered = sorted(records(tmp_path / "made"))
    joined = b""
    for part, end in ((0, 1), (1, 120), (120, 300)):
        (tmp_path / "part").write_bytes(b"".join(ordered[part:end]))
        assert run("sort", "validate", "part", "--summary", "sum").status == 0
        joined += (tmp_path / "sum").read_bytes()
    assert len(joined) == 3 * 280
    (tmp_path / "all").write_bytes(joined)
    found = sort.validate("all", summaries=True)
    assert (found["records"], found["in_order"]) == (300, True)
    assert found["checksum"] == sort.validate("made")["checksum"]
    (tmp_path / "all").write_bytes(joined[280:] + joined[:280])
    ran = run("sort", "validate", "--summaries", "all", "--json", "-")
    report = json.loads(ran.out)
    assert (ran.status, report["unordered"], report["first_disorder"]) == (1, 1, 299)


def test_stdout_has_nothing_but_records(tmp_path: Path) -> None:
    ran = subprocess.run(gordon("generate", "-n", "50k", "-o", "-"), capture_output=True)
    assert ran.returncode == 0
    assert zlib.crc32(ran.stdout[:100_000]) == 0xB2D6DC98  # gensort 1000
    assert len(ran.stdout) == 5_000_000
    assert ran.stderr.startswith(b"stdout: 50,000 records, 5.00 MB in ")


def test_an_existing_file_is_replaced_once_the_new_one_is_complete(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "made").write_text("before")
    free = os.statvfs(tmp_path)
    too_many = free.f_frsize * free.f_blocks // 100 + 10**6
    ran = run("sort", "generate", "-n", str(too_many), "-o", "made")
    assert ran.status == 1
    assert "made: the device has no room for" in ran.err
    assert "try: fewer records, or another device" in ran.err
    assert (tmp_path / "made").read_text() == "before"
    assert run("sort", "generate", "-n", "10", "-o", "made").status == 0
    assert len(records(tmp_path / "made")) == 10
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


@pytest.mark.parametrize("reads", [False, True])
def test_an_interrupt_ends_a_wait_for_a_pipe(tmp_path: Path, reads: bool) -> None:
    os.mkfifo("pipe")
    # Its reader reads nothing.
    end = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK) if reads else None
    started = subprocess.Popen(
        gordon("generate", "-n", "1M", "-o", "pipe", "--json", "made.json"), stderr=subprocess.PIPE
    )
    # Until it works: by then the core is loaded and the buffers of its threads are allocated.
    maps = Path(f"/proc/{started.pid}/task")
    deadline = time.monotonic() + PATIENCE_S
    while len(list(maps.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.2)
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=PATIENCE_S)
    assert started.returncode == 130, err
    assert not (tmp_path / "made.json").exists()
    if end is not None:
        os.close(end)


def test_records_on_a_block_device_begin_at_its_start(run: Run, tmp_path: Path) -> None:
    need("blockdev", "mkfs.ext4")
    if os.geteuid() != 0:
        pytest.skip("loop devices are for root")
    (tmp_path / "disk").write_bytes(b"\xaa" * (8 << 20))
    device = loop_device(tmp_path / "disk")
    try:
        # Not whole pages: what is behind them stays.
        made = sort.generate(device, records=50_001)
        sh("blockdev", "--flushbufs", device)
        content = (tmp_path / "disk").read_bytes()
        sort.generate("file", records=50_001)
        assert content[: made["bytes"]] == (tmp_path / "file").read_bytes()
        assert set(content[made["bytes"] :]) == {0xAA}
        found = sort.validate(device, records=50_001)
        assert (found["records"], found["checksum"]) == (50_001, made["checksum"])
        with raises("impossible", device):
            sort.validate(device)
        with raises("impossible", device, "8MiB"):
            sort.generate(device, records=100_000)
        sh("mkfs.ext4", "-q", "-F", device)
        (tmp_path / "there").mkdir()
        mount(device, tmp_path / "there")
        with raises("impossible", device):
            sort.generate(device, records=1)
    finally:
        quietly("umount", str(tmp_path / "there"))
        quietly("losetup", "-d", device)


BAD = [
    (("generate", "-n", "0", "-o", "x"), 2, "'0' is not a number from 1"),
    (("generate", "-n", "1.5", "-o", "x"), 2, "'1.5' is not a number from 1"),
    (("generate", "-n", "1e99", "-o", "x"), 2, "'1e99' is not a number from 1"),
    (("generate", "-n", "1e18", "-o", "x"), 1, "no file is longer"),
    (("generate", "-n", "5", "-b", "-1", "-o", "x"), 2, "'-1' is not a number from 0"),
    (("generate", "-n", "5", "-b", str(2**128), "-o", "x"), 2, "not a number from 0 to 2^128 - 1"),
    (("generate", "-n", "2", "-b", str(2**128 - 1), "-o", "x"), 1, "numbers below 2^128"),
    (("generate", "-n", "5", "-o", "."), 1, "it is a folder"),
    (("generate", "-n", "5", "-o", "none/x"), 1, "no folder none"),
    (("generate", "-n", "5", "-o", "-", "--json", "-"), 1, "two outputs have the path -"),
    (("generate", "-n", "5"), 2, "Missing option '--output'"),
    (("validate",), 2, "Missing argument 'FILES...'"),
    (("validate", "none"), 1, "none: cannot open it: No such file"),
    (("validate", "odd"), 1, "odd: 250 bytes are not whole records of 100: 50 are left over from"),
    (("validate", "empty"), 1, "empty: no record in 0 bytes"),
    (("validate", "."), 1, ".: neither a regular file nor a block device"),
    (("validate", "good", "-n", "4"), 1, "good: 4 records of 3"),
    (("validate", "good", "--checksum", "12g"), 1, "`12g` is not a checksum"),
    (("validate", "--summaries", "good"), 1, "good: not summaries of 280 bytes"),
    (("validate", "--summaries", "-n", "1", "good"), 1, "--records and --summaries exclude"),
]


@pytest.mark.parametrize(("args", "status", "says"), BAD)
def test_bad_input_is_one_error(
    run: Run, tmp_path: Path, args: tuple[str, ...], status: int, says: str
) -> None:
    for name, size in (("odd", 250), ("empty", 0), ("good", 300)):
        (tmp_path / name).write_bytes(bytes(size))
    ran = run("sort", *args)
    assert (ran.status, ran.out) == (status, "")
    assert says in ran.err
    assert ran.err.count("error: ") == 1
    assert "\n  try: " in ran.err or "cannot open it" in ran.err
    assert {path.name for path in tmp_path.iterdir()} == {"odd", "empty", "good"}


@pytest.mark.parametrize("text", ["1e3", "1000", "1_000", "1k", "0.001M", "1.0e3", "1E+3"])
def test_numbers_of_records(run: Run, tmp_path: Path, text: str) -> None:
    assert run("sort", "generate", "-n", text, "-o", "made").status == 0
    assert (tmp_path / "made").stat().st_size == 100_000
    assert run("sort", "generate", "-n", "2", "-b", text, "-a", "-o", "made").status == 0
    assert int(records(tmp_path / "made")[0][12:44], 16) == 1000


def test_numbers_out_of_range_are_errors_of_the_api() -> None:
    with raises("out-of-range", "records: 0"):
        sort.generate("made", records=0)
    with raises("out-of-range", f"start: {2**128}"):
        sort.generate("made", records=1, start=2**128)
    with raises("out-of-range", "records: -1"):
        sort.validate("made", records=-1)
    with raises("no-files"):
        sort.validate()


def test_progress_is_reported_in_bytes() -> None:
    ticks: list[tuple[int, int]] = []
    note: Callable[[int, int], None] = lambda *counts: ticks.append(counts)  # noqa: E731
    sort.generate("made", records=100_000, progress=note)
    assert ticks[-1] == (10_000_000, 10_000_000)
    sort.validate("made", "made", progress=note)
    assert ticks[-1] == (20_000_000, 20_000_000)


@pytest.mark.parametrize("flags", [(), ("-a",), ("-s",), ("-a", "-s")])
@pytest.mark.parametrize(("start", "count"), [(0, 100_003), (2**63 - 40_000, 90_000), (2**100, 9)])
def test_generate_agrees_with_gensort(
    tmp_path: Path, flags: tuple[str, ...], start: int, count: int
) -> None:
    program = named("GENSORT")
    words = [program, *flags, "-c", f"-b{start}", str(count), "theirs"]
    theirs = subprocess.run(words, capture_output=True, text=True, check=True)
    ours = sort.generate(
        "ours", records=count, start=start, ascii="-a" in flags, skewed="-s" in flags
    )
    assert ours["checksum"] == theirs.stderr.strip()
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


@pytest.mark.parametrize("swaps", [0, 1, 50])
def test_validate_agrees_with_valsort(tmp_path: Path, swaps: int) -> None:
    program = named("VALSORT")
    chance = random.Random(swaps)
    sort.generate("made", records=90_000, skewed=True, ascii=True)
    # Keys of four characters: many are equal.
    ordered = sorted(r[:4] + b"      " + r[10:] for r in records(tmp_path / "made"))
    for _ in range(swaps):
        at = chance.randrange(len(ordered) - 1)
        ordered[at], ordered[at + 1] = ordered[at + 1], ordered[at]
    joined, sums = io.BytesIO(), io.BytesIO()
    for start, end in ((0, 40_960), (40_960, 70_001), (70_001, 90_000)):
        joined.write(b"".join(ordered[start:end]))
        (tmp_path / "part").write_bytes(b"".join(ordered[start:end]))
        code = subprocess.run([program, "-q", "-o", "theirs", "part"], check=False).returncode
        found = sort.validate("part", summary="ours")
        assert code == (0 if found["in_order"] else 1)
        assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
        sums.write((tmp_path / "ours").read_bytes())
    (tmp_path / "whole").write_bytes(joined.getvalue())
    (tmp_path / "sums").write_bytes(sums.getvalue())
    for words, found in (
        (["whole"], sort.validate("whole")),
        (["-s", "sums"], sort.validate("sums", summaries=True)),
    ):
        ran = subprocess.run([program, *words], capture_output=True, text=True, check=False)
        assert _figures(ran.stderr) == {
            "records": found["records"],
            "checksum": found["checksum"],
            "first_disorder": found["first_disorder"],
            "unordered": found["unordered"],
            # It does not say how many are equal of what is not in order.
            "duplicates": found["duplicates"] if found["in_order"] else None,
        }


def _figures(text: str) -> Any:
    """The output of valsort."""

    def number(pattern: str) -> int | None:
        match = re.search(pattern, text)
        return None if match is None else int(match[1])

    checksum = re.search(r"Checksum: ([0-9a-f]+)", text)
    return {
        "records": number(r"Records: (\d+)"),
        "checksum": checksum and checksum[1],
        "first_disorder": number(r"First unordered record is record (\d+)"),
        "unordered": number(r"ERROR - there are (\d+) unordered records") or 0,
        "duplicates": number(r"Duplicate keys: (\d+)"),
    }
