"""The error that users can act on.

An error has a message (what is wrong, and where), a hint (what to try), and a kind: a short stable
name of what is wrong. Messages may be reworded; kinds may not, so that programs and tests match on
kinds. An error of the Rust core has the name of its variant as its kind.
"""

from collections.abc import Iterator
from contextlib import contextmanager


class GordonError(Exception):
    """An operation failed for a reason outside of Gordon.

    `message` says what is wrong and where, `hint` what to try; the hint may be empty. Both are in
    the text, and `args` is `(message, hint)`. `kind` names the reason, as `unknown-name`; it is
    empty for an error that has no kind yet.
    """

    def __init__(self, message: str, hint: str = "", kind: str = "") -> None:
        super().__init__(message, hint)
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


def missing_package(name: str, extra: str) -> GordonError:
    """An error for a package that only some functions need, and that `extra` installs."""
    return GordonError(
        f"the package {name} is not installed",
        f"pip install 'gordon-storage[{extra}]'",
        kind="missing-package",
    )


@contextmanager
def located(where: str) -> Iterator[None]:
    """Puts a place in front of the messages of errors."""
    try:
        yield
    except GordonError as error:
        raise error.at(where) from None
