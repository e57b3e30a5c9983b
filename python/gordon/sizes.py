"""Lists of sizes as people write them."""

from collections.abc import Sequence

from gordon import _core


def doubling(asked: str | Sequence[str], option: str, none: bool = False) -> list[int]:
    """`4KiB..64MiB`: the powers of two times the first that are not above the last; `4KiB,1MiB`,
    or a list: those. With `none` 0 is a size, too. In bytes, ascending, each once."""
    words = asked.split(",") if isinstance(asked, str) else list(asked)
    found: list[int] = []
    for word in words:
        first, dots, last = word.partition("..")
        size = _core.parse_bytes(first)
        end = _core.parse_bytes(last) if dots else size
        if none and end == 0:
            found.append(0)
            continue
        if size == 0 or end < size:
            raise _core.GordonError(f"{option} {word}: no sizes", "4KiB..64MiB, or 4KiB,1MiB")
        while size <= end:
            found.append(size)
            size *= 2
    return sorted(set(found))
