"""The catalogue of parts: a TOML file per part, in a folder per kind; each number has a source."""

import json
from copy import deepcopy
from pathlib import Path

from gordon import _core
from gordon.errors import GordonError
from gordon.untyped import Config

KINDS = ("cpu", "memory", "network", "overhead", "supply", "flash", "disk")
STORAGE = ("flash", "disk")

Part = Config

_HERE = Path(__file__).parent


def names(kind: str) -> list[str]:
    """The names of the shipped parts of a kind, sorted."""
    return sorted(file.stem for file in (_HERE / kind).glob("*.toml"))


def text(kind: str, name: str) -> str:
    """The TOML text of a part."""
    return (_HERE / kind / f"{name}.toml").read_text(encoding="utf-8")


def load(kind: str, name: str) -> Part:
    """The content of a part, checked by the core."""
    part: Part = json.loads(_core.load_toml(kind, text(kind, name), f"{kind}/{name}.toml"))
    return part


class Catalogue:
    """The shipped parts, with the parts of a space added to them or replacing them.

    A part is read at its first use; `used` has these parts, for the core and the report.
    """

    def __init__(self, own: dict[str, dict[str, Part]] | None = None) -> None:
        self._own = own or {}
        self.used: dict[str, dict[str, Part]] = {kind: {} for kind in KINDS}

    @classmethod
    def shipped_first(cls, own: dict[str, dict[str, Part]] | None) -> "Catalogue":
        """A catalogue in which shipped parts take precedence; a space's own parts are copied."""
        return cls(
            {
                kind: {name: deepcopy(p) for name, p in parts.items() if name not in names(kind)}
                for kind, parts in (own or {}).items()
            }
        )

    def names(self, kind: str) -> list[str]:
        return sorted({*names(kind), *self._own.get(kind, {})})

    def get(self, kind: str, name: str) -> Part:
        if name in self.used[kind]:
            return self.used[kind][name]
        if name in self._own.get(kind, {}):
            part = self._own[kind][name]
        elif name in names(kind):
            part = load(kind, name)
        else:
            raise unknown(f"{kind} part", name, self.names(kind))
        self.used[kind][name] = part
        return part

    def storage_kind(self, name: str) -> str:
        """The kind of a storage part: `flash` or `disk`. Raises GordonError for an unknown name."""
        for kind in STORAGE:
            if name in self.names(kind):
                return kind
        known = [n for kind in STORAGE for n in self.names(kind)]
        raise unknown("flash or disk part", name, known)


#: Names that a hint lists, and characters of one that has another in its place.
LISTED, LONG = 30, 200


def unknown(what: str, name: str, known: list[str], instead: str = "") -> GordonError:
    """The error for an unknown name; the hint is the known names that begin with it, if they are
    few, else the nearest one, or all of them; `instead`, if it is given and these are long."""
    from difflib import get_close_matches

    start = name.lower()
    longer = [known_name for known_name in known if known_name.lower().startswith(start)]
    few = 1 <= len(longer) <= 3
    near = longer if few else get_close_matches(name, known, 1, cutoff=0.5)
    if near:
        hint = " or ".join(f"`{known_name}`" for known_name in near)
    elif known:
        more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
        hint = "one of " + ", ".join(f"`{k}`" for k in known[:LISTED]) + more
    else:
        hint = ""
    if instead and len(hint) > LONG:
        hint = instead
    return GordonError(f"there is no {what} `{name}`", hint, kind="unknown-name")
