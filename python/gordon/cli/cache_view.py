"""What a replay through a cache comes to, in the terminal."""

from typing import Any

from gordon.cli import say
from gordon.cli.terminal import Output
from gordon.human import binary, figures, short

UNITS = {"object": "objects", "page": "pages", "request": "requests as objects"}


def show(console: Output, told: dict[str, Any]) -> None:
    """Ratios first, then what became of objects."""
    for warning in told["warnings"]:
        say(warning, kind="warning")
    console.text(
        f"{told['policy']}, {binary(told['dram_bytes'])}: {told['requests']:,} requests for "
        f"{UNITS[told['unit']]}, {short(told['bytes'], 'B')}; modelled"
    )
    if told["requests"]:
        console.text(
            f"miss ratio {told['miss_ratio']:.4f} of requests, {told['byte_miss_ratio']:.4f} of "
            f"bytes: {told['hits']:,} hits, {told['misses']:,} misses"
        )
    console.text(
        f"{told['insertions']:,} came in, {told['evictions']:,} went; {told['resident_objects']:,} "
        f"are there, {short(told['resident_bytes'], 'B')}"
    )
    known = told["resident_objects"] + told["ghosts"]
    if known:
        ghosts = f" and {told['ghosts']:,} ghosts" if told["ghosts"] else ""
        each = figures(told["index_bytes"] / known)
        console.text(f"to know them{ghosts}: {short(told['index_bytes'], 'B')}, {each} B each")
