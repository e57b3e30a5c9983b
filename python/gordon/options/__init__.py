"""Splits keyword arguments over tables of options, and checks lists of arguments."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from os import PathLike
from typing import Any, TypeVar, overload

from gordon.options.kinds import SIZE, SIZES
from gordon.options.kinds import Size as SizeKind
from gordon.untyped import Config, Given

Path = str | PathLike[str]
Device = str | PathLike[str] | Config
"""A preset of the catalogue, a TOML file, or the content of such a file."""
Progress = Callable[[int, int], None]
Size = str | int
"""A number of bytes, or a text such as 64KiB."""
Settings = Mapping[str, Any] | str | Sequence[str]
"""Values of a device or a space to override, by their keys; or texts KEY=VALUE."""
Item = TypeVar("Item", str, Path)


def several(given: Item | Sequence[Item]) -> list[Item]:
    """The items of a list. A single string or path is a list of one item, not of characters."""
    return [given] if isinstance(given, str | PathLike) else list(given)


def words(command: Sequence[str]) -> list[str]:
    """The words of a command. Raises GordonError for a single string, which only a shell could
    split."""
    if isinstance(command, str):
        from gordon.errors import GordonError

        raise GordonError(
            f"the command {command!r} is a single string, not a list of words",
            "a list of words, as from shlex.split(command)",
            kind="command-is-text",
        )
    return list(command)


def dealt(options: Given, *to: type[Any]) -> list[Any]:
    """Splits options over the classes that have them. Raises GordonError for an unknown option."""
    hands: list[Given] = [{} for _ in to]
    known = [[f.name for f in fields(kind)] for kind in to]
    for name, value in options.items():
        at = next((i for i, names in enumerate(known) if name in names), None)
        if at is None:
            from gordon.parts import unknown

            raise unknown("option", name, [name for names in known for name in names])
        hands[at][name] = value
    for kind, hand in zip(to, hands, strict=True):
        _size(kind, hand)
    return [kind(**hand) for kind, hand in zip(to, hands, strict=True)]


def _size(table: type[Any], given: Given) -> None:
    """Gives sizes that are numbers of bytes as the texts that the core takes."""
    for field in fields(table):
        known = getattr(field.type, "__metadata__", ())
        is_size = any(one in (SIZE, SIZES) or isinstance(one, SizeKind) for one in known)
        if is_size and field.name in given:
            size = given[field.name]
            is_one = size is None or isinstance(size, str | int)
            option = f"--{field.name.replace('_', '-')}" if SIZE in known else ""
            given[field.name] = (
                in_bytes(size, option)
                if is_one or SIZE in known
                else [in_bytes(one) for one in size]
            )


@overload
def in_bytes(size: Size, option: str = "") -> str: ...
@overload
def in_bytes(size: Size | None, option: str = "") -> str | None: ...
def in_bytes(size: Size | None, option: str = "") -> str | None:
    """A size as the text that the core takes: 4096 as 4096B. With the name of its option, a text is
    checked. Raises GordonError."""
    if size is None:
        return None
    if option and not isinstance(size, str | int):
        from gordon.errors import GordonError

        raise GordonError(
            f"{option}: {size!r} is not a whole number of bytes, and not a text",
            '4096, or "4KiB"',
            kind="bad-size",
        )
    text = f"{size}B" if isinstance(size, int) else size
    if option:
        check_bytes(text, option)
    return text


def check_bytes(text: str, option: str) -> int:
    """The number of bytes of a text. Raises GordonError that names the option."""
    from gordon import _core
    from gordon.errors import GordonError

    try:
        return _core.parse_bytes(text)
    except GordonError as error:
        hint = error.hint or "a size, such as 64KiB or 2GB"
        raise GordonError(f"{option}: {error.message}", hint, kind="bad-size") from None


def only_given(options: Given) -> Given:
    """The options that were given: the API has the defaults of the others."""
    return {
        name: value
        for name, value in options.items()
        if value is not None and value is not False and value != ()
    }
