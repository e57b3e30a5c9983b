"""Runs the golden corpus and compares its results with the recorded ones, value by value.

    scripts/build/golden.py            compares; exit status 1 if a value differs
    scripts/build/golden.py --record   records the results of this build

A refactoring changes no result. `tests/golden/commands.toml` lists the commands,
`tests/golden/results.json` has their results, and `tests/golden/renamed.toml` maps old keys to
new ones.

Left out are the version, prose, and what is measured: times, rates and memory of the machine.
Lists of more than 16 values are kept as their length and a SHA-256 of their values.
"""

import argparse
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "tests/golden"
RESULTS = FOLDER / "results.json"
LONG = 16
#: Keys of values that depend on the machine, the version or the time.
MEASURED = {
    *(
        "version",
        "gordon",
        "wall_s",
        "time_s",
        "memory_bytes",
        "cpu_user_s",
        "cpu_system_s",
        "memory",
    ),
    *("peak_resident_bytes", "uuid", "threads", "io", "phases", "rates", "seconds"),
    # A server collects garbage while its device is idle.
    *("erased_blocks", "closed_blocks", "data_pages", "trim_pages"),
}


def values(result: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a result by their dotted paths; long lists in short."""
    if isinstance(result, dict):
        for key, value in result.items():
            if key not in MEASURED:
                yield from values(value, f"{path}.{key}" if path else key)
    elif isinstance(result, list) and len(result) > LONG:
        inner = [list(values(item)) for item in result]
        digest = hashlib.sha256(json.dumps(inner).encode()).hexdigest()
        yield path, f"{len(result)} values, SHA-256 {digest[:16]}"
    elif isinstance(result, list):
        for at, value in enumerate(result):
            yield from values(value, f"{path}[{at}]")
    elif not isinstance(result, str) or " " not in result:
        yield path, result


def run_all(gordon: str, folder: Path) -> dict[str, dict[str, Any]]:
    """The values of each command's result, by its name."""
    corpus = tomllib.loads((FOLDER / "commands.toml").read_text())
    shutil.copytree(FOLDER / "job.trace", folder / "job.trace")
    subprocess.run(["sh", "-ec", corpus["setup"]], cwd=folder, check=True)
    found = {}
    for name, command in corpus["commands"].items():
        start = time.monotonic()
        script = corpus["scripts"].get(command)
        words = ["sh", "-ec", script] if script else [gordon, *shlex.split(command)]
        ran = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, env={**os.environ, "GORDON": gordon}
        )
        if ran.returncode != 0:
            raise SystemExit(f"{name}: {command}: exit status {ran.returncode}\n{ran.stderr}")
        found[name] = dict(values(json.loads(ran.stdout)))
        print(f"{time.monotonic() - start:6.2f} s  {name}", file=sys.stderr)
    return found


def differences(
    before: dict[str, dict[str, Any]], now: dict[str, dict[str, Any]], renamed: dict[str, str]
) -> Iterator[str]:
    """A line for each value that is missing, new or different. `renamed` maps a key, one name of a
    dotted path, to its name now."""

    def today(path: str) -> str:
        words = path.split(".")
        for at, word in enumerate(words):
            name, bracket, rest = word.partition("[")
            words[at] = renamed.get(name, name) + bracket + rest
        return ".".join(words)

    for name in sorted(before.keys() | now.keys()):
        old = {today(path): value for path, value in before.get(name, {}).items()}
        new = now.get(name, {})
        for path in sorted(old.keys() | new.keys()):
            a, b = (json.dumps(side[path]) if path in side else "none" for side in (old, new))
            if a != b:
                yield f"{name}: {path}: {a} -> {b}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="record the results of this build")
    parser.add_argument("--gordon", default=shutil.which("gordon"), help="the program to run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = run_all(options.gordon, Path(folder))
    if options.record:
        lines = (f"{json.dumps(name)}: {json.dumps(result)}" for name, result in found.items())
        RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return
    renamed = tomllib.loads((FOLDER / "renamed.toml").read_text())
    changed = list(differences(json.loads(RESULTS.read_text()), found, renamed))
    print(*changed, f"{len(found)} commands, {len(changed)} differences", sep="\n")
    sys.exit(bool(changed))


if __name__ == "__main__":
    main()
