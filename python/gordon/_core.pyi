"""The Rust core. Structures cross as JSON text; see `crates/py` for their keys."""

from collections.abc import Callable, Sequence
from typing import final

#: The functions and classes that exist on Linux only; elsewhere each is an object that raises.
NEEDS_LINUX: list[str]

def version() -> str: ...
def parse_bytes(text: str) -> int:
    """`64KiB`, `64k` -> 65536."""

def parse_rate(text: str) -> float:
    """`10Gb` -> 1.25e9 bytes a second."""

def parse_ns(text: str) -> int:
    """`0.1s` -> 100000000."""

def parse_hertz(text: str) -> float:
    """`2.4GHz` -> 2.4e9."""

def parse_watts(text: str) -> float:
    """`3mW` -> 0.003."""

def parse_volts(text: str) -> float:
    """`1.2V` -> 1.2."""

def trace_record(
    out: str, interval_ns: int, command: list[str], memory_bytes: int | None
) -> str: ...

@final
class NodeCapture:
    """A capture of nodes that is running. One that is not stopped leaves no traces."""

    def __init__(self, options: str) -> None: ...
    def warnings(self) -> list[str]: ...
    def stop(self) -> str:
        """Completes the traces and describes them as JSON."""

def trace_summary(path: str) -> str: ...
def trace_formats() -> str: ...
def trace_input(load: str, objects: bool) -> str | None: ...
def trace_is_stream(load: str) -> bool: ...
def trace_convert(load: str, target: str, to: str | None = None) -> str: ...
def trace_activity_format(path: str, name: str | None = None) -> str | None: ...
def trace_convert_activity(
    inputs: list[str],
    target: str,
    name: str,
    cores: int | None = None,
    clock: str | None = None,
    skip_bad: bool = False,
    tick: Callable[[int, int], None] | None = None,
) -> str: ...
def spark_event_log(
    path: str,
    tables: str | None = None,
    start_unix_ns: int | None = None,
    skip_bad: bool = False,
) -> str:
    """Describes an event log of Spark (JSON); writes its tables into the folder `tables`."""

def spark_event_logs(path: str) -> list[str]:
    """The event logs that a path stands for: itself, or those in the folder."""

def spark_recorded_stages(path: str) -> str | None:
    """The stages that the tables of a folder have (JSON); None without tables."""

def trace_anonymise(source: str, target: str) -> str:
    """Copies a trace or a run with pseudonyms; returns what was replaced (JSON)."""

def trace_estimate_network(log: str, nodes: list[tuple[str, list[str]]]) -> str:
    """Adds network columns, estimated from an event log of Spark, to traces of nodes; returns what
    each received and sent (JSON)."""

def pareto_front(points: Sequence[Sequence[float]]) -> list[int]:
    """Indices of the points that no other beats, in the order of their first number, then of
    the next ones; the least of each number is best."""

def survey_mean(model: str, config: str) -> str:
    """The mean of surveys of several jobs by the model `paper` or `job`, which the config (JSON)
    describes: its designs, their front and the named ones (JSON)."""

def bills(cases: str) -> str:
    """What runs cost (JSON): a bill for each of the cases (JSON), which have `inputs` and
    `operation`."""

def bill_doubts(draws: str) -> str:
    """What moves a figure of a bill (JSON), by the draws (JSON) of its inputs."""

def bill_ranking(draws: str) -> str:
    """How often each design is the best one (JSON), by the draws (JSON) of the inputs of all."""

def io_uring_error() -> str | None: ...
def sort_run(config: str, tick: Callable[[int, int], None] | None = None) -> str: ...
def io_target(path: str) -> str:
    """What a file or a block device is."""

def io_probe(
    path: str,
    ops: bytes,
    offsets: list[int],
    lengths: list[int],
    think_ns: list[int],
    write: bool = False,
    tick: Callable[[int, int], None] | None = None,
) -> list[tuple[int, int]]:
    """One request (0 read, 1 write) after the other; when each was issued and completed, in ns."""

def io_characterise(config: str, tick: Callable[[int, int], None] | None = None) -> str: ...
def device_characterise(config: str, tick: Callable[[int, int], None] | None = None) -> str: ...
def measured_times(
    storage: str,
    file: str,
    host: str,
    load: str,
    tick: Callable[[int, int], None] | None = None,
) -> str: ...
def cache_run(config: str, tick: Callable[[int, int], None] | None = None) -> str: ...
def cache_run_own(
    config: str, chooser: object, tick: Callable[[int, int], None] | None = None
) -> str: ...
def flashcache_run(config: str, tick: Callable[[int, int], None] | None = None) -> str: ...
def flashcache_sweep(configs: str, tick: Callable[[int, int], None] | None = None) -> str: ...
def tiered_run(config: str, tick: Callable[[int, int], None] | None = None) -> str: ...
def cache_sweep(configs: str, tick: Callable[[int, int], None] | None = None) -> str: ...
def cache_curve(config: str, tick: Callable[[int, int], None] | None = None) -> str: ...
def cache_policies() -> list[tuple[str, str, str]]:
    """Name, what goes next, what it follows."""

def web_generate(config: str, tick: Callable[[int, int], None] | None = None) -> str: ...
def corpus_generate(config: str, tick: Callable[[int, int], None] | None = None) -> str: ...
def sort_generate(
    outputs: list[str],
    records: int,
    start: int = 0,
    ascii: bool = False,
    skewed: bool = False,
    stripe: int | None = None,
    tick: Callable[[int, int], None] | None = None,
) -> str: ...
def sort_validate(
    paths: list[str],
    records: int | None = None,
    summaries: bool = False,
    summary: str | None = None,
    tick: Callable[[int, int], None] | None = None,
) -> str:
    """What each comes to, and the whole."""

def load_toml(kind: str, text: str, origin: str) -> str: ...
def check_json(kind: str, text: str) -> None: ...
def schema(kind: str) -> str: ...
def report_schema(kind: str) -> str:
    """The JSON Schema of a kind of report, such as `flash-run`."""

def block_create(config: str) -> str: ...
def block_serve(config: str, ready: Callable[[str], None]) -> str:
    """Until a signal handler raises."""

def cache_serve(
    config: str,
    ready: Callable[[str], None],
    tick: Callable[[], bool],
    reloaded: Callable[[str | None], None],
) -> str:
    """Until a signal handler raises."""

def block_check(path: str) -> str: ...
def block_export(path: str, out: str, tick: Callable[[int, int], None] | None = None) -> str: ...
def block_repair(path: str) -> str: ...
def block_wear(path: str) -> str: ...
def block_image(path: str) -> str: ...
def survey(
    model: str,
    config: str,
    tick: Callable[[int, int], None] | None = None,
    cache: str | None = None,
) -> str: ...
def survey_missing(model: str, config: str, cache: str) -> str: ...
def replay_one(job: str) -> bytes: ...
def replay_keep(cache: str, job: str, entry: bytes) -> None: ...
def node_power(config: str) -> tuple[float, float]:
    """Idle and greatest watts of a node, without overhead."""

@final
class MachinePower:
    """A machine made of parts: name, number, idle watts of one, watts in each kind of work.

    Lists of results have a value for each part, and last for the overhead.
    """

    def __init__(
        self,
        parts: list[tuple[str, float, float, list[float]]],
        overhead: float,
        supply: str | None = None,
    ) -> None: ...
    def energy(self, seconds: float, busy: dict[str, list[float]]) -> list[float]:
        """Joules; `busy` has the seconds of each kind of work by part, summed over its number."""

    def idle(self) -> list[float]:
        """Watts."""

    def max(self) -> list[float]:
        """Watts in the most expensive kind of work."""

def plan(config: str) -> str:
    """Simulates a plan of jobs (JSON); returns its report (JSON)."""

def replicas(config: str, tick: Callable[[int, int], None] | None = None) -> str:
    """Simulates replicas on flash and on sleeping disks (JSON); returns the report (JSON)."""

def machine_power(config: str) -> tuple[float, float] | None:
    """Idle and greatest watts at the plug of a machine with a storage; None if they are unknown."""

def storage_power(name: str, parts: str) -> tuple[float, float, float]:
    """Watts of a storage part when idle, when it only reads, and when it only writes."""

@final
class Table:
    """Columns for anything that takes Arrow's PyCapsule interface: pyarrow, polars, duckdb ..."""

    @staticmethod
    def of(columns: str) -> Table:
        """`[[column, [value, ...]], ...]`, as JSON."""

    @staticmethod
    def requests(load: str, tick: Callable[[int, int], None] | None = None) -> Table:
        """The requests of a trace."""

    @staticmethod
    def restored(parquet: bytes) -> Table:
        """A table that was pickled."""

    def names(self) -> list[str]:
        """The names of the columns."""

    def write(self, path: str) -> None:
        """Writes a Parquet file."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...
    def _repr_html_(self) -> str: ...
    def head(self, count: int) -> Table:
        """The first rows."""

    def json(self) -> str:
        """The columns as lists, by name."""

@final
class RunResult:
    """What a run on a simulated device comes to."""

    def json(self) -> str: ...
    def kept(self) -> None:
        """Raises where the device was to be kept in a file, and could not be."""
    def tables(self) -> list[tuple[str, Table]]:
        """The tables, by name."""

def disk_run(config: str, tick: Callable[[int, int], None] | None = None) -> RunResult: ...
def disk_run_all(
    configs: list[tuple[str, str]], tick: Callable[[int, int], None] | None = None
) -> list[RunResult]:
    """(name, config) each, one device a core; results in their order."""

@final
class ObjectCache:
    """A cache of objects in DRAM and flash, described by JSON."""

    def __init__(self, options: str) -> None: ...
    def recovery(self) -> str: ...
    def get(self, key: bytes) -> tuple[bytes, bytes] | None:
        """Metadata and body."""

    def put(self, key: bytes, meta: bytes, body: bytes) -> str: ...
    def update_meta(self, key: bytes, meta: bytes) -> bool: ...
    def delete(self, key: bytes) -> bool: ...
    def purge(self, prefix: bytes) -> int: ...
    def stats(self) -> str: ...
    def check(self) -> str: ...
    def close(self) -> None: ...

_Probes = tuple[list[int], list[int], list[int], list[int]]
# Operation (0: read, 1: write, 3: flush), offset, length, nanoseconds after the one before.

@final
class DiskProber:
    """Asks a simulated disk, one probe at a time."""

    def __init__(self, config: str) -> None: ...
    def capacity(self) -> int: ...
    def probe(self, asked: _Probes) -> list[tuple[int, int]]:
        """When each was issued and completed, in nanoseconds."""

def probes_write(path: str, about: str, asked: _Probes, answers: list[tuple[int, int]]) -> None: ...
def probes_read(
    path: str,
) -> tuple[str, tuple[bytes, list[int], list[int], list[int]], list[tuple[int, int]]]: ...
def flash_run(
    config: str,
    tick: Callable[[int, int], None] | None = None,
    own: tuple[str, Callable[[int, int], object]] | None = None,
) -> RunResult:
    """`own`: the name of a victim policy, and what makes it from the blocks and their pages."""

def flash_run_all(
    configs: list[tuple[str, str]],
    tick: Callable[[int, int], None] | None = None,
    own: tuple[str, Callable[[int, int], object]] | None = None,
) -> list[RunResult]:
    """As `disk_run_all`."""

def flash_wa(
    config: str,
    tick: Callable[[int, int], None] | None = None,
    own: Callable[[int, int], object] | None = None,
) -> str: ...
def flash_provision(
    base: str, changed: str, capacity: str | None = None, check: bool = True
) -> str:
    """The changed device with the over-provisioning of the base, as JSON; `check`: an error if it
    is too small to exist."""
