"""What any simulated device may be asked for, and how: one JSON config goes to the core; and what a
run comes to.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from os import PathLike, fspath
from typing import Any

from gordon import _core
from gordon.parts import unknown

Path = str | PathLike[str]
Progress = Callable[[int, int], None]


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


def _without_none(given: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None}


def dealt(options: dict[str, Any], *to: type[Any]) -> list[Any]:
    """The options as instances of the classes that have them; an option of none is an error."""
    hands: list[dict[str, Any]] = [{} for _ in to]
    known = [[f.name for f in fields(kind)] for kind in to]
    for name, value in options.items():
        at = next((i for i, names in enumerate(known) if name in names), None)
        if at is None:
            raise unknown("option", name, [name for names in known for name in names])
        hands[at][name] = value
    return [kind(**hand) for kind, hand in zip(to, hands, strict=True)]


class Run:
    """What one run comes to: `report` is the summary, tables are Arrow columns."""

    def __init__(self, name: str, core: _core.RunResult) -> None:
        self.name = name
        self._core = core

    @cached_property
    def report(self) -> dict[str, Any]:
        """The summary; keys are in snake_case and carry their units."""
        report: dict[str, Any] = json.loads(self._core.json())
        return report

    @property
    def tables(self) -> list[str]:
        """The names of the tables."""
        return self._core.tables()

    def table(self, name: str) -> _core.RunTable:
        """A table, for anything that takes Arrow: `pyarrow.table(t)`, `polars.DataFrame(t)`."""
        return self._core.table(name)

    def columns(self, name: str) -> dict[str, list[Any]]:
        """A table's columns as lists, by name."""
        columns: dict[str, list[Any]] = json.loads(self.table(name).json())
        return columns

    def to_parquet(self, folder: str | PathLike[str]) -> None:
        """Writes each table into the folder, as NAME.parquet."""
        self._core.write_parquet(fspath(folder))

    def __repr__(self) -> str:
        report = self.report
        return (
            f"<{type(self).__module__.rpartition('.')[0]}.Result {self.name}: "
            f"{report['requests']} requests in {report['simulated_s']:.3g} s>"
        )


def load_of(report: dict[str, Any]) -> str:
    """What it was asked for, in words."""
    config = report["provenance"]["config"]
    load, precondition = config["load"], config.get("precondition")
    if "trace" in load:
        text = str(load["trace"]["path"])
        if load["trace"]["repeat"] > 1:
            text += f", {load['trace']['repeat']} times"
    else:
        load = load["bench"]
        text = f"{load['pattern']} {load.get('size') or '4KiB'}"
        if load["pattern"] == "gordon-pair":
            text = "gordon-pair: 8 KiB, then the other 120 KiB of 128"
    if precondition is not None:
        text += f", {precondition:.0%} preconditioned"
    return text
