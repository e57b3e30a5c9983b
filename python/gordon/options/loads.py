"""Loads of simulated devices: a trace, or a pattern of requests; and how the host issues them.

Sizes and times are text (`64KiB`, `10us`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from os import fspath
from typing import Annotated, ClassVar

from gordon.errors import GordonError
from gordon.options import Path
from gordon.options.kinds import (
    COUNT,
    NUMBER,
    SEED,
    SHARE,
    SIZE,
    TIME,
    Choice,
    DeviceNumber,
    Each,
    Group,
    Named,
    Number,
    Text,
    Whole,
    Wholes,
)
from gordon.untyped import Config

PATTERNS = (
    "random-write",
    "random-read",
    "sequential-write",
    "sequential-read",
    "mixed",
    "hot-cold",
    "zipf",
    "gordon-pair",
)


@dataclass(frozen=True, kw_only=True)
class TraceLoad:
    """How to read a trace."""

    GROUP: ClassVar = "Trace input"
    format: Annotated[str | None, Text("F")] = None
    """Format of the trace (`gordon trace formats`). Default: auto-detected."""
    columns: Annotated[str | None, Text("NAME=COLUMN[:UNIT],...")] = None
    """Columns of a text trace, in place of a format: time=1:s,op=2,lba=3:4KiB,size=4:B for blocks,
    time=1:ms,key=2,size=3:B for objects. NAME: time, op, offset or lba, size, key, device, latency,
    repeat. COLUMN: a number from 1, or a name in the header."""
    separator: Annotated[str | None, Text("WORD")] = None
    """With --columns: comma, blank, tab, semicolon or bar between columns. Default: detected from
    the first line."""
    skip_lines: Annotated[int | None, Whole(0)] = None
    """With --columns: number of lines to skip at the start. Default: 0."""
    reads: Annotated[Sequence[str], Each("WORD")] = ()
    """With --columns: value of the operation that means a read; repeatable. Default: R, read, get,
    ... and 0."""
    writes: Annotated[Sequence[str], Each("WORD")] = ()
    """With --columns: value of the operation that means a write; repeatable. Default: W, write,
    set, put, ... and 1."""
    trims: Annotated[Sequence[str], Each("WORD")] = ()
    """With --columns: value of the operation that means a discard; repeatable. Default: D, discard,
    trim and 3."""
    only_device: Annotated[int | None, Named("--device"), DeviceNumber()] = None
    """Only requests to this device of the trace, e.g. 3 or 8,3."""
    skip_bad: bool = False
    """Leave out malformed lines or records, and count them."""
    order: Annotated[str | None, Choice(("strict", "clamp", "sort"))] = None
    """Handling of times that go backwards: report an error, replace them by the previous time, or
    sort by time. Default: strict; clamp for access logs."""
    time_unit: Annotated[str | None, TIME] = None
    """Unit of the trace's times, at most 1s. Default: the format's."""
    event: Annotated[str | None, Choice(("queue", "issue", "complete"))] = None
    """Event of blkparse, blktrace and ftrace traces that is taken as the request. Default: issue,
    if the trace has it."""
    repeat: Annotated[int, COUNT] = 1
    """Replay the trace this many times."""

    def config(self, path: Path) -> Config:
        """The load of a trace, as the core takes it."""
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        given["device"] = given.pop("only_device")
        return {"trace": {"path": fspath(path)} | _without_none(given)}


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """Which pattern."""

    GROUP: ClassVar = "Load"
    pattern: Annotated[str, Choice(PATTERNS)]
    """Access pattern."""


@dataclass(frozen=True, kw_only=True)
class PatternOrTrace:
    """A pattern that takes the place of a trace."""

    GROUP: ClassVar = "Load"
    pattern: Annotated[str | None, Choice(PATTERNS)] = None
    """Access pattern, in place of a trace."""


@dataclass(frozen=True, kw_only=True)
class BenchLoad:
    """A pattern of requests. An option that the pattern does not use is an error."""

    GROUP: ClassVar = "Load"
    size: Annotated[str | None, SIZE] = None
    """Request size. Default: 4KiB."""
    requests: Annotated[int, COUNT] = 100_000
    """Number of requests."""
    span: Annotated[str | None, SIZE] = None
    """Size of the address range that the pattern covers. Default: the whole device, or its
    preconditioned part."""
    read_share: Annotated[float | None, SHARE] = None
    """mixed, hot-cold, zipf: fraction of reads. Default: 0.7 for mixed, else 0."""
    hot_space: Annotated[float | None, SHARE] = None
    """hot-cold: fraction of the span that is hot. Default: 0.1."""
    hot_share: Annotated[float | None, SHARE] = None
    """hot-cold: fraction of requests to the hot part. Default: 0.9."""
    exponent: Annotated[float | None, Number("S")] = None
    """zipf: exponent. Default: 0.99."""
    way: Annotated[str | None, Choice(("read", "write"))] = None
    """gordon-pair: operation. Default: read."""
    queues: Annotated[int | None, COUNT] = None
    """Number of submission queues, used round-robin. Default: 1."""
    every: Annotated[str | None, TIME] = None
    """Time between arrivals in an open loop. Default: a closed loop with 32 requests
    outstanding."""
    fsync: Annotated[int | None, COUNT] = None
    """Flush after each N writes. --requests does not count the flushes, and the result does.
    Default: no flushes."""
    order: Annotated[str | None, Choice(("random", "sequential"))] = None
    """gordon-pair: order of the regions. Default: random."""

    def config(self, pattern: str) -> Config:
        """The load of a pattern, as the core takes it."""
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"bench": {"pattern": pattern} | _without_none(given)}


def _without_none(given: Config) -> Config:
    return {key: value for key, value in given.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Host:
    """How the host issues requests."""

    GROUP: ClassVar = "Load"
    closed_loop: bool = False
    """Keep a constant number of requests outstanding and ignore the times of the load."""
    gaps: bool = False
    """Issue each request after the previous one is complete and the gap between their times in the
    load has passed."""
    queue_depth: Annotated[int | None, COUNT] = None
    """Maximum number of requests outstanding at the device. Default: 32 in a closed loop, 1 with
    gaps, no limit for arrivals."""
    queue_by: Annotated[str, Choice(("one", "device", "process"))] = "one"
    """Submission queues: a single one, one per device of the trace, or one per process."""
    speed: Annotated[float | None, NUMBER] = None
    """Speed up the arrivals of the load by this factor. Default: 1."""
    split: Annotated[str | None, SIZE] = None
    """Split larger requests into device requests of at most this size. Default: do not split."""
    fit: Annotated[str, Choice(("error", "wrap"))] = "error"
    """Handling of addresses past the end: report an error, or take them modulo the capacity."""
    weights: Annotated[Sequence[int], Wholes(least=0)] = ()
    """Numbers of requests that the queues issue per round, in the order of the queues. Default: 1
    each."""
    seed: Annotated[int, SEED] = 1
    """Random seed. The same seed gives the same results."""
    requests_out: Annotated[Path | None, Text("FILE.parquet"), Group("Output")] = None
    """Write a row for each request."""

    def host(self) -> Config:
        """The host, as the core takes it. Raises GordonError for options that exclude each
        other."""
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
        """The options with these names, which are paths, as text."""
        given = {name: getattr(self, name) for name in names}
        return {name: None if path is None else fspath(path) for name, path in given.items()}
