"""`--set KEY=VALUE`: a value of the space or of a part, changed for one run.

Keys: `budget`, `node.memory`, `baseline.cpus`, ... of the space; `KIND.PART.KEY...` of a part, as
in `cpu.atom.ipc=0.6` or `disk.sata-7200-1tb.power.idle=5W`.
"""

import json
from typing import Any

from gordon import _core
from gordon.parts import KINDS, Catalogue, unknown

WHY = "set for this run with --set"
_SPACE_KEYS = ("budget", "node", "baseline")


def apply(settings: list[str], space: dict[str, Any], parts: Catalogue) -> None:
    """Changes the space and the parts in place; the core checks the values."""
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key or not text:
            raise _core.GordonError(f"--set {setting}: not KEY=VALUE", "--set cpu.atom.ipc=0.6")
        head, _, rest = key.partition(".")
        if head in KINDS:
            name = _part_name(head, rest, parts)
            table, path = parts.get(head, name), rest[len(name) + 1 :].split(".")
            _set(table, path, _parse(text), key, _properties(head))
        elif head in _SPACE_KEYS:
            _set(space, key.split("."), _parse(text), key, set(_SPACE_KEYS))
        else:
            raise unknown(f"--set key `{key}`: setting", head, [*_SPACE_KEYS, *KINDS])


def _part_name(kind: str, rest: str, parts: Catalogue) -> str:
    # Names may hold dots: the longest that fits is meant.
    for name in sorted(parts.names(kind), key=len, reverse=True):
        if rest.startswith(name + "."):
            return name
    raise unknown(f"{kind} part", rest.partition(".")[0], parts.names(kind))


def _set(table: dict[str, Any], path: list[str], new: Any, key: str, known: set[str]) -> None:
    *folders, leaf = path
    for folder in folders:
        inner = table.get(folder)
        if not isinstance(inner, dict) or "value" in inner:
            tables = [k for k, v in table.items() if isinstance(v, dict) and "value" not in v]
            raise unknown(f"--set {key}: table", folder, tables)
        table, known = inner, set()
    if leaf not in table and leaf not in known:
        raise unknown(f"--set {key}: key", leaf, sorted({*table, *known}))
    old = table.get(leaf)
    if isinstance(old, list) or (isinstance(old, dict) and "value" not in old):
        raise _core.GordonError(
            f"--set {key}: this is not one value but a table or a list",
            "set its keys one by one, or write a space file" if isinstance(old, dict) else "",
        )
    table[leaf] = {"value": new, "assumed": WHY} if isinstance(old, dict) else new


def _properties(kind: str) -> set[str]:
    return set(json.loads(_core.schema(kind)).get("properties", {}))


def _parse(text: str) -> Any:
    """A number or a truth value where it reads as one, else text."""
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
