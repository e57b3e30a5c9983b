"""Functions that take the options of tables as keywords.

    @explicit(TraceLoad, FlashRun)
    def replay(trace: Path, **options: Unpack[keywords.FlashReplay]) -> Result: ...

The types of the keywords are in `gordon.options.keywords`, which type checkers and editors read.
This module gives `help()` and `inspect.signature()` the names, types, defaults and texts.
"""

import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from functools import wraps
from inspect import Parameter
from numbers import Integral, Real
from typing import Annotated, Any, TypeVar, cast, get_origin

from gordon.errors import GordonError
from gordon.options import kinds
from gordon.options.table import options
from gordon.parts import unknown

F = TypeVar("F", bound=Callable[..., Any])


def explicit(*tables: type[Any], without: Sequence[str] = ()) -> Callable[[F], F]:
    """A decorator for a function that takes the options of tables, all `without` some: its help
    lists them, and its signature has those that it takes as `**options`."""

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        known = signature.parameters
        listed = {name: one for name, one in known.items() if one.kind is not Parameter.VAR_KEYWORD}
        texts: dict[str, str] = {}
        kind_of: dict[str, kinds.Kind | None] = {}
        for table in tables:
            for field, option in zip(fields(table), options(table), strict=True):
                name = field.name
                if name in without or name in texts:
                    continue
                kind_of[name] = option.kind
                texts[name] = option.help + (
                    f" Default: {option.default}." if option.default else ""
                )
                if name in listed:
                    continue
                default = Parameter.empty if field.default is MISSING else field.default
                kind = field.type
                if get_origin(kind) is Annotated:
                    kind = kind.__origin__  # type: ignore[union-attr]
                listed[name] = Parameter(
                    name, Parameter.KEYWORD_ONLY, default=default, annotation=kind
                )

        @wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            for name in named:
                if name not in listed:
                    raise unknown("option", name, list(listed))
            return function(
                *given, **{name: _plain(name, value, kind_of) for name, value in named.items()}
            )

        call.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=list(listed.values())
        )
        about = [
            textwrap.fill(f"{name}: {text}", 96, initial_indent="    ", subsequent_indent=" " * 8)
            for name, text in texts.items()
        ]
        call.__doc__ = f"{inspect.getdoc(function)}\n\nOptions:\n" + "\n".join(about)
        return cast(F, call)

    return decorate


def _plain(name: str, value: Any, kind_of: dict[str, kinds.Kind | None]) -> Any:
    """A value as functions take it: a number of NumPy as one of Python, and the text of a number
    (`10min`, `30%`) as the command reads it. Raises GordonError."""
    if isinstance(value, Real) and type(value).__module__ == "numpy":
        return int(value) if isinstance(value, Integral) else float(value)
    kind = kind_of.get(name)
    if not isinstance(value, str) or not isinstance(kind, kinds.PLAIN):
        return value
    import click

    from gordon.options import command

    try:
        return command.how(kind)["type"].convert(value, None, None)
    except click.UsageError as error:
        raise GordonError(f"{name}: {error.message}", kind="bad-value") from None
