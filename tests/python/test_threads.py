"""Where the system grants no more threads: fewer of them, or one clear error."""

from __future__ import annotations

import io
import signal
import threading
from pathlib import Path

import pytest

from gordon import GordonError, threads
from limits import PATIENCE_S, few_tasks

from conftest import SMALL, Traced, mqsim

FLASH = ("flash", "bench", "--pattern", "random-write", "--requests", "500", *SMALL)
SWEEP = ("cache", "sweep", "t", "--policy", "lru,fifo", "--dram", "1MiB,2MiB")
PARTS = ("--sizes", "4KiB..64KiB", "--depths", "1,4", "--bytes", "256KiB")
REAL = ("storage", "characterise", ".", "--seconds", "0.1", "--span", "1MiB", *PARTS)
SIMULATED = ("storage", "characterise", "--preset", "gordon-slc-256g", *PARTS)
METER = ("meter", "record", "--meter", "model", "--idle", "0", "--tail", "0", "--", "true")


def explained(status: int, err: str) -> None:
    """The program has worked with what it got, or says what it lacks."""
    assert "defect" not in err, err
    assert "panicked" not in err, err
    assert "Traceback" not in err, err
    assert status in (0, 1), err
    if status == 1:
        assert err.startswith("error: "), err
        assert "try: " in err, err
        assert "ulimit -u" in err, err


@pytest.mark.parametrize("most", [1, 2, 3, 4, 6])
@pytest.mark.parametrize(
    "command",
    [
        FLASH,
        ("flash", "compare", "t", "mqsim-mlc-512g", "gordon-slc-256g"),
        SWEEP,
        SIMULATED,
        REAL,
        ("sort", "records", "sorted"),
        ("sort", "generate", "-n", "1000", "-o", "generated"),
        ("trace", "convert", "t", "t.csv"),
        ("trace", "-o", "a.trace", "--", "true"),
        ("survey", "job.trace", "--space", "gordon-2009", "--json", "-"),
        METER,
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_every_command_works_with_fewer_threads_or_says_so(
    command: tuple[str, ...], most: int, traced: Traced, tmp_path: Path
) -> None:
    mqsim(tmp_path / "t", *[(i * 1000, i * 8 % 4096, 8, i % 2) for i in range(2000)])
    (tmp_path / "records").write_bytes(bytes(100 * 1000))
    (tmp_path / "job.trace").symlink_to(traced.folder)
    with few_tasks(most, command, tmp_path) as process:
        _, err = process.communicate(timeout=PATIENCE_S)
    explained(process.returncode, err)


@pytest.mark.parametrize("most", [1, 2, 5, 8, 11, 16])
@pytest.mark.parametrize("options", [(), ("--timing", "real")], ids=["full", "real"])
def test_a_server_starts_or_says_what_it_lacks(
    most: int, options: tuple[str, ...], tmp_path: Path
) -> None:
    with (tmp_path / "disk").open("wb") as file:
        file.truncate(1 << 20)
    command = ("block", "serve", "disk", "--preset", "sata-7200-1tb", "--socket", "s", *options)
    with few_tasks(most, command, tmp_path) as process:
        assert process.stderr
        first = process.stderr.readline()
        if not first.startswith("error: "):  # the server is ready
            process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
        process.wait(timeout=PATIENCE_S)
    explained(process.returncode, first + rest)


def refuse(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_a_thread_that_is_refused_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(GordonError) as caught:
        threads.start(threading.Thread())
    assert "ulimit -u" in caught.value.args[1]


def test_a_bar_needs_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    from gordon.cli.progress import Part

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", seen := Terminal())
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with Part("work") as bar:
        bar.tick(1, 2)
    assert "50%" in seen.getvalue()
