"""`gordon sort IN... OUT`: options, files of settings, what is reported, bad input."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gordon import sort

from conftest import Run, raises

#: More than two passes of the least memory need.
RECORDS = 60_000


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def made() -> Any:
    return sort.generate("in", records=RECORDS)


def names(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def ordered(path: str, record: int = 100, key: slice = slice(10)) -> bytes:
    """The records in the order of a stable sort."""
    content = Path(path).read_bytes()
    records = [content[at : at + record] for at in range(0, len(content), record)]
    return b"".join(sorted(records, key=lambda found: bytes(found)[key]))


@pytest.mark.parametrize("options", [(), ("--memory", "2MiB", "--io", "threads")])
def test_a_stripe_is_sorted_as_one_file(run: Run, made: Any, options: tuple[str, ...]) -> None:
    words = "sort generate -n 60000 --stripe 64KiB -o a -o b -o c --json made.json"
    ran = run(*words.split())
    assert ran.status == 0, ran.err
    assert "a, b, c: 60,000 records, 6.00 MB" in ran.out
    report = json.loads(Path("made.json").read_text())
    assert (report["output"], report["checksum"]) == (["a", "b", "c"], made["checksum"])
    # 92 units: the last one, of 36,224 bytes, is in the second file.
    assert [Path(name).stat().st_size for name in "abc"] == [
        31 * 65536,
        30 * 65536 + 36_224,
        30 * 65536,
    ]
    ran = run("sort", "a", "b", "c", "out", "--stripe", "64KiB", *options, "--json", "r.json")
    assert ran.status == 0, ran.err
    assert json.loads(Path("r.json").read_text())["stripe"] == "64KiB"
    assert Path("out").read_bytes() == ordered("in")
    assert sort.run(["a", "b", "c"], "again", stripe="64KiB").report["records"] == RECORDS
    ran = run("sort", "b", "a", "c", "none", "--stripe", "64KiB")
    assert ran.status == 1
    assert "and would have" in ran.err
    assert "try: all files of the stripe" in ran.err
    ran = run("sort", "a", "b", "none", "--stripe", "1000B")
    assert ran.status == 1
    assert "is not whole pages" in ran.err
    ran = run("sort", "generate", "-n", "10", "-o", "x", "-o", "y")
    assert ran.status == 1
    assert "one, or --stripe" in ran.err
    assert not any(Path(name).exists() for name in ("none", "x", "y"))


@pytest.mark.parametrize("io", ["threads", "uring"])
def test_the_io_method_is_reported(run: Run, made: Any, io: str) -> None:
    ran = run("sort", "in", "out", "--io", io, "--json", "r.json")
    if ran.status != 0:
        assert "does not let us use io_uring" in ran.err
        pytest.skip("not on this machine: io_uring")
    assert ("direct I/O by io_uring;" in ran.out) == (io == "uring")
    assert json.loads(Path("r.json").read_text())["io"] == io
    assert Path("out").read_bytes() == ordered("in")


@pytest.mark.parametrize(
    ("options", "method"),
    [
        ((), "one-pass"),
        (("--memory", "2MiB"), "distribute"),
        (("--memory", "2MiB", "--method", "merge"), "merge"),
        (("--memory", "20TB", "--method", "merge"), "merge"),
        (("--memory", "20TB", "--method", "distribute"), "distribute"),
        (("--memory", "3MB", "--temp", "a,b", "--threads", "3"), "distribute"),
        (("--memory", "3MB", "--buffered"), "distribute"),
        (("--memory", "2MiB", "--in-core", "merge"), "distribute"),
        (("--in-core", "merge"), "one-pass"),
        (("--preset", "3B", "--memory", "64MiB"), "one-pass"),
    ],
)
def test_records_of_the_benchmark(
    run: Run, made: Any, options: tuple[str, ...], method: str
) -> None:
    Path("a").mkdir()
    Path("b").mkdir()
    # Each thread takes memory: as many on any machine.
    threads = () if "--threads" in options else ("--threads", "2")
    ran = run("sort", "in", "out", *options, *threads, "--json", "out.json")
    assert ran.status == 0, ran.err
    assert "60,000 records" in ran.out
    assert Path("out").read_bytes() == ordered("in")
    report = json.loads(Path("out.json").read_text())
    assert report["plan"]["method"] == method
    in_core = "merge" if "--in-core" in options else "radix"
    assert report["plan"]["in_core"] == in_core
    assert ("merged in memory" in ran.out) == (in_core == "merge")
    assert report["kind"] == "measured"
    assert (report["records"], report["shape"]) == (RECORDS, "benchmark")
    assert report["bytes"] == made["bytes"] == RECORDS * 100
    passes = 1 if method == "one-pass" else 2
    assert report["passes"] == passes
    written = sum(phase["bytes_written"] for phase in report["phases"])
    # Pages where parts meet are written by who fills them.
    assert (passes - 0.2) * report["bytes"] < written < (passes + 0.2) * report["bytes"]
    assert report["peak_resident_bytes"] > 1 << 20
    assert 0 < sum(phase["seconds"] for phase in report["phases"]) <= report["time_s"]
    assert names(".") == ["a", "b", "in", "out", "out.json"]
    assert names("a") == names("b") == []
    found = sort.validate("out", checksum=made["checksum"])
    assert found["in_order"]
    assert found["all_there"]


def test_a_file_of_settings_and_options_over_it(run: Run, made: Any) -> None:
    Path("my.toml").write_text('memory = "2MiB"\nmethod = "merge"\ntransfers.temp = "8KiB"\n')
    ran = run("sort", "in", "out", "--config", "my.toml", "--memory", "3MiB", "--json", "-")
    plan = json.loads(ran.out)["plan"]
    assert (plan["method"], plan["temp_transfer"]) == ("merge", "8KiB")
    assert json.loads(ran.out)["memory_bytes"] == 3 << 20
    Path("my.toml").write_text('memory = "2MiB"\nmetod = "merge"\n')
    ran = run("sort", "in", "out", "--config", "my.toml")
    assert ran.status == 1
    assert "my.toml, line 2" in ran.err
    assert "`method`" in ran.err
    assert "no.toml" in run("sort", "in", "out", "--config", "no.toml").err


def test_records_of_any_length(run: Run) -> None:
    content = random.Random(1).randbytes(64 * 5000)
    Path("in").write_bytes(content)
    ran = run("sort", "in", "out", "--record", "64", "--key", "8:16:u64be")
    assert ran.status == 0, ran.err
    assert Path("out").read_bytes() == ordered("in", 64, slice(8, 16))
    ran = run("sort", "in", "out", "--record", "64", "--key", "60:70")
    assert ran.status == 1
    assert "70" in ran.err
    assert "try:" in ran.err


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ((), ("-s",)),
        (("-k", "2,2n"), ("-s", "-k2,2n")),
        (("-k", "2,2nr", "-k", "1,1"), ("-s", "-k2,2nr", "-k1,1")),
        (("-t", ":", "-k", "2", "--order", "f"), ("-s", "-f", "-t:", "-k2")),
        (("-k", "2,2n", "--last-resort"), ("-k2,2n",)),
        (("-z",), ("-s", "-z")),
        (("--memory", "1MiB"), ("-s",)),
    ],
)
def test_lines_are_those_of_sort(run: Run, options: tuple[str, ...], same: tuple[str, ...]) -> None:
    if "GNU" not in subprocess.run(["sort", "--version"], capture_output=True, text=True).stdout:
        pytest.skip("sort is not GNU's")
    draw = random.Random(2)
    words = ["a", "B", "the:same start of some length", "", "Zebra:crossing", "a"]
    lines = [f"{draw.choice(words)} {draw.randrange(-50, 50)} {n}" for n in range(30_000)]
    # The last one does not end.
    Path("in").write_text("\n".join(lines))
    ran = run("sort", "in", "out", "--lines", *options)
    assert ran.status == 0, ran.err
    environment = {**os.environ, "LC_ALL": "C"}
    theirs = subprocess.run(["sort", *same, "in"], capture_output=True, env=environment, check=True)
    assert Path("out").read_bytes() == theirs.stdout


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ((), ()),
        (("-k", "2,2n"), ("-k2,2n",)),
        (("-k", "2,2nr", "--last-resort"), ("-k2,2nr",)),
        (("--order", "f", "-k", "1,1"), ("-f", "-k1,1")),
        (("--order", "n"), ("-n",)),
        (("--memory", "1MiB", "-k", "2,2n"), ("-k2,2n",)),
        (("--memory", "1MiB", "-k", "2,2n", "--method", "distribute"), ("-k2,2n",)),
        (("-z",), ("-z",)),
    ],
)
def test_unique_lines_are_those_of_sort(
    run: Run, options: tuple[str, ...], same: tuple[str, ...]
) -> None:
    if "GNU" not in subprocess.run(["sort", "--version"], capture_output=True, text=True).stdout:
        pytest.skip("sort is not GNU's")
    draw = random.Random(3)
    words = ["a", "A", "b", "", "Zebra crossing", "zebra crossing"]
    end = "\0" if "-z" in options else "\n"
    lines = [f"{draw.choice(words)} {draw.randrange(-40, 40)} {n % 7}" for n in range(60_000)]
    # The last one does not end, and is one more of many.
    Path("in").write_text(end.join(lines))
    ran = run("sort", "in", "out", "--lines", "--unique", *options, "--json", "r.json")
    assert ran.status == 0, ran.err
    environment = {**os.environ, "LC_ALL": "C"}
    words = ["sort", "-u", *same, "in"]
    theirs = subprocess.run(words, capture_output=True, env=environment, check=True)
    assert Path("out").read_bytes() == theirs.stdout
    report = json.loads(Path("r.json").read_text())
    assert report["records"] == 60_000
    assert report["output_records"] == theirs.stdout.count(end.encode())
    assert report["output_bytes"] == len(theirs.stdout)
    assert f"{report['output_records']:,} written" in ran.out


def test_unique_records_are_the_first_of_equal_keys(run: Run) -> None:
    Path("in").write_bytes(b"".join(b"%c%03d" % (65 + n % 5, n) for n in range(100)))
    ran = run("sort", "in", "out", "--record", "4", "--key", "0:1", "-u")
    assert ran.status == 0, ran.err
    assert Path("out").read_bytes() == b"A000B001C002D003E004"


def test_text_is_not_sorted_as_records(run: Run) -> None:
    lines = [f"{n * 7919 % 1000:09}\n" for n in range(1000)]
    Path("text").write_text("".join(lines))
    Path("cut").write_text("".join(lines)[:104])
    for name in ("text", "cut"):
        ran = run("sort", name, "out")
        assert (ran.status, ran.out) == (1, "")
        assert "--lines" in ran.err
        assert "drop" not in ran.err
        assert not Path("out").exists()
        ran = run("sort", "validate", name)
        assert (ran.status, ran.out) == (1, "")
    ran = run("sort", "text", "out", "--lines")
    assert Path("out").read_text() == "".join(sorted(lines))
    ran = run("sort", "text", "out", "--record", "100")
    assert "100 records of 100 bytes" in ran.out
    assert run("sort", "validate", "text", "-n", "100").status == 1
    assert "NOT IN ORDER" in run("sort", "validate", "text", "-n", "100").out


def test_records_of_the_benchmark_need_no_option(run: Run) -> None:
    for options in ((), ("--ascii",)):
        assert run("sort", "generate", "-n", "1000", "-o", "in", *options).status == 0
        ran = run("sort", "in", "out")
        assert ran.status == 0, ran.err
        assert "1,000 records of 100 bytes (the default; the key is bytes 0 to 9)" in ran.out
        assert run("sort", "validate", "out").status == 0


def test_several_files_are_one_input(run: Run) -> None:
    sort.generate("a", records=1000)
    sort.generate("b", records=500, start=1000)
    whole = sort.generate("c", records=1500)
    assert run("sort", "a", "b", "out").status == 0
    assert sort.validate("out", checksum=whole["checksum"])["all_there"]


@pytest.mark.parametrize(
    ("options", "expected", "status"),
    [
        (("in",), "one input and one output", 2),
        (("none", "out"), "none: cannot open it", 1),
        (
            ("in", "out", "--memory", "1KB"),
            "memory: 1KB is less than 1MiB\n  try: --memory 1MiB or more",
            1,
        ),
        (("in", "out", "--memory", "much"), "--memory: `much`", 1),
        (("in", "out", "--temp-transfer", "lots"), "--temp-transfer: `lots`", 1),
        (("in", "out", "--stripe", "wide"), "--stripe: `wide`", 1),
        (("in", "out", "--lines", "--record", "5"), "--lines and --record exclude", 1),
        (("in", "out", "--key", "1,1"), "--key needs --lines or --record", 1),
        (("in", "out", "-z"), "--zero-terminated applies to lines", 1),
        (("in", "out", "--preset", "9Z"), "9Z", 1),
        (("in", "out", "--temp", "none"), "none", 1),
        (("in", "none/out"), "none: there is no such folder", 1),
        (("in", "out", "--input-transfer", "1KiB"), "transfer size of the input", 1),
        (("in", "out", "--json", "none/x"), "no folder none", 1),
        (("in", "in", "--overwrite"), "it is the input too", 1),
    ],
)
def test_bad_input(
    run: Run, made: Any, options: tuple[str, ...], expected: str, status: int
) -> None:
    before = Path("in").read_bytes()
    ran = run("sort", *options)
    assert (ran.status, ran.out) == (status, "")
    assert ran.err.startswith("error: "), ran.err
    assert expected in ran.err
    assert names(".") == ["in"]
    assert Path("in").read_bytes() == before


def test_the_api_names_an_unknown_option() -> None:
    with raises("unknown-name", "memmory"):
        sort.run("in", "out", memmory="1GB")  # type: ignore[call-arg]


def test_a_sort_can_be_traced_and_surveyed(run: Run, made: Any) -> None:
    command = [sys.executable, "-m", "gordon", "sort", "in", "out", "--memory", "2MiB"]
    ran = run("trace", "-o", "sort.trace", "--interval", "0.1s", "--", *command)
    assert ran.status == 0, ran.err
    ran = run("survey", "sort.trace", "--json", "-")
    assert ran.status == 0, ran.err
    assert json.loads(ran.out)["designs"]


def test_a_sort_is_of_files(run: Run, made: Any, tmp_path: Path) -> None:
    for files in (("in", "-"), ("-", "out")):
        ran = run("sort", *files)
        assert (ran.status, "`-`" in ran.err) == (2, True), ran.err
    assert not Path("-").exists()


def test_a_hard_link_of_the_input_is_not_overwritten(run: Run, made: Any) -> None:
    before = Path("in").read_bytes()
    os.link("in", "link")
    ran = run("sort", "in", "link", "--overwrite")
    assert ran.status == 1
    assert "it is the input too" in ran.err
    assert Path("in").read_bytes() == before


def test_an_output_of_less_than_a_page_counts_as_written(run: Run, tmp_path: Path) -> None:
    assert run("sort", "generate", "-n", "5", "-o", "few").status == 0
    ran = run("sort", "few", "sorted", "--json", "-")
    assert ran.status == 0, ran.err
    assert sum(phase["bytes_written"] for phase in json.loads(ran.out)["phases"]) == 500
