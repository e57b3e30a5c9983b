"""Web servers before the caches of a sweep: the network bandwidth of each point, for each number of
cores (Figure 5 of the FlashCache paper).

The server is that of `gordon.cache.server`. The cycles that a request takes are fitted once, as the
paper's text has them, on the point whose DRAM is nearest to the paper's 128 MB.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import log
from typing import Any

from gordon import _core
from gordon.cache.server import Found, Level, Server, fitted, serve

__all__ = ["served"]

PAPER_DRAM = 128 << 20


def served(points: list[dict[str, Any]], cores: Sequence[int]) -> list[dict[str, Any]]:
    """The points, each with `servers`: what a server of each number of `cores` sends and receives.

    Points are two-level replays (`gordon.cache.flashcache`) of one load, whose requests are those
    of the server.
    """
    if not cores or min(cores) < 1:
        raise _core.GordonError("--cores: a server has one core or more", "--cores 4,8,12")
    if not points[0]["requests"]:
        raise _core.GordonError("--cores: the trace asks for nothing", "a trace with requests")
    if points[0]["unit"] == "page":
        raise _core.GordonError(
            "--cores: a web server is asked for files, and this counts their pages", "--objects"
        )
    near = min(points, key=lambda point: abs(log(point["dram_bytes"] / PAPER_DRAM)))
    try:
        fit = fitted(_found(near))
    except ValueError as error:
        raise _core.GordonError(
            f"--cores: {error}", "a load that DRAM has more of, or no --cores"
        ) from None
    return [point | {"servers": [_server(point, fit, many) for many in cores]} for point in points]


def _server(point: dict[str, Any], fit: Server, cores: int) -> dict[str, Any]:
    second, below = _levels(point)
    told = serve(replace(fit, cores=cores), _found(point), second, below)
    return {"cores": cores, "cycles_per_request": fit.cycles_per_request} | told


def _found(point: dict[str, Any]) -> Found:
    dram = point["levels"]["dram"]
    missing, missing_bytes = point["requests"] - dram["requests"], point["bytes"] - dram["bytes"]
    return Found(
        bytes=point["bytes"] / point["requests"],
        dram_misses=missing / point["requests"],
        dram_byte_misses=missing_bytes / point["bytes"],
        flash_misses=point["misses"] / missing if missing else 1.0,
        flash_byte_misses=point["miss_bytes"] / missing_bytes if missing_bytes else 1.0,
    )


def _levels(point: dict[str, Any]) -> tuple[Level | None, Level]:
    """Flash, if there is some, and what lies below, as the point's design has them."""
    design, backend = point["provenance"]["config"]["design"], point["backend"]

    def number(part: str, key: str) -> Any:
        return design[part][key]["value"]

    def seconds(part: str, key: str) -> float:
        return float(_core.parse_ns(number(part, key))) / 1e9

    def rate(part: str) -> float:
        return float(_core.parse_bytes(number(part, "rate_per_s")))

    if backend["kind"] == "disk":
        # As the replay found it: what goes on where the last access ended is cheap.
        asked = backend["reads"] + backend["writes"]
        each = backend["busy_s"] / asked if asked else seconds("disk", "access")
        below = Level(name="disk", latency_s=each)
    else:
        latency = seconds("origin", "latency")
        below = Level(name="origin", latency_s=latency, bytes_per_s=rate("origin"), servers=None)
    if not point["flash_bytes"]:
        return None, below
    # A page of the flash at a time.
    pages = point["bytes"] / point["requests"] / _core.parse_bytes(number("flash", "page"))
    latency = seconds("flash", "read") * max(1.0, pages)
    return Level(name="flash", latency_s=latency, bytes_per_s=rate("flash")), below
