"""`gordon sort`."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import click

from gordon.cli import WithDefault, options


class Sort(WithDefault):
    """A file named first is sorted."""

    default = "run"
    takes_words = True
    places: ClassVar[Mapping[str, str]] = {
        "generate": "gordon.cli.sort_data:generate",
        "validate": "gordon.cli.sort_data:validate",
        "extrapolate": "gordon.cli.sort_systems:extrapolate",
        "tune": "gordon.cli.sort_tune:tune",
        "rewrite": "gordon.cli.sort_rewrite:rewrite",
    }


@click.group(cls=Sort)
def sort() -> None:
    """Sort files larger than memory; make and check the files of the sort benchmark."""


def _folders(ctx: click.Context, param: click.Parameter, text: str | None) -> Any:
    """Folders with commas between."""
    return tuple(text.split(",")) if text is not None else None


def _transfer(what: str, of: str) -> options.Decorator:
    return click.option(f"--{what}-transfer", metavar="SIZE", help=f"Bytes of a {of}.")


@sort.command()
@click.argument("files", nargs=-1, required=True, metavar="IN... OUT")
@click.option(
    "--stripe",
    metavar="SIZE",
    help="IN... are one file that is striped over them in units of SIZE, as RAID 0 does: all are "
    "read at a time.  [default: one follows the other]",
)
@click.option("--lines", is_flag=True, help="Records are lines.")
@click.option("--record", type=click.IntRange(1), metavar="N", help="Records of N bytes each.")
@click.option(
    "--key",
    "-k",
    "keys",
    multiple=True,
    metavar="KEY",
    help="Lines: as of sort(1), 2,2n. Records: START:END[:TYPE][:r], 8:16:u64be. Several: the next "
    "where those before are equal.  [default: the whole line or record]",
)
@click.option(
    "--order",
    metavar="LETTERS",
    help="Lines: options of sort(1) for keys without their own, of b d f g h i M n r V.",
)
@click.option(
    "--field-separator",
    "-t",
    metavar="CHAR",
    help="Lines: between fields.  [default: where blanks begin]",
)
@click.option("--zero-terminated", "-z", is_flag=True, help="Lines end in a zero byte.")
@click.option(
    "--last-resort",
    is_flag=True,
    help="Lines with equal keys by their bytes, as sort(1) without -s; else they stay in order.",
)
@click.option(
    "--memory",
    metavar="SIZE",
    help="The most for records and buffers.  [default: half of what is available]",
)
@click.option(
    "--temp",
    metavar="DIR,DIR...",
    callback=_folders,
    help="Folders of temporary files, which take turns.  [default: the output's]",
)
@click.option(
    "--method",
    type=click.Choice(["auto", "one-pass", "distribute", "merge"]),
    help="All in memory; buckets of ranges of keys, then each sorted; sorted runs, then merged. "
    "auto: the first that fits.  [default: auto]",
)
@click.option(
    "--in-core",
    type=click.Choice(["radix", "merge"]),
    help="Records in memory: keys scattered by ranges and each range sorted; or sorted as they "
    "come, and merged.  [default: radix]",
)
@click.option(
    "--preset",
    metavar="NAME",
    help="Sizes of transfers that the JouleSort paper found best on one of its systems: 1B, 2, "
    "3B-3E, 4C-4G.",
)
@_transfer("input", "read of the input")
@_transfer("output", "write of the output")
@_transfer("temp", "transfer of temporary files")
@click.option(
    "--threads", type=click.IntRange(0), metavar="N", help="That sort.  [default: one a core]"
)
@click.option("--buffered", is_flag=True, help="I/O through the page cache.")
@click.option(
    "--io",
    type=click.Choice(["auto", "uring", "threads"]),
    help="Transfers by io_uring, or by threads that wait for one each. auto: io_uring where the "
    "system has it and lets us.  [default: auto]",
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Write into the output that is there: its place on the device is used again, and an "
    "interrupted sort leaves it broken.",
)
@click.option(
    "--partial-last",
    type=click.Choice(["refuse", "keep", "drop"]),
    help="A part of a record at the end of a file: an error, put at the output's end, left out.  "
    "[default: refuse]",
)
@click.option(
    "--seed", type=click.IntRange(0), metavar="N", help="Of sampled places.  [default: 0]"
)
@click.option(
    "--config",
    metavar="FILE",
    help="Settings in TOML (`gordon schema sort`), as `gordon sort tune` writes them; options go "
    "before them.",
)
@options.json_out
def run(files: tuple[str, ...], json_path: str | None, **given: Any) -> None:
    """Sort the records of files into one.

    A record is that of the sort benchmark, 100 bytes of which the first 10 are the key, or as
    --lines or --record say. Equal records stay in order. The output appears under its name when it
    is whole and durable; it may be the input.
    """
    from gordon import sort as api
    from gordon.cli import output, sort_view, terminal
    from gordon.cli.progress import Moved

    if len(files) < 2:
        raise click.UsageError("an input and an output are needed")
    if "-" in files:
        raise click.UsageError("- is no file: a sort reads and writes files at any place of them")
    output.check(json_path, used=files)
    with Moved("sorting") as progress:
        result = api.run(files[:-1], files[-1], progress=progress.tick, **options.given(given))
    if json_path is not None:
        output.write({json_path: json.dumps(result.report, indent=1) + "\n"})
    silent = json_path == output.STDOUT
    sort_view.show(terminal.messages() if silent else terminal.data(), result.report)
