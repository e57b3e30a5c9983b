"""Readers of block traces on bytes that the formats' own tools write, and on public files of a
package registry; `gordon trace convert` and `gordon trace formats`.

A missing requirement of a test is reported by name: fio and blkparse (apt: fio, blktrace), root and
the kernel's block tracer, the package registry.
"""

import hashlib
import json
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from limits import PATIENCE_S

from conftest import Run, gordon

ROOT = Path(__file__).parents[2]
CACHE = ROOT / "build/evidence"
# The sdist carries libCacheSim's example traces.
SDIST = "libcachesim==0.3.5"
SDIST_SHA256 = "a1512046ab45bc0e5f0a81e5673cd02209477ffeefcb17a05fa714a06371abfb"
SECTOR = 512


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"no {name} on this machine")
    return path


def convert(folder: Path, source: str | Path, to: str, *more: str) -> tuple[dict[str, Any], Path]:
    """The summary of the trace, and the path that it was converted to."""
    target = folder / f"{Path(source).name}.{to}"
    ran = gordon(
        folder, "trace", "convert", str(source), str(target), "--to", to, *more, "--json", "-"
    )
    assert ran.status == 0, ran.err
    held: dict[str, Any] = json.loads(ran.out)
    return held, target


def at(time: int, op: str, device: int, offset: int, size: int) -> dict[str, Any]:
    return {"at_ns": time, "op": op, "device": device, "offset_bytes": offset, "bytes": size}


# fio


def fio(folder: Path, *args: str) -> None:
    command = [tool("fio"), "--output=fio.out", *args]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def fio_lines(log: Path) -> list[list[str]]:
    words = [line.split() for line in log.read_text().splitlines()[1:]]
    return [w for w in words if len(w) == 5]


def test_fio_3_as_fio_writes_it(tmp_path: Path) -> None:
    file = tmp_path / "data"
    fio(tmp_path, "--name=a", f"--filename={file}", "--size=1M", "--rw=randrw", "--bs=4k",
        "--fsync=16", "--write_iolog=a.log")  # fmt: skip
    log = tmp_path / "a.log"
    if not log.read_text().startswith("fio version 3 iolog"):
        pytest.skip("this fio writes an older log")
    lines = fio_lines(log)
    held, _ = convert(tmp_path, log, "mqsim")
    assert held["from"] == "fio"
    assert held["requests"] == len(lines)
    assert held["read"]["requests"] + held["write"]["requests"] == 256
    for op in ("read", "write"):
        assert held[op]["bytes"] == sum(int(w[4]) for w in lines if w[2] == op)
    for which, words in (("first", lines[0]), ("last", lines[-1])):
        time = (int(words[0]) - int(lines[0][0])) * 1000
        assert held[which] == at(time, words[2], 0, int(words[3]), int(words[4]))


def test_fio_reads_what_is_written_and_its_version_2(tmp_path: Path) -> None:
    """fio replays our version 3, and a version 2: what it has done then is what we read."""
    mine = [(i * 1000, i % 3, i * 4096 % 65536, 4096 * (1 + i % 4)) for i in range(64)]
    source = tmp_path / "mine"
    source.write_text(
        "".join(
            f"{t * 1000} 0 {a // SECTOR} {n // SECTOR} {int(op != 0)}\n" for t, op, a, n in mine
        )
    )
    _, third = convert(tmp_path, source, "fio")
    second = tmp_path / "second"
    name = "/dev/gordon-0"
    words = {0: "write", 1: "read", 2: "read"}
    body = [f"{name} add", f"{name} open"]
    body += [f"{name} {words[op]} {a} {n}" for _, op, a, n in mine]
    second.write_text("\n".join(["fio version 2 iolog", *body, f"{name} close", ""]))
    expected = [[str(int(op == 0)), str(n), str(a)] for _, op, a, n in mine]
    for log in (third, second):
        fio(tmp_path, "--name=a", "--ioengine=null", f"--read_iolog={log}", "--replay_no_stall=1",
            "--size=1M", f"--write_lat_log={log}", "--log_offset=1")  # fmt: skip
        # Time, latency, 0 read or 1 write, bytes, offset.
        done = Path(f"{log}_lat.1.log").read_text().splitlines()
        assert [[w.strip() for w in line.split(",")[2:5]] for line in done] == expected
        held, _ = convert(tmp_path, log, "spc")
        assert (held["from"], held["requests"]) == ("fio", 64)
        assert held["write"] == {
            "requests": 22,
            "bytes": sum(n for _, op, _, n in mine if op == 0),
        }
        assert held["read"]["bytes"] == sum(n for _, op, _, n in mine if op != 0)


# blktrace, blkparse


@pytest.fixture(scope="module")
def kernel_events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Binary events as the kernel's block tracer writes them, of a loop device of our own."""
    folder = tmp_path_factory.mktemp("kernel")
    tracing = Path("/sys/kernel/tracing")
    if os.geteuid() != 0:
        pytest.skip("the kernel's block tracer is root's")
    for name in ("fio", "losetup", "unshare", "blkdiscard"):
        tool(name)
    script = f"""set -e
mount -t tracefs none {tracing} 2>/dev/null || true
cd {tracing}
grep -qw blk available_tracers || {{ echo no block tracer in this kernel; exit 77; }}
[ "$(cat current_tracer)" = nop ] || {{ echo another tracer is at work; exit 77; }}
truncate -s 64M {folder}/disk
L=$(losetup -f --show {folder}/disk) || {{ echo no loop device; exit 77; }}
T=/sys/block/${{L##*/}}/trace/enable
finish() {{
  echo 0 >$T; echo 0 >options/bin; echo 1 >options/context-info; echo nop >current_tracer
  losetup -d $L
}}
trap finish EXIT
[ -w $T ] || {{ echo no blktrace in this kernel; exit 77; }}
echo blk >current_tracer
echo 1 >options/bin
echo 0 >options/context-info
echo 1 >$T
cat trace_pipe >{folder}/events & P=$!
fio --name=a --filename=$L --size=16M --rw=randrw --bs=4k --direct=1 --number_ios=200 --fsync=50 \
  --output={folder}/fio.out
blkdiscard -o 1M -l 1M $L
echo 0 >$T
# Until all is read and written, however busy this machine is.
entries() {{ cat per_cpu/cpu*/stats | sed -n 's/^entries: //p' | grep -cv '^0$'; }}
while [ "$(entries)" != 0 ]; do sleep 0.05; done
before=-1
while now=$(stat -c %s {folder}/events); [ $now != $before ]; do before=$now; sleep 0.3; done
kill $P
# A tracer that is read is not given up.
wait $P || true
"""
    ran = subprocess.run(
        ["unshare", "-m", "bash", "-c", script],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    if ran.returncode == 77:
        pytest.skip(ran.stdout.strip())
    assert ran.returncode == 0, ran.stderr
    return folder / "events"


def issued(events: bytes) -> list[dict[str, Any]]:
    """The issues among kernel events, by a reader of this test's own."""
    found, place = [], 0
    while place < len(events):
        magic, _, time, sector, size, action, _, device, _, _, own = struct.unpack_from(
            "<IIQQIIIIIHH", events, place
        )
        assert magic == 0x65617407
        place += 48 + own
        kinds = action >> 16
        if action & 0xFFFF == 7 and not kinds & (1 << 10 | 1 << 9):
            discard, flush = kinds & 1 << 13, kinds & 1 << 2 and not size
            op = "discard" if discard else "flush" if flush else "write" if kinds & 2 else "read"
            found.append(at(time, op, device, 0 if flush else sector * SECTOR, size))
    return found


def test_blktrace_as_the_kernel_writes_it(kernel_events: Path, tmp_path: Path) -> None:
    expected = issued(kernel_events.read_bytes())
    held, _ = convert(tmp_path, kernel_events, "fio")
    assert held["from"] == "blktrace"
    assert held["requests"] == len(expected) > 200
    start = expected[0]["at_ns"]
    for which, request in (("first", expected[0]), ("last", expected[-1])):
        assert held[which] == request | {"at_ns": request["at_ns"] - start}
    assert held["last"]["op"] == "discard"
    for op in ("read", "write", "discard", "flush"):
        of = [e for e in expected if e["op"] == op]
        assert held[op] == {"requests": len(of), "bytes": sum(e["bytes"] for e in of)}


def test_blkparse_as_blkparse_writes_it(kernel_events: Path, tmp_path: Path) -> None:
    """blkparse's text and its binary dump of the same events hold the same requests; its own
    totals are ours."""
    blkparse = tool("blkparse")
    text, dump = tmp_path / "text", tmp_path / "dump"
    with kernel_events.open("rb") as events:
        ran = subprocess.run(
            [blkparse, "-i", "-", "-d", dump], stdin=events, capture_output=True, check=True
        )
    text.write_bytes(ran.stdout)
    ours, as_fio = convert(tmp_path, kernel_events, "fio")
    parsed, parsed_as_fio = convert(tmp_path, text, "fio")
    assert (parsed["from"], parsed["requests"]) == ("blkparse", ours["requests"])
    assert parsed_as_fio.read_text() == as_fio.read_text()
    dumped, dumped_as_fio = convert(tmp_path, dump, "fio")
    assert dumped["from"] == "blktrace"
    assert dumped_as_fio.read_text() == as_fio.read_text()
    totals = text.read_text().rpartition("Total (")[2]
    reads, read_kib = re.search(r"Read Dispatches: +(\d+), +(\d+)KiB", totals).groups()  # type: ignore[union-attr]
    writes, write_kib = re.search(r"Write Dispatches: +(\d+), +(\d+)KiB", totals).groups()  # type: ignore[union-attr]
    # It counts flushes with the reads, discards with the writes.
    assert int(reads) == ours["read"]["requests"] + ours["flush"]["requests"]
    assert int(read_kib) == ours["read"]["bytes"] // 1024
    assert int(writes) == ours["write"]["requests"] + ours["discard"]["requests"]
    assert int(write_kib) == (ours["write"]["bytes"] + ours["discard"]["bytes"]) // 1024


# libCacheSim's example traces


@pytest.fixture(scope="module")
def examples() -> Path:
    """The traces in the sdist, fetched once, in a folder that is not part of the project."""
    folder = CACHE / SDIST
    if folder.is_dir():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    archive = CACHE / f"{SDIST.replace('==', '-')}.tar.gz"
    if not archive.exists():
        command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check"]
        command += ["--no-deps", "--no-binary", "libcachesim", "-q", "-d", str(CACHE), SDIST]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            pytest.skip(f"{SDIST} cannot be had: no answer in 5 minutes")
        if not archive.exists():
            pytest.skip(f"{SDIST} cannot be had: {ran.stderr.strip().splitlines()[-1:]}")
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == SDIST_SHA256
    partial = CACHE / f"{SDIST}.partial-{os.getpid()}"
    partial.mkdir()
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            if "/data/cloudPhysicsIO." in member.name:
                source = tar.extractfile(member)
                assert source is not None
                (partial / Path(member.name).name).write_bytes(source.read())
    partial.rename(folder)
    return folder


def test_oracle_general_of_libcachesim(examples: Path, tmp_path: Path) -> None:
    file = examples / "cloudPhysicsIO.oracleGeneral.bin"
    records = list(struct.iter_unpack("<IQIq", file.read_bytes()))
    held, _ = convert(tmp_path, file, "mqsim")
    assert held["from"] == "oracleGeneral"
    assert held["requests"] == len(records) == 113_872
    assert held["first"] == at(0, "read", 0, 42_932_745 * SECTOR, 512)
    assert held["last"] == at(7200 * 10**9, "read", 0, 42_936_150 * SECTOR, 512)
    assert held["read"]["bytes"] == sum(r[2] for r in records) == 4_368_040_448


def test_vscsi_of_libcachesim(examples: Path, tmp_path: Path) -> None:
    """The binary trace against that package's CSV of it: seconds, SCSI code, bytes, block."""
    held, as_mqsim = convert(tmp_path, examples / "cloudPhysicsIO.vscsi", "mqsim")
    assert (held["from"], held["requests"]) == ("vscsi", 113_872)
    lines = (examples / "cloudPhysicsIO.csv").read_text().splitlines()[1:]
    codes = {"28": "1", "2a": "0"}
    theirs = [
        (codes[code], int(size), int(block))
        for _, _, code, size, block in (line.split(",") for line in lines)
    ]
    ours = [
        (op, int(sectors) * SECTOR, int(sector))
        for _, _, sector, sectors, op in map(str.split, as_mqsim.read_text().splitlines())
    ]
    assert ours == theirs


# The commands


def listed(run: Run) -> dict[str, Any]:
    """The formats of `gordon trace formats`, by name."""
    formats = json.loads(run("trace", "formats", "--json", "-").out)["formats"]
    known = {one["name"]: one for one in formats}
    assert len(known) == len(formats), "a name stands for one format"
    return known


def test_formats_are_listed(run: Run) -> None:
    known = listed(run)
    described = {file.stem for file in (ROOT / "crates/trace/formats").glob("*.toml")}
    assert {name for name, one in known.items() if one["columns"] is not None} == described
    for name, one in known.items():
        assert one["source"], name
        assert one["about"], name
    assert known["twitter"]["objects"]
    assert not known["fiu"]["objects"]
    assert known["spc"]["supported"] == "unsupported (read all the same)"
    assert known["msr"]["supported"] == "yes"
    assert known["msr"]["written"]
    assert known["mqsim"]["columns"] == "time=1:ns,device=2,lba=3:512B,size=4:512B,op=5"
    assert known["vscsi"]["supported"] == "yes; 40 bytes: unsupported"
    assert known["oracleGeneral"]["written"]
    table = run("trace", "formats").out
    assert table.splitlines()[0].split()[:4] == ["format", "of", "written", "supported"]
    for name in known:
        assert f"\n{name} " in table


def test_the_page_of_formats_lists_each_format(run: Run) -> None:
    page = (ROOT / "docs/FORMATS.md").read_text()
    known = listed(run)
    activity = {name for name, one in known.items() if one["of"] == "activity"}
    described = {name for name, one in known.items() if one["columns"]}
    own = set(known) - activity - described
    sections = {"of their own": own, "described by data": described, "other monitors": activity}
    for title, expected in sections.items():
        section = page.partition(f"{title}\n\n")[2].partition("\n## ")[0]
        rows = [
            [cell.strip(" `") for cell in line.split("|")[1:]]
            for line in section.splitlines()
            if line.startswith("| `")
        ]
        names = sorted(row[0] for row in rows)
        assert names == sorted(expected)
        if expected is described:
            for name, of, *_ in rows:
                assert of == known[name]["of"], name


def test_convert_to_our_own(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("5 0 8 8 1\n9 0 16 8 0\n")
    (tmp_path / "one").write_text("5 0 8 8 1\n")
    one = run("trace", "convert", "one", "one.trace")
    assert one.err.endswith("\n1 request from mqsim to gordon: one.trace\n")
    ran = run("trace", "convert", "a", "a.trace")
    assert (ran.status, ran.out) == (0, "")
    assert ran.err.endswith("\n2 requests from mqsim to gordon: a.trace\n")
    shown = run("trace", "show", "a.trace")
    assert "a, converted from mqsim" in shown.out
    assert "block I/O: 2 requests; read 1, 4.10 kB; write 1, 4.10 kB" in shown.out
    survey = run("survey", "a.trace")
    assert survey.status == 1
    assert "holds block requests alone" in survey.err


def test_convert_to_a_folder_that_is_not_there_names_the_output(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("5 0 8 8 1\n9 0 16 8 0\n")
    for words in (["a", "none/a.trace"], ["a", "none/a.csv", "--to", "msr"]):
        ran = run("trace", "convert", *words)
        assert ran.status == 1
        assert words[1] in ran.err or "none:" in ran.err
        assert "partial" not in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_convert_through_pipes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gordon", "trace", "convert", "-", "-", "--to", "spc"]
    ran = subprocess.run(command, input="5 0 8 8 1\n9 0 16 8 0\n", capture_output=True, text=True)
    assert ran.stdout == "0,8,4096,R,0.000000000\n0,16,4096,W,0.000000004\n"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["bad", "o"], ["line 2: offset (column 3)", "found `x`"]),
        (["back", "o"], ["line 2: time goes backwards by 4ns", "--order sort"]),
        (["nothing", "o"], ["cannot open nothing"]),
        (["good", "o", "--from", "xyz"], ["unknown trace format `xyz`"]),
        (["good", "o", "--from", "clf"], ["(format clf)"]),
        (["good", "o", "--to", "vscsi"], ["read, not written"]),
        (["good", "o", "--device", "9"], ["no request of device 9"]),
        (["good", "o", "--time-unit", "1h"], ["between 1ns and 1s"]),
        (["good", "good", "--to", "mqsim"], ["good exists"]),
        (["prose", "o"], ["of no known trace format"]),
    ],
)
def test_convert_refuses(run: Run, tmp_path: Path, args: list[str], says: list[str]) -> None:
    for name, text in (
        ("good", "5 0 8 8 1\n"),
        ("bad", "5 0 8 8 1\n6 0 x 8 1\n"),
        ("back", "5 0 8 8 1\n1 0 8 8 1\n"),
        ("prose", "It was a dark and stormy night.\n"),
    ):
        (tmp_path / name).write_text(text)
    before = sorted(tmp_path.iterdir())
    ran = run("trace", "convert", *args)
    assert ran.status == 1
    assert ran.err.startswith("error: ")
    assert "\n  try: " in ran.err
    for part in says:
        assert part in ran.err
    assert sorted(tmp_path.iterdir()) == before


def test_skip_bad_counts(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("5 0 8 8 1\nx\n9 0 16 8 0\n7 0 16 8\n")
    ran = run("trace", "convert", "a", "b", "--to", "mqsim", "--skip-bad", "--json", "-")
    held = json.loads(ran.out)
    assert (held["requests"], held["skipped"]) == (2, 2)
    assert "warning: a: skipped: 2 malformed, left out; the first: a, line 2: time" in ran.err
    assert (tmp_path / "b").read_text() == "0 0 8 8 1\n4 0 16 8 0\n"


def test_a_trace_larger_than_memory() -> None:
    """250 MB of text through a process that may have 200 MB of data."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (200 << 20, 200 << 20))

    command = [sys.executable, "-m", "gordon", "trace", "convert", "-", "-", "--to", "msr"]
    chunk = b"5 0 123456789 64 1\n" * 300_000
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=limit,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        for _ in range(45):
            process.stdin.write(chunk)
        process.stdin.close()
        errors = process.stderr.read().decode()
    assert process.returncode == 0, errors
    assert errors.endswith("13500000 requests from mqsim to msr: -\n")


def test_what_a_conversion_loses_is_reported_with_the_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "b").write_text("8,0 1 1 0.000000000 4162 D R 0 + 8 [fio]\n")
    ran = run("trace", "convert", "b", "c", "--to", "mqsim")
    assert "\nwarning: b: the numbers of the processes and the other flags" in ran.err, ran.err
    assert ran.err.count("warning:") == 1
    (tmp_path / "d").write_text("8,0 1 1 0.000000000 4162 D WFS 0 + 8 [fio]\n")
    ran = run("trace", "convert", "d", "e", "--to", "mqsim")
    assert "\nwarning: d: 1 durable writes (FUA) become writes" in ran.err, ran.err


@pytest.mark.parametrize("to", ["mqsim", "gordon"])
def test_ctrl_c_on_a_pipe_leaves_no_trace(tmp_path: Path, to: str) -> None:
    """An interrupt ends the writer of the pipe, too: what came until then is not the trace."""
    with subprocess.Popen(
        [sys.executable, "-m", "gordon", "trace", "convert", "-", "out", "--to", to],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b"5 0 123456789 64 1\n" * 300_000)
        while not any(tmp_path.iterdir()) and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, errors
    assert list(tmp_path.iterdir()) == []


def test_a_device_is_named_as_blkparse_prints_it(tmp_path: Path) -> None:
    trace = tmp_path / "two.blkparse"
    trace.write_text(
        "  8,0    0        1     0.000000000     9  D   W 8 + 8 [a]\n"
        "  8,3    0        2     0.000001000     9  D   R 16 + 16 [a]\n"
    )
    for number, device in enumerate(("8,3", "8:3", str(8 << 20 | 3))):
        folder = tmp_path / str(number)
        folder.mkdir()
        held, _ = convert(folder, trace, "mqsim", "--device", device)
        assert (held["read"]["bytes"], held["other_devices"]) == (8192, 1)
        ran = gordon(tmp_path, "cache", "replay", str(trace), "--policy", "lru", "--dram", "1MiB",
                     "--device", device, "--json", "-")  # fmt: skip
        assert (ran.status, json.loads(ran.out)["requests"]) == (0, 2)
    for device in ("8,", "8,3,1", "4096,0", "8,1048576", "-1", "4294967296", "sda"):
        ran = gordon(tmp_path, "cache", "replay", str(trace), "--policy", "lru", "--dram", "1MiB",
                     "--device", device)  # fmt: skip
        assert ran.status == 2, device
