"""A space: a TOML file, shipped or your own, with a grid of designs, or machines, or both."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from gordon import _core
from gordon.errors import GordonError
from gordon.files import read_text
from gordon.parts import Catalogue, unknown
from gordon.survey import quotas
from gordon.untyped import Config

Space = Config

#: Start of the errors about a value of a space.
_OF_SPACE = re.compile(
    r"(machine|design|cpu|memory|network|overhead|flash|disk|storage) `|the space has"
    r"|there is no [a-z ]+ part `"
)
#: Keys of a grid, which needs all of them.
_GRID = ("budget", "baseline", "node", "processors", "storage")


def names() -> list[str]:
    """The names of the shipped spaces."""
    folder = files("gordon.survey") / "spaces"
    return sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith(".toml"))


def text(name: str) -> str:
    """The TOML text of a shipped space."""
    return (files("gordon.survey") / "spaces" / f"{name}.toml").read_text(encoding="utf-8")


def path(space: str) -> str | None:
    """The file of a space; None for a shipped one or an unknown name."""
    is_path = "/" in space or space.endswith(".toml") or Path(space).is_file()
    return space if space not in names() and is_path else None


def origin(space: str) -> str:
    """The file of a space as errors name it."""
    return path(space) or f"{space}.toml"


def read(space: str) -> str:
    """The TOML text of a shipped space or a file. Raises GordonError."""
    if space in names():
        return text(space)
    if path(space) is None:
        raise unknown("space", space, names())
    return read_text(space, "the space", "`gordon spaces` lists the shipped spaces")


def load(space: str) -> Space:
    """A shipped space or a file, checked by the core. Files of measured storage, which are relative
    to the space, become relative to the working directory. Cores may be fractions
    (`gordon.survey.quotas`). Raises GordonError."""
    content, fractions = quotas.without(read(space), origin(space))
    loaded: Space = json.loads(_core.load_toml("space", content, origin(space)))
    _check(loaded, origin(space))
    loaded["name"] = loaded["name"] or Path(origin(space)).stem
    folder = Path(path(space) or "").parent
    for machine in machines(loaded):
        machine["cores"] = fractions.get(machine["id"], machine["cores"])
        for storage in storages(machine):
            if "measured" in storage:
                storage["measured"] = str(folder / storage["measured"])
    return loaded


@contextmanager
def blamed(space: str, settings: Sequence[str]) -> Iterator[None]:
    """Adds the file of the space to errors about its values. With settings the value may be that of
    a setting, and the error stays as it is."""
    try:
        yield
    except GordonError as error:
        if settings or not _OF_SPACE.match(error.message):
            raise
        raise error.at(origin(space)) from None


def has_grid(space: Space) -> bool:
    """Whether the space has a grid of designs."""
    return "processors" in space


def machines(space: Space) -> list[Config]:
    """The machines of the space."""
    listed: list[Config] = space.get("machines", [])
    return listed


def storages(machine: Config) -> list[Config]:
    """The storages of a machine: one, or those of a list."""
    storage: Config | list[Config] = machine["storage"]
    return storage if isinstance(storage, list) else [storage]


def count(space: Space) -> int:
    """Number of designs: those of the grid, and machines with each storage and network."""
    designs = 0
    if has_grid(space):
        processors = sum(len(p["clocks"]) * len(p["counts"]) for p in space["processors"])
        designs = processors * sum(len(storage["counts"]) for storage in space["storage"])
    for machine in machines(space):
        network = machine["network"]
        networks = len(network) if isinstance(network, list) else 1
        designs += len(storages(machine)) * networks
    return designs


def _check(space: Space, file: str) -> None:
    given = [key for key in _GRID if key in space]
    missing = [key for key in _GRID if key not in space]
    if not given and "machines" not in space:
        raise GordonError(
            f"{file}: there are no machines, and no grid of designs",
            "give at least one [[machines]]",
            kind="no-designs",
        )
    if missing and given:
        raise GordonError(
            f"{file}: missing field `{missing[0]}`",
            f"a grid of designs needs {', '.join(_GRID)}; a list of machines needs none of them",
            kind="bad-config",
        )
    if not (given or machines(space)):
        raise GordonError(
            f"{file}: the list of machines is empty",
            "give at least one [[machines]]",
            kind="no-designs",
        )


def use(parts: Catalogue, space: Space) -> None:
    """Reads all parts of the designs of a grid. Raises GordonError for an unknown part."""
    for kind in ("memory", "network", "overhead"):
        parts.get(kind, space["node"][kind])
    baseline = space["baseline"]
    for cpu in [choice["part"] for choice in space["processors"]] + [baseline["cpu"]]:
        parts.get("cpu", cpu)
    for storage in [choice["part"] for choice in space["storage"]] + [baseline["storage"]]:
        parts.get(parts.storage_kind(storage), storage)
