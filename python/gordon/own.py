"""Policies written in Python: where they are found, and how their errors are reported."""

import re
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from gordon.errors import GordonError
from gordon.untyped import Given

#: Between the file and the class of a policy: `mine.py:Fifo`.
_MARK = ".py:"
#: The regular expression of such a place, of JSON Schema.
PATTERN = re.escape(_MARK)
P = TypeVar("P", bound=Callable[..., Any])


def is_place(policy: object) -> bool:
    """Whether this is the place of a class, `mine.py:Fifo`."""
    return isinstance(policy, str) and _MARK in policy


def named(policy: str | P, methods: Sequence[str]) -> str | P:
    """The policy of a name: that of a class in a file, or the name itself. Raises GordonError."""
    if not isinstance(policy, str) or not is_place(policy):
        return policy
    path, _, name = policy.rpartition(":")
    if not Path(path).is_file():
        raise GordonError(
            f"no file {path}", "FILE.py:CLASS, the file and the class", kind="missing-file"
        )
    found = _run(path)
    if not callable(found.get(name)):
        classes = sorted(key for key, value in found.items() if isinstance(value, type))
        *some, last = methods
        raise GordonError(
            f"{path} has no class {name}",
            f"one of {', '.join(classes)}"
            if classes
            else f"a class with {', '.join(some)} and {last}",
            kind="unknown-name",
        )
    chosen: P = found[name]
    return chosen


def _run(path: str) -> Given:
    """The names that a file defines. Modules next to it can be imported, as for a program."""
    folder = str(Path(path).resolve().parent)
    sys.path.insert(0, folder)
    try:
        return runpy.run_path(path)
    except Exception as error:
        raise GordonError(
            f"{path}: {type(error).__name__}: {error}",
            "GORDON_DEBUG=1 to get the line",
            kind="failed-policy",
        ) from error
    finally:
        sys.path.remove(folder)


def name_of(policy: object) -> str:
    """The name of a policy in results."""
    return getattr(policy, "__name__", type(policy).__name__)


def check(name: str, chooser: object, methods: Sequence[str], how: str) -> None:
    """Raises GordonError unless the chooser that a policy made has the methods; `how` describes
    them."""
    missing = [method for method in methods if not callable(getattr(chooser, method, None))]
    if missing:
        raise GordonError(
            f"the policy {name} has no method {', '.join(missing)}",
            how,
            kind="incomplete-policy",
        )


@contextmanager
def blamed(name: str) -> Iterator[None]:
    """Raises GordonError for any error of the policy of this name, which is its cause."""
    try:
        yield
    except GordonError as error:
        if error.kind:
            raise
        # What a method returned is of no use.
        raise GordonError(
            f"policy {name}: {error.message}", error.hint, kind="failed-policy"
        ) from None
    except Exception as error:
        raise GordonError(
            f"policy {name}: {type(error).__name__}: {error}",
            "GORDON_DEBUG=1 to get the line",
            kind="failed-policy",
        ) from error
