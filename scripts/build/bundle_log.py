#!/usr/bin/env python3
"""Makes the bundled event log of a run.

    gordon workload run sort --size 100MB --nodes 2 -o RUN
    python scripts/build/bundle_log.py RUN/eventlog/* python/gordon/bundled/spark-sort.gz

What names the machine is replaced or left out: hosts, users, paths, addresses, all settings but
those of executors and of the number of tasks, and of the plans of queries all but the operators.
"""

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

#: Events that are kept, after `SparkListener`.
KEPT = (
    *("LogStart", "ApplicationStart", "ApplicationEnd", "EnvironmentUpdate", "ExecutorAdded"),
    *("ExecutorRemoved", "BlockManagerAdded", "JobStart", "JobEnd", "StageSubmitted"),
    *("StageCompleted", "TaskStart", "TaskEnd", "ResourceProfileAdded"),
)
#: Settings that are kept.
SETTINGS = re.compile(
    r"spark\.(executor\.(cores|memory\w*|instances)|cores\.max|task\.cpus|memory\.\w+"
    r"|default\.parallelism|dynamicAllocation\.\w+|speculation|app\.name|eventLog\.compress"
    r"|sql\.(shuffle\.partitions|adaptive\.\w+|files\.maxPartitionBytes))"
)
#: The start of a query, of which the operators are kept.
QUERY = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart"
#: Values that name the machine, or that no reader of ours needs and that are long.
REPLACED = {
    **{"User": "user", "Details": "", "Log Urls": {}, "Attributes": {}, "Callsite": ""},
    **{"simpleString": "", "metadata": {}, "metrics": [], "Accumulables": []},
}
#: Properties of a job or a stage that are kept: the query and the operation it is of.
ORIGIN = ("spark.sql.execution.id", "spark.rdd.scope")
HOST = re.compile(r"\b\d+\.\d+\.\d+\.\d+\b")
PATH = re.compile(r" at /\S+")


def main() -> None:
    source, target = map(Path, sys.argv[1:])
    hosts: dict[str, str] = {}
    lines = []
    for line in source.read_text().splitlines():
        event = json.loads(line)
        name = event["Event"].removeprefix("SparkListener")
        if name not in KEPT and name != QUERY:
            continue
        if name == QUERY:
            kept = ("Event", "executionId", "description", "sparkPlanInfo", "time")
            event = {key: event[key] for key in kept}
        if name == "EnvironmentUpdate":
            given = event["Spark Properties"]
            event = {
                "Event": event["Event"],
                "Spark Properties": {key: given[key] for key in given if SETTINGS.fullmatch(key)},
            }
        text = json.dumps(cleaned(event), separators=(",", ":"))
        lines.append(HOST.sub(lambda found: hosts.setdefault(found[0], node(hosts)), text))
    with target.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write("".join(f"{line}\n" for line in lines).encode())
    print(f"{target}: {target.stat().st_size:,} bytes, {len(lines)} events")


def node(hosts: dict[str, str]) -> str:
    """The name of the next host; the driver is the first."""
    return f"node-{len(hosts)}" if hosts else "driver"


def cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        made = {key: REPLACED.get(key, cleaned(of)) for key, of in value.items()}
        if isinstance(given := value.get("Properties"), dict):
            made["Properties"] = {key: given[key] for key in given if key in ORIGIN}
        return made
    if isinstance(value, list):
        return [cleaned(of) for of in value]
    return PATH.sub("", value) if isinstance(value, str) else value


if __name__ == "__main__":
    main()
