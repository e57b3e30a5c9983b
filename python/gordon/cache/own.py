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
from collections.abc import Callable
from typing import Protocol

from gordon import _core, own
from gordon.options import Progress
from gordon.reports.cache import CacheReport
from gordon.untyped import Config

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
    return own.named(policy, METHODS)


def replay(config: Config, policy: OwnPolicy, progress: Progress | None) -> CacheReport:
    """Replays a trace through a cache with the policy. Raises GordonError; an error of the policy
    is its cause."""
    name = own.name_of(policy)
    text = json.dumps(config | {"policy": name})
    with own.blamed(name):
        chooser = policy(_core.parse_bytes(config["dram"]))
        how = "hit(key), insert(key, size), and evict(), which returns a key"
        own.check(name, chooser, METHODS, how)
        report: CacheReport = json.loads(_core.cache_run_own(text, chooser, progress))
    return report
