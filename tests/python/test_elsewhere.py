"""Other systems than Linux: what is imported there, and what says that it needs Linux.

A child process stands in for Windows: it has no modules, functions and signals of Unix.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gordon import _core, doctor

ROOT = Path(__file__).resolve().parents[2]
WINDOWS = """
import os, signal, subprocess, sys, types
# Python and other packages have code of their own for Windows, which would fail here.
import click, jinja2, multiprocessing, rich.console, rich.progress, rich.table, ssl

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "grp", "pwd", "resource", "termios"):
            raise ModuleNotFoundError(name=name)

for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Absent())
for name in ("geteuid", "getuid", "killpg", "wait4", "sched_getaffinity", "posix_fadvise",
             "statvfs", "sysconf", "O_DIRECT", "O_DIRECTORY", "O_TMPFILE"):
    delattr(os, name)
for name in ("SIGHUP", "SIGKILL", "SIGQUIT", "SIGUSR1"):
    delattr(signal, name)
sys.modules["msvcrt"] = types.ModuleType("msvcrt")
sys.modules["msvcrt"].LK_NBLCK = 2
sys.modules["msvcrt"].locking = lambda *_: None
sys.platform = "win32"

from gordon.cli import main
main(sys.argv[1:])
"""


def on_windows(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WINDOWS, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


@pytest.mark.parametrize(
    "words",
    [
        ("demo",),
        ("spaces",),
        ("flash", "bench", "--pattern", "random-write", "--requests", "200"),
        ("disk", "bench", "--pattern", "random-read", "--requests", "200"),
    ],
    ids=lambda words: "-".join(words[:2]),
)
def test_surveys_and_simulations_run_without_unix(words: tuple[str, ...], tmp_path: Path) -> None:
    ran = on_windows(*words, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    "words",
    [
        "trace -o t -- x",
        "trace agent",
        "trace --nodes hosts --via ssh -o r -- x",
        "meter list",
        "meter record -- x",
        "sort a b",
        "sort generate --records 10 -o x",
        "sort validate x",
        "sort tune",
        "joulesort --records 1000",
        "block create x --capacity 64MiB",
        "block check x",
        "block serve x --socket s",
        "block stat --socket s",
        "storage characterise .",
        "cache serve --root . --dram 1MiB",
        "cache stat --socket s",
        "workload run sort -o r",
        "workload data numbers --size 1MB -o n",
        "flash probe . -o log",
        "flash validate nvme-tlc-1tb .",
        "disk probe x -o log",
        "reproduce rewrite --export x",
    ],
)
def test_what_needs_linux_says_so_and_leaves_nothing(words: str, tmp_path: Path) -> None:
    ran = on_windows(*words.split(), cwd=tmp_path)
    assert ran.returncode == 1
    assert ran.stderr.startswith("error: this command needs Linux\n  try: ")
    assert not list(tmp_path.iterdir())


def test_pipes_get_utf_8_whatever_the_locale(trace: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-m", "gordon", "trace", "show", trace]
    ran = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "█" in ran.stdout.decode()


def test_doctor_says_what_needs_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(doctor, "_engines", list)
    states = {one["what"]: one["state"] for one in doctor.examine()["findings"]}
    assert states == {"surveys and simulations": "yes", "what records, sorts or serves": "no"}


def test_the_names_that_need_linux_are_those_that_linux_adds() -> None:
    added = (ROOT / "crates/py/src/linux/mod.rs").read_text()
    names = re.findall(r"wrap_pyfunction!\(\w+::(\w+)|add_class::<\w+::(\w+)>", added)
    assert sorted(_core.NEEDS_LINUX) == sorted(function or kind for function, kind in names)
