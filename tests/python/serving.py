"""`gordon block serve` and its clients, for tests."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gordon.run import local
from gordon.run.control_groups import hierarchies
from limits import PATIENCE_S

if TYPE_CHECKING:
    from conftest import Run

MIB = 1 << 20
Report = dict[str, Any]
PATH = f"/usr/bin:/usr/sbin:{os.environ['PATH']}"
ENV = {**os.environ, "PATH": PATH}


def need(*names: str) -> None:
    missing = [name for name in names if shutil.which(name, path=PATH) is None]
    if missing:
        pytest.skip(f"not on this machine: {', '.join(missing)}")


def need_nodes() -> None:
    """Skips a test that makes nodes where the machine does not allow it."""
    need(*local.TOOLS)
    if os.geteuid() != 0:
        pytest.skip("not as root: no nodes of their own")
    if not {"cpu", "memory"} <= set(hierarchies()):
        pytest.skip("no control groups for CPU time and memory on this machine")
    for what, command in {
        "network namespaces": ("unshare", "--net", "--mount", "true"),
        "loop devices": ("losetup", "--find"),
    }.items():
        if subprocess.run(command, capture_output=True, env=ENV).returncode != 0:
            pytest.skip(f"no {what} on this machine: {' '.join(command)} fails")


def sh(*command: object, codes: tuple[int, ...] = (0,)) -> str:
    words = [str(word) for word in command]
    ran = subprocess.run(words, capture_output=True, text=True, env=ENV, timeout=PATIENCE_S)
    assert ran.returncode in codes, f"{words}: {ran.returncode}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def quietly(*command: str) -> None:
    """A call that may fail."""
    subprocess.run(command, env=ENV, capture_output=True)


def eventually(what: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, "waited for too long"
        time.sleep(0.01)


def loop_device(file: Path, *options: str) -> str:
    """A loop device on a file; skips where there is none, as in many containers."""
    need("losetup")
    command = ["losetup", *options, "--find", "--show", str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, env=ENV)
    if ran.returncode:
        pytest.skip(f"not on this machine: loop devices: {ran.stderr.strip()}")
    return ran.stdout.strip()


def mount(*words: object) -> None:
    """Mounts; skips where nobody may, as in many containers."""
    need("mount", "umount")
    ran = subprocess.run(
        ["mount", *map(str, words)], capture_output=True, text=True, env=ENV, check=False
    )
    if ran.returncode:
        pytest.skip(f"not on this machine: mount: {ran.stderr.strip()}")


def room(folder: Path, size: int) -> None:
    """Skips where files of that size do not fit: temporary folders are often in memory."""
    free = shutil.disk_usage(folder).free
    if free < size:
        pytest.skip(f"{folder}: {size / 1e9:.1f} GB are needed, {free / 1e9:.1f} GB are free")


def lacks() -> str:
    """The names of what this machine lacks for it."""
    if os.geteuid() != 0:
        return "root"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse"
    if "ext4" not in Path("/proc/filesystems").read_text():
        return "ext4 in the kernel"
    return ""


def kill_running(processes: Iterable[subprocess.Popen[Any]]) -> None:
    """Kills the processes that still run, and waits for their ends."""
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait()


class Server:
    """`gordon block serve` in a process of its own."""

    def __init__(self, folder: Path, *args: str, file: str = "flash.img") -> None:
        # Relative to the folder: a path of a socket has at most 107 bytes.
        self.folder, self.socket = folder, Path("s")
        self.uri = f"nbd+unix:///?socket={self.socket}"
        command = [sys.executable, "-m", "gordon", "block", "serve", file]
        self.process = subprocess.Popen(
            [*command, "--socket", "s", *args], cwd=folder, stderr=subprocess.PIPE, text=True
        )
        while not self.answers():
            if self.process.poll() is not None:
                raise AssertionError(self.process.communicate()[1])
            time.sleep(0.01)

    def answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as client, chdir(self.folder):
            return client.connect_ex(f"{self.socket}.stat") == 0

    def place(self, kind: str) -> str:
        """The next place of that kind that it says it serves at."""
        line = ""
        assert self.process.stderr is not None
        while kind not in line:
            line = self.process.stderr.readline()
            assert line, f"it says nothing of {kind}"
        return line.split()[0]

    def stop(self, how: signal.Signals = signal.SIGTERM) -> str:
        self.process.send_signal(how)
        errors = self.process.communicate(timeout=PATIENCE_S)[1]
        assert self.process.returncode == (-how if how == signal.SIGKILL else 0), errors
        return errors

    def client(self, *command: str, check: bool = True) -> str:
        ran = subprocess.run(command, capture_output=True, text=True, env=ENV, cwd=self.folder)
        assert not check or ran.returncode == 0, ran.stderr
        return ran.stdout + ran.stderr

    def shell(self, script: str) -> str:
        """Python in nbdsh, with the device as `h`."""
        return self.client("nbdsh", "-u", self.uri, "-c", script)


Serve = Callable[..., Server]


def clean(run: Run) -> Report:
    ran = run("block", "check", "flash.img", "--json", "-")
    report: Report = json.loads(ran.out)
    assert (ran.status, report["errors"]) == (0, []), ran.err
    return report
