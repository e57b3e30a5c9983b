"""Data that are replaced with --force only: traces, runs, corpora and images.

All other outputs, such as reports, tables, logs and sorted files, replace what is there as soon as
they are complete.
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gordon import locks
from gordon.errors import GordonError
from gordon.files import STDOUT


@contextmanager
def replaced(
    *paths: str | os.PathLike[str], force: bool, read: Iterable[str | os.PathLike[str]] = ()
) -> Iterator[None]:
    """The places of new data. With `force`, what is there is moved aside (`.NAME.old-PID`) and
    removed after the work; it is put back if the work has left nothing in its place. Raises
    GordonError if there is anything without `force`, if it is in use or not of gordon, or if the
    work reads it."""
    found = [Path(path) for path in paths if os.fspath(path) != STDOUT and _is_there(Path(path))]
    for path in found:
        if not force:
            raise GordonError(f"{path} exists", "another name, or --force to replace it", "exists")
        _check(path)
        _check_unread(path, read)
    with ExitStack() as aside:
        for path in found:
            aside.enter_context(_aside(path))
        yield


def _is_there(path: Path) -> bool:
    """Whether a path is a file, a folder, or a link to nothing. Devices and pipes are written to as
    they are."""
    return path.is_file() or path.is_dir() or (path.is_symlink() and not path.exists())


def _check(path: Path) -> None:
    if path.resolve() == Path.cwd():
        raise GordonError(
            f"cannot replace {path}: it is the current folder",
            "another name, or the name of the folder from the folder above",
            kind="exists",
        )
    if path.is_dir():
        if path.is_symlink() or not _is_of_gordon(path):
            raise GordonError(
                f"cannot replace {path}: it is not a folder that gordon wrote",
                "another name, or remove the folder first",
                kind="exists",
            )
    elif path.exists():
        try:
            with path.open("rb") as file:
                locks.hold(file)
        except OSError as error:
            why = error.strerror
            if isinstance(error, BlockingIOError):
                why = "another program has it open"
            raise GordonError(f"cannot replace {path}: {why}", kind="in-use") from None


def _check_unread(path: Path, read: Iterable[str | os.PathLike[str]]) -> None:
    place = path.resolve()
    for source in read:
        if place in (Path(source).resolve(), *Path(source).resolve().parents):
            raise GordonError(
                f"cannot replace {path}: the command itself reads it",
                "give the output another path",
                kind="path-in-use",
            )


def _is_of_gordon(folder: Path) -> bool:
    """Whether a folder is a trace, a run or a corpus, or has nothing but such folders."""
    if any(_names_gordon(folder / name) for name in ("manifest.json", "run.json")):
        return True
    inner = list(folder.iterdir())
    return all(one.is_dir() and not one.is_symlink() and _is_of_gordon(one) for one in inner)


def _names_gordon(file: Path) -> bool:
    try:
        about = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(about, dict) and "gordon" in about


@contextmanager
def _aside(path: Path) -> Iterator[None]:
    kept = path.with_name(f".{path.name}.old-{os.getpid()}")
    try:
        path.rename(kept)
    except OSError as error:
        why = error.strerror
        raise GordonError(f"cannot replace {path}: {why}", kind="unwritable") from None
    try:
        yield
    finally:
        if not _is_there(path):
            kept.rename(path)
        elif kept.is_dir():
            shutil.rmtree(kept)
        else:
            kept.unlink()
