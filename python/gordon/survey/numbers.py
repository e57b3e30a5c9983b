"""Reads the numbers of nodes that a survey compares: `4`, `2,4,8`, `2..8`, `1,4..6`."""

import itertools
import re

from gordon.errors import GordonError

#: The largest number of nodes. Larger values are typing errors.
LARGEST = 100_000
#: Numbers of nodes in a survey. Each is a design for each machine.
MOST = 1_000

_ITEM = re.compile(r"([0-9]+)(?:\.\.([0-9]+))?")
_HINT = "give one number, a list or a range: 4, or 2,4,8, or 2..8"


def parse(text: str) -> list[int]:
    """The numbers of nodes that `text` names, in ascending order.

    `text` is a list of items with commas between them; an item is a number, or a range FIRST..LAST
    that includes both ends. Raises GordonError for text of another form, a number that is 0 or
    above `LARGEST`, a range that ends before it starts, a number that is named twice, and more than
    `MOST` numbers.
    """
    found: list[int] = []
    for item in text.split(","):
        found += _range(item.strip(), text)
        if len(found) > MOST:
            raise _bad(f"--nodes {text}: more than {MOST:,} numbers", "give a shorter range")
    ordered = sorted(found)
    for number, following in itertools.pairwise(ordered):
        if number == following:
            raise _bad(f"--nodes {text}: {number} is named twice", "name each number once")
    return ordered


def _range(item: str, text: str) -> range:
    """The numbers of an item of `text`."""
    match = _ITEM.fullmatch(item)
    if match is None:
        what = f"`{item}` is not a number or a range" if item else "a number is missing"
        raise _bad(f"--nodes {text}: {what}", _HINT)
    first = _number(match[1], text)
    last = first if match[2] is None else _number(match[2], text)
    if last < first:
        raise _bad(
            f"--nodes {text}: the range {item} ends before it starts", f"write {last}..{first}"
        )
    return range(first, last + 1)


def _number(digits: str, text: str) -> int:
    # int() refuses thousands of digits with an error of its own.
    number = int(digits) if len(digits) <= len(str(LARGEST)) else LARGEST + 1
    if not 1 <= number <= LARGEST:
        raise _bad(f"--nodes {text}: {digits[:20]} is not from 1 to {LARGEST:,}", _HINT)
    return number


def _bad(message: str, hint: str) -> GordonError:
    return GordonError(message, hint, kind="bad-nodes")
