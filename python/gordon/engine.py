"""Runs one function over many items, on the cores of this machine or on a cluster, by joblib.

    for result in engine.each(simulate, configs, engine="ray", progress=tick):
        ...

The function and the items are pickled. `loky`, the default, has a process per core of this machine.
`ray`, `dask` and `spark` are extras of the package. They use the cluster that their own environment
variable names (`ADDRESS`), or else start workers on this machine. Each machine of the cluster needs
the same version of Gordon.

An exception of the function ends the run and is raised here. So does Ctrl-C: workers are stopped.
They are stopped, too, when the generator is closed before its end. If a worker is killed, new ones
get the items that are not done.
"""

import ctypes
import os
import re
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from typing import Any, TypeVar

from gordon.errors import GordonError
from gordon.options import Progress
from gordon.untyped import Given

__all__ = ["ADDRESS", "DEFAULT", "NAMES", "check", "completed", "each"]

DEFAULT = "loky"
NAMES = (DEFAULT, "ray", "dask", "spark")

#: Packages that an engine needs, by their names in Python.
NEEDS = {"ray": ("ray",), "dask": ("distributed",), "spark": ("joblibspark", "pyspark")}

#: Environment variable with the address of an engine's cluster.
ADDRESS = {"ray": "RAY_ADDRESS", "dask": "DASK_SCHEDULER_ADDRESS", "spark": "MASTER"}

#: Kinds of errors after which new workers get the items that are not done.
LOST = ("lost-worker", "failed-engine")
#: Losses in a row, without a result between them, that end a run.
MOST_LOSSES = 3

#: Exceptions of Ray and Dask for a worker that was killed or a machine that was lost.
KILLED = {
    "RayActorError",
    "WorkerCrashedError",
    "NodeDiedError",
    "OutOfMemoryError",
    "KilledWorker",
}

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
            f"pip install 'gordon-storage[{engine}]', or --engine {DEFAULT}",
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
    `lost-worker` if workers are killed `MOST_LOSSES` times without a result in between.
    """
    return _in_order(completed(function, items, engine, workers, progress))


def completed(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    engine: str = DEFAULT,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Generator[tuple[int, Result], None, None]:
    """Yields the results of `each` as soon as they are there, with the indices of their items."""
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
    left = dict(enumerate(items))
    losses = 0
    while left:
        before = len(left)
        try:
            with (
                _connected(engine) as extra,
                _explained(engine),
                closing(_calls(function, left, engine, workers, extra)) as calls,
            ):
                for index, result, error in calls:
                    if error is not None:
                        raise error
                    del left[index]
                    if progress is not None:
                        progress(total - len(left), total)
                    yield index, result
        except GordonError as error:
            if error.kind not in LOST:
                raise
            losses = losses + 1 if len(left) == before else 1
            if losses == MOST_LOSSES:
                raise


def _calls(
    function: Callable[[Item], Result],
    items: dict[int, Item],
    engine: str,
    workers: int | None,
    extra: Given,
) -> Any:
    """A generator of index, result and error of each call, in any order."""
    from joblib import (  # type: ignore[import-untyped, unused-ignore]
        Parallel,
        delayed,
        parallel_config,
    )

    jobs = -1 if workers is None else workers
    call = delayed(_Indexed(function))
    # A list: the caller removes items from the dictionary.
    tasks = [call(index, item) for index, item in items.items()]
    with parallel_config(engine, n_jobs=jobs, **extra):
        parallel = Parallel(return_as="generator_unordered")
    return parallel(tasks)


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
def _connected(engine: str) -> Iterator[Given]:
    """Registers an engine with joblib and connects to its cluster. Yields joblib's parameters."""
    if engine == "ray":
        with _ray():
            # An actor has no processor unless it asks for one, and all may be on one machine.
            yield {"ray_remote_args": {"num_cpus": 1}}
    elif engine == "dask":
        with _dask():
            yield {}
    elif engine == "spark":
        with _spark():
            yield {}
    else:
        yield {"initializer": _follow_parent}


@contextmanager
def _spark() -> Iterator[None]:
    from py4j.protocol import Py4JError  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from pyspark.errors import PySparkException  # type: ignore[import-not-found, unused-ignore]
    from pyspark.sql import SparkSession  # type: ignore[import-not-found, unused-ignore]

    address = os.environ.get(ADDRESS["spark"], "local")
    if address.startswith("local"):
        # Workers on this machine would else be the `python3` of the path.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.getActiveSession()
    ours = session is None
    try:
        if session is None:
            _knock(address)
            quiet = SparkSession.builder.config("spark.ui.showConsoleProgress", "false")
            session = _in_thread(quiet.appName("gordon").getOrCreate)
            session.sparkContext.setLogLevel("ERROR")
        _await_executors(session)
    except (OSError, Py4JError, PySparkException) as error:
        if ours and session is not None:
            session.stop()
        raise _unreachable("spark", error) from None
    try:
        _register_spark()
        with warnings.catch_warnings():
            # joblibspark warns of stage-level scheduling, pyspark of tags: neither is used.
            warnings.filterwarnings("ignore", category=UserWarning, module="joblibspark|pyspark")
            yield
    finally:
        if ours:
            session.stop()


def _in_thread(start: Callable[[], Result]) -> Result:
    """Calls a function in a thread. Spark, started in the main one, would handle Ctrl-C with a call
    to Java amid another one."""
    started: Future[Result] = Future()

    def call() -> None:
        try:
            started.set_result(start())
        except Exception as error:
            started.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    return started.result()


def _await_executors(session: Any) -> None:
    """Waits until the number of tasks that can run at once is above 0 and does not change.
    Executors register some seconds after the session has started."""
    spark = session.sparkContext._jsc.sc()
    profile = spark.resourceProfileManager().resourceProfileFromId(0)
    deadline = time.monotonic() + PATIENCE_S
    before = 0
    while (count := spark.maxNumConcurrentTasks(profile)) != before or count == 0:
        if time.monotonic() > deadline:
            raise TimeoutError(f"it has started no executor in {PATIENCE_S} s")
        before = count
        time.sleep(0.5)


def _register_spark() -> None:
    from joblib import register_parallel_backend
    from joblib.externals.loky.process_executor import (  # type: ignore[import-untyped, unused-ignore]
        _ExceptionWithTraceback,
    )
    from joblibspark.backend import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
        SparkDistributedBackend,
    )

    class Backend(SparkDistributedBackend):  # type: ignore[misc, unused-ignore]
        """joblibspark 0.6 has no generators, and returns the failure of a task as its result."""

        supports_retrieve_callback = True

        def submit(self, func: Any, callback: Any = None) -> Any:
            return self.apply_async(func, callback)

        def retrieve_result_callback(self, out: Any) -> Any:
            if isinstance(out, _ExceptionWithTraceback):
                rebuild, arguments = out.__reduce__()
                out = rebuild(*arguments)
            if isinstance(out, BaseException):
                raise out
            return out

    register_parallel_backend("spark", Backend)


@contextmanager
def _ray() -> Iterator[None]:
    import ray  # type: ignore[import-not-found, unused-ignore]
    from joblib import register_parallel_backend
    from ray.util.joblib.ray_backend import (  # type: ignore[import-not-found, unused-ignore]
        RayBackend,
    )
    from ray.util.multiprocessing.pool import (  # type: ignore[import-not-found, unused-ignore]
        ResultThread,
    )

    class Backend(RayBackend):  # type: ignore[misc, unused-ignore]
        """joblib refuses generators for pools that fork, and takes this one for such a pool."""

        supports_return_generator = True

        def effective_n_jobs(self, n_jobs: int) -> int:
            # The pool waits until it has all its actors, each with a processor of its own.
            most = int(ray.cluster_resources().get("CPU", 1))
            return min(int(super().effective_n_jobs(n_jobs)), max(most, 1))

    register_parallel_backend("ray", Backend)
    ours = not ray.is_initialized()
    if ours:
        try:
            _knock(os.environ.get(ADDRESS["ray"], ""))
            ray.init(log_to_driver=False, logging_level="ERROR")
        except (RuntimeError, OSError, ValueError) as error:
            raise _unreachable("ray", error) from None
    try:
        _await_nodes()
        yield
    finally:
        if ours:
            # Threads that wait for the results of an ended pool would connect again.
            for thread in threading.enumerate():
                if isinstance(thread, ResultThread):
                    thread.join(PATIENCE_S)
            ray.shutdown()


def _await_nodes() -> None:
    """Waits until each node of Ray answers or is known to be dead. Ray counts the processors of a
    lost node for some seconds."""
    import ray
    from ray.util.scheduling_strategies import (  # type: ignore[import-not-found, unused-ignore]
        NodeAffinitySchedulingStrategy,
    )

    @ray.remote(num_cpus=0, max_retries=0)  # type: ignore[untyped-decorator, unused-ignore]
    def answer() -> None:
        pass

    answers = [
        answer.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ).remote()
        for node in ray.nodes()
        if node["Alive"]
    ]
    ray.wait(answers, num_returns=len(answers), timeout=PATIENCE_S)


def _knock(address: str) -> None:
    """Raises OSError if no server listens at HOST:PORT. Ray and Spark would try for a minute."""
    at = re.fullmatch(r"(?:ray://|spark://)?(\[[^]]+\]|[^:/]+):(\d+)", address)
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
        if KILLED & {one.__name__ for one in type(error).__mro__}:
            raise GordonError(
                f"a worker of the engine {engine} was killed, or its machine was lost",
                "fewer --workers, if they lack memory",
                kind="lost-worker",
            ) from None
        package = type(error).__module__.partition(".")[0]
        if package not in (*NEEDS.get(engine, ()), "py4j"):
            raise
        raise GordonError(
            f"the engine {engine} failed: {_last_line(error)}",
            f"the same version of gordon on each machine, or --engine {DEFAULT}",
            kind="failed-engine",
        ) from error


def _last_line(error: Exception) -> str:
    """The message of an error; the last line of one that quotes a traceback of another process."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
