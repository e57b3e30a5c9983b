"""The error that users can act on.

An error has a message (what is wrong, and where), a hint (what to try), and a kind: a short stable
name of what is wrong. Messages may be reworded; kinds may not, so that programs and tests match on
kinds. An error of the Rust core has the name of its variant as its kind.

A failure of the system is an OSError too, and a bad value that somebody gave is a ValueError.
"""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Kinds of errors of the system, with the number of its reason. Other errors have it in their text.
SYSTEM = {
    "missing": errno.ENOENT,
    "missing-file": errno.ENOENT,
    "missing-folder": errno.ENOENT,
    "missing-input": errno.ENOENT,
    "missing-trace": errno.ENOENT,
    "not-found": errno.ENOENT,
    "exists": errno.EEXIST,
    "output-exists": errno.EEXIST,
    "is-a-folder": errno.EISDIR,
    "disk-full": errno.ENOSPC,
    "no-space": errno.ENOSPC,
    "needs-root": errno.EPERM,
    "unwritable": errno.EACCES,
    "unreadable-file": errno.EIO,
    "unreadable": errno.EIO,
}
#: An error whose kind starts with one of these is a ValueError too: the caller gave a bad value.
VALUES = (
    *("ambiguous-", "bad-", "binary-", "circular-", "command-is-text", "config-error"),
    *("duplicate-", "empty-", "exclusive-", "impossible", "incomplete-", "missing-key"),
    *("needs-option", "not-a"),
    *("not-finite", "one-", "other-unit", "out-of-range", "same-", "too-", "two-", "unknown"),
    *("wrong-model", "several-"),
)


class GordonError(Exception):
    """An operation failed for a reason outside of Gordon.

    `message` says what is wrong and where, `hint` what to try; the hint may be empty. Both are in
    the text, and `args` is `(message, hint)`. `kind` names the reason, as `unknown-name`; it is
    empty for an error that has no kind yet.
    """

    def __new__(cls, *given: Any, **named: Any) -> "GordonError":
        if cls is not GordonError:
            return super().__new__(cls, *given)
        return _made(*given, **named)

    def __init__(self, message: str, hint: str = "", kind: str = "") -> None:
        super().__init__(_without_number(message), hint)
        self.kind = kind

    def __str__(self) -> str:
        return f"{self.message}\n  try: {self.hint}" if self.hint else self.message

    @property
    def message(self) -> str:
        """The text that says what is wrong, and where."""
        return str(self.args[0])

    @property
    def hint(self) -> str:
        """The text that says what to try."""
        return str(self.args[1]) if len(self.args) > 1 else ""

    def at(self, where: str) -> "GordonError":
        """This error with its place in front of the message; no place if it is empty."""
        message = f"{where}: {self.message}" if where else self.message
        return GordonError(message, self.hint, self.kind)


class InvalidValueError(GordonError, ValueError):
    """Somebody gave a value that is none."""


class SystemFailureError(GordonError, OSError):
    """The system refused an operation. `errno` and `strerror` are its reason."""

    def __init__(self, message: str, hint: str = "", kind: str = "") -> None:
        super().__init__(message, hint, kind)
        self.errno = _number(message, kind)
        self.strerror = None if self.errno is None else os.strerror(self.errno)

    def __reduce__(self) -> tuple[type[GordonError], tuple[str, str, str]]:
        return GordonError, (self.message, self.hint, self.kind)


class NotFoundError(SystemFailureError, FileNotFoundError):
    """There is no such file."""


class ExistsError(SystemFailureError, FileExistsError):
    """There is such a file already."""


class IsFolderError(SystemFailureError, IsADirectoryError):
    """A file was expected."""


class NotPermittedError(SystemFailureError, PermissionError):
    """The user may not do this."""


_BY_NUMBER: dict[int, type[GordonError]] = {
    errno.ENOENT: NotFoundError,
    errno.EEXIST: ExistsError,
    errno.EISDIR: IsFolderError,
    errno.EACCES: NotPermittedError,
    errno.EPERM: NotPermittedError,
}


def _made(message: str, hint: str = "", kind: str = "") -> GordonError:
    """An error of the class that its kind and its text ask for, before its `__init__`."""
    number = _number(message, kind)
    if number is not None:
        failure = _BY_NUMBER.get(number, SystemFailureError)
        return OSError.__new__(failure, _without_number(message), hint)
    made = InvalidValueError if kind.startswith(VALUES) else GordonError
    return Exception.__new__(made, message, hint)


#: Reasons as the system words them.
_REASONS = {os.strerror(number): number for number in errno.errorcode}
#: The number that the Rust core adds to a reason of the system.
_CODED = r" \(os error (\d+)\)"


def _without_number(message: str) -> str:
    """A message without the numbers of reasons: users read the words, and programs `errno`."""
    return re.sub(_CODED, "", message)


def _number(message: str, kind: str) -> int | None:
    """The number of the system's reason for an error, if there is one: that at the end of the
    message, else that of the kind."""
    first = message.partition("\n")[0]
    coded = re.search(f"{_CODED}$", first)
    if coded:
        return int(coded[1])
    return _REASONS.get(first.rpartition(": ")[2]) or SYSTEM.get(kind)


def missing_package(name: str, extra: str | None) -> GordonError:
    """An error for a package that only some functions need, and that `extra` installs, if any."""
    return GordonError(
        f"the package {name} is not installed",
        f"pip install 'gordon-storage[{extra}]'" if extra else f"pip install {name}",
        kind="missing-package",
    )


@contextmanager
def located(where: str) -> Iterator[None]:
    """Puts a place in front of the messages of errors."""
    try:
        yield
    except GordonError as error:
        raise error.at(where) from None
