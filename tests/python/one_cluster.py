"""One cluster of Spark on nodes of this machine, for all tests of a module or a class."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from gordon.run import local
from gordon.run.folder import RunFolder
from gordon.run.local import LocalNodes, Sizes
from gordon.workload import java, local_run
from gordon.workload.local_run import LOGS, spark_on
from gordon.workload.standalone import Standalone


@contextmanager
def one_compiler() -> Iterator[None]:
    """Programs in Java without the second compiler: little of their code runs often enough for it
    to pay in a job of seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
        yield


def nothing_left(place: Path) -> bool:
    """Whether no nodes, and no mounts of them, are left in a folder."""
    mounts = Path("/proc/self/mountinfo").read_text()
    return str(place) not in mounts and not list(place.glob(f"{local.PREFIX}*"))


class OneCluster:
    """Nodes and a cluster of Spark, started for the first test that needs them.

    Nodes of one process have the same names: no test without this cluster may start nodes of its
    own meanwhile.
    """

    def __init__(self, place: Path, sizes: Sizes, stack: ExitStack) -> None:
        self._place = place
        self._sizes = sizes
        self._stack = stack
        self._nodes: LocalNodes | None = None
        self._standalone: Standalone | None = None

    @property
    def nodes(self) -> LocalNodes:
        if self._nodes is None:
            self._nodes = self._stack.enter_context(LocalNodes(self._place, self._sizes))
        return self._nodes

    @property
    def standalone(self) -> Standalone:
        if self._standalone is None:
            made = RunFolder(self._place / "run")
            made.path.mkdir()
            started = spark_on(self.nodes, made, java.find(), lambda step: None)
            self._standalone = self._stack.enter_context(started)
        return self._standalone

    def clear(self) -> None:
        """Removes what a job left on the disks of the nodes."""
        folder = self.nodes.folder
        for pattern in ("view", "corpus", "out/*", "node-*/input", "node-*/out/*"):
            for place in folder.glob(pattern):
                shutil.rmtree(place, ignore_errors=True)

    def serves(self, module: ModuleType, patch: pytest.MonkeyPatch) -> None:
        """Lets runs of a module use this cluster. They must ask for nodes of its sizes."""

        @contextmanager
        def nodes(_: Path, sizes: Sizes) -> Iterator[LocalNodes]:
            assert replace(sizes, disk=self._sizes.disk) == self._sizes
            try:
                yield self.nodes
            finally:
                self.clear()

        @contextmanager
        def running(
            _: LocalNodes, made: RunFolder, __: java.Java, notify: Callable[[str], None]
        ) -> Iterator[Standalone]:
            standalone = self.standalone
            (made.path / LOGS).mkdir()
            notify("starting Spark")
            yield standalone

        patch.setattr(module, "LocalNodes", nodes)
        patch.setattr(local_run, "spark_on", running)


@contextmanager
def one_cluster(place: Path, sizes: Sizes) -> Iterator[OneCluster]:
    """A cluster that ends with the body, and leaves nothing."""
    with ExitStack() as stack:
        yield OneCluster(place, sizes, stack)
    assert nothing_left(place)
