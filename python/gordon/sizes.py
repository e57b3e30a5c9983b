"""Parses lists and ranges of sizes."""

from collections.abc import Sequence

from gordon.errors import GordonError
from gordon.options import Size, check_bytes, in_bytes


def doubling(sizes: Size | Sequence[Size], option: str, none: bool = False) -> list[int]:
    """The sizes in bytes, ascending and unique. `4KiB..64MiB` is the first size, its doublings and
    the last; `4KiB,1MiB` or a list are these sizes. With `none`, 0 is allowed. Raises
    GordonError."""
    given = [sizes] if isinstance(sizes, int) else sizes
    words = given.split(",") if isinstance(given, str) else [in_bytes(one) for one in given]
    found: list[int] = []
    for word in words:
        first, dots, last = word.partition("..")
        where = f"{option} {word}" if dots else option
        size = check_bytes(first, where)
        end = check_bytes(last, where) if dots else size
        if none and end == 0:
            found.append(0)
            continue
        if size == 0 or end < size:
            raise GordonError(
                f"{option} {word}: a range starts above zero and does not end below its start",
                "4KiB..64MiB, or 4KiB,1MiB",
                kind="bad-size",
            )
        while size < end:
            found.append(size)
            size *= 2
        found.append(end)
    return sorted(set(found))
