"""The main job on real input: trace a job nobody here wrote, find the node it should run on.

Run by `make demo` from the repository's root, after the build.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gordon import GordonError
from gordon.workload import java, spark

import inputs

ROOT = Path(__file__).resolve().parent.parent
GORDON = Path(sys.executable).parent / "gordon"
SEED = 1
#: Half of the memory of the paper's node, and half of its input.
MEMORY = "1GiB"
NODES = 32
SPARK_SIZE = "50MB"

steps: list[tuple[str, float]] = []


@contextmanager
def step(what: str) -> Iterator[None]:
    print(f"\n== {what}", flush=True)
    start = time.monotonic()
    yield
    steps.append((what, time.monotonic() - start))


def gordon(*arguments: str | Path) -> None:
    status = subprocess.run([GORDON, *arguments], check=False).returncode
    if status:
        raise SystemExit(f"error: gordon {arguments[0]} failed with status {status}")


def checked(block: dict[str, Any] | None, output: int) -> str:
    """Checks the block log of the job's output; the demo fails if it did not reach the disk."""
    if block is None:
        return "no block log on this machine: the write check is skipped"
    written = block["write"]["bytes"]
    if written < output:
        raise SystemExit(
            f"error: the block log holds {written} bytes written, the job's output is {output}"
        )
    return f"block log: {written / 1e9:.2f} GB written for {output / 1e9:.2f} GB of output"


def spark_job(work: Path) -> None:
    """Sorts numbers on Spark, on two nodes of this machine, and surveys the run."""
    try:
        spark.require()
        java.find()
    except GordonError as error:
        print(f"\n== the job on Spark is left out: {error.message}")
        return
    run = work / "spark-sort"
    shutil.rmtree(run, ignore_errors=True)
    with step("run a sort on Spark, with a trace of each node"):
        gordon("workload", "run", "sort", "--size", SPARK_SIZE, "--nodes", "2", "-o", run)
    with step("survey it"):
        gordon("survey", run)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=ROOT / "build/demo", help="folder for data")
    parser.add_argument("--records", type=int, default=10_000_000, help="100-byte records to sort")
    arguments = parser.parse_args()
    work: Path = arguments.work
    need = arguments.records * inputs.RECORD * 3 + 1_000_000_000
    data, out, trace, report = (
        work / name for name in ("inputs", "outputs", "job.trace", "report.html")
    )
    data.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(work).free < need:
        raise SystemExit(
            f"error: {work} has {shutil.disk_usage(work).free / 1e9:.1f} GB free, "
            f"the demo needs {need / 1e9:.1f} GB\n  try: --work DIR on another disk"
        )

    with step("make the inputs"):
        inputs.make_records(data / "records.txt", arguments.records, SEED)
        source = inputs.make_corpus(data / "corpus")
        for name in ("records.txt", "corpus"):
            print(f"  {inputs.size_of(data / name) / 1e9:.2f} GB  {data / name}")
        print(f"  corpus: {source}")

    with step("trace the job: sort, grep, gzip, sync"):
        for folder in (out, trace):
            shutil.rmtree(folder, ignore_errors=True)
        out.mkdir()
        print(f"  cold start: {inputs.evict(data)}", flush=True)
        gordon("trace", "-o", trace, "--memory", MEMORY, "--", ROOT / "demo/job.sh", data, out)

    with step("what the trace holds"):
        gordon("trace", "show", trace, "--json", work / "trace.json")
        block = json.loads((work / "trace.json").read_text())["block"]
        print("  " + checked(block, inputs.size_of(out)))
        shutil.rmtree(out)

    with step("survey today's machines"):
        gordon("survey", trace, "-o", report, "--json", work / "survey.json")

    with step(f"survey the paper's {NODES}-node clusters"):
        gordon("survey", trace, "--space", "gordon-2009", "-o", work / "gordon-2009.html")

    spark_job(work)

    with step("survey the paper's seven jobs, from bundled traces"):
        gordon("survey", "--bundled", "-o", work / "jobs.html")

    print("\n== time of each step")
    for what, seconds in steps:
        print(f"  {seconds:7.1f} s  {what}")
    print(f"\nreport: {report}")


if __name__ == "__main__":
    main()
