"""What runs of any kind are told, from their keyword arguments."""

from collections.abc import Callable
from dataclasses import fields
from os import PathLike
from typing import Any

Path = str | PathLike[str]
Progress = Callable[[int, int], None]


def dealt(options: dict[str, Any], *to: type[Any]) -> list[Any]:
    """The options as instances of the classes that have them; an option of none is an error."""
    hands: list[dict[str, Any]] = [{} for _ in to]
    known = [[f.name for f in fields(kind)] for kind in to]
    for name, value in options.items():
        at = next((i for i, names in enumerate(known) if name in names), None)
        if at is None:
            from gordon.parts import unknown

            raise unknown("option", name, [name for names in known for name in names])
        hands[at][name] = value
    return [kind(**hand) for kind, hand in zip(to, hands, strict=True)]
