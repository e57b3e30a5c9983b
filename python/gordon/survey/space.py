"""A space: a TOML file, shipped or your own, with a grid of designs, or machines, or both."""

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from gordon import _core
from gordon.parts import Catalogue, unknown
from gordon.quantity import number

Space = dict[str, Any]

#: Keys of a grid, which needs all of them.
_GRID = ("budget", "baseline", "node", "processors", "storage")


@dataclass(frozen=True)
class Design:
    """One node: processors with one storage."""

    id: str
    cpu: str
    clock: str
    cpus: int
    storage: str
    count: int

    @property
    def key(self) -> tuple[str, float, int, str, int]:
        """The identity of a design, independent of its name and of the spelling of its clock."""
        return (self.cpu, number(self.clock), self.cpus, self.storage, self.count)


def names() -> list[str]:
    """The names of the shipped spaces."""
    folder = files("gordon.survey") / "spaces"
    return sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith(".toml"))


def text(name: str) -> str:
    """The TOML text of a shipped space."""
    return (files("gordon.survey") / "spaces" / f"{name}.toml").read_text(encoding="utf-8")


def load(space: str) -> Space:
    """A shipped space or a file, checked by the core. Raises GordonError."""
    if space in names():
        content, origin = text(space), f"{space}.toml"
    elif "/" in space or space.endswith(".toml") or Path(space).is_file():
        try:
            content, origin = Path(space).read_text(encoding="utf-8"), space
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "not a text file"
            raise _core.GordonError(
                f"cannot read the space {space}: {why}",
                "`gordon spaces` lists the shipped spaces",
                kind="unreadable-file",
            ) from None
    else:
        raise unknown("space", space, names())
    loaded: Space = json.loads(_core.load_toml("space", content, origin))
    _check(loaded, origin)
    return loaded


def has_grid(space: Space) -> bool:
    """Whether the space has a grid of designs."""
    return "processors" in space


def machines(space: Space) -> list[dict[str, Any]]:
    """The machines of the space."""
    listed: list[dict[str, Any]] = space.get("machines", [])
    return listed


def _check(space: Space, origin: str) -> None:
    given = [key for key in _GRID if key in space]
    missing = [key for key in _GRID if key not in space]
    if missing and (given or "machines" not in space):
        raise _core.GordonError(
            f"{origin}: missing field `{missing[0]}`",
            f"a grid of designs needs {', '.join(_GRID)}; a list of machines needs none of them",
            kind="bad-config",
        )
    if not (given or machines(space)):
        raise _core.GordonError(
            f"{origin}: the list of machines is empty",
            "give at least one [[machines]]",
            kind="no-designs",
        )


def expand(space: Space) -> list[Design]:
    """All combinations of processors and storage, in the order of the file. Raises GordonError."""
    designs = [
        Design(
            _name(p["part"], clock, cpus, _label(s, count)),
            p["part"],
            clock,
            cpus,
            s["part"],
            count,
        )
        for p in space["processors"]
        for clock in p["clocks"]
        for cpus in p["counts"]
        for s in space["storage"]
        for count in s["counts"]
    ]
    if not designs:
        raise _core.GordonError(
            f"the space `{space['name']}` has no design",
            "give processors at least one clock and count, and storage at least one count",
            kind="no-designs",
        )
    seen: set[str] = set()
    for design in designs:
        if design.id in seen:
            raise _core.GordonError(
                f"the space `{space['name']}` has two designs `{design.id}`",
                "give each storage its own label, and list each choice once",
                kind="same-name",
            )
        seen.add(design.id)
    return designs


def baseline(space: Space, designs: list[Design]) -> Design:
    """The design to which times and energies are relative; it may be outside of the grid."""
    b = space["baseline"]
    design = Design(_name(b["cpu"], b["clock"], b["cpus"], f"{b['storage']}-x{b['count']}"), **b)
    return next((d for d in designs if d.key == design.key), design)


def use(parts: Catalogue, space: Space, designs: list[Design]) -> None:
    """Reads all parts of the designs. Raises GordonError for an unknown part."""
    for kind in ("memory", "network", "overhead"):
        parts.get(kind, space["node"][kind])
    for design in designs:
        parts.get("cpu", design.cpu)
        parts.get(parts.storage_kind(design.storage), design.storage)


def _name(cpu: str, clock: str, cpus: int, storage: str) -> str:
    return f"{cpu}-{number(clock) / 1e9:g}GHz-x{cpus}-{storage}"


def _label(storage: dict[str, Any], count: int) -> str:
    """The count follows the label, unless one of it is all there is to choose."""
    label: str = storage["label"]
    return label if storage["counts"] == [1] else f"{label}{count}"
