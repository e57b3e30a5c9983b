"""Tables of options: dataclasses whose fields are the options of a command, the keywords of the
Python function behind it, and the keys of a sweep.

A field has a name, a type with its kind, and a default. The docstring behind it is the help of the
option. What the docstring says behind `Default:` is shown as the default; otherwise that is the
value itself, unless it is none. `GROUP` of a table is the heading of its options in the help of a
command that has many.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, get_args

from gordon.options.kinds import Group, Kind, Named


@dataclass(frozen=True)
class Option:
    """An option of a command."""

    name: str
    """The keyword of the Python function."""
    flags: tuple[str, ...]
    """The names on the command line; the first one is that of messages."""
    kind: Kind | None
    """How the value is given. None: there is no value, the option is given or not."""
    help: str
    """The help, without its default."""
    default: str | None
    """The default in words, if there is one."""
    is_required: bool
    """Whether there is no default."""
    group: str
    """The heading in the help of a command with many options; none if it is empty."""


def options(table: type[Any]) -> Iterator[Option]:
    """The options of a table, in their order."""
    texts: dict[str, str] = {}
    groups: dict[str, str] = {}
    for part in reversed(table.__mro__):
        own = _texts(part.__module__).get(part.__name__, {})
        texts |= own
        for name in own:
            groups[name] = vars(part).get("GROUP", groups.get(name, ""))
    for field in fields(table):
        about = getattr(field.type, "__metadata__", ())
        usual = Named(f"--{field.name.replace('_', '-')}")
        named = next((one for one in about if isinstance(one, Named)), usual)
        group = next((one.title for one in about if isinstance(one, Group)), groups[field.name])
        text, _, default = texts[field.name].partition("Default: ")
        is_plain = isinstance(field.default, str | int | float) and field.default is not False
        yield Option(
            name=field.name,
            flags=(named.option, *named.others),
            kind=next((one for one in about if isinstance(one, get_args(Kind))), None),
            help=text.strip(),
            default=default.removesuffix(".") or (str(field.default) if is_plain else None),
            is_required=field.default is MISSING,
            group=group,
        )


def flags(*tables: type[Any]) -> dict[str, str]:
    """The name on the command line of each option of tables, by its field."""
    return {option.name: option.flags[0] for table in tables for option in options(table)}


@cache
def _texts(module: str) -> dict[str, dict[str, str]]:
    """The docstrings of the fields of each class of a module."""
    file = getattr(sys.modules[module], "__file__", None)
    if file is None:
        return {}
    body = ast.parse(Path(file).read_text(encoding="utf-8")).body
    return {one.name: _of_class(one) for one in body if isinstance(one, ast.ClassDef)}


def _of_class(made: ast.ClassDef) -> dict[str, str]:
    found = {}
    for field, text in zip(made.body, made.body[1:], strict=False):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=about)):
                found[name] = " ".join(str(about).split())
    return found
