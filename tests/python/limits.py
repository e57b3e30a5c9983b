"""Programs to which the system grants few tasks: processes and threads."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

CGROUPS = Path("/sys/fs/cgroup")
#: No command of these tests takes that long, on any machine.
PATIENCE_S = 600


def _parent() -> Path | None:
    """The control group that can have a child with a limit of tasks, if any."""
    if (CGROUPS / "pids/cgroup.procs").exists():
        return CGROUPS / "pids"
    control = CGROUPS / "cgroup.subtree_control"
    return CGROUPS if control.exists() and "pids" in control.read_text().split() else None


@contextmanager
def _group() -> Iterator[Path]:
    """A control group for root, to whom a limit of processes (RLIMIT_NPROC) does not apply."""
    parent = _parent()
    if parent is None:
        pytest.skip("root, and no control group can limit tasks")
    group = parent / f"gordon-test-{uuid.uuid4().hex}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"root, and no control group can limit tasks: {error}")
    try:
        yield group
    finally:
        group.rmdir()


def _tasks_of_user() -> int:
    """The number that counts for RLIMIT_NPROC: the threads of all processes of this user."""
    count = 0
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and folder.stat().st_uid == os.geteuid():
                count += sum(1 for _ in (folder / "task").iterdir())
        except OSError:
            pass  # it has ended
    return count


@contextmanager
def few_tasks(most: int, command: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    """`gordon COMMAND` in `folder`, with at most so many tasks, its main thread included."""
    words = [sys.executable, "-m", "gordon", *command]
    pipe = subprocess.PIPE
    if os.geteuid() != 0:
        hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_NPROC, (_tasks_of_user() + most - 1, hard))

        yield subprocess.Popen(
            words, cwd=folder, stdout=pipe, stderr=pipe, text=True, preexec_fn=limit
        )
        return
    with _group() as group:
        (group / "pids.max").write_text(f"{most}\n")
        enter = ["sh", "-c", f'echo $$ >{group}/cgroup.procs && exec "$@"', "sh"]
        process = subprocess.Popen(
            [*enter, *words], cwd=folder, stdout=pipe, stderr=pipe, text=True
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
