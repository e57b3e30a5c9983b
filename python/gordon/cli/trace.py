"""`gordon trace -o DIR -- CMD`, and `show`, `convert`, `anonymise`, `formats` and `agent` of it."""

import json
import sys
from contextlib import nullcontext
from typing import Any, ClassVar

import click

from gordon.cli import WithDefault, options, say, trace_activity, warn_each
from gordon.cli.replace import replaced
from gordon.cli.trace_input import announce_pipe, load_of, of_trace, reading
from gordon.files import STDOUT
from gordon.options import command, only_given
from gordon.options.outputs import Force, Tables
from gordon.options.traces import ActivityInput, Conversion, Recording
from gordon.reports.trace import AnonymiseReport, CaptureOutcome, ConversionReport, FormatRow

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
@command.of(Recording, Force)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD...")
@options.on_linux
def record(
    words: tuple[str, ...],
    out: str,
    interval_ns: int | None,
    memory: str | None,
    hosts: str | None,
    via: str | None,
    force: bool,
) -> None:
    """Run a command and trace what the machine does, or what all hosts of a cluster do."""
    if interval_ns is None:
        interval_ns = Recording.interval_ns
    if hosts is not None:
        if memory is not None:
            raise click.UsageError("--memory limits a command on this machine: not with --nodes")
        with replaced(out, force=force):
            _record_run(out, hosts, words, via, interval_ns)
    if via is not None:
        raise click.UsageError("--via needs --nodes")
    from gordon import _core

    limit = None if memory is None else _core.parse_bytes(memory)
    if limit is not None and limit < LEAST_MEMORY:
        raise click.BadParameter("no command runs in less than 1MiB", param_hint="--memory")
    with replaced(out, force=force):
        text = _core.trace_record(out, interval_ns, list(words), limit)
    made: CaptureOutcome = json.loads(text)
    warn_each(made["warnings"])
    click.echo(f"traced to {out}", err=True)
    sys.exit(made["exit_status"])


def _record_run(
    out: str, hosts: str, words: tuple[str, ...], via: str | None, interval_ns: int
) -> None:
    from gordon.run.job import record as record_run

    report = record_run(out, hosts, words, via, interval_ns)
    warn_each(report["warnings"])
    click.echo(f"traced {len(report['nodes'])} hosts to {out}", err=True)
    sys.exit(report["exit_status"])


@trace.command()
@click.argument("source", metavar="TRACE")
@of_trace
@options.tables_out()
def show(source: str, to: Tables, **given: Any) -> None:
    """Show a summary of a trace.

    TRACE is a folder with a trace, a run or a folder of traces, whose nodes are listed, or a file
    that `gordon trace convert` reads. Of a Spark job the stages are shown: their tasks, the median
    and the longest, and the driver's time outside of stages. The options of trace input say how a
    file of block requests is read.
    """
    from gordon.cli import output, trace_show
    from gordon.cli.progress import Moved
    from gordon.trace.summary import is_of_requests, summary

    output.check(to=to, used=output.trace_files([source]))
    how = only_given(given)
    is_read = is_of_requests(source, how)
    with (
        Moved(f"reading {source}") as progress,
        reading(source, how, objects=False) if is_read else nullcontext(),
    ):
        found = summary(source, progress.tick, **how)
    output.finish(lambda _: trace_show.show(found.report), is_quiet=True, to=to, result=found)


@trace.command()
@click.argument("sources", nargs=-1, metavar="IN...")
@click.argument("target", metavar="OUT")
@of_trace
@command.of(ActivityInput)
@click.option("--from", "from_", metavar="F", hidden=True)
@command.of(Conversion, Force)
@options.json_out
def convert(
    sources: tuple[str, ...],
    target: str,
    cores: int | None,
    clock: str | None,
    from_: str | None,
    to: str | None,
    force: bool,
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

    if not sources:
        raise click.UsageError(f"IN and OUT are needed, not {target} alone")
    both_stdout = target if json_path == STDOUT == target else None
    output.check(json_path, both_stdout, used=[*sources, target])
    if from_ is not None:
        if given["format"] not in (None, from_):
            raise click.UsageError("--from and --format name two formats: leave one out")
        given["format"] = from_
    activity = trace_activity.format_of(sources, given["format"], given)
    if activity is not None:
        with replaced(target, force=force, read=sources):
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
    is_of_objects = to == "oracleGeneral"
    with replaced(target, force=force, read=sources), reading(source, given, objects=is_of_objects):
        text = _core.trace_convert(json.dumps(load_of(source, given)), target, to)
    done: ConversionReport = json.loads(text)
    announce_pipe(source, given, done["input"])
    warn_each(done["warnings"], source)
    written = done["requests"] - done["not_written"]
    requests = f"{written} request{'' if written == 1 else 's'}"
    summary = f"{requests} from {done['from']} to {done['to']}: {target}"
    output.finish(lambda _: click.echo(summary, err=True), [(json_path, text + "\n")])


@trace.command()
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@command.of(Force)
@options.json_out
def anonymise(source: str, target: str, force: bool, json_path: str | None) -> None:
    """Copy a trace, or a run, with pseudonyms in place of all names, to share it.

    Commands, paths, and the names of hosts, users, processes, volumes and the like are replaced;
    all figures, times, and models of hardware are kept. IN is not changed; OUT is a new folder.
    """
    from gordon import _core
    from gordon.cli import output

    output.check(json_path, used=[source, *output.trace_files([source]), target])
    with replaced(target, force=force, read=[source]):
        made = _core.trace_anonymise(source, target)
    done: AnonymiseReport = json.loads(made)
    if done["left_out"]:
        say(f"{source}: not copied: {', '.join(done['left_out'])}", kind="warning")
    count = sum(done["replaced"].values())
    traces = f"{done['traces']} trace{'' if done['traces'] == 1 else 's'}"
    names = f"{count} name{'' if count == 1 else 's'}"
    summary = f"{traces}, {names} replaced: {target}"
    output.finish(lambda _: click.echo(summary, err=True), [(json_path, made + "\n")])


@trace.command()
@options.tables_out()
def formats(to: Tables) -> None:
    """List the formats of block, object and activity traces, with their sources."""
    from gordon import _core
    from gordon.cli import output
    from gordon.cli.terminal import Column

    output.check(to=to)
    known: list[FormatRow] = json.loads(_core.trace_formats())
    columns = [
        Column("format", [one["name"] for one in known]),
        Column("of", [one["of"] for one in known]),
        Column("written", ["yes" if one["written"] else "" for one in known]),
        Column("supported", [one["supported"] for one in known], spare=3),
        Column("tested on", [one["tested_on"] for one in known], spare=2),
        Column("source", [one["source"] for one in known], spare=1, wraps=True, enough=30),
        Column("what it is", [one["about"] for one in known], wraps=True, enough=40),
    ]
    output.table(columns, "formats", known, to)
