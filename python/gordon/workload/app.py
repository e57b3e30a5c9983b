"""Runs a person's program for Spark on local nodes, with a trace of each node and of the driver.

The program is started by `spark-submit` in the node of the driver, on a cluster of its own
(`standalone`). It sees the files of this machine at their paths, and so do its executors. It is
given only the settings that place it on the nodes and record its event log; all others are its own.

Its input and output are anywhere on this machine, so that nodes have no disks of their own: the
block I/O of the machine's disks is shared out to them by the bytes in `/proc/PID/io`.
"""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gordon.errors import GordonError
from gordon.human import counted
from gordon.options import Path as GivenPath
from gordon.options import Size, in_bytes, several, words
from gordon.options.workloads import NodeShares, Sampling
from gordon.run import checks, folder
from gordon.run.folder import RunFolder
from gordon.run.local import LocalNodes, Sizes
from gordon.run.report import RunJob, RunResult
from gordon.workload import java, local_run, spark
from gordon.workload.driver import environment, last_lines
from gordon.workload.run import check_interval

#: Lines of the output of a failed program in its error.
LAST_LINES = 3
PYTHON, JAR = ".py", ".jar"


@dataclass(frozen=True)
class App:
    """A program."""

    path: GivenPath
    """A file of Python (.py) or a jar."""
    arguments: Sequence[str] = ()
    py_files: Sequence[GivenPath] = ()
    """Modules of a program in Python: .py, .zip or .egg."""
    main_class: str | None = None
    """Class of a jar. Default: that of its manifest."""

    @property
    def file(self) -> Path:
        """Its path."""
        return Path(self.path)

    @property
    def modules(self) -> list[Path]:
        """The paths of its modules."""
        return [Path(path) for path in several(self.py_files)]

    @property
    def id(self) -> str:
        """Its name, which is that of the job in surveys."""
        return self.file.stem

    def check(self) -> None:
        """Raises GordonError for a program that is not there, or that is not one."""
        for path in (self.file, *self.modules):
            if not path.is_file():
                raise GordonError(
                    f"cannot run {path}: it is a folder"
                    if path.is_dir()
                    else f"cannot run {path}: there is no such file",
                    "the path of a file on this machine",
                    kind="missing-file",
                )
            if not os.access(path, os.R_OK):
                raise GordonError(
                    f"cannot read {path}", "a file that you may read", kind="missing-file"
                )
        if self.file.suffix not in (PYTHON, JAR):
            raise GordonError(
                f"{self.file} is not a program for Spark by its name",
                "a file of Python (.py), or a jar (.jar)",
                kind="bad-app",
            )
        if self.modules and self.file.suffix != PYTHON:
            raise GordonError(
                f"{self.file} is a jar, which has no Python modules",
                "leave out the Python files",
                kind="bad-app",
            )
        if self.main_class is not None and self.file.suffix != JAR:
            raise GordonError(
                f"{self.file} is a program in Python, which has no main class",
                "leave out the class",
                kind="bad-app",
            )

    def report(self) -> RunJob:
        """The job of `run.json`."""
        return {
            "id": self.id,
            "app": str(self.file),
            "arguments": words(self.arguments),
            "py_files": [str(path) for path in self.modules],
            "class": self.main_class,
        }

    def command(self, settings: dict[str, str]) -> list[str]:
        """The command that runs it."""
        command = [str(spark.home() / "bin" / "spark-submit")]
        for key, value in settings.items():
            command += ["--conf", f"{key}={value}"]
        if self.modules:
            command += ["--py-files", ",".join(str(path.resolve()) for path in self.modules)]
        if self.main_class is not None:
            command += ["--class", self.main_class]
        return [*command, str(self.file.resolve()), *words(self.arguments)]


def run_app(
    app: App,
    out: GivenPath,
    *,
    nodes: int = NodeShares.nodes,
    memory: Size = NodeShares.memory,
    network: str | None = None,
    cores: float | None = None,
    interval_ns: int = Sampling.interval_ns,
    command: Sequence[str] | None = None,
    notify: Callable[[str], None] | None = None,
) -> RunResult:
    """Runs a program on local nodes and returns the contents of `run.json` of the new folder `out`.

    `nodes`, `memory`, `network`, `cores` and `interval_ns` are as for `gordon.workload.run`. What
    the program prints is in `logs/driver.log` of the run. Raises GordonError: of the kind
    `app-failed`, with the last lines of the output, if the program ends with another status than 0;
    of the kind `not-on-nodes` if it ran no task on the nodes. A run with traces is kept.
    """
    app.check()
    check_interval(interval_ns)
    sizes = local_run.sizes_of(nodes, None, in_bytes(memory, "--memory"), network, cores, None)
    notify = notify or (lambda text: None)
    with folder.created(out) as made:
        spark.require()
        found = java.find()
        made.report["job"] = app.report()
        with LocalNodes(made.target.resolve().parent, sizes) as local:
            _run(made, app, local, sizes, found, list(command or sys.argv), interval_ns, notify)
    return RunResult(made.report)


def _run(
    made: RunFolder,
    app: App,
    nodes: LocalNodes,
    sizes: Sizes,
    found: java.Java,
    command: list[str],
    interval_ns: int,
    notify: Callable[[str], None],
) -> None:
    made.report["warnings"] += nodes.warnings
    made.report["limits"] = nodes.limits()
    with local_run.spark_on(nodes, made, found, notify) as cluster:
        settings = {
            "spark.master": cluster.master,
            "spark.submit.deployMode": "client",
            "spark.driver.host": nodes.driver.address,
            "spark.driver.bindAddress": nodes.driver.address,
            "spark.executor.memory": f"{cluster.memory_mib}m",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
            "spark.ui.enabled": "false",
        } | local_run.event_log_settings(made)
        if not nodes.is_isolated:
            settings["spark.shuffle.readHostLocalDisk"] = "false"
        made.report["engine"] = {
            "name": "spark",
            "version": spark.require(),
            "java": found.version,
            "python": sys.version.split()[0],
            "settings": settings,
        }
        variables = {"PYSPARK_PYTHON": sys.executable} | environment(nodes.driver, found)
        log = made.path / local_run.LOGS / "driver.log"
        local_run.drop_caches(made)
        with local_run.capture(made, nodes, command, interval_ns), log.open("wb") as printed:
            notify(f"running {app.file}")
            process = nodes.driver.start(
                app.command(settings), stdout=printed, stderr=printed, env=variables
            )
            status = process.wait()
            status = status if status >= 0 else 128 - status
    made.report["exit_status"] = status
    events = local_run.find_event_log(made)
    if status != 0:
        lines = last_lines(log, LAST_LINES) or "it printed nothing"
        raise GordonError(
            f"{app.file} ended with exit status {status}: {lines}",
            f"{made.target}/logs/driver.log has all that it printed",
            kind="app-failed",
        )
    if events is None:
        raise GordonError(
            f"{app.file} wrote no event log: it started no application of Spark, or has settings "
            "of its own for the event log",
            "a program that makes a SparkSession and does not set spark.eventLog.*",
            kind="not-on-nodes",
        )
    executors = local_run.read_event_log(made, events)
    engine = made.report["totals"]["engine"]
    if all(executor["id"] == "driver" for executor in executors):
        raise GordonError(
            f"{app.file} ran no executor on the {counted(sizes.count, 'node')}: its own master was "
            "used, or it ran no job",
            "a program that sets no master: SparkSession.builder.getOrCreate()",
            kind="not-on-nodes",
        )
    if not nodes.is_isolated:
        local_run.estimate_network(made, nodes)
    if engine["cpu_ns"] > 0:
        checks.compare_engine(made.report, has_disks=False, is_cold=False, has_network=True)
