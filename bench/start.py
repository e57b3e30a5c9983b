"""Cost of a start: modules that are imported and processor time, as multiples of an interpreter
that does nothing; and the size of the package by part, compressed as a wheel is.

The times are the medians of rounds that alternate.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections import Counter
from pathlib import Path
from statistics import median

import gordon

PACKAGE = Path(gordon.__file__).parent
ROUNDS = 9
NOTHING = "an interpreter that does nothing"
STARTS = {
    NOTHING: ["-c", "pass"],
    "import gordon": ["-c", "import gordon"],
    "gordon --help": ["-m", "gordon", "--help"],
    "gordon survey --help": ["-m", "gordon", "survey", "--help"],
    "gordon spaces": ["-m", "gordon", "spaces"],
    "gordon flash bench, 1000 requests": [
        *("-m", "gordon", "flash", "bench", "--pattern", "random-read", "--requests", "1000"),
    ],
}
#: Parts of the package by the start of a path, or by the end of a name.
PARTS = {
    "the core": "_core.abi3.so",
    "Python": ".py",
    "bundled traces": "bundled/",
    "plotly.js, and templates and styles of pages": "report/",
}


def start(*words: str) -> float:
    """CPU seconds of an interpreter with these words."""
    process = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"error: {' '.join(words)} failed")
    return used.ru_utime + used.ru_stime


def imported(*words: str) -> list[str]:
    """The modules that an interpreter with these words imports."""
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    lines = [line for line in ran.stderr.splitlines() if line.startswith("import time:")]
    return [line.rpartition("|")[2].strip() for line in lines[1:]]


def starts() -> None:
    times: dict[str, list[float]] = {name: [] for name in STARTS}
    for _ in range(ROUNDS):
        for name, words in STARTS.items():
            times[name].append(start(*words))
    base = median(times[NOTHING])
    before = len(imported(*STARTS[NOTHING]))
    print(f"{NOTHING}: {1000 * base:.0f} ms of CPU time, {before} modules")
    for name, words in STARTS.items():
        if name != NOTHING:
            modules = imported(*words)
            own = sum(module.split(".")[0] == "gordon" for module in modules)
            print(
                f"{name}: {len(modules) - before} more modules, {own} of the package; "
                f"{median(times[name]) / base:.1f} times the CPU time"
            )


def part(path: str) -> str:
    """The part of the package that a file belongs to."""
    for name, mark in PARTS.items():
        if path.endswith(mark) if mark.startswith((".", "_")) else path.startswith(mark):
            return name
    return "parts, spaces and other data"


def sizes() -> None:
    packed: Counter[str] = Counter()
    for file in PACKAGE.rglob("*"):
        if file.is_file() and "__pycache__" not in file.parts:
            name = file.relative_to(PACKAGE).as_posix()
            packed[part(name)] += len(zlib.compress(file.read_bytes()))
    print(f"the package, compressed: {packed.total() / 1e6:.1f} MB")
    for name, size in packed.most_common():
        print(f"  {name}: {size / 1e6:.2f} MB, {size / packed.total():.0%}")


if __name__ == "__main__":
    starts()
    sizes()
