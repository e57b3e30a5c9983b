"""The screen and the plot of a fitted disk."""

from typing import TYPE_CHECKING

from gordon import picture
from gordon.cli.terminal import Output
from gordon.human import binary, figures

if TYPE_CHECKING:
    from gordon.disk.fit import Fit
    from gordon.disk.fit.report import CacheFound, Parameters, WritesFound, ZoneFound


def show(console: Output, fitted: "Fit") -> None:
    """The parameters, and how good they are."""
    found, good = fitted["parameters"], fitted["goodness"]
    console.text(
        f"{fitted['probed']['target']}: fitted to {fitted['probed']['probes']:,} timed requests"
    )
    rows = [
        ("revolution", f"{found['revolution_ms']:.4f} ms ({found['rpm']:,} rpm)"),
        ("capacity", f"{found['sectors']:,} sectors, {found['cylinders']:,} cylinders"),
        ("heads", "unknown" if found["heads"] is None else str(found["heads"])),
        ("zones", _zones(found["zones"])),
        ("skews", _skews(found)),
        *_seeks("seek", found["seek_ms"]),
    ]
    if found["head_switch_ms"] is not None:
        rows.append(("head switch", f"{figures(found['head_switch_ms'])} ms"))
    overhead, rate = found["overhead_us"], found["interface_mb_s"]
    if found["read_cache"] is None or overhead is None or rate is None:
        rows.append(("read cache", "none seen: no read was served from memory"))
    else:
        rows += [
            ("read cache", _cache(found["read_cache"])),
            ("overhead", f"{figures(overhead)} us"),
            ("interface", f"{figures(rate)} MB/s"),
        ]
    rows += _writes(found["writes"])
    for name, value in rows:
        console.text(f"{name:12} {value}")
    took, fitted_took = good["mean_response_ms"], good["fitted_mean_response_ms"]
    console.text(
        f"{good['reads']:,} random reads: mean {figures(took)} ms on the disk, "
        f"{figures(fitted_took)} ms on the fitted disk; demerit figure (RMS distance of the "
        f"distributions) {figures(good['demerit_ms'])} ms, {good['demerit_of_mean']:.1%} of the "
        f"mean, of which sampling noise explains {figures(good['chance_ms'])} ms"
    )


def _zones(zones: "list[ZoneFound]") -> str:
    first, last = zones[0]["sectors_per_track"], zones[-1]["sectors_per_track"]
    return f"{len(zones)}, {first:,} to {last:,} sectors per track"


def _skews(found: "Parameters") -> str:
    track, cylinder = figures(found["track_skew_ms"]), figures(found["cylinder_skew_ms"])
    return f"{track} ms from track to track, {cylinder} to the next cylinder"


def _seeks(name: str, seek: dict[str, float]) -> list[tuple[str, str]]:
    words = ", ".join(f"{figures(ms)} ms {kind.replace('_', ' ')}" for kind, ms in seek.items())
    return [(name, words)]


def _cache(cache: "CacheFound") -> str:
    return (
        f"{binary(cache['bytes'])} in {cache['segments']} segments, "
        f"{binary(cache['read_ahead_bytes'])} read ahead"
    )


def _writes(writes: "WritesFound | None") -> list[tuple[str, str]]:
    if writes is None:
        return []
    rows = _seeks("write seek", writes["seek_ms"])
    if writes["through"]:
        return [*rows, ("write cache", "none: a write completes when it is on the medium")]
    limit, pieces = writes["cache_bytes"], writes["extents"]
    size = "size unknown" if limit is None else binary(limit)
    count = "number of extents unknown" if pieces is None else f"{pieces} extents"
    return [*rows, ("write cache", f"{size}, {count}")]


def draw(path: str, fitted: "Fit") -> None:
    """Seek times over distance with the curve through them, and sectors a track over the disk."""
    from gordon.arrays import np

    found = fitted["parameters"]
    figure = picture.figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    distances = np.array([seek["cylinders"] for seek in found["seeks"]], dtype=np.float64)
    times = [seek["ms"] for seek in found["seeks"]]
    within = [seek["within_ms"] for seek in found["seeks"]]
    left.errorbar(distances, times, yerr=within, fmt=".", label="measured")
    over = np.geomspace(1, distances[-1], 500)
    left.plot(over, fitted.model.curve.time(over) / 1e6, "-", label="a + b sqrt(d) + c d")
    left.set(
        xscale="log", xlabel="cylinders", ylabel="seek (ms)", title="Seeks (reads)", ylim=(0, None)
    )
    left.legend()
    zones = found["zones"]
    edges = [zone["first_sector"] * 512 / 1e9 for zone in zones] + [found["sectors"] * 512 / 1e9]
    right.stairs([zone["sectors_per_track"] for zone in zones], edges)
    right.set(
        xlabel="GB from the outer edge", ylabel="sectors per track", title="Zones", ylim=(0, None)
    )
    picture.save(figure, path)
