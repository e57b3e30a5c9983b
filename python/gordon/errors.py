"""The error that users can act on.

An error has a message (what is wrong, and where), a hint (what to try), and a kind: a short stable
name of what is wrong. Messages may be reworded; kinds may not, so that programs and tests match on
kinds. An error of the Rust core has the name of its variant as its kind.
"""

from collections.abc import Iterator
from contextlib import contextmanager


class GordonError(Exception):
    """An operation failed for a reason outside of Gordon.

    `args` is `(message, hint)`; the hint may be empty. `kind` names the reason, as `unknown-name`;
    it is empty for an error that has no kind yet.
    """

    def __init__(self, message: str, hint: str = "", kind: str = "") -> None:
        super().__init__(message, hint)
        self.kind = kind

    def at(self, where: str) -> "GordonError":
        """This error with its place in front of the message; no place if it is empty."""
        message, hint = self.args
        return GordonError(f"{where}: {message}" if where else message, hint, self.kind)


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
