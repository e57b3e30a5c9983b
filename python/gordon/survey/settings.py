"""`--set KEY=VALUE`: a value of the space or of a part, changed for one run.

Keys: `budget`, `node.memory`, `baseline.cpus`, ... of the space; `KIND.PART.KEY...` of a part, as
in `cpu.atom.ipc=0.6` or `disk.sata-7200-1tb.power.idle=5W`.
"""

from typing import Any

from gordon.errors import GordonError
from gordon.parts import KINDS, Catalogue, unknown
from gordon.settings import change, split

_SPACE_KEYS = ("budget", "node", "baseline")


def apply(settings: list[str], space: dict[str, Any], parts: Catalogue) -> None:
    """Changes the space and the parts in place; the core checks the values."""
    for setting in settings:
        key, text = split(setting, "cpu.atom.ipc=0.6")
        head, _, rest = key.partition(".")
        if head in KINDS:
            name = _part_name(head, rest, parts)
            change(head, parts.get(head, name), rest[len(name) + 1 :], text, key)
        elif head in _SPACE_KEYS:
            change("space", space, key, text)
        else:
            error = unknown("setting", head, [*_SPACE_KEYS, *KINDS])
            raise GordonError(f"--set {key}: {error.args[0]}", error.args[1], error.kind)


def _part_name(kind: str, rest: str, parts: Catalogue) -> str:
    # Names may hold dots: the longest that fits is meant.
    for name in sorted(parts.names(kind), key=len, reverse=True):
        if rest.startswith(name + "."):
            return name
    raise unknown(f"{kind} part", rest.partition(".")[0], parts.names(kind))
