"""Conversion of the activity traces of other monitors, which have no requests."""

import json
from collections.abc import Sequence

import click

from gordon.cli import warn_each
from gordon.files import STDOUT
from gordon.human import counted, duration
from gordon.options import only_given
from gordon.options.loads import TraceLoad
from gordon.options.table import flags
from gordon.reports.trace import ActivityReport
from gordon.untyped import Given

# Options of `gordon trace convert` that have a meaning for activity traces.
TAKEN = {"format", "skip_bad", "to"}


def format_of(sources: Sequence[str], name: str | None, given: Given) -> str | None:
    """The format, if it is named or detected as one of activity traces."""
    from gordon import _core

    if name is None and given["columns"] is not None:
        return None
    return _core.trace_activity_format(sources[0], name)


def convert(
    sources: Sequence[str],
    target: str,
    name: str,
    given: Given,
    *,
    cores: int | None,
    clock: str | None,
    json_path: str | None,
) -> None:
    """Converts `sources`, read as one, to a trace or a folder of traces."""
    from gordon import _core, notices
    from gordon.cli import output
    from gordon.cli.progress import Moved

    chosen = only_given(given).keys() - TAKEN
    others = [flag for key, flag in flags(TraceLoad).items() if key in chosen]
    if others:
        raise click.UsageError(f"{others[0]} has no meaning for {name}, which has no requests")
    if given["to"] not in (None, "gordon"):
        raise click.UsageError(f"an activity trace is written as gordon, not as {given['to']}")
    if target == STDOUT:
        raise click.UsageError("a trace is a folder and cannot go to standard output")
    with Moved(f"reading {sources[0]}") as progress:
        made = _core.trace_convert_activity(
            list(sources), target, name, cores, clock, given["skip_bad"], progress.tick
        )
    done: ActivityReport = json.loads(made)
    several = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
    hosts = [host["host"] for host in done["hosts"]]
    lines = notices.grouped(done["warnings"], hosts).printed()
    warn_each(lines, f"{sources[0]}{several}")
    summary = "\n".join(
        f"{counted(host['samples'], 'sample')} of {host['host']}, "
        f"{counted(host['cores'], 'core')}, {duration(host['span_s'])}, "
        f"from {name} to gordon: {host['path']}"
        for host in done["hosts"]
    )
    output.finish(lambda _: click.echo(summary, err=True), [(json_path, made + "\n")])
