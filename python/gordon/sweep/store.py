"""Finished rows of a sweep, kept until all are there: a file of JSON lines next to the output.

A line is content-addressed: its key is a hash of the version, the command, the values and the
digests of the files that a configuration reads. A changed sweep reuses the rows that are still
its own.
"""

import hashlib
import json
from pathlib import Path
from types import TracebackType
from typing import Any

from gordon.errors import GordonError
from gordon.locks import hold
from gordon.untyped import Row

#: Start of every line.
_START = b'{"key": "'


def place(out: str | Path) -> Path:
    """The file for the finished rows of an output."""
    return Path(f"{out}.partial")


def unwritable(path: Path, error: OSError) -> GordonError:
    """The error for a file of a sweep that cannot be written."""
    return GordonError(
        f"cannot write {path}: {error.strerror or error}",
        "an existing folder with enough free space",
        kind="unwritable",
    )


def address(*content: Any) -> str:
    """The key of a row."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class Store:
    """The finished rows of one output. Only one process at a time can have it open."""

    def __init__(self, path: Path, resume: bool) -> None:
        self.path = path
        self.found: dict[str, Row] = {}
        try:
            self._file = path.open("a+b")
        except OSError as error:
            raise unwritable(path, error) from None
        try:
            hold(self._file)
        except OSError:
            self._file.close()
            raise GordonError(
                f"another process is writing {path}",
                "wait for it, or give -o another file",
                kind="in-use",
            ) from None
        self._file.seek(0)
        self._read(self._file.read())
        if self.found and not resume:
            self._file.close()
            raise GordonError(
                f"{path} has {len(self.found):,} finished configurations of an earlier run",
                f"--resume to use them, or rm {path}",
                kind="unfinished-sweep",
            )

    def _read(self, content: bytes) -> None:
        """Takes whole lines; what a killed process left of another one is cut off."""
        whole = content.rfind(b"\n") + 1
        if not content[whole:].startswith(_START[: len(content) - whole]):
            raise self._foreign()
        for line in content[:whole].splitlines():
            try:
                entry = json.loads(line)
                self.found[entry["key"]] = entry["result"]
            except (ValueError, KeyError, TypeError):
                raise self._foreign() from None
        self._file.truncate(whole)

    def _foreign(self) -> GordonError:
        self._file.close()
        return GordonError(
            f"{self.path} is not a file of an unfinished sweep",
            "give -o another file",
            kind="bad-partial",
        )

    def add(self, key: str, result: Any) -> None:
        """Keeps a result; it survives the end of this process."""
        try:
            self._file.write(json.dumps({"key": key, "result": result}).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise unwritable(self.path, error) from None
        self.found[key] = result

    def remove(self) -> None:
        """Removes the file once its rows are in the output."""
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        empty = not self.found
        self._file.close()
        if empty:
            self.remove()
