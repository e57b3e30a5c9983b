"""`gordon cache generate`."""

from typing import TYPE_CHECKING, Any

import click

from gordon.cli import options
from gordon.cli.replace import replaced
from gordon.options import command, only_given
from gordon.options.caches import WebLoad
from gordon.options.outputs import Force

if TYPE_CHECKING:
    from gordon.cli.terminal import Output
    from gordon.reports.workload import WebReport


@click.command(cls=command.Command)
@click.argument("workload", type=command.Choice(["surge", "specweb99"]))
@command.of(WebLoad, Force)
@options.json_out
def generate(workload: Any, output: str, force: bool, json_path: str | None, **given: Any) -> None:
    """Generate the requests of a web server as a block trace.

    surge: users as modelled by Barford and Crovella (SIGMETRICS 1998), with half of the requests
    for one page of 16 KiB, as in the FlashCache paper. specweb99: SPEC's files and requests, 70 %
    static and 30 % dynamic.

    Each file starts on a page of 4 KiB, and each request reads its file whole; a POST appends to a
    log that follows the files. The same seed gives the same trace. The trace is replayed like any
    block trace: in pages, or with --objects in whole files.
    """
    from gordon.cache import web
    from gordon.cli import output as outputs
    from gordon.cli.progress import Progress

    outputs.check(json_path, files=[output])
    with replaced(output, force=force), Progress("generating") as progress:
        made = web.generate(workload, output, progress=progress.tick, **only_given(given))
    outputs.finish(
        lambda console: _show(console, workload, output, made.report), [(json_path, made)]
    )


def _show(console: "Output", workload: str, output: str, made: "WebReport") -> None:
    from gordon.human import duration, short

    directories = f" in {made['directories']:,} directories" if made["directories"] else ""
    console.text(
        f"{workload}, seed {made['config']['seed']}: {made['files']:,} files{directories}, "
        f"{short(made['file_bytes'], 'B')}; {made['requests']:,} requests of "
        f"{made['config']['clients']} clients for {short(made['bytes'], 'B')} in "
        f"{duration(made['duration_s'])}"
    )
    console.text(
        f"{made['files_asked']:,} files requested, mean {short(made['mean_bytes'], 'B')} a "
        f"request; the most popular fifth of all files gets {made['top_fifth']:.1%} of the "
        f"requests, the most popular file {made['top_file']:.1%}"
    )
    if len(made["kinds"]) > 1:
        kinds = (f"{k['kind']} {k['requests'] / made['requests']:.2%}" for k in made["kinds"])
        console.text(", ".join(kinds))
    console.text(f"{output}: {made['rows']:,} rows, offsets up to {short(made['span_bytes'], 'B')}")
