"""`gordon trace -o DIR -- CMD`, and `gordon trace show`, `convert` and `formats`."""

import json
import sys
from collections.abc import Callable
from typing import Any

import click

from gordon.cli import WithDefault, say


def _parsed_by(name: str) -> Callable[[click.Context, click.Parameter, str | None], int | None]:
    """Text to a number by a function of the core."""

    def parse(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
        from gordon import _core

        if text is None:
            return None
        try:
            number: int = getattr(_core, name)(text)
        except _core.GordonError as error:
            raise click.BadParameter(error.args[0], ctx, param) from None
        return number

    return parse


LEAST_MEMORY = 1 << 20


class Trace(WithDefault):
    default = "record"
    takes_words = True


@click.group(cls=Trace)
def trace() -> None:
    """Run a command and trace what the machine does meanwhile: processor, memory, network, disks,
    every block I/O. The trace is a folder; the exit status is the command's.
    """


@trace.command(context_settings={"allow_interspersed_args": False})
@click.option("-o", "--out", required=True, metavar="DIR", help="The trace's folder, made new.")
@click.option(
    "--interval",
    default="1s",
    show_default=True,
    metavar="TIME",
    callback=_parsed_by("parse_ns"),
    help="Time of a sample, 0.1s or more.",
)
@click.option(
    "--memory",
    metavar="SIZE",
    callback=_parsed_by("parse_bytes"),
    help="Give the command this much memory, page cache included.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD...")
def record(out: str, interval: int, memory: int | None, command: tuple[str, ...]) -> None:
    """Run a command and trace what the machine does meanwhile."""
    if memory is not None and memory < LEAST_MEMORY:
        raise click.BadParameter("no command runs in less than 1MiB", param_hint="--memory")
    from gordon import _core

    made: dict[str, Any] = json.loads(_core.trace_record(out, interval, list(command), memory))
    for warning in made["warnings"]:
        say(warning, kind="warning")
    click.echo(f"traced to {out}", err=True)
    sys.exit(made["exit_status"])


@trace.command()
@click.argument("folder", metavar="DIR")
@click.option("--json", "json_path", metavar="PATH", help="Write the summary as JSON (-: stdout).")
def show(folder: str, json_path: str | None) -> None:
    """Show what a trace holds."""
    from gordon import _core
    from gordon.cli import output

    output.check(json_path)
    text = _core.trace_summary(folder)
    if json_path is not None:
        output.write({json_path: text if text.endswith("\n") else text + "\n"})
    if json_path != output.STDOUT:
        from gordon.cli.trace_view import show as view

        view(json.loads(text))


@trace.command()
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option(
    "--from",
    "--format",
    "from_",
    metavar="F",
    help="Format of IN; else its content tells it.",
)
@click.option(
    "--to",
    default="gordon",
    show_default=True,
    metavar="F",
    help="Format of OUT. OUT.gz and OUT.zst are compressed.",
)
@click.option("--device", type=int, metavar="N", help="Only requests of this device.")
@click.option(
    "--order",
    default="strict",
    show_default=True,
    type=click.Choice(["strict", "clamp", "sort"]),
    help="Where time goes backwards: an error; keep the file's order; put in order of time.",
)
@click.option(
    "--time-unit",
    metavar="TIME",
    callback=_parsed_by("parse_ns"),
    help="Unit of IN's time stamps, if not the format's.",
)
@click.option(
    "--event",
    type=click.Choice(["queue", "issue", "complete"]),
    help="Event that counts in blkparse and blktrace traces; issue if there are any.",
)
@click.option("--skip-bad", is_flag=True, help="Leave out malformed lines, and count them.")
@click.option("--json", "json_path", metavar="PATH", help="Write what IN holds (-: stdout).")
def convert(
    source: str,
    target: str,
    from_: str | None,
    to: str,
    device: int | None,
    order: str,
    time_unit: int | None,
    event: str | None,
    skip_bad: bool,
    json_path: str | None,
) -> None:
    """Convert a block trace: from any format that is read to one that is written.

    IN may be compressed (.gz, .zst); - is stdin or stdout. `gordon trace formats` lists the
    formats.
    """
    from gordon import _core
    from gordon.cli import output

    both_stdout = target if json_path == output.STDOUT == target else None
    output.check(json_path, both_stdout, used=[source, target])
    text = _core.trace_convert(
        source,
        target,
        to,
        from_,
        skip_bad=skip_bad,
        device=device,
        order=order,
        time_unit_ns=time_unit,
        event=event,
    )
    done: dict[str, Any] = json.loads(text)
    for warning in done["warnings"]:
        say(f"{source}: {warning}", kind="warning")
    if json_path is not None:
        output.write({json_path: text + "\n"})
    written = done["requests"] - done["not_written"]
    requests = f"{written} request{'' if written == 1 else 's'}"
    click.echo(f"{requests} from {done['from']} to {done['to']}: {target}", err=True)


@trace.command()
def formats() -> None:
    """List the formats of block traces."""
    from gordon import _core
    from gordon.cli.terminal import Column, data

    known = _core.trace_formats()
    data().table(
        [
            Column("format", [name for name, *_ in known]),
            Column("written", ["yes" if written else "" for *_, written in known]),
            Column("supported", [support for *_, support, _ in known]),
            Column("tested on", [tested for _, _, tested, *_ in known], spare=1),
            Column("what it is", [what for _, what, *_ in known], wraps=True),
        ]
    )
