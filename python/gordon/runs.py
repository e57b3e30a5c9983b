"""What any simulated device may be asked for, and how: one JSON config goes to the core."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from math import isfinite
from os import fspath
from typing import Any, Generic, TypeVar

from gordon import _core
from gordon.options import Path, Progress, dealt
from gordon.presets import Device
from gordon.results import CheckpointError, Comparison, Run

FILES = ("requests_out", "responses_out", "checkpoint")
"""Options that name a file which the core writes, of one run."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """How requests are handed to a device. Sizes and times are text (`64KiB`, `10us`)."""

    closed_loop: bool = False
    """A constant number of requests outstanding, whatever the load's own times."""
    gaps: bool = False
    """Each request the load's gap after its predecessor's completion."""
    queue_depth: int | None = None
    """The most requests at the device."""
    speed: float | None = None
    """2: arrivals twice as fast as the load's own."""
    split: str | None = None
    """The most bytes of one device request."""
    fit: str = "error"
    """Addresses past the end: `error` or `wrap`."""
    queue_by: str = "one"
    """Queues of a trace: `one`, one a `device` of it, or one a `process`."""
    weights: Sequence[int] = ()
    """Requests that each queue issues in its turn."""
    seed: int = 1
    """Of everything random."""
    requests_out: Path | None = None
    """A Parquet file for a row for each request."""

    def host(self) -> dict[str, Any]:
        """The core's config of the host."""
        if self.closed_loop and self.gaps:
            raise _core.GordonError("closed loop and gaps exclude each other", "one of them")
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
    """What a run may be told; each kind of device adds its own."""

    @abstractmethod
    def config(self, load: dict[str, Any], device: Device) -> dict[str, Any]:
        """The core's config."""

    @abstractmethod
    def name(self, device: Device) -> str:
        """What to call the device."""


@dataclass(frozen=True, kw_only=True)
class TraceLoad:
    """How a trace is read."""

    format: str | None = None
    """One of `gordon trace formats`; without it, its content tells."""
    only_device: int | None = None
    """Only requests to this device of it."""
    repeat: int = 1
    """How many times over."""
    skip_bad: bool = False
    """Leave out what is malformed, and count it."""
    order: str | None = None
    """Where time goes backwards: `strict`, `clamp` or `sort`."""
    time_unit: str | None = None
    """Unit of its times, if not the format's."""
    event: str | None = None
    """Event that counts in traces of the kernel's block layer."""
    columns: str | None = None
    """Columns of a text trace, in place of a format: `time=1:s,op=2,lba=3:4KiB,size=4:B`."""
    separator: str | None = None
    """What is between the columns: `comma`, `blank`, `tab`, `semicolon` or `bar`; left out, the
    first line decides."""
    skip_lines: int | None = None
    """Lines to pass over at the start."""
    reads: Sequence[str] = ()
    """Words of the operation that are reads."""
    writes: Sequence[str] = ()
    """Words of the operation that are writes."""
    trims: Sequence[str] = ()
    """Words of the operation that are discards."""

    def config(self, path: Path) -> dict[str, Any]:
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        given["device"] = given.pop("only_device")
        return {"trace": {"path": fspath(path)} | _without_none(given)}


@dataclass(frozen=True, kw_only=True)
class BenchLoad:
    """A pattern of requests. What a pattern has no use for is an error."""

    requests: int = 100_000
    """How many."""
    size: str | None = None
    """Bytes of a request; 4 KiB."""
    span: str | None = None
    """Bytes that it runs over; all, or the part that is preconditioned."""
    read_share: float | None = None
    """`mixed` (0.7), `hot-cold`, `zipf` (0): part of the requests that read."""
    hot_space: float | None = None
    """`hot-cold`: part of the span that is hot; 0.1."""
    hot_share: float | None = None
    """`hot-cold`: part of the requests that go there; 0.9."""
    exponent: float | None = None
    """`zipf`: 0.99."""
    way: str | None = None
    """`gordon-pair`: `read` or `write`."""
    order: str | None = None
    """`gordon-pair`: `random` or `sequential`."""
    queues: int | None = None
    """Queues that the requests go to in turn; 1."""
    every: str | None = None
    """Time between arrivals; without it the load is a closed loop."""

    def config(self, pattern: str) -> dict[str, Any]:
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"bench": {"pattern": pattern} | _without_none(given)}


def as_json(config: dict[str, Any]) -> str:
    """A config for the core, which takes no infinity and no NaN."""
    try:
        return json.dumps(config, allow_nan=False)
    except ValueError:
        where = ", ".join(_endless(config))
        raise _core.GordonError(f"{where}: no finite number", "a number such as 0.8 or 2") from None


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
    """Arrivals at their own times are no closed loop, and have no gaps."""
    if isinstance(load, BenchLoad) and load.every is not None and (how.closed_loop or how.gaps):
        other = "closed loop" if how.closed_loop else "gaps"
        raise _core.GordonError(
            f"arrivals every {load.every} and {other} exclude each other",
            f"--every for an open loop, or --{other.replace(' ', '-')} without it",
        )


def _without_none(given: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None}


R = TypeVar("R", bound=Run)


@dataclass(frozen=True)
class Kind(Generic[R]):
    """A kind of device: what its runs may be told, what they come to, what carries them out."""

    options: type[RunOptions]
    result: type[R]
    core_run: Callable[[str, Progress | None], _core.RunResult]
    core_run_all: Callable[[list[tuple[str, str]], Progress | None], list[_core.RunResult]]

    def run(
        self,
        load: type[TraceLoad | BenchLoad],
        asked: Path,
        device: Device,
        progress: Progress | None,
        options: dict[str, Any],
    ) -> R:
        """Asks one device for a trace or a pattern."""
        about, how = dealt(options, load, self.options)
        _agree(about, how)
        config = as_json(how.config(about.config(asked), device))
        told = self.core_run(config, progress)
        result = self.result(how.name(device), told)
        try:
            told.kept()
        except _core.GordonError as error:
            raise CheckpointError(result, *error.args) from None
        return result

    def compare(
        self,
        trace: Path | None,
        pattern: str | None,
        devices: Sequence[Device],
        progress: Progress | None,
        options: dict[str, Any],
    ) -> Comparison[R]:
        """Asks several devices for the same trace, or the same pattern, one device a core."""
        if (trace is None) == (pattern is None):
            raise _core.GordonError("a comparison has one load", "a trace, or a pattern")
        load, how = dealt(options, TraceLoad if pattern is None else BenchLoad, self.options)
        for name in FILES:
            if getattr(how, name, None) is not None:
                raise _core.GordonError(
                    f"{name} is a file of one device", "`replay` or `bench` for each"
                )
        if len(devices) < 2:
            raise _core.GordonError(
                "a comparison needs two devices or more", "presets by name, or TOML files"
            )
        called = [how.name(device) for device in devices]
        for name in called:
            if called.count(name) > 1:
                raise _core.GordonError(f"two devices are called {name}", "rename a file")
        _agree(load, how)
        about = load.config(trace if pattern is None else pattern)
        configs = [as_json(how.config(about, device)) for device in devices]
        named = list(zip(called, configs, strict=True))
        runs = self.core_run_all(named, progress)
        return Comparison([self.result(*one) for one in zip(called, runs, strict=True)])
