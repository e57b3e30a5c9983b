"""Groups of commands in order, and the options of their outputs."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from gordon.errors import GordonError
from gordon.options import command
from gordon.options.outputs import HtmlReport, Json, Tables
from gordon.options.table import options


def list_whole(group: click.Group, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Lists the commands of a group with their first sentences, which click would cut."""
    found = [(name, group.get_command(ctx, name)) for name in group.list_commands(ctx)]
    with formatter.section("Commands"):
        formatter.write_dl([(n, one.get_short_help_str(500)) for n, one in found if one])


class InOrder(click.Group):
    """Lists its commands as they are written here."""

    command_class = command.Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        list_whole(self, ctx, formatter)


json_out = command.of(Json)
report_out = command.of(HtmlReport)


def tables_out(table: type[Tables] = Tables) -> command.Decorator:
    """A decorator that gives a command the options of files of a result that has tables. The
    command takes them as one argument, `to`."""
    names = [option.name for option in options(table)]

    def decorate(function: Callable[..., Any]) -> Any:
        @wraps(function)
        def run(*args: Any, **given: Any) -> Any:
            to = table(**{name: given.pop(name) for name in names})
            return function(*args, to=to, **given)

        return command.of(table)(run)

    return decorate


def on_linux(function: Callable[..., Any]) -> Any:
    """A decorator of a command that needs Linux, innermost: elsewhere the command refuses to run
    once its options are read."""

    @wraps(function)
    def run(*args: Any, **given: Any) -> Any:
        check_linux()
        return function(*args, **given)

    return run


def check_linux() -> None:
    """Raises GordonError on any other system than Linux."""
    if sys.platform != "linux":
        raise GordonError(
            "this command needs Linux",
            "a machine, a container or WSL with Linux; surveys and simulations run here",
            kind="needs-linux",
        )
