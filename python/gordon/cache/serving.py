"""Web servers that use the caches of a sweep: the network bandwidth of each point, for each number
of cores (Figure 5 of the FlashCache paper).

The server is that of `gordon.cache.server`. The cycles of a request are fitted once to the paper's
text, with the point whose DRAM is nearest to the paper's 128 MB.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import log
from typing import Any

from gordon import _core
from gordon.cache.results import ByLatency, LatencyPoint, ServerOfPoint, TwoLevelPoint
from gordon.cache.server import Found, Level, Server, fitted, loss, serve, slow_memory
from gordon.errors import GordonError
from gordon.reports.cache import FlashCacheReport

__all__ = ["by_latency", "in_seconds", "served"]

PAPER_DRAM = 128 << 20


def served(points: Sequence[TwoLevelPoint], cores: Sequence[int]) -> list[TwoLevelPoint]:
    """Returns the points, each with `servers`: the bandwidth of a server for each of `cores`.

    Points are two-level replays (`gordon.cache.flashcache`) of one load. The server serves the
    requests of that load, each for one file, which is cached whole or by pages.
    """
    _check(points[0], cores)
    near = min(points, key=lambda point: abs(log(point["dram_bytes"] / PAPER_DRAM)))
    fit = _fitted(_found(near))
    return [{**point, "servers": [_server(point, fit, many) for many in cores]} for point in points]


def in_seconds(latencies: Sequence[str]) -> list[float]:
    """Latencies in seconds. Raises GordonError that names the option."""
    found = []
    for text in latencies:
        try:
            found.append(_core.parse_ns(text) / 1e9)
        except GordonError as error:
            raise GordonError(
                f"--latencies: {error.message}", error.hint or "100us", kind=error.kind
            ) from None
    return found


def by_latency(
    point: FlashCacheReport, cores: Sequence[int], latencies: Sequence[float]
) -> ByLatency:
    """Computes servers with the DRAM of a point and a second level of each latency in seconds,
    which serves all misses of DRAM."""
    _check(point, cores)
    found = replace(_found(point), flash_misses=0.0, flash_byte_misses=0.0)
    fit = _fitted(found)
    points: list[LatencyPoint] = []
    for seconds in latencies:
        for many in cores:
            server = replace(fit, cores=many)
            served = serve(server, found, slow_memory(seconds))
            points.append(
                {
                    "latency_us": seconds * 1e6,
                    "cores": many,
                    "bandwidth_bit_s": served["bandwidth_bit_s"],
                    "requests_per_s": served["requests_per_s"],
                    "loss": loss(server, found, seconds),
                }
            )
    return {
        "kind": point["kind"],
        "requests": point["whole"]["requests"],
        "dram_bytes": point["dram_bytes"],
        "dram_misses": found.dram_misses,
        "dram_byte_misses": found.dram_byte_misses,
        "cycles_per_request": fit.cycles_per_request,
        "points": points,
        "warnings": point["warnings"],
        "provenance": point["provenance"],
    }


def _check(point: FlashCacheReport, cores: Sequence[int]) -> None:
    if not cores or min(cores) < 1:
        raise GordonError("--cores: a server has one core or more", "--cores 4,8,12")
    if not point["requests"]:
        raise GordonError("--cores: the trace asks for nothing", "a trace with requests")


def _fitted(found: Found) -> Server:
    try:
        return fitted(found)
    except ValueError as error:
        raise GordonError(
            f"--cores: {error}", "a load that DRAM has more of, or no --cores"
        ) from None


def _server(point: FlashCacheReport, fit: Server, cores: int) -> ServerOfPoint:
    second, below = _levels(point)
    served = serve(replace(fit, cores=cores), _found(point), second, below)
    return {"cores": cores, "cycles_per_request": fit.cycles_per_request, **served}


def _found(point: FlashCacheReport) -> Found:
    whole, dram = point["whole"], point["levels"]["dram"]
    requests, missing = whole["requests"], whole["dram_misses"]
    missing_bytes = point["bytes"] - dram["bytes"]
    return Found(
        bytes=point["bytes"] / requests,
        dram_misses=missing / requests,
        dram_byte_misses=missing_bytes / point["bytes"],
        flash_misses=whole["misses"] / missing if missing else 1.0,
        flash_byte_misses=point["miss_bytes"] / missing_bytes if missing_bytes else 1.0,
    )


def _levels(point: FlashCacheReport) -> tuple[Level | None, Level]:
    """Returns the flash, if any, and the backend, with the times of the point's design.

    An access is everything that a request reads from a level: its file, or the pages of its file
    that are found there.
    """
    design, backend, whole = (
        point["provenance"]["config"]["design"],
        point["backend"],
        point["whole"],
    )

    def number(part: str, key: str) -> Any:
        return design[part][key]["value"]

    def seconds(part: str, key: str) -> float:
        return float(_core.parse_ns(number(part, key))) / 1e9

    def rate(part: str) -> float:
        return float(_core.parse_bytes(number(part, "rate_per_s")))

    if backend["kind"] == "disk":
        # The replay's mean: an access that continues where the last one ended is short.
        accesses = backend["reads"] + backend["writes"]
        each = backend["busy_s"] / accesses if accesses else seconds("disk", "access")
        fetches = point["misses"] / whole["misses"] if whole["misses"] else 1.0
        # Parts of an object are fetched by themselves where flash has what lies between them.
        missed = point["levels"]["backend"]["requests"]
        fetches *= backend["reads"] / missed if missed else 1.0
        below = Level(name="disk", latency_s=each * fetches)
    else:
        latency = seconds("origin", "latency")
        below = Level(name="origin", latency_s=latency, bytes_per_s=rate("origin"), servers=None)
    if not point["flash_bytes"]:
        return None, below
    # A page of the flash at a time. Requests that also need the backend read flash, too, and wait
    # for the backend: their flash reads are spread over the requests that flash serves alone.
    found = [point["levels"]["buffer"], point["levels"]["flash"]]
    served = whole["dram_misses"] - whole["misses"]
    pages = sum(level["bytes"] for level in found) / _core.parse_bytes(number("flash", "page"))
    latency = seconds("flash", "read") * max(1.0, pages / served if served else 0.0)
    return Level(name="flash", latency_s=latency, bytes_per_s=rate("flash")), below
