"""Control groups with limits of CPU time and memory, of version 2 or 1.

A group has the same path in every hierarchy, from the root of the hierarchy. In version 1 the
controllers `cpu`, `cpuacct`, `memory` and, if it is mounted, `perf_event` have hierarchies of
their own.
"""

import time
from contextlib import suppress
from pathlib import Path

from gordon.errors import GordonError

MOUNTS = Path("/proc/self/mountinfo")
CONTROLLERS = ("cpu", "cpuacct", "memory")
#: Counts in hardware, in a hierarchy of its own in version 1. Version 2 has it always.
COUNTERS = "perf_event"
#: Period of a CPU quota in microseconds, the kernel's default. Longer periods delay threads longer.
PERIOD_US = 100_000
#: Seconds in which the kernel lets go of a group whose last process has ended.
PATIENCE_S = 5.0


class ControlGroup:
    """A group in all hierarchies. `path` is its path from their roots."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.folders = {name: root / path.strip("/") for name, root in hierarchies().items()}

    def create(self, cores: float | None, memory: int | None) -> None:
        """Creates the group with a quota of cores and a limit of memory in bytes, page cache
        included. Raises GordonError, of the kind `no-control-group`, if the kernel refuses."""
        try:
            for folder in set(self.folders.values()):
                _create(folder)
            if memory is not None:
                self._write("memory", ("memory.max", "memory.limit_in_bytes"), str(memory))
            if cores is not None:
                quota = round(cores * PERIOD_US)
                if (self.folders["cpu"] / "cpu.max").exists():
                    self._write("cpu", ("cpu.max",), f"{quota} {PERIOD_US}")
                else:
                    self._write("cpu", ("cpu.cfs_period_us",), str(PERIOD_US))
                    self._write("cpu", ("cpu.cfs_quota_us",), str(quota))
        except (OSError, KeyError) as error:
            self.remove()
            raise GordonError(
                f"cannot create the control group {self.path}: {error}",
                "run as root on a machine whose control groups can be written",
                kind="no-control-group",
            ) from None

    def _write(self, controller: str, files: tuple[str, ...], text: str) -> None:
        """Writes the first of the files that exists: versions have different names."""
        folder = self.folders[controller]
        known = [folder / name for name in files if (folder / name).exists()]
        if not known:
            raise OSError(f"there is no {files[0]} in {folder}")
        known[0].write_text(text)

    @property
    def members(self) -> list[Path]:
        """The files to which a process writes 0 to enter the group."""
        return sorted({folder / "cgroup.procs" for folder in self.folders.values()})

    @property
    def processes(self) -> list[int]:
        """The processes in the group."""
        with suppress(OSError, IndexError):
            return [int(pid) for pid in self.members[0].read_text().split()]
        return []

    def remove(self) -> None:
        """Removes the group, which has no processes any more."""
        deadline = time.monotonic() + PATIENCE_S
        for folder in set(self.folders.values()):
            while folder.exists():
                try:
                    folder.rmdir()
                except OSError:
                    if time.monotonic() > deadline:
                        break
                    time.sleep(0.01)


def hierarchies() -> dict[str, Path]:
    """The roots of the mounted hierarchies by controller. Version 2 is used if it has the
    controllers, else version 1."""
    found: dict[str, Path] = {}
    for line in MOUNTS.read_text().splitlines():
        left, _, right = line.partition(" - ")
        mount = Path(left.split()[4])
        kind, _, options = right.split(maxsplit=2)
        if kind == "cgroup2":
            controllers = mount / "cgroup.controllers"
            listed = controllers.read_text().split() if controllers.exists() else []
            if {"cpu", "memory"} <= set(listed):
                return dict.fromkeys(CONTROLLERS, mount)
        elif kind == "cgroup":
            for controller in options.split(","):
                if controller in (*CONTROLLERS, COUNTERS):
                    found.setdefault(controller, mount)
    return found


def _create(folder: Path) -> None:
    """Creates a group and its parent, whose children get the controllers in version 2."""
    parent = folder.parent
    parent.mkdir(exist_ok=True)
    for above in (parent.parent, parent):
        control = above / "cgroup.subtree_control"
        if control.exists():
            _enable(control)
    folder.mkdir()


def _enable(control: Path) -> None:
    """Gives the children of a group of version 2 the controllers. That of I/O is needed only for
    limits of disks, and the kernel may lack it."""
    control.write_text("+cpu +memory")
    with suppress(OSError):
        control.write_text("+io")
