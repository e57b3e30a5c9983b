"""The catalogue of parts: a TOML file per part, in a folder per kind; each number has a source."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

from gordon import _core

KINDS = ("cpu", "memory", "network", "overhead", "flash", "disk")
STORAGE = ("flash", "disk")

Part = dict[str, Any]

_HERE = Path(__file__).parent


def names(kind: str) -> list[str]:
    """The parts of a kind that the catalogue has, in order."""
    return sorted(file.stem for file in (_HERE / kind).glob("*.toml"))


def text(kind: str, name: str) -> str:
    """The part's file as it is."""
    return (_HERE / kind / f"{name}.toml").read_text(encoding="utf-8")


def load(kind: str, name: str) -> Part:
    """The part, checked by the core."""
    part: Part = json.loads(_core.load_toml(kind, text(kind, name), f"{kind}/{name}.toml"))
    return part


class Catalogue:
    """The shipped parts, with a space's own parts added or standing in for them.

    A part is read when it is first asked for; `used` are those, which a survey is then run with.
    """

    def __init__(self, own: dict[str, dict[str, Part]] | None = None) -> None:
        self._own = own or {}
        self.used: dict[str, dict[str, Part]] = {kind: {} for kind in KINDS}

    @classmethod
    def shipped_first(cls, own: dict[str, dict[str, Part]] | None) -> "Catalogue":
        """With a space's own parts only where nothing of their name is shipped, as copies."""
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
        """`flash` or `disk`: which of them the storage part of this name is."""
        for kind in STORAGE:
            if name in self.names(kind):
                return kind
        known = [n for kind in STORAGE for n in self.names(kind)]
        raise unknown("flash or disk part", name, known)


def unknown(what: str, name: str, known: list[str]) -> _core.GordonError:
    """There is no such name; to try: the nearest, or any of those there are."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1, cutoff=0.5)
    if near:
        hint = f"`{near[0]}`"
    elif known:
        hint = "one of " + ", ".join(f"`{k}`" for k in known)
    else:
        hint = ""
    return _core.GordonError(f"there is no {what} `{name}`", hint, kind="unknown-name")
