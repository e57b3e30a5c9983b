"""A real trace, once a session; `gordon` run in this process; a small flash device and its load."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gordon.errors import GordonError
from serving import Serve, Server, kill_running

JOB_BYTES = 40 << 20
# Writes that reach the medium, then work for the processor; a text that is no markup.
JOB = (
    "dd if=/dev/urandom of=made bs=1M count=40 conv=fsync 2>/dev/null;"
    " dd if=made bs=1M 2>/dev/null | gzip -6 >packed; sync packed; : [a-z].txt; exit 3"
)


# What a person may have set for terminals, errors and threads is not for the tests; and their
# servers are on this machine, which no proxy can reach.
for _name in (
    *("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"),
    *("GORDON_DEBUG", "RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PYTHONWARNINGS"),
):
    os.environ.pop(_name, None)
for _name in ("no_proxy", "NO_PROXY"):
    _others = os.environ.get(_name, "")
    os.environ[_name] = ",".join(["localhost", "127.0.0.1", *filter(None, [_others])])


#: Files of which one process runs all: a node has a copy of all mounts, and as long as it is there,
#: a file system that a test unmounts keeps its loop device.
MOUNTS = ("workload_run", "workload_app", "block_fs", "sort_tune_live")
#: Files that take a minute or more, the longest first: one that is started last runs alone.
LONG = (
    *(*MOUNTS, "guide", "sort_memory", "sort_faults", "sweep", "workload_jobs", "public"),
    *("cache_serve_flash", "reproduce_pages", "cache_serve_origin", "survey_machines"),
    *("survey_bad_input", "tco", "threads", "bill_page"),
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """As `--dist loadfile`, with all tests of MOUNTS in one process."""
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped, unused-ignore]

    scheduling = LoadFileScheduling(config, log)
    file_of = scheduling._split_scope

    def scope(test: str) -> str:
        name = Path(file_of(test)).stem.removeprefix("test_")
        return "mounts" if name in MOUNTS else name

    scheduling._split_scope = scope
    return scheduling


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Puts the longest files first. A test marked `sampled(every)` runs one of `every` cases, and
    pytest counts the others as deselected; with GORDON_ALL_CASES all cases run.
    """
    places = {f"test_{name}": place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))
    if os.environ.get("GORDON_ALL_CASES"):
        return
    seen: Counter[str] = Counter()
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        mark = item.get_closest_marker("sampled")
        test = item.nodeid.partition("[")[0]
        (left_out if mark and seen[test] % mark.kwargs["every"] else kept).append(item)
        seen[test] += 1
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


class Ran(NamedTuple):
    status: int
    out: str
    err: str
    kind: str = ""  # of the GordonError that ended a command run in this process

    def refused(self, kind: str, *named: str, status: int = 1) -> None:
        """Asserts one error of this kind that names these inputs. An error of click has no kind."""
        assert (self.status, self.kind) == (status, kind), self.err
        assert self.err.count("error: ") == 1, self.err
        assert "Traceback" not in self.err
        for name in named:
            assert name in self.err


@contextmanager
def raises(kind: str, *named: str) -> Iterator[pytest.ExceptionInfo[GordonError]]:
    """As `pytest.raises`, for a GordonError of this kind whose message names these inputs."""
    with pytest.raises(GordonError) as caught:
        yield caught
    assert caught.value.kind == kind, caught.value.args
    for name in named:
        assert name in caught.value.args[0]


Run = Callable[..., Ran]


def gordon(folder: Path, *args: str, steady: bool = False) -> Ran:
    """`gordon ARGS...` in a process of its own, working in `folder`; `steady`: by steady.py."""
    words = [str(Path(__file__).with_name("steady.py"))] if steady else ["-m", "gordon"]
    ran = subprocess.run(
        [sys.executable, *words, *args], cwd=folder, capture_output=True, text=True
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)


class Traced(NamedTuple):
    folder: Path
    ran: Ran


@pytest.fixture(scope="session")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Traced:
    """A short job, traced; whatever this machine allows to be captured of it."""
    folder = tmp_path_factory.mktemp("traced")
    args = ("trace", "-o", "job.trace", "--interval", "0.2s", "--", "sh", "-c", JOB)
    return Traced(folder / "job.trace", gordon(folder, *args))


@pytest.fixture
def trace(traced: Traced, tmp_path: Path) -> str:
    """The trace, to work on in this test's folder."""
    assert traced.ran.status == 3, traced.ran.err
    return str(shutil.copytree(traced.folder, tmp_path / "job.trace"))


@pytest.fixture(scope="session")
def surveyed(traced: Traced) -> str:
    """The survey of the trace over the paper's space, as JSON."""
    from gordon import survey

    return json.dumps(survey.run([traced.folder], space="gordon-2009").report)


@pytest.fixture
def result(surveyed: str) -> dict[str, Any]:
    """A result of its own for each test, which may change it."""
    copy: dict[str, Any] = json.loads(surveyed)
    return copy


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Signals have an effect, here and in child processes, even if the tests were started with
    signals ignored, as a shell starts a background job."""
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler),
        signal.SIGTERM: signal.signal(signal.SIGTERM, signal.SIG_DFL),
        signal.SIGHUP: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    }
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Lists what was not tested here by its name, so that nobody takes it for tested."""
    for report in terminalreporter.stats.get("skipped", []):
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        terminalreporter.write_line(
            f"skipped: {report.nodeid}: {str(why).removeprefix('Skipped: ')}"
        )


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `gordon ARGS...` in this process."""

    def call(*args: str) -> Ran:
        from gordon.cli import main

        with pytest.raises(SystemExit) as stopped:
            main(list(args))
        out, err = capsys.readouterr()
        kind = getattr(stopped.value.__cause__, "kind", "")
        return Ran(int(stopped.value.code or 0), out, err, kind)

    return call


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serves `flash.img` of the working folder, or another file there."""
    servers: list[Server] = []

    def start(*args: str, file: str = "flash.img") -> Server:
        servers.append(Server(Path.cwd(), *args, file=file))
        return servers[-1]

    yield start
    kill_running(server.process for server in servers)


# A flash device of 64 MiB of 192: quickly worn and quickly full.
CHANGES = ["capacity=64MiB", "geometry.blocks_per_plane=12"]
SMALL = tuple(word for change in CHANGES for word in ("--set", change))

Json = Callable[..., dict[str, Any]]


@pytest.fixture
def flash_report(run: Run) -> Json:
    """The JSON of `gordon flash ARGS...`, which must succeed."""

    def call(*args: str) -> dict[str, Any]:
        ran = run("flash", *args, "--json", "-")
        assert ran.status == 0, ran.err
        report: dict[str, Any] = json.loads(ran.out)
        return report

    return call


def mqsim(path: Path, *rows: tuple[int, int, int, int]) -> str:
    """A trace as MQSim has it, of (time in ns, sector, sectors, 0 to write and 1 to read)."""
    lines = [f"{at} 0 {sector} {count} {way}\n" for at, sector, count, way in rows]
    path.write_text("".join(lines))
    return str(path)


@pytest.fixture
def mixed(tmp_path: Path) -> str:
    """2000 reads and writes in 20 ms, 16 KiB each, in a MiB."""
    rows = [(i * 10_000, i * 37 % 64 * 32, 32, i % 2) for i in range(2000)]
    return mqsim(tmp_path / "mixed.trace", *rows)
