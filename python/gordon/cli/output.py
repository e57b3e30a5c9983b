"""Output files of a command: checked before its work begins, and written at its end."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gordon import picture
from gordon.cli.terminal import Column, Output, data, messages
from gordon.errors import GordonError
from gordon.files import STDOUT, write_all
from gordon.options.outputs import Tables

if TYPE_CHECKING:
    from gordon.result import Result

R = TypeVar("R", bound=Mapping[str, Any])
#: Names of files that are text, which a table in Parquet is not.
_TEXTS = (".csv", ".htm", ".html", ".json", ".toml", ".txt")


def check(
    *texts: str | None,
    to: Tables | None = None,
    files: Iterable[str | None] = (),
    folder: str | None = None,
    plot: str | None = None,
    report: str | None = None,
    used: Iterable[str | None] = (),
    tables: Iterable[str | None] = (),
) -> None:
    """Raises GordonError for outputs that cannot be written: a missing folder, a path given twice,
    an unsupported format. `to` are the files of a result with tables. `files` are binary and cannot
    go to stdout, nor can `tables`, which are Parquet; `folder` is created if it is missing. `used`
    are paths that the command reads or writes itself, which outputs would destroy; files of options
    with the metavar NAME|FILE are known without it.
    """
    tables = list(tables)
    files = [*tables, *files]
    folders = [folder]
    if to is not None:
        texts = (*texts, to.json_path, to.csv_path)
        folders.append(to.parquet)
    if STDOUT in (*files, *folders):
        raise GordonError(
            "cannot write binary data to stdout", "name a file, or ./-", kind="binary-to-stdout"
        )
    if plot is not None:
        picture.check(plot)
    if report is not None and Path(report).suffix.lower() not in ("", ".html", ".htm"):
        raise GordonError(
            f"cannot write {report}: a report is an HTML file",
            "a name that ends in .html",
            kind="bad-report-format",
        )
    for one in folders:
        if one is not None:
            _check_folder(one)
    given = [path for path in (*texts, *files, plot, report, *folders) if path is not None]
    used = [*used, *_named_files()]
    places = {os.path.realpath(path) for path in used if path not in (None, STDOUT)}
    targets = [path if path == STDOUT else os.path.realpath(path) for path in given]
    for path, target in zip(given, targets, strict=True):
        if path != STDOUT and target in places:
            why = f"cannot write {path}: the command itself reads or writes this file"
            raise GordonError(why, "give the output another path", kind="path-in-use")
        if targets.count(target) > 1:
            raise GordonError(
                f"two outputs have the path {path}",
                "give each output its own path",
                kind="path-in-use",
            )
        if path in (STDOUT, *folders):
            continue
        parent = Path(path).parent
        if not parent.is_dir():
            raise GordonError(
                f"cannot write {path}: there is no folder {parent}",
                f"mkdir -p {parent}",
                kind="missing-folder",
            )
        if Path(path).is_dir():
            raise GordonError(
                f"cannot write {path}: it is a folder",
                "name a file in that folder",
                kind="is-a-folder",
            )
        if not os.access(parent, os.W_OK):
            raise GordonError(
                f"cannot write {path}: the folder {parent} is not writable", kind="unwritable"
            )
    for table in filter(None, tables):
        if Path(table).suffix.lower() in _TEXTS:
            raise GordonError(
                f"cannot write {table}: the table is a Parquet file",
                "a name that ends in .parquet",
                kind="bad-report-format",
            )


def _named_files() -> list[str]:
    """Files given to options of the command that take a shipped name or a file."""
    context = click.get_current_context(silent=True)
    if context is None:
        return []
    options = [param.name for param in context.command.params if param.metavar == "NAME|FILE"]
    given = [context.params.get(name) for name in options if name is not None]
    return [path for path in given if isinstance(path, str) and Path(path).is_file()]


def trace_files(traces: Sequence[str]) -> list[str]:
    """The files of traces, which are folders, and of runs, which are folders of traces; and what is
    a file itself."""
    names = ("manifest.json", "activity.parquet", "disks.parquet", "block.parquet", "run.json")
    folders = [found for trace in traces for found in (Path(trace), *Path(trace).glob("*/"))]
    files = [trace for trace in traces if Path(trace).is_file()]
    return files + [str(folder / name) for folder in folders for name in names]


def _check_folder(path: str) -> None:
    at = Path(path)
    while not at.exists() and at != at.parent:
        at = at.parent
    if not at.is_dir() or not os.access(at, os.W_OK):
        why = "is not writable" if at.is_dir() else "is not a folder"
        raise GordonError(
            f"cannot write {path}: {at} {why}", "name another folder", kind="unwritable"
        )


def finish(
    view: Callable[[Output], None],
    files: Iterable[tuple[str | None, Any]] = (),
    made: Iterable[tuple[str | None, Callable[[str], Any]]] = (),
    written: Iterable[str | None] = (),
    is_quiet: bool = False,
    *,
    to: Tables | None = None,
    result: Mapping[str, Any] | None = None,
    rows: str | Callable[[], str] | None = None,
) -> None:
    """The end of a command: writes the files whose path was given, shows the result, and says what
    was written. `to` are the files of a `result` with tables; `rows` is the table that becomes CSV,
    or a function that returns its text; if None, the table that stands for the whole. `files` are
    paths with contents, as `gordon.files.write_all` takes them, or functions that return these;
    `made` are paths with functions that write there, such as a plot; `written` are files that the
    command wrote itself. The result is also shown if a file cannot be written; where stdout is
    taken, on stderr, or not at all if `is_quiet`."""
    if to is not None and result is not None:
        files = [(to.json_path, result), (to.csv_path, _csv(result, rows)), *files]
        made = [*made, (to.parquet, lambda path: _tables(result).to_parquet(path))]
    wanted = {
        path: content() if callable(content) else content
        for path, content in files
        if path is not None
    }
    drawn = {path: write for path, write in made if path is not None}
    paths = [path for path in (*wanted, *drawn, *written) if path is not None]
    is_taken = STDOUT in paths
    try:
        write_all(wanted)
        for path, write in drawn.items():
            write(path)
    finally:
        if not (is_taken and is_quiet):
            view(messages() if is_taken else data())
    for path in paths:
        if path != STDOUT:
            click.echo(f"wrote {path}", err=True)


def finish_result(
    result: "Result[R]",
    view: Callable[[Output, R], None],
    to: Tables,
    report: str | None = None,
    made: Iterable[tuple[str | None, Callable[[str], Any]]] = (),
    written: Iterable[str | None] = (),
    rows: str | Callable[[], str] | None = None,
) -> None:
    """The end of a command whose result has tables: `finish` with `view`, which shows the report of
    the result. `report` is the path of the page of the result."""
    finish(
        lambda console: view(console, result.report),
        [(report, result.html)],
        made,
        written,
        to=to,
        result=result,
        rows=rows,
    )


def _csv(result: Mapping[str, Any], rows: str | Callable[[], str] | None) -> Callable[[], str]:
    return rows if callable(rows) else lambda: _tables(result).to_csv(rows)


def _tables(result: Mapping[str, Any]) -> "Result[Any]":
    """The result with its tables. Most results that have none yet are lists of what is shipped."""
    from gordon.result import Result

    return result if isinstance(result, Result) else Result(result)


def table(columns: list[Column], rows: str, listed: Sequence[Any], to: Tables) -> None:
    """Prints a table of a list, and writes it, by the name `rows`, to the files that were given; to
    stdout, instead of the table."""
    finish(
        lambda console: console.table(columns),
        is_quiet=True,
        to=to,
        result={rows: listed},
        rows=rows,
    )


def summaries(rows: str, listed: Sequence[Mapping[str, str]], to: Tables) -> None:
    """Prints names with what they are of (`id`, `summary`), and writes them as `table` does."""
    columns = [
        Column("name", [row["id"] for row in listed]),
        Column("summary", [row["summary"] for row in listed], wraps=True),
    ]
    table(columns, rows, listed, to)
