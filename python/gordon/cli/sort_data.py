"""`gordon sort generate`, `validate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gordon.cli import options
from gordon.files import STDOUT
from gordon.options import command, only_given
from gordon.options.sorting import Checked, Generated

if TYPE_CHECKING:
    from gordon.cli.terminal import Output
    from gordon.sort.data import Checked as Found
    from gordon.sort.data import GeneratedFile, Part


@click.command(cls=command.Command)
@command.of(Generated)
@options.json_out
@options.on_linux
def generate(outputs: tuple[str, ...], json_path: str | None, **given: Any) -> None:
    """Generate records to sort, as gensort of sortbenchmark.org does.

    Each record has 100 bytes, of which the first 10 are the key. Parts of one file can be generated
    on several machines, each with its own --start. The printed checksum is that of gensort -c;
    `gordon sort validate --checksum` compares sorted files with it.
    """
    from gordon.cli import output
    from gordon.cli.progress import Moved
    from gordon.sort import data

    # The folder of a device or a pipe is not written to.
    special = [Path(one).exists() and not Path(one).is_file() for one in outputs]
    files = [None if other else one for one, other in zip(outputs, special, strict=True)]
    output.check(*files, json_path)
    with Moved("generating") as progress:
        made = data.generate(outputs, progress=progress.tick, **only_given(given))
    output.finish(
        lambda console: _made(console, outputs, made.report),
        [(json_path, made)],
        written=[one for one in outputs if one == STDOUT],
    )


def _made(console: "Output", outputs: tuple[str, ...], made: "GeneratedFile") -> None:
    from gordon.human import counted, duration, short

    where = "stdout" if outputs == (STDOUT,) else ", ".join(outputs)
    console.text(
        f"{where}: {counted(made['records'], 'record')}, {short(made['bytes'], 'B')} in "
        f"{duration(made['time_s'])} ({short(made['bytes'] / made['time_s'], 'B')}/s)"
    )
    console.text(f"checksum {made['checksum']}")


@click.command(cls=command.Command)
@click.argument("files", nargs=-1, required=True)
@command.of(Checked)
@options.json_out
@click.pass_context
@options.on_linux
def validate(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    json_path: str | None,
    summary: str | None,
    **given: Any,
) -> None:
    """Check sorted records, as valsort of sortbenchmark.org does.

    FILES are the partitions of one sorted output, in order. Prints the number of records, the sum
    of their CRC-32, and the numbers of duplicate keys and of records out of order. The exit status
    is 1 if a record is out of order, or if the checksum is not the expected one.
    """
    from gordon.cli import output
    from gordon.cli.progress import Moved
    from gordon.sort import data

    output.check(json_path, summary, used=files)
    with Moved("checking") as progress:
        found = data.validate(*files, summary=summary, progress=progress.tick, **only_given(given))
    output.finish(
        lambda console: _checked(console, found.report), [(json_path, found)], is_quiet=True
    )
    ctx.exit(0 if found["in_order"] and found["all_there"] is not False else 1)


def _checked(console: "Output", found: "Found") -> None:
    from gordon.human import counted

    console.text(
        f"{counted(found['records'], 'record')}, {counted(found['duplicates'], 'duplicate key')}"
    )
    console.text(f"checksum {found['checksum']}" + _compared(found))
    if found["in_order"]:
        console.text("all records are in order")
        return
    first, many = found["first_disorder"], found["unordered"]
    assert first is not None
    falls = "1 record sorts before its predecessor"
    if many > 1:
        falls = f"{many:,} records sort before their predecessors"
    where = _within(found["parts"], first)
    console.text(f"NOT IN ORDER: {falls}, the first is record {first:,} (from 0){where}")


def _compared(found: "Found") -> str:
    if found["all_there"] is None:
        return ""
    if found["all_there"]:
        return ", as expected: no record is missing or changed"
    return f" IS NOT {found['expected_checksum']}: records are missing, duplicated or changed"


def _within(parts: "list[Part]", record: int) -> str:
    """Where a record of the whole is, where there are several files."""
    for part in parts if len(parts) > 1 else []:
        if record < part["records"]:
            return f": record {record:,} of {part['path']}" if "path" in part else ""
        record -= part["records"]
    return ""
