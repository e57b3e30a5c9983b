"""Victim policies of garbage collection written in Python.

    class Greedy:
        def __init__(self, blocks: int, pages: int) -> None:
            self.valid: dict[int, int] = {}

        def update(self, block: int, valid: int) -> None:
            self.valid.pop(block, None)
            self.valid[block] = valid

        def collect(self, block: int) -> None:
            del self.valid[block]

        def choose(self) -> int:
            return min(self.valid, key=self.valid.__getitem__)

    gordon.flash.wa(Greedy, rho=0.9)
    gordon.flash.bench("random-write", set={"ftl.victim": Greedy}, precondition=0.8)

The core keeps the blocks and counts; the policy chooses. One call takes some tenths of a
microsecond.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from gordon import own, settings
from gordon.flash.device import VICTIM
from gordon.options import Settings

METHODS = ("update", "collect", "choose")


class Chooser(Protocol):
    """The choices of a policy. Its candidates are the full blocks, known by their numbers."""

    def update(self, block: int, valid: int) -> object:
        """The block has this number of valid pages: it was filled just now, or one of its pages
        became stale."""

    def collect(self, block: int) -> object:
        """The block stops being a candidate: it is collected, or wear levelling empties it."""

    def choose(self) -> int:
        """The candidate to collect next. It may be asked for several times before it is
        collected."""


#: Makes the chooser of an array, from its number of blocks and that of logical pages in each.
OwnPolicy = Callable[[int, int], Chooser]
#: The name of a policy, and what makes its chooser.
Own = tuple[str, OwnPolicy]


def named(policy: str | OwnPolicy) -> str | Own:
    """The policy of a name: that of a class in a file, `mine.py:Greedy`, or the name itself. Raises
    GordonError."""
    found = own.named(policy, METHODS)
    return found if isinstance(found, str) else _own(found)


def _own(policy: OwnPolicy) -> Own:
    name = own.name_of(policy)

    def made(blocks: int, pages: int) -> Chooser:
        chooser = policy(blocks, pages)
        how = "update(block, valid), collect(block), and choose(), which returns a block"
        own.check(name, chooser, METHODS, how)
        return chooser

    return name, made


def blamed(policy: Own | None) -> AbstractContextManager[None]:
    """Raises GordonError for any error of a policy, which is its cause."""
    return nullcontext() if policy is None else own.blamed(policy[0])


def taken(given: Settings) -> tuple[Settings, Own | None]:
    """The settings of a device without a policy of the user's, and this policy."""
    chosen: str | OwnPolicy | None = None
    if isinstance(given, Mapping):
        given = {**given}
        table, _, name = VICTIM.partition(".")
        if isinstance(given.get(table), Mapping):
            given[table] = {**given[table]}
        for holder, key in ((given, VICTIM), (given.get(table), name)):
            if isinstance(holder, dict) and callable(holder.get(key)):
                chosen = holder.pop(key)
    kept = []
    for setting in settings.listed(given):
        key, _, value = setting.partition("=")
        if key == VICTIM:
            chosen = value if own.is_place(value) else None
        if key != VICTIM or chosen is None:
            kept.append(setting)
    if chosen is None:
        return kept, None
    found = named(chosen)
    assert not isinstance(found, str)
    return kept, found
