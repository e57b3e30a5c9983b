"""`gordon workload list`, `data` and `run`."""

from typing import TYPE_CHECKING, Any

import click

from gordon.cli import options
from gordon.cli.replace import replaced
from gordon.cli.workload_list import list_jobs
from gordon.cli.workload_run import run
from gordon.options import command, only_given
from gordon.options.outputs import Force
from gordon.options.workloads import Corpus

if TYPE_CHECKING:
    from gordon.cli.terminal import Output
    from gordon.workload.data import CorpusFolder

#: The records of each kind of corpus.
_RECORDS = {"text": "lines", "web": "pages", "numbers": "numbers", "records": "records"}


@click.group(cls=options.InOrder)
def workload() -> None:
    """Run the jobs of the paper's Table 2 on Spark, traced on every node."""


workload.add_command(list_jobs)


@workload.command()
@click.argument("kind", type=command.Choice(list(_RECORDS)))
@command.of(Corpus, Force)
@options.json_out
@options.on_linux
def data(
    kind: str,
    output: str,
    force: bool,
    json_path: str | None,
    sources: tuple[str, ...],
    **given: Any,
) -> None:
    """Generate a corpus: a folder of part files and a manifest.

    text: lines in several languages, with the word frequencies, word pairs and line lengths of
    installed manual pages and documentation. web: one page of HTML a line, as JSON with url and
    html, with the markup of real pages, text as above, and links between the pages. numbers: lines
    of decimal numbers below 2^63. records: those of `gordon sort generate`.

    The manifest has the sizes, numbers of records and checksums of the files, and the sources.
    """
    from gordon.cli import output as outputs
    from gordon.cli.progress import Moved
    from gordon.workload.data import generate

    outputs.check(json_path, used=[output, *sources])
    with replaced(output, force=force, read=sources), Moved("generating") as progress:
        made = generate(kind, output, sources=sources, progress=progress.tick, **only_given(given))
    outputs.finish(lambda console: _made(console, kind, output, made.report), [(json_path, made)])


def _made(console: "Output", kind: str, output: str, made: "CorpusFolder") -> None:
    from gordon.human import counted, duration, short

    console.text(
        f"{output}: {made['records']:,} {_RECORDS[kind]}, {short(made['bytes'], 'B')} in "
        f"{counted(len(made['files']), 'file')}, {duration(made['time_s'])}"
    )
    if made["languages"]:
        names = [language["language"] for language in made["languages"]]
        console.text(f"{counted(len(names), 'language')}: {', '.join(names)}")
    console.text(f"checksum {made['checksum']}")


workload.add_command(run)
