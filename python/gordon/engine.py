"""Runs one function over many items, on the cores of this machine or on a cluster, by joblib.

    for result in engine.each(simulate, configs, engine="ray", progress=tick):
        ...

The function and the items are pickled. `loky`, the default, has a process per core of this machine.
`ray`, `dask` and `spark` are extras of the package. They use the cluster that their own environment
variable names (`ADDRESS`), or else start workers on this machine. Each machine of the cluster needs
the same version of Gordon.

An exception of the function ends the run and is raised here. So does Ctrl-C: workers are stopped.
They are stopped, too, when the generator is closed before its end.
"""

import ctypes
import os
import re
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from typing import Any, TypeVar

from gordon._core import GordonError
from gordon.options import Progress

__all__ = ["ADDRESS", "DEFAULT", "NAMES", "check", "completed", "each"]

DEFAULT = "loky"
NAMES = (DEFAULT, "ray", "dask", "spark")

#: Packages that an engine needs, by their names in Python.
NEEDS = {"ray": ("ray",), "dask": ("distributed",), "spark": ("joblibspark", "pyspark")}

#: Environment variable with the address of an engine's cluster.
ADDRESS = {"ray": "RAY_ADDRESS", "dask": "DASK_SCHEDULER_ADDRESS", "spark": "MASTER"}

#: Items per worker that are given at once to an engine that returns results only in lists.
PER_WORKER = 16

#: Seconds to wait for a cluster to answer.
PATIENCE_S = 30

#: From <linux/prctl.h>.
PR_SET_PDEATHSIG = 1

Item = TypeVar("Item")
Result = TypeVar("Result")


def check(engine: str) -> None:
    """Raises GordonError for an unknown engine, or one whose packages are not installed."""
    if engine not in NAMES:
        from gordon.parts import unknown

        raise unknown("engine", engine, list(NAMES))
    missing = [name for name in NEEDS.get(engine, ()) if find_spec(name) is None]
    if missing:
        raise GordonError(
            f"the engine {engine} is not installed: there is no Python package {missing[0]}",
            f"pip install 'gordon[{engine}]', or --engine {DEFAULT}",
            kind="no-engine",
        )


def each(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    engine: str = DEFAULT,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Generator[Result, None, None]:
    """Calls the function with each item and yields the results in the order of the items.

    `workers` is the number of processes; None means all cores of the machine or cluster. `progress`
    is called with the numbers of items (done, total). Raises GordonError, with the kind `no-engine`
    if the engine is not installed, `unreachable-engine` if its cluster does not answer, and
    `lost-worker` if a worker was killed.
    """
    return _in_order(completed(function, items, engine, workers, progress))


def completed(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    engine: str = DEFAULT,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Generator[tuple[int, Result], None, None]:
    """As `each`, but yields each result as soon as it is there, with the index of its item."""
    check(engine)
    return _completed(function, items, engine, workers, progress)


def _in_order(results: Generator[tuple[int, Result], None, None]) -> Generator[Result, None, None]:
    early: dict[int, Result] = {}
    due = 0
    with closing(results):
        for index, result in results:
            early[index] = result
            while due in early:
                yield early.pop(due)
                due += 1


def _completed(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    engine: str,
    workers: int | None,
    progress: Progress | None,
) -> Generator[tuple[int, Result], None, None]:
    total = len(items)
    if total == 0:
        return
    with _connected(engine) as extra, _explained(engine):
        calls = _calls(function, items, engine, workers, extra)
        with closing(calls):
            for done, (index, result, error) in enumerate(calls, 1):
                if error is not None:
                    raise error
                if progress is not None:
                    progress(done, total)
                yield index, result


def _calls(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    engine: str,
    workers: int | None,
    extra: dict[str, Any],
) -> Any:
    """A generator of index, result and error of each call, in any order."""
    from joblib import (  # type: ignore[import-untyped, unused-ignore]
        Parallel,
        delayed,
        parallel_config,
    )

    jobs = -1 if workers is None else workers
    call = delayed(_Indexed(function))
    tasks = [call(index, item) for index, item in enumerate(items)]
    with parallel_config(engine, n_jobs=jobs, **extra):
        try:
            parallel = Parallel(return_as="generator_unordered")
        except ValueError:
            # The pools of Ray and Spark have no generators.
            return _in_lists(Parallel(), tasks)
    return parallel(tasks)


def _in_lists(parallel: Any, tasks: list[Any]) -> Iterator[Any]:
    # joblibspark 0.6 expects this attribute of older joblibs.
    parallel._backend_args = {}
    with parallel:
        at_once = PER_WORKER * max(1, parallel._effective_n_jobs())
        for start in range(0, len(tasks), at_once):
            yield from parallel(tasks[start : start + at_once])


class _Indexed:
    """The function, whose results carry the indices of their items. An exception is a result too:
    Spark would return only its text."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __call__(self, index: int, item: Any) -> tuple[int, Any, Exception | None]:
        try:
            return index, self.function(item), None
        except Exception as error:
            error.add_note(f"in a worker:\n{traceback.format_exc()}")
            return index, None, error


def _follow_parent() -> None:
    """Makes a worker end with its parent, which alone handles Ctrl-C: a terminal sends it to
    both."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


@contextmanager
def _connected(engine: str) -> Iterator[dict[str, Any]]:
    """Registers an engine with joblib and connects to its cluster. Yields joblib's parameters."""
    if engine == "ray":
        with _ray():
            # An actor has no processor unless it asks for one, and all may be on one machine.
            yield {"ray_remote_args": {"num_cpus": 1}}
    elif engine == "dask":
        with _dask():
            yield {}
    elif engine == "spark":
        _register_spark()
        yield {}
    else:
        yield {"initializer": _follow_parent}


def _register_spark() -> None:
    from joblib import register_parallel_backend
    from joblib.externals.loky.process_executor import (  # type: ignore[import-untyped, unused-ignore]
        _ExceptionWithTraceback,
    )
    from joblibspark.backend import (  # type: ignore[import-not-found, unused-ignore]
        SparkDistributedBackend,
    )

    class Backend(SparkDistributedBackend):  # type: ignore[misc, unused-ignore]
        """joblibspark 0.6 returns the failure of a task as its result."""

        def retrieve_result(self, out: Any, timeout: float | None = None) -> Any:
            result = out.get(timeout=timeout)
            if isinstance(result, _ExceptionWithTraceback):
                rebuild, arguments = result.__reduce__()
                result = rebuild(*arguments)
            if isinstance(result, BaseException):
                raise result
            return result

    register_parallel_backend("spark", Backend)
    if os.environ.get(ADDRESS["spark"], "local").startswith("local"):
        # Workers on this machine would else be the `python3` of the path.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@contextmanager
def _ray() -> Iterator[None]:
    import ray  # type: ignore[import-not-found, unused-ignore]
    from ray.util.joblib import register_ray  # type: ignore[import-not-found, unused-ignore]

    register_ray()
    ours = not ray.is_initialized()
    if ours:
        try:
            _knock(os.environ.get(ADDRESS["ray"], ""))
            ray.init(log_to_driver=False, logging_level="ERROR")
        except (RuntimeError, OSError, ValueError) as error:
            raise _unreachable("ray", error) from None
    try:
        yield
    finally:
        if ours:
            ray.shutdown()


def _knock(address: str) -> None:
    """Raises OSError if no server listens at HOST:PORT. Ray itself would try for a minute."""
    at = re.fullmatch(r"(?:ray://)?(\[[^]]+\]|[^:/]+):(\d+)", address)
    if at is not None:
        socket.create_connection((at[1].strip("[]"), int(at[2])), timeout=PATIENCE_S).close()


@contextmanager
def _dask() -> Iterator[None]:
    from distributed import Client  # type: ignore[import-not-found, unused-ignore]

    try:
        client = Client(os.environ.get(ADDRESS["dask"]), timeout=PATIENCE_S)
    except (OSError, RuntimeError, ValueError) as error:
        raise _unreachable("dask", error) from None
    try:
        yield
    finally:
        with suppress(OSError, RuntimeError):
            client.close()


def _unreachable(engine: str, error: Exception) -> GordonError:
    variable = ADDRESS[engine]
    address = os.environ.get(variable, "")
    where = f" at {address} ({variable})" if address else ""
    why = _last_line(error)
    return GordonError(
        f"the engine {engine}{where} cannot be reached: {why}",
        f"start the cluster and set {variable} to its address, or --engine {DEFAULT}",
        kind="unreachable-engine",
    )


@contextmanager
def _explained(engine: str) -> Iterator[None]:
    """Turns failures of the engine itself into GordonError."""
    from joblib.externals.loky.process_executor import (  # type: ignore[import-untyped, unused-ignore]
        TerminatedWorkerError,
    )

    try:
        yield
    except TerminatedWorkerError:
        raise GordonError(
            "a worker process was killed, perhaps for lack of memory",
            "fewer --workers",
            kind="lost-worker",
        ) from None
    except Exception as error:
        package = type(error).__module__.partition(".")[0]
        if package not in (*NEEDS.get(engine, ()), "py4j"):
            raise
        raise GordonError(
            f"the engine {engine} failed: {_last_line(error)}",
            f"the same version of gordon on each machine, or --engine {DEFAULT}",
            kind="failed-engine",
        ) from error


def _last_line(error: Exception) -> str:
    """What an error says; the last line of one that quotes a traceback of another process."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
