"""Options and runs that all simulated devices have in common.

The options become one JSON config per device for the core, which reads the load, simulates, and
returns a summary and tables. This module checks only what the core cannot see: options that
contradict each other and comparisons that are not defined.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from math import isfinite
from os import fspath
from typing import Any, Generic, TypeVar

from gordon import _core
from gordon.errors import GordonError
from gordon.options import Path, Progress, dealt
from gordon.presets import Device
from gordon.results import CheckpointError, Comparison, Run

FILES = ("requests_out", "responses_out", "checkpoint")
"""Options that name an output file of a single run."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """How the host issues requests. Sizes and times are text (`64KiB`, `10us`)."""

    closed_loop: bool = False
    """Keep a constant number of requests outstanding and ignore the load's own times."""
    gaps: bool = False
    """Issue each request the trace's gap after its predecessor completes."""
    queue_depth: int | None = None
    """Maximum number of outstanding requests. Default: 32 in a closed loop, 1 with gaps, no limit
    for arrivals."""
    speed: float | None = None
    """Factor by which the load's arrivals are sped up. Default: 1."""
    split: str | None = None
    """Maximum size of a device request; larger requests are split. Default: not split."""
    fit: str = "error"
    """Handling of addresses past the end: `error`, or `wrap` for modulo the capacity."""
    queue_by: str = "one"
    """Submission queues: `one`, one per `device` of the trace, or one per `process`."""
    weights: Sequence[int] = ()
    """Requests that each queue issues per round, in the order of the queues."""
    seed: int = 1
    """Random seed."""
    requests_out: Path | None = None
    """Parquet file to write, with one row per request."""

    def host(self) -> dict[str, Any]:
        """The core's config of the host."""
        if self.closed_loop and self.gaps:
            raise GordonError(
                "--closed-loop and --gaps exclude each other",
                "give only one of them",
                kind="exclusive-options",
            )
        pacing = "closed" if self.closed_loop else "gaps" if self.gaps else None
        return {
            "pacing": pacing,
            "speed": 1.0 if self.speed is None else self.speed,
            "queue_depth": self.queue_depth,
            "split": self.split,
            "fit": self.fit,
            "queue_by": self.queue_by,
            "weights": list(self.weights),
        }

    def files(self, *names: str) -> dict[str, str | None]:
        """Those of these options that are paths, as text."""
        given = {name: getattr(self, name) for name in names}
        return {name: None if path is None else fspath(path) for name, path in given.items()}


@dataclass(frozen=True, kw_only=True)
class RunOptions(Host, ABC):
    """Options of a run; each kind of device adds its own."""

    @abstractmethod
    def config(self, load: dict[str, Any], device: Device) -> dict[str, Any]:
        """The core's config."""

    @abstractmethod
    def name(self, device: Device) -> str:
        """The name of the device in results."""


@dataclass(frozen=True, kw_only=True)
class TraceLoad:
    """How to read a trace."""

    format: str | None = None
    """One of `gordon trace formats`. Default: auto-detected."""
    only_device: int | None = None
    """Use only the requests to this device of the trace."""
    repeat: int = 1
    """Number of times to replay the trace."""
    skip_bad: bool = False
    """Skip malformed records, and count them."""
    order: str | None = None
    """Handling of times that go backwards: `strict`, `clamp` or `sort`."""
    time_unit: str | None = None
    """Unit of the times. Default: the format's."""
    event: str | None = None
    """Event to use, in traces of the kernel's block layer."""
    columns: str | None = None
    """Columns of a text trace, in place of a format: `time=1:s,op=2,lba=3:4KiB,size=4:B`."""
    separator: str | None = None
    """Column separator: `comma`, `blank`, `tab`, `semicolon` or `bar`. Default: detected from the
    first line."""
    skip_lines: int | None = None
    """Number of lines to skip at the start."""
    reads: Sequence[str] = ()
    """Values of the operation column that are reads."""
    writes: Sequence[str] = ()
    """Values of the operation column that are writes."""
    trims: Sequence[str] = ()
    """Values of the operation column that are discards."""

    def config(self, path: Path) -> dict[str, Any]:
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        given["device"] = given.pop("only_device")
        return {"trace": {"path": fspath(path)} | _without_none(given)}


@dataclass(frozen=True, kw_only=True)
class BenchLoad:
    """A pattern of requests. An option that the pattern does not use is an error."""

    requests: int = 100_000
    """Number of requests."""
    size: str | None = None
    """Request size. Default: 4KiB."""
    span: str | None = None
    """Size of the address range. Default: the whole device, or its preconditioned part."""
    read_share: float | None = None
    """`mixed`, `hot-cold`, `zipf`: fraction of reads. Default: 0.7 for `mixed`, else 0."""
    hot_space: float | None = None
    """`hot-cold`: fraction of the span that is hot. Default: 0.1."""
    hot_share: float | None = None
    """`hot-cold`: fraction of requests to the hot part. Default: 0.9."""
    exponent: float | None = None
    """`zipf`: exponent. Default: 0.99."""
    way: str | None = None
    """`gordon-pair`: operation, `read` or `write`."""
    order: str | None = None
    """`gordon-pair`: order of the regions, `random` or `sequential`."""
    queues: int | None = None
    """Number of submission queues, used round-robin. Default: 1."""
    every: str | None = None
    """Time between arrivals in an open loop. Default: a closed loop."""
    fsync: int | None = None
    """Number of writes that a flush follows. Default: no flushes."""

    def config(self, pattern: str) -> dict[str, Any]:
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"bench": {"pattern": pattern} | _without_none(given)}


def as_json(config: dict[str, Any]) -> str:
    """A config for the core, which takes no infinity and no NaN."""
    try:
        return json.dumps(config, allow_nan=False)
    except ValueError:
        where = ", ".join(_endless(config))
        raise GordonError(
            f"{where}: not a finite number", "a number such as 0.8 or 2", kind="not-finite"
        ) from None


def _endless(value: Any, name: str = "") -> Iterator[str]:
    """The keys whose values are infinite or NaN."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _endless(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _endless(inner, name)
    elif isinstance(value, float) and not isfinite(value):
        yield name


def _agree(load: TraceLoad | BenchLoad, how: Host) -> None:
    """Raises GordonError for an open loop that is also to be a closed loop or to have gaps."""
    if isinstance(load, BenchLoad) and load.every is not None and (how.closed_loop or how.gaps):
        other = "--closed-loop" if how.closed_loop else "--gaps"
        raise GordonError(
            f"--every {load.every} and {other} exclude each other",
            "give only one of them; --every is an open loop",
            kind="exclusive-options",
        )


def _without_none(given: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None}


R = TypeVar("R", bound=Run)


@dataclass(frozen=True)
class Kind(Generic[R]):
    """A kind of device: the options and results of its runs, and the core functions that run."""

    options: type[RunOptions]
    result: type[R]
    core_run: Callable[[str, Progress | None], _core.RunResult]
    core_run_all: Callable[[list[tuple[str, str]], Progress | None], list[_core.RunResult]]

    def run(
        self,
        load: type[TraceLoad | BenchLoad],
        source: Path,
        device: Device,
        progress: Progress | None,
        options: dict[str, Any],
    ) -> R:
        """Runs a trace or a pattern on one device."""
        about, how = dealt(options, load, self.options)
        _agree(about, how)
        config = as_json(how.config(about.config(source), device))
        ran = self.core_run(config, progress)
        result = self.result(how.name(device), ran)
        try:
            ran.kept()
        except GordonError as error:
            raise CheckpointError(result, error.args[0], error.args[1], error.kind) from None
        return result

    def compare(
        self,
        trace: Path | None,
        pattern: str | None,
        devices: Sequence[Device],
        progress: Progress | None,
        options: dict[str, Any],
    ) -> Comparison[R]:
        """Runs the same trace or pattern on several devices, one device per core."""
        if (trace is None) == (pattern is None):
            raise GordonError(
                "a comparison needs exactly one load",
                "give either a trace or a pattern",
                kind="one-load",
            )
        load, how = dealt(options, TraceLoad if pattern is None else BenchLoad, self.options)
        for name in FILES:
            if getattr(how, name, None) is not None:
                raise GordonError(
                    f"a comparison cannot write {name}, the file of a single run",
                    "run `replay` or `bench` for each device",
                    kind="file-of-one-run",
                )
        if len(devices) < 2:
            raise GordonError(
                "a comparison needs at least two devices",
                "names of presets, or TOML files",
                kind="too-few-devices",
            )
        called = [how.name(device) for device in devices]
        for name in called:
            if called.count(name) > 1:
                raise GordonError(
                    f"two devices have the name {name}",
                    "rename one of the files",
                    kind="same-name",
                )
        _agree(load, how)
        about = load.config(trace if pattern is None else pattern)
        configs = [as_json(how.config(about, device)) for device in devices]
        named = list(zip(called, configs, strict=True))
        runs = self.core_run_all(named, progress)
        return Comparison([self.result(*one) for one in zip(called, runs, strict=True)])
