"""A Spark standalone cluster on local nodes: a worker in each node, the master in the driver's.

Workers write shuffle and spill files to the disk of their node, and the output of a job too: the
output folder is bound to a folder on each node's disk, in which a task's commit renames its files.
Any executor may read any input file, so that input of another node's disk does not cross the
network of the nodes.
"""

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from gordon.errors import GordonError
from gordon.run.local import LocalNodes, Node
from gordon.workload import spark

#: Seconds within which master and workers start.
PATIENCE_S = 120.0
#: Share of a node's memory for the heap of its executor. The rest is for the worker, for memory
#: outside of the heap and for the page cache.
HEAP_SHARE = 0.5
#: Bytes of the heap of a worker, which only starts and watches executors.
WORKER_HEAP = "128m"
#: Folder on the disk of a node in which its worker makes a folder for each executor.
WORK = "work"
#: Ports of the master, as is usual for Spark.
PORT, WEB_PORT = 7077, 8080
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"


class Standalone:
    """A context manager with the cluster. `master` is its address."""

    def __init__(self, nodes: LocalNodes, java_home: Path, output: Path, logs: Path) -> None:
        """`output` is the folder that is bound to the disk of each node. `logs` is a folder for
        what master and workers print."""
        self.nodes = nodes
        self.java_home = java_home
        self.output = output
        self.logs = logs
        self.memory_mib = int(nodes.sizes.memory * HEAP_SHARE) >> 20
        self.cores = max(1, round(nodes.nodes[0].cores or 1))
        self.master = ""
        self._stack = ExitStack()

    def __enter__(self) -> "Standalone":
        with self._stack:
            driver = self.nodes.driver
            address = driver.address
            # A node with a network of its own has all ports.
            shares_ports = driver.namespace is None
            port, web = (_free_port(address) if shares_ports else port for port in (PORT, WEB_PORT))
            self.master = f"spark://{address}:{port}"
            words = ["--host", address, "--port", str(port), "--webui-port", str(web)]
            with (self.logs / "master.log").open("wb") as log:
                master = driver.start(
                    [*_spark_class(), MASTER, *words],
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=self._environment(WORKER_HEAP),
                )
            self._stack.callback(_end, master)
            self._until(lambda: _workers(address, web) is not None, "master", [master])
            workers = [self._worker(node) for node in self.nodes.nodes]
            count = len(workers)
            self._until(lambda: _workers(address, web) == count, "workers", [master, *workers])
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        for node in self.nodes.nodes:
            node.stop()

    def _worker(self, node: Node) -> subprocess.Popen[bytes]:
        (node.disk / self.output.name).mkdir(exist_ok=True)
        work = node.disk / WORK
        words = ["--host", node.address, "--cores", str(self.cores)]
        words += ["--memory", f"{self.memory_mib}M", "--work-dir", str(work), self.master]
        local = node.disk / "shuffle"
        local.mkdir(exist_ok=True)
        environment = self._environment(WORKER_HEAP) | {
            "SPARK_LOCAL_DIRS": str(local),
            "SPARK_LOCAL_IP": node.address,
        }
        with (self.logs / f"{node.name}.log").open("wb") as log:
            return node.start(
                [*_spark_class(), WORKER, *words],
                [self.output],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
            )

    def _environment(self, heap: str) -> dict[str, str]:
        return os.environ | {
            "JAVA_HOME": str(self.java_home),
            "SPARK_DAEMON_MEMORY": heap,
            "SPARK_NO_DAEMONIZE": "1",
        }

    def _until(
        self, is_ready: Callable[[], bool], what: str, processes: list[subprocess.Popen[bytes]]
    ) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not is_ready():
            ended = any(process.poll() is not None for process in processes)
            if ended or time.monotonic() > deadline:
                why = "ended" if ended else f"did not start within {PATIENCE_S:.0f} s"
                raise GordonError(
                    f"the Spark {what} {why}: {self._last_line()}",
                    "more memory for each node, or fewer nodes",
                    kind="no-cluster",
                )
            time.sleep(0.1)

    def _last_line(self) -> str:
        """The last line of an error in the logs."""
        lines = [
            line
            for log in sorted(self.logs.glob("*.log"))
            for line in log.read_text(errors="replace").splitlines()
            if "ERROR" in line or "Exception" in line or "Error" in line
        ]
        return lines[-1].strip() if lines else f"no error in {self.logs}"


def _spark_class() -> list[str]:
    return [str(spark.home() / "bin" / "spark-class")]


def _workers(address: str, port: int) -> int | None:
    """The number of workers that the master knows; None if it does not answer."""
    with suppress(OSError, ValueError):
        url = f"http://{address}:{port}/json/"
        with urllib.request.urlopen(url, timeout=5) as page:
            return int(json.load(page)["aliveworkers"])
    return None


def _free_port(address: str) -> int:
    with socket.create_server((address, 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
