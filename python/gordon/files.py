"""Files that users name: their text, and outputs, which are written completely or not at all, under
a temporary name first, then renamed; and what the page cache has of a file.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TextIO

from gordon.errors import GordonError

#: The path of standard output.
STDOUT = "-"


def read_text(path: str | PathLike[str], what: str, hint: str = "") -> str:
    """The text of a file. `what` it holds and the hint are for the error. Raises GordonError."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a text file"
        raise GordonError(
            f"cannot read {what} {fspath(path)}: {why}", hint, kind="unreadable-file"
        ) from None


def write_all(files: Mapping[str, object]) -> None:
    """Writes text by path, `-` being stdout, and what is not text as JSON. No file is renamed
    before all are written. A device or a pipe is written to as it is. Raises GordonError if a file
    cannot be written."""
    given = {path: content for path, content in files.items() if path != STDOUT}
    special = [path for path in given if Path(path).exists() and not Path(path).is_file()]
    with ExitStack() as renamed:
        for path, content in given.items():
            if path not in special:
                partial = renamed.enter_context(whole(path))
                with Path(partial).open("w", encoding="utf-8") as file:
                    _put(content, file)
                    file.flush()
                    os.fsync(file.fileno())
    for path in special:
        with _blamed(path), Path(path).open("w", encoding="utf-8") as file:
            _put(given[path], file)
    if STDOUT in files:
        _put(files[STDOUT], sys.stdout)
        sys.stdout.flush()


def _put(content: Any, file: TextIO) -> None:
    if isinstance(content, str):
        file.write(content)
        return
    # A result is a mapping.
    json.dump(content, file, indent=1, default=dict)
    file.write("\n")


@contextmanager
def whole(path: str | PathLike[str]) -> Iterator[str]:
    """A temporary name in the place of `path`, which is renamed to `path` afterwards, or removed if
    the work fails. Raises GordonError, of `path`, if either cannot be written."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.partial-{os.getpid()}")
    try:
        with _blamed(path):
            yield str(partial)
            if partial.exists():
                partial.replace(target)
    except GordonError as error:
        if str(partial) not in error.message:
            raise
        # What writes the file knows only its temporary name.
        what = error.message.replace(str(partial), fspath(path))
        raise GordonError(what, error.hint, kind=error.kind) from None
    finally:
        with suppress(OSError):
            partial.unlink()


def made_folder(path: str | PathLike[str]) -> Path:
    """The folder of this path, which is made if it does not exist. Raises GordonError."""
    place = Path(path)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GordonError(
            f"cannot write {place}: {error.strerror}", "a folder", kind="unwritable"
        ) from None
    return place


def forget(path: Path) -> None:
    """Drops a file from the page cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@contextmanager
def _blamed(path: str | PathLike[str]) -> Iterator[None]:
    """Makes an OSError a GordonError of a path that cannot be written."""
    try:
        yield
    except GordonError:
        raise
    except OSError as error:
        folder = Path(path).parent
        raise GordonError(
            f"cannot write {fspath(path)}: {error.strerror or error}",
            "free some space, or name another folder" if folder.is_dir() else f"mkdir -p {folder}",
            kind="unwritable",
        ) from None
