#!/usr/bin/env python3
"""Makes the bundled traces of runs of all jobs.

    gordon workload run all --scale 1/8 --repeats 2 --nodes 4 --cores 0.5 --memory 2GiB -o RUNS
    python scripts/build/bundle.py RUNS python/gordon/bundled

The runs need root, 10 GB of disk and, on two quiet cores, 40 minutes. Names of the machine and its
paths are replaced; event logs and logs of Spark are left out. The stages and the totals of the
engine are read again from the event log.
"""

import json
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from gordon import _core
from gordon.run import checks, folder
from gordon.workload.jobs import JOBS

#: Files and folders of a run that the bundle does not have: surveys take the workers only.
LEFT_OUT = ("stages.parquet", "tasks.parquet", folder.DRIVER)
#: Settings that are addresses and paths of the machine.
OF_MACHINE = ("spark.driver.host", "spark.driver.bindAddress", "spark.eventLog.dir")


def main() -> None:
    _, runs, target = sys.argv
    for job in JOBS:
        for run in sorted(Path(runs, job).glob("[0-9]*")):
            out = Path(target, job, run.name)
            shutil.rmtree(out, ignore_errors=True)
            out.parent.mkdir(parents=True, exist_ok=True)
            bundle(run, out)
            size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
            print(f"{out}: {size:,} bytes")


def bundle(run: Path, out: Path) -> None:
    """Copies a run without what names the machine that made it."""
    report = folder.read(run)
    report["nodes"] = folder.workers(report)
    command = ["gordon", *report["command"][1:]]
    command[command.index("-o") + 1] = f"{out.parent.name}/{out.name}"
    with TemporaryDirectory() as scratch:
        copy, made = Path(scratch, "copy"), Path(scratch, "made")
        shutil.copytree(run, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
        (log,) = (copy / "eventlog").iterdir()
        read = json.loads(_core.spark_event_log(str(log), str(copy), report["start_unix_ns"]))
        stages = [stage for stage in read["stages"] if stage["start_s"] < report["duration_s"]]
        report["stages"] = stages
        (copy / folder.FILE).write_text(json.dumps(report))
        _core.trace_anonymise(str(copy), str(made))
        anonymous = folder.read(made)
        scopes = {node["name"]: scope for node in anonymous["nodes"] if (scope := node["scope"])}
        for name in scopes:
            manifest = made / name / "manifest.json"
            found = json.loads(manifest.read_text())
            manifest.write_text(json.dumps(found | {"command": command}, indent=1) + "\n")
        report["command"], report["event_log"] = command, None
        report["stages"] = anonymous["stages"]
        for node in report["nodes"]:
            node["scope"] = scopes[node["name"]]
            node["host"] = scopes[node["name"]]["host"]
        report["totals"]["engine"], report["totals"]["checks"] = read["totals"], []
        machine = report["totals"]["machine"]
        assert machine is not None, "the totals of the machine are known"
        checks.compare(report, "cpu_s", "at most", ("machine", machine["cpu_s"]))
        checks.compare_engine(report, has_disks=True, is_cold=True, has_network=True)
        settings = report["engine"]["settings"].items()
        report["engine"]["settings"] = {k: v for k, v in settings if k not in OF_MACHINE}
        (made / folder.FILE).write_text(json.dumps(report, indent=1) + "\n")
        shutil.copytree(made, out)


if __name__ == "__main__":
    main()
