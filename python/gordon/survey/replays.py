"""Simulates a survey, with replays from a cache or computed by an engine.

A replay depends only on a trace and the parameters of a device. The core keeps replays in a folder,
by a checksum of what they depend on, and takes what is there. Without an engine it computes the
others itself, in threads. With one, each missing replay is a job of `gordon.engine`: jobs are plain
data, and a worker needs only the trace, at the same path.
"""

import json
import os
import socket
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gordon import _core, engine
from gordon.errors import GordonError
from gordon.options import Path as AnyPath
from gordon.options import Progress
from gordon.scratch import scratch
from gordon.untyped import Config

#: Kinds of errors that are about the machine of a worker.
OF_MACHINE = ("not-shared", "other-version")


@dataclass(frozen=True)
class Replays:
    """The folder in which replays are kept, if any, and the engine that computes them.

    `cache` is created if it does not exist. `engine` is one of `gordon.engine.NAMES`, or None for
    threads of this process; `workers` is its number of processes, None for all cores.
    """

    cache: AnyPath | None = None
    engine: str | None = None
    workers: int | None = None

    @property
    def chosen_engine(self) -> str | None:
        """The engine. A number of workers alone chooses the default one."""
        if self.engine is None and self.workers is not None:
            return engine.DEFAULT
        return self.engine


def simulate(
    model: str, config: Config, replays: Replays, progress: Progress | None
) -> tuple[str, list[str]]:
    """The core's report of a survey by `model` (JSON), and warnings about the cache."""
    text = json.dumps(config)
    name = replays.chosen_engine
    cache = None if replays.cache is None else os.fspath(replays.cache)
    if name is None:
        return _core.survey(model, text, progress, cache), []
    engine.check(name)
    with _folder(cache) as folder:
        missing = partial(_core.survey_missing, model, text, folder)
        warnings = _compute(missing, folder, name, replays, progress)
        return _core.survey(model, text, None, folder), warnings


@contextmanager
def _folder(cache: str | None) -> Iterator[str]:
    """The cache, or a folder for this survey alone."""
    if cache is not None:
        # Workers may have another working directory.
        yield str(Path(cache).absolute())
        return
    with scratch(tempfile.gettempdir(), "gordon-replays-") as folder:
        yield str(folder)


def _compute(
    missing: Callable[[], str],
    folder: str,
    name: str,
    replays: Replays,
    progress: Progress | None,
) -> list[str]:
    """Computes the missing replays. Returns warnings about the cache."""
    listed = json.loads(missing())
    jobs = [json.dumps(job) for job in listed["jobs"]]
    found: int = listed["found"]

    def tick(done: int, _: int) -> None:
        if progress is not None:
            progress(found + done, found + len(jobs))

    if jobs:
        tick(0, 0)
    # Workers that see the file share the folder and keep their replays themselves.
    shared = Path(folder) / f".shared-{uuid.uuid4().hex}"
    shared.touch()
    try:
        worker = Worker(folder, str(shared))
        for index, entry in engine.completed(worker, jobs, name, replays.workers, tick):
            if entry is not None:
                _core.replay_keep(folder, jobs[index], entry)
    except GordonError as error:
        if error.kind not in engine.LOST:
            raise
        raise _with_kept(error, replays.cache) from None
    finally:
        shared.unlink(missing_ok=True)
    warnings: list[str] = listed["warnings"]
    return warnings


def _with_kept(error: GordonError, cache: AnyPath | None) -> GordonError:
    hint = error.hint
    if cache is None:
        kept = "--cache DIR keeps the replays that are done"
    else:
        kept = f"the replays that are done are kept in {os.fspath(cache)}: run the survey again"
    return GordonError(error.message, f"{hint}; {kept}", kind=error.kind)


class Worker:
    """Computes a replay, in a process of an engine. Keeps it if the folder is that of the survey,
    otherwise returns it."""

    def __init__(self, folder: str, shared: str) -> None:
        self.folder = folder
        self.shared = shared

    def __call__(self, job: str) -> bytes | None:
        try:
            entry = _core.replay_one(job)
        except GordonError as error:
            if error.kind not in OF_MACHINE:
                raise
            message = f"on {socket.gethostname()}: {error.message}"
            raise GordonError(message, error.hint, kind=error.kind) from None
        if not Path(self.shared).exists():
            return entry
        _core.replay_keep(self.folder, job, entry)
        return None
