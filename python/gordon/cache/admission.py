"""Admission policies of flash, as users write them."""

from collections.abc import Callable

from gordon.errors import GordonError


def admission(text: str) -> str | dict[str, object]:
    """Converts an admission policy, such as `random:0.5`, to the core's format."""
    if text == "all":
        return text
    name, _, value = text.partition(":")
    kinds: dict[str, Callable[[str], object]] = {
        "random": float,
        "hits": int,
        "ghost": str,
        "years": float,
    }
    try:
        return {name: kinds[name](value)}
    except (KeyError, ValueError):
        raise GordonError(
            f"admission: there is no `{text}`", "all, random:0.5, hits:2, ghost:64MiB or years:5"
        ) from None
