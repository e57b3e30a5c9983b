"""`gordon sort`."""

from collections.abc import Mapping
from typing import Any, ClassVar

import click

from gordon.cli import WithDefault, options
from gordon.files import STDOUT, write_all
from gordon.options import only_given


class Sort(WithDefault):
    """A file named first is sorted."""

    default = "run"
    takes_words = True
    places: ClassVar[Mapping[str, str]] = {
        "generate": "gordon.cli.sort_data:generate",
        "validate": "gordon.cli.sort_data:validate",
        "extrapolate": "gordon.cli.sort_systems:extrapolate",
        "tune": "gordon.cli.sort_tune:tune",
    }


@click.group(cls=Sort)
def sort() -> None:
    """Sort files larger than memory; make and check the files of the sort benchmark."""


def _folders(ctx: click.Context, param: click.Parameter, text: str | None) -> Any:
    """Folders with commas between."""
    return tuple(text.split(",")) if text is not None else None


def _transfer(what: str, help: str) -> options.Decorator:
    return click.option(f"--{what}-transfer", metavar="SIZE", help=help)


@sort.command()
@click.argument("files", nargs=-1, required=True, metavar="IN... OUT")
@click.option(
    "--stripe",
    metavar="SIZE",
    help="Read IN... in parallel as one file striped over them in units of SIZE (RAID-0).  "
    "[default: IN... are concatenated]",
)
@click.option(
    "--lines",
    is_flag=True,
    help="Sort lines, in the order of sort(1) with LC_ALL=C: by the values of bytes.",
)
@click.option(
    "--record",
    type=click.IntRange(1),
    metavar="N",
    help="Sort records of N bytes by all their bytes, or by --key.  [default: 100, of which the "
    "first 10 are the key; text is refused]",
)
@click.option(
    "--key",
    "-k",
    "keys",
    multiple=True,
    metavar="KEY",
    help="Lines: a key as for sort(1), such as 2,2n. Records: START:END[:TYPE][:r], such as "
    "8:16:u64be. Repeatable, most significant key first.  [default: the whole line or record]",
)
@click.option(
    "--order",
    metavar="LETTERS",
    help="Lines: options of sort(1) for keys without options: letters of bdfghiMnrV.",
)
@click.option(
    "--field-separator",
    "-t",
    metavar="CHAR",
    help="Lines: field separator.  [default: the start of each run of blanks, as sort(1)]",
)
@click.option("--zero-terminated", "-z", is_flag=True, help="Lines end with a NUL byte.")
@click.option(
    "--last-resort",
    is_flag=True,
    help="Lines: order equal keys by the whole line, as sort(1) without -s.  [default: keep the "
    "input's order]",
)
@click.option(
    "--unique",
    "-u",
    is_flag=True,
    help="Write only the first of the records whose keys are equal, as sort -u does. The order of "
    "--last-resort is not part of the key.",
)
@click.option(
    "--memory",
    metavar="SIZE",
    help="Maximum memory for records and buffers. The program itself takes about 30 MB more.  "
    "[default: half of the available memory]",
)
@click.option(
    "--temp",
    metavar="DIR,DIR...",
    callback=_folders,
    help="Folders of temporary files, used round-robin.  [default: the output's folder]",
)
@click.option(
    "--method",
    type=click.Choice(["auto", "one-pass", "distribute", "merge"]),
    help="one-pass: all in memory; distribute: buckets of key ranges, each sorted in memory; "
    "merge: sorted runs, then merged. auto: the first that fits.  [default: auto]",
)
@click.option(
    "--in-core",
    type=click.Choice(["radix", "merge"]),
    help="Sorting in memory. radix: keys scattered by ranges, each range sorted; merge: sorted in "
    "pieces as they are read, then merged.  [default: radix]",
)
@click.option(
    "--preset",
    metavar="NAME",
    help="Transfer sizes that the JouleSort paper found best on one of its systems: 1B, 2, 3B-3E, "
    "4C-4G.",
)
@_transfer("input", "Bytes per read of the input.")
@_transfer("output", "Bytes per write of the output.")
@_transfer("temp", "Bytes per transfer of temporary files.")
@click.option(
    "--threads",
    type=click.IntRange(0),
    metavar="N",
    help="Number of threads that sort; 0 for one per core.  [default: 0]",
)
@click.option("--buffered", is_flag=True, help="Use the page cache instead of direct I/O.")
@click.option(
    "--io",
    type=click.Choice(["auto", "uring", "threads"]),
    help="Use io_uring, or threads with one blocking transfer each. auto: io_uring if the "
    "system allows it.  [default: auto]",
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Overwrite the existing output in place, so that its blocks on the device are reused. "
    "An interrupted sort leaves it broken.  [default: write a new file, then replace OUT]",
)
@click.option(
    "--partial-last",
    type=click.Choice(["refuse", "keep", "drop"]),
    help="Handling of a partial record at the end of a file: report an error, append it to the "
    "output, or leave it out.  [default: refuse]",
)
@click.option(
    "--seed", type=click.IntRange(0), metavar="N", help="Random seed of the sampling.  [default: 0]"
)
@click.option(
    "--config",
    metavar="FILE",
    help="Settings in TOML (`gordon schema sort`), as `gordon sort tune` writes them. Options "
    "take precedence.",
)
@options.json_out
def run(files: tuple[str, ...], json_path: str | None, **given: Any) -> None:
    """Sort the records of files into one.

    A record is that of the sort benchmark, 100 bytes of which the first 10 are the key, unless
    --lines or --record is given. The order is that of LC_ALL=C: bytes are compared by their values,
    in every locale. Equal records stay in order. The output appears under its name when it is whole
    and durable; it may be the input.
    """
    from gordon import sort as api
    from gordon.cli import output, say, sort_view, terminal
    from gordon.cli.progress import Moved

    if len(files) < 2:
        raise click.UsageError("at least one input and one output are needed")
    if "-" in files:
        raise click.UsageError("`-` is not supported: a sort needs files that it can seek in")
    output.check(json_path, used=[*files, given["config"]])
    with Moved("sorting") as progress:
        result = api.run(files[:-1], files[-1], progress=progress.tick, **only_given(given))
    if json_path is not None:
        write_all({json_path: result.report})
    silent = json_path == STDOUT
    sort_view.show(terminal.messages() if silent else terminal.data(), result.report)
    for warning in result.report["warnings"]:
        say(warning, kind="warning")
