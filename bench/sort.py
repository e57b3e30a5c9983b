"""How fast records are sorted, compared with a direct copy and other sorts of the same files.

    python bench/sort.py                # 10^7 records, in the current directory
    python bench/sort.py 1e8 /mnt/disk  # more, in another

Records are those of the sort benchmark, made anew: uniform, skewed, and lines of characters for GNU
sort. Every run reads a cold cache (the files are dropped from it), writes a new file and makes it
durable; its output is checked by its sum and order. What is compared takes turns, forwards and
backwards; of each the best counts, of wall time and processor time (user and system, of all
processes) apart. On a virtual machine memory that is touched for the first time costs the host's
work too: in its turn each runs twice, one after the other, and the second counts; and what it takes
to touch as much as a sort in memory does, and no more, is measured in each turn, and printed.

Peers that are not there are left out, by name: GNU sort; `BSORT` and `ELSAR`, environment variables
that name their programs (ELSAR's is called with input, output and bytes of memory); DuckDB, Polars,
DataFusion in the interpreter that `PEERS_PYTHON` names. `VALSORT` names the reference's checker,
which then looks at every output, too.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gordon import sort

RECORD = 100
#: Turns of each, of two runs.
ROUNDS = 2
#: Sorting of lines by each of the Python peers: the key is their first 10 characters.
PEERS = {
    "duckdb": """
import duckdb, sys
source, out, memory = sys.argv[1:]
db = duckdb.connect()
db.execute(f"set memory_limit='{memory}B'")
db.execute(f\"\"\"copy (select line from read_csv('{source}', columns={{'line': 'varchar'}},
    header=false, delim='\\x01', quote='', escape='', auto_detect=false, new_line='\\\\r\\\\n')
    order by line[1:10])
    to '{out}' (format csv, header false, quote '', escape '', delimiter '\\x01')\"\"\")
""",
    "polars": """
import polars, sys
source, out, _ = sys.argv[1:]
form = dict(has_header=False, separator="\\x01", quote_char=None)
lines = polars.scan_csv(source, new_columns=["line"], **form)
form = dict(include_header=False, separator="\\x01", quote_style="never")
lines.sort(polars.col("line").str.slice(0, 10)).sink_csv(out, **form)
""",
    "datafusion": """
import datafusion, sys
source, out, _ = sys.argv[1:]
form = "OPTIONS ('format.has_header' 'false', 'format.delimiter' '\\x01', 'format.quote' '\\x02')"
context = datafusion.SessionContext()
context.sql(f"create external table t (line varchar) stored as csv location '{source}' {form}")
query = "select line from t order by substr(line, 1, 10)"
context.sql(f"copy ({query}) to '{out}' stored as csv {form}").collect()
""",
}


def forget(paths: list[Path]) -> None:
    """The files are in no cache. (To empty all caches would have the host give memory anew.)"""
    os.sync()
    for path in paths:
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@dataclass
class Contender:
    """A way to sort, and its best times."""

    name: str
    source: Path
    command: Callable[[Path], list[str]]
    #: Whether records must come out in order.
    sorts: bool = True
    #: Whether it writes lines of its own ends, so that sums say nothing.
    own_ends: bool = False
    wall: float = float("inf")
    cpu: float = float("inf")
    counts: str = ""
    failed: str = ""
    report: Path | None = None
    env: dict[str, str] = field(default_factory=dict)

    def run(self, out: Path, checksum: str, count: bool) -> None:
        """Once, from the cold to what is durable; then it is checked."""
        out.unlink(missing_ok=True)
        forget([self.source])
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        env = {**os.environ, **self.env}
        words = self.command(out)
        ran = subprocess.run(words, capture_output=True, env=env, check=False)
        if ran.returncode == 0 and out.exists():
            # Of a durable one this costs nothing.
            with out.open("rb") as file:
                os.fsync(file.fileno())
        wall = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if ran.returncode != 0:
            lines = ran.stderr.decode(errors="replace").strip().splitlines() or [
                f"{ran.returncode}"
            ]
            self.failed = next((line for line in lines if "Error:" in line), lines[-1])[:100]
            return
        self.check(out, checksum)
        if count:
            self.wall, self.cpu = min(self.wall, wall), min(self.cpu, cpu)
        if self.report is not None:
            self.counts = counted(json.loads(self.report.read_text()))

    def check(self, out: Path, checksum: str) -> None:
        """Stops the bench where records are lost, changed or out of order."""
        size, expected = out.stat().st_size, self.source.stat().st_size
        if self.own_ends and size != expected:
            # LF for CR LF: every line is there.
            if size != expected // RECORD * (RECORD - 1):
                self.failed = f"{size} bytes of {expected} came out"
            return
        report = sort.validate(out)
        if report["checksum"] != checksum or (self.sorts and not report["in_order"]):
            sys.exit(f"{self.name}: its output is not the input, sorted: {report}")
        valsort = os.environ.get("VALSORT")
        if valsort and self.sorts:
            ran = subprocess.run([valsort, out], capture_output=True, text=True, check=False)
            if ran.returncode or f"Checksum: {checksum}" not in ran.stdout + ran.stderr:
                sys.exit(f"{self.name}: valsort says {ran.stdout}{ran.stderr}")


def counted(report: dict[str, object]) -> str:
    """The bytes that a sort of ours moved."""
    phases = report["phases"]
    assert isinstance(phases, list)
    read, written = (sum(phase[key] for phase in phases) for key in ("bytes_read", "bytes_written"))
    plan = report["plan"]
    assert isinstance(plan, dict)
    return (
        f"{plan['method']}, {report['passes']} passes, {plan['buckets']} buckets, "
        f"{report['large_buckets']} large; read {read / 1e9:.3f} GB, written {written / 1e9:.3f} "
        f"GB; resident {int(str(report['peak_resident_bytes'])) / 1e6:.0f} MB"
    )


def ours(folder: Path, name: str, source: Path, memory: str, *args: str) -> Contender:
    report = folder / f"{name}.json"

    def command(out: Path) -> list[str]:
        words = [sys.executable, "-m", "gordon", "sort", str(source), str(out), "--memory", memory]
        return [*words, "--temp", str(folder), "--json", str(report), *args]

    return Contender(f"gordon, {name}", source, command, report=report)


def copy(source: Path) -> Contender:
    def command(out: Path) -> list[str]:
        words = ["dd", f"if={source}", f"of={out}", "bs=8M", "iflag=direct", "oflag=direct"]
        return [*words, "conv=fsync"]

    return Contender("dd, direct copy", source, command, sorts=False)


def gnu(folder: Path, source: Path, memory: str) -> Contender:
    def command(out: Path) -> list[str]:
        words = ["sort", "-k", "1.1,1.10", "-S", memory, f"--parallel={os.cpu_count()}"]
        return [*words, "-T", str(folder), "-o", str(out), str(source)]

    name = f"GNU sort, {int(memory[:-1]) / 1e6:.0f} MB"
    return Contender(name, source, command, env={"LC_ALL": "C"})


def named(folder: Path, uniform: Path, lines: Path, memory: int) -> list[Contender]:
    """Peers that the environment names."""
    found = []
    if bsort := os.environ.get("BSORT"):
        # In its place: the copy is part of its time.
        words = ["sh", "-c", f'cp "$0" "$1" && exec "{bsort}" -k 10 -r {RECORD} "$1"', str(uniform)]
        found.append(Contender("bsort, on a copy", uniform, lambda o: [*words, str(o)]))
    if elsar := os.environ.get("ELSAR"):
        # Of keys that print alone.
        found.append(Contender("ELSAR", lines, lambda o: [elsar, str(lines), str(o), str(memory)]))
    for name in ("BSORT", "ELSAR", "VALSORT"):
        if not os.environ.get(name):
            print(f"left out: {name.lower()}: the environment names no {name}")
    python = os.environ.get("PEERS_PYTHON", sys.executable)
    for module, script in PEERS.items():
        if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode:
            print(f"left out: {module}: {python} cannot import it")
            continue
        path = folder / f"{module}.sort.py"
        path.write_text(script)

        def command(out: Path, path: Path = path) -> list[str]:
            return [python, str(path), str(lines), str(out), str(memory)]

        found.append(Contender(module, lines, command, own_ends=True))
    return found


def touched(size: int) -> float:
    """Processor seconds of a program that touches so many bytes of fresh memory."""
    script = f"""
import mmap
memory = mmap.mmap(-1, {size})
memory.madvise(mmap.MADV_HUGEPAGE)
for at in range(0, {size}, 4096):
    memory[at] = 1
"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_stime
    subprocess.run([sys.executable, "-c", script], check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_stime - before


def race(contenders: list[Contender], out: Path, checksums: dict[Path, str]) -> None:
    """All take turns; the first run of each turn warms the machine's memory up."""
    memory = []
    for turn in range(ROUNDS):
        for one in contenders if turn % 2 else contenders[::-1]:
            for count in (False, True):
                if not one.failed:
                    one.run(out, checksums[one.source], count)
        size = contenders[0].source.stat().st_size * 11 // 10
        memory += [touched(size), touched(size)]
    base = contenders[0]
    print(f"{'':28}{'wall s':>9}{'of copy':>9}{'CPU s':>9}")
    for one in contenders:
        if one.failed:
            print(f"{one.name:28} failed: {one.failed}")
            continue
        print(f"{one.name:28}{one.wall:9.2f}{one.wall / base.wall:9.2f}{one.cpu:9.2f}")
        if one.counts:
            print(f"{'':6}{one.counts}")
    turns = ", ".join(f"{seconds:.2f}" for seconds in memory)
    print(f"system seconds to touch 1.1 times the bytes, and no more, twice in each turn: {turns}")


def compared(one: Contender, other: Contender) -> str:
    """How many times as fast, by the clock and by processor time."""
    return f"{other.wall / one.wall:.2f} times {other.name} ({other.cpu / one.cpu:.2f} by CPU)"


def main() -> None:
    records = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7
    where = sys.argv[2] if len(sys.argv) > 2 else "."
    size = records * RECORD
    # A quarter, as 256 MB are of 10^7 records.
    little = max(size * 256 // 1000, 8_000_000)
    if shutil.disk_usage(where).free < 7 * size:
        sys.exit(f"{where}: less than {7 * size / 1e9:.1f} GB free\n  try: fewer records")
    with tempfile.TemporaryDirectory(dir=where, prefix=".bench-sort-") as name:
        folder = Path(name)
        uniform, skewed, lines = (folder / file for file in ("uniform", "skewed", "lines"))
        sums = {
            uniform: sort.generate(uniform, records=records)["checksum"],
            skewed: sort.generate(skewed, records=records, skewed=True)["checksum"],
            lines: sort.generate(lines, records=records, ascii=True)["checksum"],
        }
        some = f"{little}B"
        contenders = [
            copy(uniform),
            ours(folder, "one pass", uniform, f"{size * 14 // 10 + 64_000_000}B"),
            ours(folder, "distribute", uniform, some, "--method", "distribute"),
            ours(folder, "merge", uniform, some, "--method", "merge"),
            ours(folder, "skewed", skewed, some),
        ]
        by_ten = ("--lines", "--key", "1.1,1.10")
        pairs = [
            (ours(folder, "lines, one pass", lines, f"{2 * size}B", *by_ten), 2 * size),
            (ours(folder, "lines", lines, some, *by_ten), little),
        ]
        contenders += [one for one, _ in pairs]
        others = [gnu(folder, lines, f"{memory}b") for _, memory in pairs]
        if shutil.which("sort"):
            contenders += others
        else:
            print("left out: GNU sort: there is no sort")
        contenders += named(folder, uniform, lines, little)
        print(f"{records:,} records, {size / 1e6:,.0f} MB; little memory: {little / 1e6:.0f} MB")
        race(contenders, folder / "out.csv", sums)
        one, two, merge, skew = contenders[1:5]
        print(
            f"sort: one pass {one.wall / contenders[0].wall:.2f} of the copy; two passes "
            f"{two.wall / contenders[0].wall / 2:.2f} of twice the copy, "
            f"merge {merge.wall / two.wall:.2f} of it; skewed {skew.wall / two.wall:.2f}"
        )
        for (one, _), other in zip(pairs, others, strict=True):
            if other in contenders:
                print(f"{one.name}: {compared(one, other)}")


if __name__ == "__main__":
    main()
