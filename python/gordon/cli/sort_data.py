"""`gordon sort generate`, `validate`."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from gordon.cli import options
from gordon.files import STDOUT, write_all
from gordon.options import only_given

_SCALES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def _whole(text: str) -> int:
    """`1e8`, `100M`, `1.5k`, `10_000` as a whole number; -1 if it is none."""
    match = re.fullmatch(r"([0-9][0-9_]*)(?:\.([0-9]+))?(?:[eE]\+?([0-9]{1,2})|([kMGT]?))", text)
    if match is None:
        return -1
    whole, part, power, prefix = match[1].replace("_", ""), match[2] or "", match[3], match[4]
    scale = int(10 ** int(power)) if power else _SCALES[prefix or ""]
    number, rest = divmod(int(whole + part) * scale, int(10 ** len(part)))
    return -1 if rest else number


def number(least: int, bits: int) -> Callable[..., int | None]:
    """A number of records, or of one."""

    def read(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
        if text is None or least <= (number := _whole(text)) < 1 << bits:
            return None if text is None else number
        what = f"{text!r} is not a number from {least} to 2^{bits} - 1, as in 1e8, 100M or 250k"
        raise click.BadParameter(what, ctx, param)

    return read


@click.command()
@click.option(
    "-n",
    "--records",
    callback=number(1, 64),
    required=True,
    metavar="N",
    help="Number of records: 1e8, 100M, 250k.",
)
@click.option(
    "-o",
    "--output",
    "--out",
    "outputs",
    required=True,
    multiple=True,
    metavar="PATH",
    help="Output: a file, a block device (its data are lost), a named pipe or - for stdout; "
    "several for a stripe.",
)
@click.option(
    "--stripe",
    metavar="SIZE",
    help="Stripe the records over the outputs in units of SIZE, as `gordon sort --stripe` reads "
    "them.",
)
@click.option("-a", "--ascii", is_flag=True, help="Generate lines of printable characters.")
@click.option(
    "-s",
    "--skewed",
    is_flag=True,
    help="Generate skewed keys, many of which share their first bytes.",
)
@click.option(
    "-b",
    "--start",
    callback=number(0, 128),
    default="0",
    show_default=True,
    metavar="N",
    help="Number of the first record.",
)
@options.json_out
def generate(outputs: tuple[str, ...], json_path: str | None, **given: Any) -> None:
    """Generate records to sort, as gensort of sortbenchmark.org does.

    Each record has 100 bytes, of which the first 10 are the key. Parts of one file can be generated
    on several machines, each with its own --start. The printed checksum is that of gensort -c;
    `gordon sort validate --checksum` compares sorted files with it.
    """
    from gordon.cli import output, terminal
    from gordon.cli.progress import Moved
    from gordon.human import duration, short
    from gordon.sort import data

    # The folder of a device or a pipe is not written to.
    special = [Path(one).exists() and not Path(one).is_file() for one in outputs]
    files = [None if other else one for one, other in zip(outputs, special, strict=True)]
    output.check(*files, json_path)
    with Moved("generating") as progress:
        made = data.generate(outputs, progress=progress.tick, **only_given(given))
    if json_path is not None:
        write_all({json_path: made})
    silent = STDOUT in (*outputs, json_path)
    console = terminal.messages() if silent else terminal.data()
    where = "stdout" if outputs == (STDOUT,) else ", ".join(outputs)
    console.text(
        f"{where}: {made['records']:,} records, {short(made['bytes'], 'B')} in "
        f"{duration(made['time_s'])} ({short(made['bytes'] / made['time_s'], 'B')}/s)"
    )
    console.text(f"checksum {made['checksum']}")


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option(
    "-n",
    "--records",
    callback=number(1, 64),
    metavar="N",
    help="Check only the first N records of each file, for a block device that holds more than "
    "the records.",
)
@click.option(
    "--checksum",
    metavar="HEX",
    help="Checksum that `generate` or gensort -c printed for the unsorted records; the sorted "
    "records must have the same.",
)
@click.option(
    "--summary", metavar="PATH", help="Write a summary of these records, as valsort -o does."
)
@click.option("--summaries", is_flag=True, help="FILES hold concatenated summaries.")
@options.json_out
@click.pass_context
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
    from gordon.cli import output as outputs
    from gordon.cli import terminal
    from gordon.cli.progress import Moved
    from gordon.sort import data

    outputs.check(json_path, summary, used=files)
    with Moved("checking") as progress:
        found = data.validate(*files, summary=summary, progress=progress.tick, **only_given(given))
    if json_path is not None:
        write_all({json_path: found})
    if json_path != STDOUT:
        for line in _lines(found):
            terminal.data().text(line)
    ctx.exit(0 if found["in_order"] and found["all_there"] is not False else 1)


def _lines(found: dict[str, Any]) -> list[str]:
    lines = [
        f"{found['records']:,} records, {found['duplicates']:,} duplicate keys",
        f"checksum {found['checksum']}" + _compared(found),
    ]
    if found["in_order"]:
        return [*lines, "all records are in order"]
    first, many = found["first_disorder"], found["unordered"]
    falls = "1 record sorts before its predecessor"
    if many > 1:
        falls = f"{many:,} records sort before their predecessors"
    where = _within(found["parts"], first)
    return [*lines, f"NOT IN ORDER: {falls}, the first is record {first:,} (from 0){where}"]


def _compared(found: dict[str, Any]) -> str:
    if found["all_there"] is None:
        return ""
    if found["all_there"]:
        return ", as expected: no record is missing or changed"
    return f" IS NOT {found['expected_checksum']}: records are missing, duplicated or changed"


def _within(parts: list[dict[str, Any]], record: int) -> str:
    """Where a record of the whole is, where there are several files."""
    for part in parts if len(parts) > 1 else []:
        if record < part["records"]:
            return f": record {record:,} of {part['path']}" if "path" in part else ""
        record -= part["records"]
    return ""
