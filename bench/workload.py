"""Processor time of the jobs on Spark, next to plain programs on the same input.

    python bench/workload.py [SIZE]   # 200MB unless given; about 10 minutes on two cores, as root

Each job runs once on two nodes of this machine, with a trace of each. CPU seconds of the nodes are
those of their traces: they have the start of the JVMs, compilation and garbage collection in them;
those of the tasks are Spark's own. The programs are those of coreutils and grep, on one file.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from gordon import _core, workload
from gordon.workload.jobs import JOBS
from gordon.workload.jobs.grep_complex import EXPRESSION
from gordon.workload.jobs.grep_simple import SEARCHED

SIZE = "200MB"
PROGRAMS = {
    "identity": ["cp", "{in}", "{out}"],
    "sort": ["sort", "-S", "512M", "{in}", "-o", "{out}"],
    "grep-simple": ["grep", "-F", SEARCHED, "{in}"],
    # What Java and Python write as \uXXXX is \x{XXXX} for grep.
    "grep-complex": ["grep", "-P", re.sub(r"\\u(\w{4})", r"\\x{\1}", EXPRESSION), "{in}"],
}


def plain(job: str, size: str, work: Path) -> float | None:
    """CPU seconds of a plain program on the input of the job; None if there is none."""
    if job not in PROGRAMS:
        return None
    corpus, given, made = work / "corpus", work / "in", work / "out"
    workload.generate(JOBS[job].data, corpus, size=size, seed=1)
    with given.open("wb") as file:
        for part in sorted(corpus.glob("part-*")):
            file.write(part.read_bytes())
    places = {"{in}": str(given), "{out}": str(made)}
    words = [places.get(word, word) for word in PROGRAMS[job]]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    locale = "C" if job == "sort" else "C.UTF-8"
    with made.open("wb") as out:
        subprocess.run(words, stdout=out, env=os.environ | {"LC_ALL": locale}, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    size = sys.argv[1] if len(sys.argv) > 1 else SIZE
    gigabytes = _core.parse_bytes(size) / 1e9
    print("job           time      CPU s per GB: nodes    tasks  program  nodes/program")
    for job in JOBS:
        with tempfile.TemporaryDirectory(dir=".") as folder:
            work = Path(folder)
            run = workload.run(job, work / "run", size=size, nodes=2)
            alone = plain(job, size, work)
        nodes = run["totals"]["nodes"]["cpu_s"] / gigabytes
        tasks = run["totals"]["engine"]["cpu_ns"] / 1e9 / gigabytes
        words = f"{job:<12}  {run['duration_s']:6.1f} s  {nodes:19.1f}  {tasks:7.1f}"
        if alone is not None:
            words += f"  {alone / gigabytes:7.2f}  {nodes * gigabytes / alone:13.0f}"
        print(words, flush=True)


if __name__ == "__main__":
    main()
