"""The survey of a job on 40,000 machines: by default, and with all objectives of a bill.

The figures are CPU seconds of the whole command, interpreter and all, the least of three rounds.
The goal is that all objectives cost at most 20 % more.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GORDON = Path(sys.executable).parent / "gordon"
TRACE = ROOT / "tests/golden/job.trace"
MACHINES, ROUNDS = 40_000, 3
ALL = "time,price,energy,tco,carbon"


def space(path: Path) -> Path:
    """Machines that differ in cores, speed, price and power."""
    noise = random.Random(1)
    lines = ['name = "made"', 'summary = "made"', "[ownership]", "years = 4"]
    lines.append("hours_per_year = 4383")
    for number in range(MACHINES):
        price = noise.uniform(50, 5000)
        lines += [
            "[[machines]]",
            f'id = "m{number}"',
            f"cores = {noise.choice([2, 4, 8, 16])}",
            f"core_speed = {noise.uniform(0.5, 3):.4f}",
            'memory = "16GiB"',
            'storage = { bandwidth = "500MB" }',
            'network = "10Gb"',
            f"purchase_price = {price:.2f}",
            f'idle = "{price / 100:.3f}W"',
            f'active = "{price / 30:.3f}W"',
            f"embodied_kg = {price / 10:.2f}",
        ]
    path.write_text("\n".join(lines) + "\n")
    return path


def cpu_s(*words: str | Path) -> float:
    """CPU seconds of a survey."""
    command = subprocess.Popen(
        [GORDON, "survey", TRACE, "--reference", "1.0", "--rows", "10", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(command.pid, 0)
    if status:
        raise SystemExit("error: gordon survey failed")
    return used.ru_utime + used.ru_stime


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        words = ("--space", space(Path(name, "made.toml")))
        rounds = [(cpu_s(*words), cpu_s(*words, "--objective", ALL)) for _ in range(ROUNDS)]
    plain, objectives = (min(times) for times in zip(*rounds, strict=True))
    print(f"survey of {MACHINES:,} machines: {plain:.2f} s of CPU time")
    print(f"  with {ALL}: {objectives:.2f} s, {objectives / plain - 1:+.0%} (goal: at most +20%)")


if __name__ == "__main__":
    main()
