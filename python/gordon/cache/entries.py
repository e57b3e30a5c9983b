"""Entries that the screens and the pages of caches list."""

from collections.abc import Sequence
from typing import Any

from gordon.cache.results import TwoLevelPoint
from gordon.report.entries import NUMBER, Entry, Unit, Value, of, with_prefix
from gordon.report.numbers import sig

_RATIO = Unit("{:.4f}".format, sig)
_FOUR_DIGITS = Unit("{:.4f}".format, "{:.4f}".format)
_COUNT = Unit("{:,.0f}".format, sig)
_BYTES = with_prefix("B")

#: A point of a miss-ratio curve.
CURVE: tuple[Entry[Any], ...] = (
    Entry("misses", "misses", of("misses"), _COUNT),
    Entry(
        "miss_ratio",
        "miss ratio of requests",
        of("miss_ratio"),
        _FOUR_DIGITS,
        short="of requests",
    ),
    Entry("byte_miss_ratio", "of bytes", of("byte_miss_ratio"), _FOUR_DIGITS),
)
#: A level of a cache of small objects.
LEVEL: tuple[Entry[Any], ...] = (
    Entry("hits", "hits", of("hits"), _COUNT),
    Entry("hit_bytes", "bytes hit", of("hit_bytes"), _BYTES),
    Entry("objects", "objects at the end", of("resident_objects"), _COUNT, short="objects"),
    Entry("bytes", "bytes at the end", of("resident_bytes"), _BYTES, short="bytes"),
)


def served(points: Sequence[TwoLevelPoint]) -> list[Entry[TwoLevelPoint]]:
    """Entries of a point of a sweep of two levels: misses, times and bandwidths."""
    servers = points[0].get("servers", [])
    return [
        Entry("miss_ratio", "miss ratio", of("miss_ratio"), _RATIO, short="misses"),
        Entry("byte_miss_ratio", "miss ratio of bytes", of("byte_miss_ratio"), _RATIO),
        Entry("mean_us", "mean us", of("latency_us", "mean"), NUMBER),
        Entry("p99_us", "p99 us", of("latency_us", "p99"), NUMBER),
        Entry("accesses", "flash accesses/s", of("flash", "accesses_per_s"), NUMBER),
        *(
            Entry(f"mbits_{at}", f"Mbit/s, {server['cores']} cores", megabits(at), _COUNT)
            for at, server in enumerate(servers)
        ),
    ]


def spent(points: Sequence[TwoLevelPoint]) -> list[Entry[TwoLevelPoint]]:
    """Entries of such a point: area, cost and wear."""
    worn = [point["wear"] for point in points if point["wear"]]
    lives = worn[0]["lifetimes"] if worn else []
    return [
        Entry("area", "area, cm2", of("area", "total_cm2"), NUMBER, short="cm2"),
        Entry("cost", "cost, $", of("cost", "total_usd"), NUMBER),
        Entry("evictions", "evictions", of("wear", "evictions"), NUMBER),
        Entry("deviation", "deviation of evictions", of("wear", "standard_deviation"), NUMBER),
        Entry("spared", "blocks spared", of("wear", "block_rule_fired"), NUMBER),
        Entry("swapped", "sets swapped", of("wear", "set_rule_fired"), NUMBER),
        *(
            Entry(f"years_{at}", f"years at {life['endurance']:,}", years(at), NUMBER)
            for at, life in enumerate(lives)
        ),
    ]


def megabits(server: int) -> Value:
    """The bandwidth of web servers."""
    return lambda point: float(point["servers"][server]["bandwidth_bit_s"] / 1e6)


def years(life: int) -> Value:
    """The lifetime at one of the endurances."""
    return lambda point: point["wear"] and point["wear"]["lifetimes"][life]["years"]
