"""Values of a flash device as its bandwidths suggest them, from which the search begins.

Each is a closed form of a device that does one thing at a time: the search corrects them.
"""

from collections.abc import Sequence

from gordon import _core, quantity
from gordon.storage.fit.points import Observed
from gordon.untyped import Config

#: Outstanding bytes that keep a link busy, and outstanding requests that keep dies busy.
BUSY, DEEP = 1 << 19, 8


def estimate(points: Sequence[Observed], like: Config, more: float = 1.0) -> dict[str, float]:
    """The values that the points suggest, in the units of the search, with `more` times the
    channels. What they do not show is left out."""
    found: dict[str, float] = {}
    busy = [one for one in points if one.size * one.depth >= BUSY]
    if busy:
        found["host.link"] = max(one.mb_s for one in busy) * 1e6
    read, write = _alone(points, "random-read"), _alone(points, "random-write")
    times = [float(_core.parse_ns(one)) for one in _listed(like["timing"]["read"])]
    array = sum(times) / len(times)
    if read:
        single = read[0][1]
        # A write that a buffer takes needs the controller alone.
        controller = write[0][1] if write else min(single / 4, _latency(like))
        if 0 < controller < single:
            found["host.latency"], array = controller, single - controller
            found["timing.read"] = array
        if (rate := _rate(read, like)) is not None:
            found["timing.bus_rate"] = rate
    dies = _dies(points, array)
    geometry = like["geometry"]
    per_channel = _count(geometry, "packages_per_bus") * _count(geometry, "dies_per_package")
    if dies is not None:
        found["geometry.buses"] = max(1, round(more * dies / per_channel))
    channels = found.get("geometry.buses", _count(geometry, "buses"))
    written = [one.mb_s * 1e6 for one in busy if one.pattern.endswith("write")]
    if written:
        page = _core.parse_bytes(quantity.value(geometry["page"]))
        programmed = channels * per_channel * _count(geometry, "planes_per_die") * page
        found["timing.program"] = programmed / max(written) * 1e9
    return found


def _alone(points: Sequence[Observed], pattern: str) -> list[tuple[int, float]]:
    """Sizes of single requests, the smallest first, and their times in nanoseconds."""
    return sorted(
        (one.size, one.size / one.mb_s * 1e3)
        for one in points
        if (one.pattern, one.depth) == (pattern, 1)
    )


def _rate(read: Sequence[tuple[int, float]], like: Config) -> float | None:
    """The rate of a channel in hertz, by the time that a larger part of a super-page takes."""
    size = _core.parse_bytes(quantity.value(like["super_page"]["size"]))
    inside = [one for one in read if one[0] <= size]
    if len(inside) < 2:
        return None
    (small, fast), (large, slow) = inside[0], inside[-1]
    per_s = (large - small) / (slow - fast) * 1e9 if slow > fast else 0.0
    return per_s * 8 / _count(like["timing"], "bus_bits") if per_s > 0 else None


def _dies(points: Sequence[Observed], array_ns: float) -> float | None:
    """The dies that are busy when the most small reads are outstanding (Little's law)."""
    reads = [one for one in points if one.pattern == "random-read"]
    if max((one.depth for one in reads), default=0) < DEEP:
        return None
    small = min(one.size for one in reads)
    most = max(one.mb_s * 1e6 / one.size for one in reads if one.size == small)
    return most * array_ns / 1e9


def _listed(field: object) -> list[str]:
    found = quantity.value(field)
    return found if isinstance(found, list) else [str(found)]


def _latency(like: Config) -> float:
    """The latency of the controller in nanoseconds; a device without a host has none."""
    found = quantity.value(like.get("host", {}).get("latency", "0ns"))
    return float(_core.parse_ns(found))


def _count(table: Config, key: str) -> int:
    return int(quantity.value(table[key]))
