"""`gordon trace -o DIR -- CMD`, and `show`, `convert`, `anonymise`, `formats` and `agent` of it."""

import json
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import click

from gordon.cli import WithDefault, say, trace_activity
from gordon.cli.trace_input import announce_pipe, load_of, of_trace, reading
from gordon.files import STDOUT, write_all


def _parsed_by(name: str) -> Callable[[click.Context, click.Parameter, str | None], int | None]:
    """Text to a number by a function of the core."""

    def parse(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
        from gordon import _core
        from gordon.errors import GordonError

        if text is None:
            return None
        try:
            number: int = getattr(_core, name)(text)
        except GordonError as error:
            raise click.BadParameter(error.args[0], ctx, param) from None
        return number

    return parse


LEAST_MEMORY = 1 << 20


class Trace(WithDefault):
    default = "record"
    takes_words = True
    places: ClassVar = {"agent": "gordon.cli.trace_agent:agent"}


@click.group(cls=Trace)
def trace() -> None:
    """Run a command and record the machine's use of processor, memory, network and disks, with
    every block I/O. The trace is a folder; the exit status is that of the command.
    """


@trace.command(context_settings={"allow_interspersed_args": False})
@click.option("-o", "--out", required=True, metavar="DIR", help="New folder for the trace.")
@click.option(
    "--interval",
    default="1s",
    show_default=True,
    metavar="TIME",
    callback=_parsed_by("parse_ns"),
    help="Sampling interval, at least 0.1s.",
)
@click.option(
    "--memory",
    metavar="SIZE",
    callback=_parsed_by("parse_bytes"),
    help="Memory limit of the command, page cache included.",
)
@click.option(
    "--nodes",
    metavar="FILE",
    help="Trace the hosts of this file, one a line, instead of this machine. DIR is then a run, "
    "with a trace of each host.",
)
@click.option(
    "--via",
    metavar="COMMAND",
    help="With --nodes: command that runs a program on a host: 'ssh {host}'.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD...")
def record(
    out: str,
    interval: int,
    memory: int | None,
    nodes: str | None,
    via: str | None,
    command: tuple[str, ...],
) -> None:
    """Run a command and trace what the machine does, or what all hosts of a cluster do."""
    if nodes is not None:
        if memory is not None:
            raise click.UsageError("--memory limits a command on this machine: not with --nodes")
        _record_run(out, nodes, command, via, interval)
    if via is not None:
        raise click.UsageError("--via needs --nodes")
    if memory is not None and memory < LEAST_MEMORY:
        raise click.BadParameter("no command runs in less than 1MiB", param_hint="--memory")
    from gordon import _core

    made: dict[str, Any] = json.loads(_core.trace_record(out, interval, list(command), memory))
    for warning in made["warnings"]:
        say(warning, kind="warning")
    click.echo(f"traced to {out}", err=True)
    sys.exit(made["exit_status"])


def _record_run(
    out: str, nodes: str, command: tuple[str, ...], via: str | None, interval: int
) -> None:
    from gordon.run.job import record as record_run

    report = record_run(out, nodes, command, via, interval)
    for warning in report["warnings"]:
        say(warning, kind="warning")
    click.echo(f"traced {len(report['nodes'])} hosts to {out}", err=True)
    sys.exit(report["exit_status"])


@trace.command()
@click.argument("source", metavar="TRACE")
@click.option("--json", "json_path", metavar="PATH", help="Write the summary as JSON (-: stdout).")
def show(source: str, json_path: str | None) -> None:
    """Show a summary of a trace.

    TRACE is a folder with a trace, a run or a folder of traces, whose nodes are listed, or a file
    that `gordon trace convert` reads. Of a Spark job the stages are shown: their tasks, the median
    and the longest, and the driver's time outside of stages.
    """
    from gordon.cli import output, trace_show

    output.check(json_path, used=output.trace_files([source]))
    found = trace_show.summary(source)
    if json_path is not None:
        write_all({json_path: found})
    if json_path != STDOUT:
        trace_show.show(found)


@trace.command()
@click.argument("sources", nargs=-1, required=True, metavar="IN...")
@click.argument("target", metavar="OUT")
@of_trace
@click.option(
    "--cores",
    type=click.IntRange(1),
    metavar="N",
    help="For activity traces: number of cores of each host.  [default: as the input states]",
)
@click.option(
    "--clock",
    metavar="FREQUENCY",
    help="For activity traces: clock of the processors, from which instructions are estimated.  "
    "[default: as the input states, else 2.4GHz]",
)
@click.option("--from", "from_", metavar="F", hidden=True, help="The same as --format.")
@click.option(
    "--to",
    metavar="F",
    help="Format of OUT. OUT.gz and OUT.zst are compressed.  [default: gordon for blocks, "
    "oracleGeneral for objects]",
)
@click.option(
    "--json", "json_path", metavar="PATH", help="Write a summary of IN as JSON (-: stdout)."
)
def convert(
    sources: tuple[str, ...],
    target: str,
    cores: int | None,
    clock: str | None,
    from_: str | None,
    to: str | None,
    json_path: str | None,
    **given: Any,
) -> None:
    """Convert a trace to another format.

    IN may be compressed (.gz, .zst, .xz, .bz2); - is stdin or stdout. `gordon trace formats` lists
    the formats, and marks those that can be written.

    Several IN of an activity trace (sysstat, prometheus, rezolus) are read as one. OUT is then a
    trace for `gordon survey`, or, for several hosts, a folder with a trace for each host.

    IN may be an event log of Spark, a file or an eventlog_v2 folder: its activity is estimated
    from its tasks, OUT also has the tables stages.parquet and tasks.parquet, and the JSON summary
    has the stages for `gordon survey --stages`.
    """
    from gordon import _core
    from gordon.cli import output

    both_stdout = target if json_path == STDOUT == target else None
    output.check(json_path, both_stdout, used=[*sources, target])
    if from_ is not None:
        if given["format"] not in (None, from_):
            raise click.UsageError("--from and --format name two formats: leave one out")
        given["format"] = from_
    activity = trace_activity.format_of(sources, given["format"], given)
    if activity is not None:
        trace_activity.convert(
            sources,
            target,
            activity,
            given | {"to": to},
            cores=cores,
            clock=clock,
            json_path=json_path,
        )
        return
    if cores is not None or clock is not None:
        raise click.UsageError(
            "--cores and --clock are for activity traces: sysstat, prometheus, rezolus, "
            "spark-eventlog"
        )
    if len(sources) > 1:
        raise click.UsageError(
            "only activity traces (sysstat, prometheus, rezolus) are read from several IN"
        )
    source = sources[0]
    with reading(source, given, objects=to == "oracleGeneral"):
        text = _core.trace_convert(json.dumps(load_of(source, given)), target, to)
    done: dict[str, Any] = json.loads(text)
    announce_pipe(source, given, done["input"])
    for warning in done["warnings"]:
        say(f"{source}: {warning}", kind="warning")
    if json_path is not None:
        write_all({json_path: text + "\n"})
    written = done["requests"] - done["not_written"]
    requests = f"{written} request{'' if written == 1 else 's'}"
    click.echo(f"{requests} from {done['from']} to {done['to']}: {target}", err=True)


@trace.command()
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option(
    "--json", "json_path", metavar="PATH", help="Write what was replaced as JSON (-: stdout)."
)
def anonymise(source: str, target: str, json_path: str | None) -> None:
    """Copy a trace, or a run, with pseudonyms in place of all names, to share it.

    Commands, paths, and the names of hosts, users, processes, volumes and the like are replaced;
    all figures, times, and models of hardware are kept. IN is not changed; OUT is a new folder.
    """
    from gordon import _core
    from gordon.cli import output

    output.check(json_path, used=[source, *output.trace_files([source]), target])
    made = _core.trace_anonymise(source, target)
    done: dict[str, Any] = json.loads(made)
    if json_path is not None:
        write_all({json_path: made + "\n"})
    if done["left_out"]:
        say(f"{source}: not copied: {', '.join(done['left_out'])}", kind="warning")
    replaced = sum(done["replaced"].values())
    traces = f"{done['traces']} trace{'' if done['traces'] == 1 else 's'}"
    names = f"{replaced} name{'' if replaced == 1 else 's'}"
    click.echo(f"{traces}, {names} replaced: {target}", err=True)


@trace.command()
@click.option("--json", "json_path", metavar="PATH", help="Write the list as JSON (-: stdout).")
def formats(json_path: str | None) -> None:
    """List the formats of block, object and activity traces, with their sources."""
    from gordon import _core
    from gordon.cli import output
    from gordon.cli.terminal import Column, data

    output.check(json_path)
    known: list[dict[str, Any]] = json.loads(_core.trace_formats())
    if json_path is not None:
        write_all({json_path: {"formats": known}})
    if json_path == STDOUT:
        return
    data().table(
        [
            Column("format", [one["name"] for one in known]),
            Column("of", [one["of"] for one in known]),
            Column("written", ["yes" if one["written"] else "" for one in known]),
            Column("supported", [one["supported"] for one in known], spare=3),
            Column("tested on", [one["tested_on"] for one in known], spare=2),
            Column("source", [one["source"] for one in known], spare=1, wraps=True, enough=30),
            Column("what it is", [one["about"] for one in known], wraps=True, enough=40),
        ]
    )
