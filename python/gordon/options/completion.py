"""Completion of option values in a shell: names of presets, spaces and policies, and keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from gordon.options import kinds, schemas

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Complete = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]

#: The kinds of presets that each command takes, where its option does not name a kind.
_OF_COMMAND = {
    "flash": ("flash",),
    "block": ("flash", "disk"),
    "disk": ("disk",),
    "storage": ("flash", "disk"),
    "compare": ("flash", "disk"),
    "cache": ("flashcache",),
}
#: Kinds of presets by the name of an option.
_OF_OPTION = {"flash": ("flash",), "disk": ("disk",), "like": ("disk",)}
_POLICIES = ("policy", "dram_policy", "policies")


def of(name: str, kind: kinds.Kind | None) -> Complete | None:
    """The completion of an option's value; None for the shell's own."""
    if name == "space":
        return spaces
    if kind == kinds.PRESET and name in _OF_OPTION:
        return presets(*_OF_OPTION[name])
    if kind == kinds.PRESET and name in ("device", "preset"):
        return lambda ctx, param, text: presets(*_of_command(ctx))(ctx, param, text)
    if name in _POLICIES:
        return _policies
    return _keys if kind == kinds.SETTING else None


def presets(*of_kinds: str) -> Complete:
    """The completion of a preset of some kinds, or a file."""

    def complete(_: click.Context, __: click.Parameter, text: str) -> list[CompletionItem]:
        from gordon import parts

        return _or_file(sorted(name for kind in of_kinds for name in parts.names(kind)), text)

    return complete


def spaces(_: click.Context, __: click.Parameter, text: str) -> list[CompletionItem]:
    """The completion of a space, or a file."""
    from importlib.resources import files

    folder = files("gordon.survey") / "spaces"
    names = sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith(".toml"))
    return _or_file(names, text)


def _or_file(names: list[str], text: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    found = [CompletionItem(name) for name in names if name.startswith(text)]
    return found or [CompletionItem(text, type="file")]


def _of_command(ctx: click.Context) -> tuple[str, ...]:
    """The kinds of presets of a command."""
    words = ctx.command_path.split()
    return _OF_COMMAND.get(words[1] if len(words) > 1 else "", ())


def _policies(_: click.Context, __: click.Parameter, text: str) -> list[CompletionItem]:
    """The last of the names between commas."""
    from click.shell_completion import CompletionItem

    from gordon import _core

    before, comma, last = text.rpartition(",")
    names = [policy[0] for policy in _core.cache_policies()]
    return [CompletionItem(before + comma + name) for name in names if name.startswith(last)]


def _keys(ctx: click.Context, _: click.Parameter, text: str) -> list[CompletionItem]:
    """The keys of the files of the command's devices, each with `=`."""
    from click.shell_completion import CompletionItem

    found = dict.fromkeys(key for kind in _of_command(ctx) for key in keys(kind))
    return [CompletionItem(f"{key}=") for key in found if key.startswith(text)]


def keys(kind: str) -> list[str]:
    """The dotted keys of a kind of file, without those of lists of tables."""
    return schemas.paths(kind)
