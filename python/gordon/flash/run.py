"""From options to a run: one JSON config a device goes to the core."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from os import PathLike, fspath
from typing import Any

from gordon import _core
from gordon.flash import device as devices
from gordon.flash.device import DEFAULT, Device
from gordon.flash.result import Comparison, Result
from gordon.parts import unknown

Path = str | PathLike[str]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What any run may be told. Sizes and times are text (`64KiB`, `10us`)."""

    set_values: Sequence[str] = ()
    """`KEY=VALUE` each: any value of the device, as `ftl.victim=fifo`; `capacity` scales it."""
    super_page: str | None = None
    """Size of a super-page, striped over buses, then planes, then dies."""
    write_points: int | None = None
    """Super-pages that are open to writes."""
    precondition: float | None = None
    """Part of the exported capacity that is mapped before, in the steady state of random
    overwrites."""
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
    from_checkpoint: Path | None = None
    """The device as `checkpoint` kept it, instead of a new one."""
    checkpoint: Path | None = None
    """A file for what the device has become."""

    def config(self, load: dict[str, Any], device: Device) -> str:
        """The core's config."""
        if self.closed_loop and self.gaps:
            raise _core.GordonError("closed loop and gaps exclude each other", "one of them")
        pacing = "closed" if self.closed_loop else "gaps" if self.gaps else None
        made, capacity = devices.changed(
            device, self.set_values, self.super_page, self.write_points
        )
        host = {
            "pacing": pacing,
            "speed": 1.0 if self.speed is None else self.speed,
            "queue_depth": self.queue_depth,
            "split": self.split,
            "fit": self.fit,
            "queue_by": self.queue_by,
            "weights": list(self.weights),
        }
        paths = ("requests_out", "from_checkpoint", "checkpoint")
        given = {name: getattr(self, name) for name in paths}
        files = {name: None if path is None else fspath(path) for name, path in given.items()}
        config = {
            "device": made,
            "load": load,
            "host": host,
            "precondition": self.precondition,
            "seed": self.seed,
        } | files
        if capacity is not None:
            config["capacity"] = capacity
        return json.dumps(config)


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


def _dealt(options: dict[str, Any], *to: type[Any]) -> list[Any]:
    """The options as instances of the classes that have them; an option of none is an error."""
    hands: list[dict[str, Any]] = [{} for _ in to]
    known = [[f.name for f in fields(kind)] for kind in to]
    for name, value in options.items():
        at = next((i for i, names in enumerate(known) if name in names), None)
        if at is None:
            raise unknown("option", name, [name for names in known for name in names])
        hands[at][name] = value
    return [kind(**hand) for kind, hand in zip(to, hands, strict=True)]


def replay(
    trace: Path, device: Device = DEFAULT, *, progress: Progress | None = None, **options: Any
) -> Result:
    """Replays a block trace on a simulated device: a preset's name, a TOML file, or its content.

    Options are those of `TraceLoad` and `Options`. `progress` is called with (done, total)
    requests.
    """
    load, how = _dealt(options, TraceLoad, Options)
    config = how.config(load.config(trace), device)
    return Result(devices.name(device), _core.flash_run(config, progress))


def bench(
    pattern: str, device: Device = DEFAULT, *, progress: Progress | None = None, **options: Any
) -> Result:
    """Runs a pattern on a simulated device, in a closed loop of 32 unless told otherwise.

    Patterns: random-write, random-read, sequential-write, sequential-read, mixed, hot-cold, zipf,
    gordon-pair. Options are those of `BenchLoad` and `Options`.
    """
    load, how = _dealt(options, BenchLoad, Options)
    config = how.config(load.config(pattern), device)
    return Result(devices.name(device), _core.flash_run(config, progress))


def compare(
    trace: Path | None,
    devices_: Sequence[Device],
    *,
    pattern: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Comparison:
    """Gives several devices the same load, a trace or a pattern, one device a core.

    Options are those of `replay` or of `bench`, and are the same for all devices.
    """
    if (trace is None) == (pattern is None):
        raise _core.GordonError("a comparison has one load", "a trace, or a pattern")
    load, how = _dealt(options, TraceLoad if pattern is None else BenchLoad, Options)
    if how.requests_out is not None:
        raise _core.GordonError(
            "a file of requests is of one device", "`gordon flash replay` or `bench` for each"
        )
    if len(devices_) < 2:
        raise _core.GordonError(
            "a comparison needs two devices or more", "presets by name, or TOML files"
        )
    called = [devices.name(device) for device in devices_]
    for name in called:
        if called.count(name) > 1:
            raise _core.GordonError(f"two devices are called {name}", "rename a file")
    about = load.config(trace if pattern is None else pattern)
    runs = _core.flash_run_all([how.config(about, device) for device in devices_], progress)
    return Comparison([Result(name, run) for name, run in zip(called, runs, strict=True)])


def wa(
    policy: str = "greedy",
    rho: float = 0.8,
    *,
    pages_per_block: int = 64,
    blocks: int = 2048,
    choices: int | None = None,
    separate: bool = False,
    hot_space: float | None = None,
    hot_share: float | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """The write amplification of single-page random overwrites in the steady state, simulated by
    the translation layer; theory, where there is one, beside it.

    `rho` is logical pages for each page of the closed blocks. `choices` is d of `d-choices`,
    `separate` gives copies a write point of their own, `hot_share` of the writes go to `hot_space`
    of the pages.
    """
    config: dict[str, Any] = {
        "policy": policy,
        "rho": rho,
        "pages_per_block": pages_per_block,
        "blocks": blocks,
        "seed": seed,
        "separate": separate,
    }
    if choices is not None:
        config["choices"] = choices
    if hot_space is not None or hot_share is not None:
        space = 0.1 if hot_space is None else hot_space
        config["hot_cold"] = {"space": space, "share": 0.9 if hot_share is None else hot_share}
    told: dict[str, Any] = json.loads(_core.flash_wa(json.dumps(config), progress))
    return told
