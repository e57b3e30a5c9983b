"""The time that the objectives of a bill, and the ranking of its inputs, add to a survey.

The surveys are of 40,000 machines, of the shipped machines, and of an event log of Spark on numbers
of them. The figures are CPU seconds of the whole command, interpreter and all, the least of three
rounds. The ranking draws the inputs of the cheapest designs and says which of them alone changes
the order; its own rows are the CPU seconds of that part, in a process that has made the survey.
The goal is that all objectives, with the ranking, cost at most 20 % more.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from gordon import survey
from gordon.survey import doubts

ROOT = Path(__file__).resolve().parent.parent
GORDON = Path(sys.executable).parent / "gordon"
TRACE = ROOT / "tests/golden/job.trace"
MACHINES, ROUNDS, GOAL = 40_000, 3, 0.2
ALL = "time,price,energy,tco,carbon"


class Case(NamedTuple):
    """A survey: its input and its options, as keywords and as words of the command."""

    name: str
    traces: str
    options: dict[str, Any]

    def words(self) -> list[str]:
        found = [self.traces]
        for key, value in self.options.items():
            found += [f"--{key.replace('_', '-')}", str(value)]
        return found


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


def cases(made: Path) -> list[Case]:
    """The surveys that are measured."""
    many, own = {"space": str(made), "reference": "1.0"}, {"space": "modern"}
    return [
        Case(f"{MACHINES:,} machines, 10 rows", str(TRACE), {**many, "rows": 10}),
        Case(f"{MACHINES:,} machines, 1,000 rows", str(TRACE), {**many, "rows": 1000}),
        Case("the machines of modern", str(TRACE), {**own, "reference": "1.0"}),
        Case("tasks on 1 to 4 nodes of modern", "spark-sort", {**own, "nodes": "1..4"}),
    ]


def cpu_s(*words: str) -> float:
    """CPU seconds of a survey."""
    command = subprocess.Popen(
        [GORDON, "survey", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(command.pid, 0)
    if status:
        raise SystemExit("error: gordon survey failed")
    return used.ru_utime + used.ru_stime


def ranked(case: Case) -> tuple[float, int, int]:
    """CPU seconds of the ranking of a survey, its designs, and the bills that it computes."""
    spent: list[float] = []
    made = doubts.ranking

    def timed(*given: Any) -> Any:
        start = time.process_time()
        found = made(*given)
        spent.append(time.process_time() - start)
        return found

    rounds: list[Any] = []
    with patch.object(doubts, "ranking", timed):
        for _ in range(ROUNDS):
            rounds.append(survey.run(case.traces, objective=ALL, **case.options).report)
    found = rounds[0]["ranking"]
    return (min(spent), 0, 0) if found is None else (min(spent), found["compared"], found["bills"])


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        for case in cases(space(Path(name, "made.toml"))):
            words = case.words()
            rounds = [(cpu_s(*words), cpu_s(*words, "--objective", ALL)) for _ in range(ROUNDS)]
            plain, objectives = (min(times) for times in zip(*rounds, strict=True))
            more = objectives / plain - 1
            print(f"survey, {case.name}: {plain:.2f} s of CPU time")
            print(f"  with {ALL}: {objectives:.2f} s, {more:+.0%} (goal: at most {GOAL:+.0%})")
            secs, designs, bills = ranked(case)
            print(
                f"  of it the ranking of {designs} designs, {bills:,} bills: {secs:.3f} s, "
                f"{secs / plain:+.0%}"
            )


if __name__ == "__main__":
    main()
