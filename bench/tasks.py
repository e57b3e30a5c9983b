"""The tasks model: 10,000 tasks on 1,000 clusters, and a log of a million tasks.

python bench/tasks.py [--tasks N]

Prints the seconds of the survey, the nanoseconds of a task on a cluster, the peak of the memory,
and the seconds of reading the large log. The logs are made up, with the events that Spark 3.5
writes: stages that wait for one another, and tasks of different lengths.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gordon import survey

GORDON = Path(sys.executable).parent / "gordon"
TASKS = 10_000
MANY = 1_000_000
EXECUTORS, SLOTS, STAGES = 20, 4, 10
START = 1_700_000_000_000


def event(name: str, **fields: Any) -> str:
    return json.dumps({"Event": f"SparkListener{name}", **fields}, separators=(",", ":")) + "\n"


def write_log(path: Path, tasks: int) -> None:
    """A log of an application whose tasks ran on all slots."""
    each = tasks // STAGES
    with path.open("w") as log:
        log.write(event("LogStart", **{"Spark Version": "3.5.1"}))
        log.write(event("ApplicationStart", **{"App Name": "made up", "Timestamp": START}))
        settings = {"spark.executor.cores": str(SLOTS), "spark.executor.memory": "2g"}
        log.write(event("EnvironmentUpdate", **{"Spark Properties": settings}))
        for number in range(EXECUTORS):
            info = {"Host": f"host-{number}", "Total Cores": SLOTS}
            log.write(
                event(
                    "ExecutorAdded",
                    **{
                        "Timestamp": START + 5000 + number,
                        "Executor ID": str(number),
                        "Executor Info": info,
                    },
                )
            )
        at, number = START + 6000, 0
        for stage in range(STAGES):
            info = {
                "Stage ID": stage,
                "Stage Attempt ID": 0,
                "Stage Name": f"stage {stage}",
                "Number of Tasks": each,
                "Parent IDs": [stage - 1] if stage else [],
                "Submission Time": at,
            }
            log.write(event("StageSubmitted", **{"Stage Info": info}))
            free = [at] * (EXECUTORS * SLOTS)
            for index in range(each):
                slot = index % len(free)
                length = 500 + index * 7919 % 1000
                started, free[slot] = free[slot], free[slot] + length
                log.write(
                    event(
                        "TaskEnd",
                        **{
                            "Stage ID": stage,
                            "Stage Attempt ID": 0,
                            "Task End Reason": {"Reason": "Success"},
                            "Task Info": {
                                "Task ID": number,
                                "Index": index,
                                "Attempt": 0,
                                "Launch Time": started,
                                "Executor ID": str(slot // SLOTS),
                                "Host": f"host-{slot // SLOTS}",
                                "Locality": "ANY",
                                "Finish Time": free[slot],
                            },
                            "Task Metrics": {
                                "Executor Run Time": length - 20,
                                "Executor CPU Time": (length - 100) * 1_000_000,
                                "JVM GC Time": 10,
                                "Shuffle Read Metrics": {
                                    "Remote Bytes Read": 1_000_000 if stage else 0,
                                    "Local Bytes Read": 100_000 if stage else 0,
                                },
                                "Shuffle Write Metrics": {"Shuffle Bytes Written": 1_000_000},
                                "Input Metrics": {"Bytes Read": 0 if stage else 64_000_000},
                            },
                        },
                    )
                )
                number += 1
            at = max(free)
            log.write(event("StageCompleted", **{"Stage Info": info | {"Completion Time": at}}))
            at += 100
        log.write(event("ApplicationEnd", **{"Timestamp": at}))


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=TASKS)
    parser.add_argument("--many", type=int, default=MANY)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "app"
        write_log(log, args.tasks)
        start = time.perf_counter()
        found = survey.run(log, space="ec2", nodes=list(range(1, 14)), rows=10)
        took = time.perf_counter() - start
        designs = found["designs_total"]
        print(
            f"{args.tasks:,} tasks on {designs:,} clusters: {took:.2f} s, "
            f"{took * 1e9 / args.tasks / designs:.0f} ns a task and cluster, {peak_mb():.0f} MB "
            "(goal 5 s, 500 MB)"
        )
        write_log(log, args.many)
        start = time.perf_counter()
        subprocess.run([GORDON, "trace", "show", log], check=True, stdout=subprocess.DEVNULL)
        took = time.perf_counter() - start
        print(f"{args.many:,} tasks read: {took:.1f} s (goal 20 s)")


if __name__ == "__main__":
    main()
