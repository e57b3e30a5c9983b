"""Replacement policies written in Python.

    class Fifo:
        \"\"\"First in, first out.\"\"\"

        def __init__(self, capacity: int) -> None:
            self.queue = collections.deque()

        def hit(self, key: int) -> None: ...

        def insert(self, key: int, size: int) -> None:
            self.queue.append(key)

        def evict(self) -> int:
            return self.queue.popleft()

    gordon.cache.sweep("cdn.csv", policies=["lru", Fifo], dram="32MiB..1GiB")

The core counts; the policy chooses. One call takes some tenths of a microsecond.
"""

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from gordon import _core
from gordon.errors import GordonError
from gordon.options import Progress
from gordon.reports.cache import CacheReport
from gordon.untyped import Config

#: Between the file and the class of a policy: `mine.py:Fifo`.
_MARK = ".py:"
METHODS = ("hit", "insert", "evict")


class Chooser(Protocol):
    """The choices of a policy. Objects are known by keys of 64 bits."""

    def hit(self, key: int) -> object:
        """An object of the cache was requested."""

    def insert(self, key: int, size: int) -> object:
        """An object of `size` bytes was inserted."""

    def evict(self) -> int:
        """The key of the object to evict now. The policy forgets it."""


#: Makes the chooser of an empty cache of a capacity in bytes.
OwnPolicy = Callable[[int], Chooser]


def named(policy: str | OwnPolicy) -> str | OwnPolicy:
    """The policy of a name: that of a class in a file, `mine.py:Fifo`, or the name itself. Raises
    GordonError."""
    if not isinstance(policy, str) or _MARK not in policy:
        return policy
    path, _, name = policy.rpartition(":")
    if not Path(path).is_file():
        raise GordonError(
            f"no file {path}", "FILE.py:CLASS, the file and the class", kind="missing-file"
        )
    found = runpy.run_path(path)
    if not callable(found.get(name)):
        classes = sorted(key for key, value in found.items() if isinstance(value, type))
        raise GordonError(
            f"{path} has no class {name}",
            f"one of {', '.join(classes)}" if classes else "a class with hit, insert and evict",
            kind="unknown-name",
        )
    chosen: OwnPolicy = found[name]
    return chosen


def name_of(policy: OwnPolicy) -> str:
    """The name of a policy in results."""
    return getattr(policy, "__name__", type(policy).__name__)


def replay(config: Config, policy: OwnPolicy, progress: Progress | None) -> CacheReport:
    """Replays a trace through a cache with the policy. Raises GordonError; an error of the policy
    is its cause."""
    name = name_of(policy)
    chooser = policy(_core.parse_bytes(config["dram"]))
    missing = [method for method in METHODS if not callable(getattr(chooser, method, None))]
    if missing:
        raise GordonError(
            f"the policy {name} has no method {', '.join(missing)}",
            "hit(key), insert(key, size), and evict(), which returns a key",
            kind="incomplete-policy",
        )
    text = json.dumps(config | {"policy": name})
    try:
        report: CacheReport = json.loads(_core.cache_run_own(text, chooser, progress))
    except GordonError as error:
        raise error.at(f"policy {name}") if error.kind == "" else error from None
    except Exception as error:
        raise GordonError(
            f"policy {name}: {type(error).__name__}: {error}",
            "GORDON_DEBUG=1 to get the line",
            kind="failed-policy",
        ) from error
    return report
