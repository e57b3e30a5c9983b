"""Batches of timed probes, one request at a time, and the disks that answer them.

The extraction is written as generators that yield a batch of probes and are sent the times. A real
disk, a simulated disk and a log of either can answer the same probes.
"""

import json
from collections.abc import Callable, Generator
from dataclasses import dataclass
from os import fspath
from typing import Protocol, TypeVar

from gordon import _core
from gordon.arrays import NDArray, np
from gordon.disk.fit.report import Probed
from gordon.errors import GordonError
from gordon.options import Path
from gordon.untyped import Config

READ, WRITE, FLUSH = 0, 1, 3

Floats = NDArray[np.float64]
Probes = tuple[list[int], list[int], list[int], list[int]]
"""Columns: operation, offset and length in bytes, nanoseconds after the previous completion."""
Progress = Callable[[str, int], None]
"""Called with the current step and the number of answered probes."""


@dataclass(frozen=True)
class Batch:
    """Probes: places and lengths in sectors, times in nanoseconds after the one before is done."""

    about: str
    sectors: list[int]
    length: int | list[int] = 1
    think: float | list[float] = 0.0
    op: int | list[int] = READ

    def columns(self, unit: int) -> Probes:
        """The probes as the core takes them; `sector` is the bytes of a sector."""
        count = len(self.sectors)
        length = self.length if isinstance(self.length, list) else [self.length] * count
        think = self.think if isinstance(self.think, list) else [self.think] * count
        op = self.op if isinstance(self.op, list) else [self.op] * count
        return (
            op,
            [sector * unit for sector in self.sectors],
            [sectors * unit for sectors in length],
            [round(after) for after in think],
        )


@dataclass(frozen=True)
class Timed:
    """The answers, in nanoseconds."""

    issued: Floats
    completed: Floats

    @property
    def took(self) -> Floats:
        """Response times."""
        return self.completed - self.issued


T = TypeVar("T")
Asking = Generator[Batch, Timed, T]


class Prober(Protocol):
    """A disk that answers probes. Sector and capacity are in bytes."""

    @property
    def sector(self) -> int: ...
    def capacity(self) -> int: ...
    def probe(self, probes: Probes) -> list[tuple[int, int]]: ...


class Recorder:
    """Passes probes on to a prober and keeps probes and answers for a log."""

    def __init__(self, prober: Prober) -> None:
        self._prober = prober
        self._probes: Probes = ([], [], [], [])
        self._answers: list[tuple[int, int]] = []

    @property
    def sector(self) -> int:
        return self._prober.sector

    def capacity(self) -> int:
        return self._prober.capacity()

    def probe(self, probes: Probes) -> list[tuple[int, int]]:
        answers = self._prober.probe(probes)
        for kept, new in zip(self._probes, probes, strict=True):
            kept.extend(new)
        self._answers.extend(answers)
        return answers

    @property
    def count(self) -> int:
        """Probes that were answered."""
        return len(self._answers)

    def write(self, path: Path, about: Config) -> None:
        """Writes the log: a row for each probe, and what was probed."""
        _core.probes_write(fspath(path), json.dumps(about), self._probes, self._answers)


#: Keys that every log has about itself.
_ABOUT = ("sector_bytes", "capacity_bytes", "seed", "write", "target", "probes")


class Recorded:
    """Answers from a log. Raises GordonError for a probe that the log does not have next."""

    def __init__(self, path: Path) -> None:
        self.path = fspath(path)
        about, (ops, *others), self._answers = _core.probes_read(self.path)
        self._probes = [list(ops), *others]
        self.about: Probed = json.loads(about)
        missing = [key for key in _ABOUT if key not in self.about]
        if missing:
            raise self._of_another_version(f"this log has no `{missing[0]}`")
        self._at = 0

    @property
    def sector(self) -> int:
        return int(self.about["sector_bytes"])

    def capacity(self) -> int:
        return int(self.about["capacity_bytes"])

    def probe(self, probes: Probes) -> list[tuple[int, int]]:
        first, self._at = self._at, self._at + len(probes[0])
        if any(
            kept[first : self._at] != new for kept, new in zip(self._probes, probes, strict=True)
        ):
            raise self._of_another_version(
                "the probes of this log are not those of this version of gordon"
            )
        return self._answers[first : self._at]

    def _of_another_version(self, what: str) -> GordonError:
        return GordonError(
            f"{self.path}: {what} (the log is of gordon {self.about.get('gordon', '?')})",
            "run `gordon disk probe` again",
            kind="log-of-another-version",
        )


def answered(asking: Asking[T], prober: Prober, progress: Progress | None = None) -> T:
    """Runs a generator of probes to its end and returns its result."""
    done = 0
    try:
        batch = next(asking)
        while True:
            times = np.array(prober.probe(batch.columns(prober.sector)), dtype=np.float64).reshape(
                -1, 2
            )
            done += len(times)
            if progress is not None:
                progress(batch.about, done)
            batch = asking.send(Timed(times[:, 0], times[:, 1]))
    except StopIteration as end:
        found: T = end.value
        return found
