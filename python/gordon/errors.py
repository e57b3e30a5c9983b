"""The error that users can act on.

An error has a message (what is wrong, and where), a hint (what to try), and a kind: a short stable
name of what is wrong. Messages may be reworded; kinds may not, so that programs and tests match on
kinds. An error of the Rust core has the name of its variant as its kind.
"""


class GordonError(Exception):
    """An operation failed for a reason outside of Gordon.

    `args` is `(message, hint)`; the hint may be empty. `kind` names the reason, as `unknown-name`;
    it is empty for an error that has no kind yet.
    """

    def __init__(self, message: str, hint: str = "", kind: str = "") -> None:
        super().__init__(message, hint)
        self.kind = kind
