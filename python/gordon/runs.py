"""Runs that all simulated devices have in common.

The options become one JSON config per device for the core, which reads the load, simulates, and
returns a summary and tables. This module checks only what the core cannot see: options that
contradict each other and comparisons that are not defined.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Generic, TypeVar

from gordon import _core
from gordon.errors import GordonError
from gordon.options import Device, Path, Progress, dealt
from gordon.options.loads import BenchLoad, Host, TraceLoad
from gordon.results import CheckpointError, Comparison, DeviceRun, Run
from gordon.untyped import Config, Given

FILES = ("requests_out", "responses_out", "checkpoint")
"""Options that name an output file of a single run."""


@dataclass(frozen=True, kw_only=True)
class RunOptions(Host, ABC):
    """Options of a run; each kind of device adds its own."""

    @abstractmethod
    def config(self, load: Config, device: Device) -> Config:
        """The core's config."""

    @abstractmethod
    def name(self, device: Device) -> str:
        """The name of the device in results."""

    @abstractmethod
    def run(self, config: str, progress: Progress | None) -> _core.RunResult:
        """Runs a config (JSON)."""

    @abstractmethod
    def run_all(
        self, configs: list[tuple[str, str]], progress: Progress | None
    ) -> list[_core.RunResult]:
        """Runs several configs (name, JSON), one device per core."""


def as_json(config: Mapping[str, object]) -> str:
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


def check_names(names: Sequence[str]) -> None:
    """Raises GordonError for fewer than two devices, or for two of the same name."""
    if len(names) < 2:
        raise GordonError(
            "a comparison needs at least two devices",
            "names of presets, or TOML files, after the trace or --pattern",
            kind="too-few-devices",
        )
    for name in names:
        if names.count(name) > 1:
            raise GordonError(
                f"two devices have the name {name}", "rename one of the files", kind="same-name"
            )


R = TypeVar("R", bound=Run[DeviceRun])


@dataclass(frozen=True)
class Kind(Generic[R]):
    """A kind of device: the options and the results of its runs."""

    options: type[RunOptions]
    result: type[R]

    def run(
        self,
        load: type[TraceLoad | BenchLoad],
        source: Path,
        device: Device,
        progress: Progress | None,
        options: Given,
    ) -> R:
        """Runs a trace or a pattern on one device."""
        about, how = dealt(options, load, self.options)
        _agree(about, how)
        config = as_json(how.config(about.config(source), device))
        ran = how.run(config, progress)
        result = self.result(how.name(device), ran)
        try:
            ran.kept()
        except GordonError as error:
            raise CheckpointError(result, error.message, error.hint, error.kind) from None
        return result

    def compare(
        self,
        trace: Path | None,
        pattern: str | None,
        devices: Sequence[Device],
        progress: Progress | None,
        options: Given,
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
        check_names([how.name(device) for device in devices])
        _agree(load, how)
        about = load.config(trace if pattern is None else pattern)
        return Comparison(self.run_all(about, how, devices, progress))

    def run_all(
        self,
        load: Config,
        how: RunOptions,
        devices: Sequence[Device],
        progress: Progress | None,
    ) -> list[R]:
        """Runs a load, as the core takes it, on several devices, one device per core."""
        called = [how.name(device) for device in devices]
        configs = [as_json(how.config(load, device)) for device in devices]
        runs = how.run_all(list(zip(called, configs, strict=True)), progress)
        return [self.result(*one) for one in zip(called, runs, strict=True)]
