"""The file of a sweep, checked, and its configurations.

    command = "flash bench"
    objectives = ["write.latency_us.p99:min", "energy_j:min"]

    [settings]
    pattern = "random-write"

    [ranges]
    ftl.victim = ["greedy", "cost-benefit"]
    queue_depth = { from = 1, to = 64, factor = 2 }

A configuration is a number: the ranges are its digits, the last one the lowest.
"""

import hashlib
import os
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from pathlib import Path
from typing import Any

from gordon import own, parts, tables
from gordon.errors import GordonError, located
from gordon.files import read_text
from gordon.sweep import axes
from gordon.sweep.commands import INPUTS, NAMES_OR_FILES, Command, Values, find
from gordon.untyped import Config

KEYS = ("command", "settings", "ranges", "sample", "sample_seed", "objectives")
#: Configurations of a sweep: all rows are in memory, with up to two hundred columns.
MOST = 100_000
WAYS = ("min", "max")


@dataclass(frozen=True)
class Objective:
    """A number of a row, to be minimised or maximised."""

    name: str
    way: str

    @property
    def sign(self) -> int:
        """1 if less is better, else -1."""
        return 1 if self.way == "min" else -1

    def __str__(self) -> str:
        return f"{self.name}:{self.way}"


@dataclass(frozen=True)
class Sweep:
    """A sweep. Its configurations are combinations of one value of each range."""

    command: Command
    settings: Values
    ranges: dict[str, list[Any]]
    sample: int | None
    sample_seed: int
    objectives: list[Objective]
    folder: Path
    """Folder to which the file's own paths are relative."""

    @property
    def product(self) -> int:
        """Number of all combinations."""
        return prod(map(len, self.ranges.values()))

    @cached_property
    def chosen(self) -> list[int]:
        """The configurations to run, in order."""
        if self.sample is None or self.sample >= self.product:
            return list(range(self.product))
        draw = random.Random(self.sample_seed)  # noqa: S311 reproducible, not secret
        return sorted(draw.sample(range(self.product), self.sample))

    def parameters(self, number: int) -> Values:
        """The value of each range in a configuration."""
        found: Values = {}
        for name, values in reversed(self.ranges.items()):
            number, digit = divmod(number, len(values))
            found[name] = values[digit]
        return {name: found[name] for name in self.ranges}

    def values(self, number: int) -> Values:
        """The settings and the value of each range, with the paths of files completed."""
        written = self.settings | self.parameters(number)
        return {name: self._complete(name, value) for name, value in written.items()}

    @property
    def paths(self) -> list[str]:
        """The files and folders that the sweep reads."""
        return [self._at(file) for file in self._files]

    @cached_property
    def inputs(self) -> dict[str, str]:
        """The files and folders that the sweep reads, as written, and their SHA-256. Raises
        GordonError for one that cannot be read."""
        return {file: digest(self._at(file)) for file in self._files}

    def inputs_of(self, number: int) -> dict[str, str]:
        """The files and folders that a configuration reads."""
        written = self.settings | self.parameters(number)
        read = [file for k, v in written.items() if (file := self._file(k, v)) is not None]
        return {file: self.inputs[file] for file in read}

    @property
    def _files(self) -> list[str]:
        lists = {name: [value] for name, value in self.settings.items()} | self.ranges
        found = (self._file(name, value) for name, values in lists.items() for value in values)
        return [file for file in found if file is not None]

    def _file(self, name: str, value: Any) -> str | None:
        """The file or folder that a value names, as written. None: it names none."""
        written = str(value)
        if name in INPUTS:
            return written
        if own.is_place(value):
            return written.rpartition(":")[0]
        may_be_file = name in NAMES_OR_FILES and written not in _names()
        return written if may_be_file and Path(self._at(written)).is_file() else None

    def _at(self, file: str) -> str:
        return str((self.folder / file).absolute())

    def _complete(self, name: str, value: Any) -> Any:
        """A value whose path, if it has one, is complete. A policy is `FILE.py:CLASS`."""
        file = self._file(name, value)
        return value if file is None else self._at(file) + str(value).removeprefix(file)

    def check(self) -> None:
        """Raises GordonError for a value that the command refuses, or an unreadable file."""
        first = self.parameters(0)
        self.command.parse(self.values(0))
        for name, values in self.ranges.items():
            for value in values[1:]:
                given = self.settings | first | {name: value}
                self.command.parse({k: self._complete(k, v) for k, v in given.items()})
        _ = self.inputs


def load(file: str | os.PathLike[str]) -> Sweep:
    """Reads and checks the file of a sweep. Raises GordonError."""
    path = Path(file)
    text = read_text(path, "the sweep", "a TOML file: `gordon sweep --help`")
    with located(str(path)):
        return parse(tables.parse(text), path.parent)


def parse(table: Config, folder: Path) -> Sweep:
    """Checks the content of a sweep's file, whose paths are relative to `folder`. Raises
    GordonError."""
    for name in table:
        if name not in KEYS:
            raise parts.unknown("key", name, list(KEYS))
    if not isinstance(table.get("command"), str):
        raise GordonError(
            "the sweep names no command", 'command = "flash bench"', kind="no-command"
        )
    command = find(table["command"])
    settings = dict(_flat("settings", _table(table, "settings"), ranges=False))
    ranges = {
        name: axes.values(f"ranges.{name}", given)
        for name, given in _flat("ranges", _table(table, "ranges"), ranges=True)
    }
    for where, names in (("settings", settings), ("ranges", ranges)):
        for name in names:
            with located(f"[{where}]"):
                command.check_key(name)
    both = [name for name in ranges if name in settings]
    if both:
        raise GordonError(
            f"{both[0]} is in [settings] and in [ranges]",
            "give it in one of them only",
            kind="duplicate-key",
        )
    if not ranges:
        raise GordonError(
            "the sweep has no ranges",
            "[ranges] with at least one key, such as queue_depth = [1, 8, 64]",
            kind="no-ranges",
        )
    sweep = Sweep(
        command,
        settings,
        ranges,
        _count(table, "sample", 1),
        _count(table, "sample_seed", 0) or 0,
        _objectives(table, command),
        folder,
    )
    _check_size(sweep, "sample_seed" in table)
    sweep.check()
    return sweep


def _check_size(sweep: Sweep, seeded: bool) -> None:
    if sweep.sample is None and seeded:
        raise GordonError(
            "sample_seed has no effect without sample",
            "sample = 1000, or leave out sample_seed",
            kind="no-sample",
        )
    count = sweep.product if sweep.sample is None else min(sweep.sample, sweep.product)
    if count > MOST or sweep.product > sys.maxsize:
        raise GordonError(
            f"the sweep has {count:,} configurations of {sweep.product:,}, which are too many",
            f"sample = 10000 takes at most {MOST:,} of at most {sys.maxsize:,}; or fewer values",
            kind="too-many-configurations",
        )


def _table(table: Config, name: str) -> Config:
    found = table.get(name, {})
    if not isinstance(found, dict):
        raise GordonError(f"{name} is not a table", f"[{name}]", kind="bad-config")
    return found


def _flat(where: str, table: Config, *, ranges: bool) -> Iterator[tuple[str, Any]]:
    """The dotted keys of nested tables, options with `_`. Raises GordonError for a key given
    twice."""
    seen: set[str] = set()
    for path, value in _leaves(table, "", ranges):
        name = path if "." in path else path.replace("-", "_")
        if name in seen:
            raise GordonError(
                f"[{where}] has the key {name} twice", "give it once", kind="duplicate-key"
            )
        seen.add(name)
        yield name, value


def _leaves(table: Config, before: str, ranges: bool) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict) and not (ranges and axes.is_range(value)):
            yield from _leaves(value, f"{before}{name}.", ranges)
        else:
            yield before + name, value


def _count(table: Config, name: str, least: int) -> int | None:
    value = table.get(name)
    if value is not None and (type(value) is not int or value < least):
        raise GordonError(
            f"{name} = {value!r} is not a whole number of at least {least}",
            f"{name} = 1000",
            kind="bad-value",
        )
    return value


def _objectives(table: Config, command: Command) -> list[Objective]:
    given = table.get("objectives", list(command.objectives))
    if not isinstance(given, list) or not given:
        raise GordonError(
            "objectives is not a list of names",
            f'["{command.objectives[0]}"]',
            kind="bad-objective",
        )
    found: list[Objective] = []
    for one in given:
        name, _, way = str(one).rpartition(":")
        if not name or way not in WAYS:
            raise GordonError(
                f"objectives: {one!r} is not NAME:min or NAME:max",
                f'"{command.objectives[0]}"',
                kind="bad-objective",
            )
        if name in [objective.name for objective in found]:
            raise GordonError(
                f"objectives has {name} twice", "each name once", kind="bad-objective"
            )
        found.append(Objective(name, way))
    return found


@cache
def _names() -> frozenset[str]:
    """The names of shipped devices and designs."""
    return frozenset(name for kind in ("flash", "disk", "flashcache") for name in parts.names(kind))


def digest(path: str) -> str:
    """The SHA-256 of a file, or of the names and files of a folder. Raises GordonError."""
    found = hashlib.sha256()
    at = Path(path)
    try:
        if at.is_dir():
            for inner in sorted(one for one in at.rglob("*") if one.is_file()):
                found.update(f"{inner.relative_to(at)}\0{digest(str(inner))}\0".encode())
            return found.hexdigest()
        if not at.is_file():
            why = "not a file or folder" if at.exists() else "No such file or directory"
            raise GordonError(
                f"cannot read {path}: {why}",
                "paths are relative to the folder of the sweep's file",
                kind="unreadable-file",
            )
        with at.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except GordonError:
        raise
    except OSError as error:
        raise GordonError(
            f"cannot read {path}: {error.strerror}", "", kind="unreadable-file"
        ) from None
