"""`gordon sort`."""

from collections.abc import Mapping
from typing import Any, ClassVar

import click

from gordon.cli import WithDefault, options
from gordon.options import command, only_given
from gordon.options.outputs import Tables
from gordon.options.sorting import Records, SortConfig, SortSettings, Striped, Unique


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


@sort.command()
@click.argument("files", nargs=-1, required=True, metavar="IN... OUT")
@command.of(Striped, Records, Unique)
@command.of(SortSettings, SortConfig, without=["temp_stripe"])
@options.tables_out()
@options.on_linux
def run(files: tuple[str, ...], to: Tables, **given: Any) -> None:
    """Sort the records of files into one.

    A record is that of the sort benchmark, 100 bytes of which the first 10 are the key, unless
    --lines or --record is given. The order is that of LC_ALL=C: bytes are compared by their values,
    in every locale. Equal records stay in order. The output appears under its name when it is whole
    and durable; it may be the input.
    """
    from gordon import sort as api
    from gordon.cli import output, sort_view, warn_each
    from gordon.cli.progress import Moved

    if len(files) < 2:
        raise click.UsageError("at least one input and one output are needed")
    if "-" in files:
        raise click.UsageError("`-` is not supported: a sort needs files that it can seek in")
    output.check(to=to, used=[*files, given["config"]])
    with Moved("sorting") as progress:
        result = api.run(files[:-1], files[-1], progress=progress.tick, **only_given(given))
    output.finish_result(result, sort_view.show, to)
    warn_each(result.report["warnings"])
