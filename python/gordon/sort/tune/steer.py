"""Derives transfer sizes from the counters of a simulated device, instead of a blind search.

Each load of a sort runs alone on a simulated device with transfers that double in size. The result
is the first size at which dies or buses are saturated, or beyond which bandwidth no longer grows.
Loads that share the device in a pass have less of it each, so their sizes are doubled further while
the time of both passes together falls. The default sizes of a sort are tried too, and the fastest
sizes are the starting point.
"""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from os import fspath
from typing import ClassVar

from gordon import __version__, fields, flash, settings
from gordon.files import write_all
from gordon.human import binary, figures, short
from gordon.options import Settings
from gordon.options.sorting import FlashTuning, Tuning
from gordon.presets import Device
from gordon.sort.tune.point import TRANSFERS, Point, toml
from gordon.sort.tune.report import LoadReport, Passes, PassSets, SteerReport, TriedSize
from gordon.sort.tune.simulated import (
    ALIGN,
    Layout,
    Request,
    Simulated,
    merged,
    sequential,
    shuffled,
)

#: Dies or buses are busy (assumed: beyond it a queue only grows).
SATURATED = 0.9
#: A smaller gain in bandwidth does not count (assumed).
MORE = 0.02
LEAST, MOST = 1 << 16, 1 << 24
#: Sizes that the core takes with 256 MiB of memory or more (crates/sort/src/plan.rs).
USUAL = Point(input_transfer=8 << 20, output_transfer=8 << 20, temp_transfer=2 << 20)
RECORD = 100


class SteerResult(fields.SteerResult):
    """The transfer sizes that a simulated device asks for."""

    ROWS: ClassVar = "loads"

    def says(self) -> str:
        return f"{self['device']}, {self['chosen']['what']}"

    def html(self) -> str:
        from gordon.sort.tune.page import render_simulated

        return render_simulated(self.report)


def _loads(at: Layout, seed: int) -> dict[str, tuple[str, Callable[[int], list[Request]]]]:
    """The four things that a sort in two passes asks for, and the setting that each is about."""
    return {
        "input read": ("input_transfer", lambda n: sequential("read", at.input, at.size, n)),
        "buckets written": ("temp_transfer", lambda n: sequential("write", at.temp, at.size, n)),
        "buckets read": ("temp_transfer", lambda n: shuffled("read", at.temp, at.size, n, seed)),
        "output written": ("output_transfer", lambda n: sequential("write", at.output, at.size, n)),
    }


def steer(
    output: str | os.PathLike[str] | None,
    device: Device,
    *,
    set: Settings = (),
    precondition: float = FlashTuning.precondition,
    records: int = 10_000_000,
    most: int = MOST,
    seed: int = Tuning.seed,
) -> SteerResult:
    """Derives transfer sizes from a simulated flash device, as a starting point for `tune`.

    The settings are written to `output`, if given. `most` is the largest transfer in bytes. Every
    value is modelled. Raises GordonError.
    """
    size = -(-records * RECORD // ALIGN) * ALIGN
    at = Layout(size)
    with Simulated(device, set=set, precondition=precondition, seed=seed) as simulated:
        simulated.room(size, 3)
        before = [*sequential("write", at.input, size, ALIGN)]
        simulated.run([*before, *sequential("write", at.temp, size, ALIGN)], keep="base")
        loads, chosen = list[LoadReport](), dict[str, int]()
        for name, (setting, load) in _loads(at, seed).items():
            tried, found, reason = _climb(simulated, load, most)
            loads.append(
                {"load": name, "setting": setting, "found": found, "why": reason, "tried": tried}
            )
            chosen[setting] = max(chosen.get(setting, 0), found)
        together = _together(simulated, at, seed, Point().to(**chosen), most)
        usual = _passes(simulated, at, seed, USUAL)
        point, best = min([*together, (USUAL, usual)], key=lambda one: one[1]["seconds"])
        passes: PassSets = {"usual": usual, "alone": together[0][1], "chosen": best}
        depth, capacity = simulated.options["queue_depth"], simulated.capacity
    report: SteerReport = {
        "version": __version__,
        "kind": "modelled: every value comes from the simulated device",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": flash.device.name(device),
        "set": settings.listed(set),
        "capacity_bytes": capacity,
        "precondition": precondition,
        "queue_depth": depth,
        "bytes": size,
        "seed": seed,
        "loads": loads,
        "chosen": point.chosen(),
        "passes": passes,
        "together": [row for _, row in together],
        "gain": 1 - passes["chosen"]["seconds"] / passes["usual"]["seconds"],
        "toml": "",
    }
    report["toml"] = toml(point, (), None, _head(report))
    if output is not None:
        write_all({fspath(output): report["toml"]})
    return SteerResult(report)


def _climb(
    simulated: Simulated, load: Callable[[int], list[Request]], most: int
) -> tuple[list[TriedSize], int, str]:
    """The transfer sizes that were tried, the one that was found, and the reason."""
    tried: list[TriedSize] = []
    size = LEAST
    while True:
        now: TriedSize = {"transfer": size, **simulated.run(load(size), start="base")}
        if tried and now["bandwidth_mb_s"] < tried[-1]["bandwidth_mb_s"] * (1 + MORE):
            more = f"{binary(size)} changes the bandwidth by {_change(tried[-1], now)}"
            return [*tried, now], tried[-1]["transfer"], f"{more}; {why(now)}"
        tried.append(now)
        if max(now["dies_busy"], now["busiest_bus"]) >= SATURATED:
            return tried, size, f"saturated: {why(now)}"
        if size * 2 > most:
            return tried, size, f"the largest size allowed; {why(now)}"
        size *= 2


def _change(before: TriedSize, now: TriedSize) -> str:
    return f"{now['bandwidth_mb_s'] / before['bandwidth_mb_s'] - 1:+.1%}"


def why(row: TriedSize) -> str:
    """The limit of the device in a run."""
    text = (
        f"dies busy {row['dies_busy']:.0%} (reading {row['dies_reading']:.0%}), "
        f"busiest bus {row['busiest_bus']:.0%}"
    )
    if row["erases"] or row["gc_pages"]:
        text += (
            f", garbage collection active {row['collecting']:.0%} of the time, write amplification "
            f"{row['write_amplification']:.2f}"
        )
    return f"{text}, {figures(row['queue_depth'])} requests outstanding"


def _together(
    simulated: Simulated, at: Layout, seed: int, point: Point, most: int
) -> list[tuple[Point, Passes]]:
    """The points that were tried: from the sizes that each load alone led to, up while the passes
    gain."""
    best = _passes(simulated, at, seed, point)
    tried = [(point, best)]
    for name in TRANSFERS:
        while (size := 2 * getattr(point, name)) <= most:
            larger = point.to(**{name: size})
            now = _passes(simulated, at, seed, larger)
            tried.append((larger, now))
            if now["seconds"] > best["seconds"] * (1 - MORE):
                break
            point, best = larger, now
    return tried


def _passes(simulated: Simulated, at: Layout, seed: int, point: Point) -> Passes:
    """Both passes, each with its reads and writes side by side."""
    read, write, temp = point.input_transfer, point.output_transfer, point.temp_transfer
    assert read is not None
    assert write is not None
    assert temp is not None
    first = simulated.run(
        merged(
            sequential("read", at.input, at.size, read),
            sequential("write", at.temp, at.size, temp),
        ),
        start="base",
        keep="between",
    )
    second = simulated.run(
        merged(
            shuffled("read", at.temp, at.size, temp, seed),
            sequential("write", at.output, at.size, write),
        ),
        start="between",
    )
    return {
        "what": point.label(),
        "distribute": first,
        "gather": second,
        "seconds": first["seconds"] + second["seconds"],
    }


def _head(report: SteerReport) -> list[str]:
    usual, chosen = report["passes"]["usual"], report["passes"]["chosen"]
    part = f"{report['precondition']:.0%} in use"
    return [
        f"gordon {report['version']}, gordon sort tune --flash, {report['date']}",
        "modelled: a starting point for gordon sort tune, which measures",
        f"{report['device']} of {short(report['capacity_bytes'], 'B')}, {part}, "
        f"queue depth {report['queue_depth']}, seed {report['seed']}",
        f"I/O of both passes over {binary(report['bytes'])}: {figures(chosen['seconds'])} s; with "
        f"{usual['what']}: {figures(usual['seconds'])} s (gain {report['gain']:.1%})",
    ]
