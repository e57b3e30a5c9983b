"""The format that a trace is read as: announced first, never guessed in silence, or described."""

from __future__ import annotations

import bz2
import json
import lzma
import random
import struct
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from conftest import Run

MQSIM = "".join(f"{2_000_000 * i} 0 {8 * (i % 5)} 8 {i % 2}\n" for i in range(20))
SECONDS = "7.500000000 0 1024 8 1\n7.750000000 0 2048 16 0\n8.500000000 0 4096 8 1\n"
OBJECTS = "".join(f"{i} {i % 6} {1001 + 13 * (i % 6)}\n" for i in range(30))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def held(run: Run, *args: str) -> dict[str, Any]:
    ran = run("cache", "replay", *args, "--json", "-")
    assert ran.status == 0, ran.err
    found: dict[str, Any] = json.loads(ran.out)
    return found


@pytest.mark.parametrize(
    "command",
    [
        ["flash", "replay", "t"],
        ["flash", "compare", "t", "gordon-slc-256g", "mqsim-mlc-512g"],
        ["disk", "replay", "t"],
        ["cache", "replay", "t", "--dram", "1MiB"],
        ["cache", "sweep", "t", "--dram", "1MiB"],
        ["cache", "mrc", "t"],
        ["cache", "tiered", "t", "--dram", "4MiB", "--flash", "64MiB"],
        ["trace", "convert", "t", "o"],
    ],
    ids=" ".join,
)
def test_the_first_line_names_the_format_and_its_units(run: Run, command: list[str]) -> None:
    Path("t").write_text(MQSIM)
    ran = run(*command, "--json", "report")
    assert ran.status == 0, ran.err
    first = ran.err.splitlines()[0]
    assert first.startswith("t: format mqsim, auto-detected; ")
    assert "times in nanoseconds; addresses in blocks of 512B; sizes in blocks of 512B" in first
    report = json.loads(Path("report").read_text())
    for part in (report.get("points"), report.get("devices")):
        if part and "input" not in report:
            report = part[0].get("report", part[0])
    assert report["input"]["format"] == "mqsim"
    assert report["input"]["chosen_by"] == "content"
    assert report["input"]["time_unit_ns"] == 1
    assert report["input"]["address_unit_bytes"] == report["input"]["size_unit_bytes"] == 512


def test_a_named_format_and_a_unit_are_announced(run: Run) -> None:
    Path("t").write_text(MQSIM)
    ran = run("trace", "convert", "t", "o", "--format", "mqsim", "--time-unit", "1us")
    first = ran.err.splitlines()[0]
    assert first.startswith("t: format mqsim, named by --format; times in microseconds; ")
    Path("o2").mkdir()
    ran = run("trace", "convert", "o", "o3")
    assert "o: format gordon, detected by its file name" in ran.err


def test_a_pipe_is_announced(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gordon", "cache", "replay", "-", "--dram", "1MiB"]
    ran = subprocess.run(command, input=MQSIM, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.startswith("-: format mqsim, auto-detected; ")


def test_seconds_in_the_columns_of_mqsim_are_refused_with_the_candidates(run: Run) -> None:
    Path("t").write_text(SECONDS)
    for command in (["flash", "replay", "t"], ["disk", "replay", "t"], ["cache", "mrc", "t"]):
        ran = run(*command, "--json", "report")
        assert (ran.status, ran.out) == (1, "")
        assert "the format is not clear" in ran.err
        both = "--format mqsim --time-unit 1s or --format disksim --time-unit 1s"
        assert f"\n    {both}: 3 requests, 16KiB, over 1s\n" in ran.err
        assert not Path("report").exists()
    for args in (["--time-unit", "1s"], ["--format", "mqsim", "--time-unit", "1s"]):
        ran = run("flash", "replay", "t", *args, "--json", "-")
        report = json.loads(ran.out)
        assert report["bytes"] == 16_384
        assert report["simulated_s"] == pytest.approx(1.0, abs=0.01)


def test_only_errors_of_the_trace_say_how_it_is_read(run: Run) -> None:
    Path("t").write_text("0 0 0 8 0\n1000 0 99999999999 8 1\n")
    ran = run("flash", "replay", "t")
    ran.refused("trace-past", "t")
    assert "\n  input: t: format mqsim" in ran.err
    for command in (
        ["flash", "replay", "t", "--preset", "none"],
        ["cache", "replay", "t", "--policy", "none", "--dram", "1MiB"],
    ):
        assert "input:" not in run(*command).err


def test_a_doubt_about_a_named_format_is_a_warning(run: Run) -> None:
    Path("t").write_text(SECONDS)
    ran = run("flash", "replay", "t", "--format", "disksim", "--json", "-")
    assert ran.status == 0, ran.err
    assert "warning: implausible: " in ran.err
    assert json.loads(ran.out)["input"]["doubts"]


def test_objects_and_features_are_not_requests_of_blocks(run: Run) -> None:
    features = "".join(
        f"{i} {i * i % 7} {4001 + 100 * (i * i % 7)} {i % 2} {i % 3 % 2}\n" for i in range(40)
    )
    Path("t").write_text(features)
    report = held(run, "t", "--dram", "1MiB")
    keys = {i * i % 7 for i in range(40)}
    assert (report["requests"], report["misses"]) == (40, len(keys))
    assert report["input"]["format"] == "lrb"
    ran = run("flash", "replay", "t")
    assert ran.status == 1
    assert "trace of objects" in ran.err


def test_columns_by_number_and_by_name_are_the_same_trace(run: Run) -> None:
    rows = [(0, "get", "alpha", 700), (40, "set", "beta", 90), (95, "get", "alpha", 700)]
    text = "".join(f"{ms};{op};{name};{size}\n" for ms, op, name, size in rows)
    Path("numbers").write_text(text)
    Path("names").write_text("ms;what;id;length\n" + text)
    by_number = held(run, "numbers", "--dram", "1KiB", "--columns", "time=1:ms,op=2,key=3,size=4:B")
    by_name = held(
        run, "names", "--dram", "1KiB", "--columns", "time=ms:ms,op=what,key=id,size=length:B"
    )
    for report in (by_number, by_name):
        assert (report["requests"], report["hits"], report["misses"]) == (3, 1, 2)
        assert report["bytes"] == 1490
        assert report["provenance"]["trace"]["hashed_keys"] == 3
        assert report["input"]["chosen_by"] == "--columns"
    # A header does not count as a request where the columns are numbers.
    headed = held(run, "names", "--dram", "1KiB", "--columns", "time=1:ms,op=2,key=3,size=4:B")
    assert headed["requests"] == 3


def test_blocks_of_ones_own_go_to_devices(run: Run) -> None:
    Path("t").write_text("0.0,write,3,8192\n0.5,read,3,4096\n1.5,trim,4,4096\n")
    columns = "time=1:s,op=2,lba=3:4KiB,size=4:B"
    ran = run("trace", "convert", "t", "o.mqsim", "--to", "mqsim", "--columns", columns)
    assert ran.status == 0, ran.err
    assert Path("o.mqsim").read_text() == "0 0 24 16 0\n500000000 0 24 8 1\n"
    ran = run("flash", "replay", "t", "--columns", columns, "--json", "-")
    report = json.loads(ran.out)
    assert [report[op]["requests"] for op in ("read", "write", "trim")] == [1, 1, 1]
    ran = run("disk", "replay", "t", "--columns", columns, "--json", "-")
    assert json.loads(ran.out)["requests"] == 3


def test_numbers_of_the_operation_are_announced_and_can_be_named(run: Run) -> None:
    Path("t").write_text("".join(f"{i}.0 {i % 2} {i} 4096\n" for i in range(6)))
    columns = ["--columns", "time=1:s,op=2,lba=3:4KiB,size=4:B"]
    ran = run("trace", "convert", "t", "a", *columns, "--json", "a.json")
    assert "operations 0 read, 1 write, 3 discard" in ran.err.splitlines()[0]
    assert json.loads(Path("a.json").read_text())["write"]["requests"] == 3
    words = ["--reads", "1", "--writes", "0"]
    ran = run("trace", "convert", "t", "b", *columns, *words, "--json", "b.json")
    report = json.loads(Path("b.json").read_text())
    assert report["first"]["op"] == "write"
    ran = run("trace", "convert", "t", "c", *columns, "--reads", "1")
    assert ran.status == 1
    assert "line 1: op (column 2): expected one of 1 (read)" in ran.err


@pytest.mark.parametrize(
    "args",
    [
        ["--columns", "time=1:s"],
        ["--columns", "key=1", "--format", "lrb"],
        ["--separator", "comma"],
        ["--reads", "1"],
        ["--skip-lines", "3"],
        ["--columns", "key=1,lba=2"],
        ["--columns", "key=1", "--separator", "nothing"],
    ],
)
def test_columns_that_make_no_sense_are_refused(run: Run, args: list[str]) -> None:
    Path("t").write_text(MQSIM)
    ran = run("cache", "replay", "t", "--dram", "1MiB", *args)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("error: ")
    assert "\n  try: " in ran.err


def test_objects_are_converted_to_oracle_general(run: Run) -> None:
    Path("t").write_text("5,A,4941\n6,7,1984\n8,A,4941\n8,7,1984\n")
    ran = run("trace", "convert", "t", "o", "--format", "libcachesim-csv", "--json", "report")
    assert ran.status == 0, ran.err
    report = json.loads(Path("report").read_text())
    assert (report["to"], report["requests"], report["objects"]) == ("oracleGeneral", 4, 2)
    assert report["read"] == {"requests": 4, "bytes": 13_850}
    records = list(struct.iter_unpack("<IQIq", Path("o").read_bytes()))
    assert [(r[0], r[2], r[3]) for r in records] == [
        (0, 4941, 2),
        (1, 1984, 3),
        (3, 4941, -1),
        (3, 1984, -1),
    ]
    assert records[1][1] == 7
    again = held(run, "o", "--dram", "5000B")
    assert (again["requests"], again["misses"]) == (4, 4)
    ran = run("trace", "convert", "t", "blocks", "--format", "libcachesim-csv", "--to", "mqsim")
    assert ran.status == 1
    assert "trace of objects" in ran.err
    assert not Path("blocks").exists()


def test_what_objects_and_blocks_leave_out_is_counted_under_one_name(run: Run) -> None:
    text = "0,k:1,3,10,9,set,60\n1,k:1,3,0,9,delete,0\n2,k:1,3,10,9,get,0\n"
    Path("t").write_text(text)
    ran = run("cache", "replay", "t", "--dram", "1KiB", "--json", "-")
    report = json.loads(ran.out)
    assert (report["requests"], report["hits"]) == (2, 1)
    left = report["provenance"]["trace"]
    assert (left["other_kinds"], left["hashed_keys"]) == (1, 2)
    assert "warning: other kinds: 1 " in ran.err
    assert "warning: hashed keys: 2 " in ran.err
    Path("b").write_text("1,R,100,600,5\n1,R,4096,0,7\n1,W,8192,512,9\n")
    ran = run("trace", "convert", "b", "o", "--format", "alibaba", "--json", "-")
    report = json.loads(ran.out)
    assert (report["requests"], report["extended"], report["empty"]) == (2, 1, 1)
    assert "warning: b: extended: 1 " in ran.err
    assert "warning: b: empty: 1 " in ran.err


def test_xz_and_bzip2_are_read_and_archives_named(run: Run) -> None:
    Path("plain").write_text(MQSIM)
    Path("t.xz").write_bytes(lzma.compress(MQSIM.encode()) + lzma.compress(b""))
    Path("t.bz2").write_bytes(
        bz2.compress(MQSIM.encode()[:200]) + bz2.compress(MQSIM.encode()[200:])
    )
    report = {}
    for name in ("plain", "t.xz", "t.bz2"):
        ran = run("trace", "convert", name, f"{name}.trace", "--json", "-")
        assert ran.status == 0, ran.err
        report[name] = {k: v for k, v in json.loads(ran.out).items() if k != "input"}
    assert report["plain"] == report["t.xz"] == report["t.bz2"]
    Path("cut.xz").write_bytes(lzma.compress(random.Random(1).randbytes(5000))[:-100])
    ran = run("trace", "convert", "cut.xz", "o")
    assert ran.status == 1
    with zipfile.ZipFile("t.zip", "w") as packed:
        packed.write("plain")
    with tarfile.open("t.tar.gz", "w:gz") as tar:
        tar.add("plain")
    for name, command in (("t.zip", "unzip -p"), ("t.tar.gz", "tar -xf")):
        ran = run("flash", "replay", name)
        assert ran.status == 1
        assert command in ran.err


def test_untimed_blocks_are_replayed_in_closed_loop(run: Run) -> None:
    Path("t").write_text("".join(f"{7919 * i % 1000} 8 0 {i}\n" for i in range(50)))
    ran = run("flash", "replay", "t", "--format", "arc", "--json", "-")
    report = json.loads(ran.out)
    assert report["requests"] == 50
    assert report["input"]["time_unit_ns"] is None
    assert report["outstanding"]["max"] == 32


def test_objects_of_a_block_trace_keep_their_sizes(run: Run) -> None:
    Path("t").write_text("0,R,0,100,0\n0,R,4096,150,1\n0,R,0,100,2\n0,R,4096,150,3\n")
    report = held(run, "t", "--objects", "--dram", "300B")
    assert (report["hits"], report["misses"], report["bytes"]) == (2, 2, 500)
    assert report["provenance"]["trace"]["extended"] == 0


def test_text_objects_of_ones_own_hit_in_a_cache(run: Run) -> None:
    rows = "# time (ms), op, object, bytes\n0,1,alpha,700\n40,1,beta,90\n95,1,alpha,700\n"
    Path("own.csv").write_text(rows)
    columns = "time=1:ms,op=2,key=3,size=4:B"
    ran = run(
        *("cache", "replay", "own.csv", "--columns", columns, "--policy", "lru"),
        *("--dram", "1MiB", "--json", "-"),
    )
    assert ran.status == 0, ran.err
    answer = json.loads(ran.out)
    assert (answer["requests"], answer["hits"], answer["bytes"]) == (3, 1, 1490)


@pytest.mark.parametrize(
    ("rows", "columns", "span_ns", "read", "written"),
    [
        # SimpleSSD: microseconds, blocks of 512 B, the operation last.
        (
            "5 0 16 W\n300 160 16 W\n9000 160 16 R\n",
            "time=1:us,lba=2:512B,size=3:512B,op=4",
            8_995_000,
            8192,
            16384,
        ),
        # Seconds, with 0 for a read and 1 for a write.
        (
            "0.5 1024 8 0\n1.5 2048 8 1\n2.5 4096 16 1\n",
            "time=1:s,lba=2:512B,size=3:512B,op=4",
            2_000_000_000,
            4096,
            12288,
        ),
    ],
)
def test_blocks_of_other_simulators_are_read_by_their_columns(
    run: Run, rows: str, columns: str, span_ns: int, read: int, written: int
) -> None:
    Path("own.trace").write_text(rows)
    ran = run("trace", "convert", "own.trace", "out.fio", "--columns", columns, "--json", "-")
    assert ran.status == 0, ran.err
    answer = json.loads(ran.out)
    assert answer["last"]["at_ns"] - answer["first"]["at_ns"] == span_ns
    assert (answer["read"]["bytes"], answer["write"]["bytes"]) == (read, written)
