"""The screens of `gordon block`."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from gordon import picture
from gordon.cli import say, warn_each
from gordon.cli.terminal import Column, Output, data
from gordon.errors import GordonError
from gordon.human import binary, counted, duration, figures, lifetime, or_dash, percent, short
from gordon.reports.block import (
    BlockStatus,
    CheckReport,
    Created,
    ExportReport,
    RangeOfUint64,
    Ready,
    RepairReport,
    Wear,
)


def created(console: Output, image: str, made: Created) -> None:
    device = made["device"]
    console.text(
        f"{image}: {device['preset']}, {short(made['capacity'], 'B')} exported of "
        f"{short(made['raw'], 'B')}, mapped by {binary(made['unit'])}; {made['blocks']:,} "
        f"super-blocks, {made['bad_blocks']} bad; UUID {made['uuid']}"
    )


def ready(console: Output, image: str, where: Ready) -> None:
    console.text(f"{image}: {short(where['capacity'], 'B')}, served at")
    for place in where["places"]:
        console.text(f"  {place}")
    for place in where["status"]:
        console.text(f"  {place} (HTTP: /status and /metrics)")
    warn_each(where["warnings"])


def stopped(console: Output, status: BlockStatus) -> None:
    requests = (
        status["reads"] + status["writes"] + status["flushes"] + status["trims"] + status["zeroes"]
    )
    order = "the file is synced" if _is_disk(status) else "the image is closed cleanly"
    console.text(f"stopped after {counted(requests, 'request')}; {order}")
    late(console, status)


def _is_disk(status: BlockStatus) -> bool:
    return status["kind"] == "disk-status"


def late(console: Output, status: BlockStatus) -> None:
    found = status["emulation"]
    if found and found["requests"]:
        console.text(
            f"response times: simulated {figures(found['asked_mean_us'])} us, measured "
            f"{figures(found['got_mean_us'])} us (means); lateness mean "
            f"{figures(found['late_mean_us'])} us, p99 {figures(found['late_p99_us'])} us, max "
            f"{figures(found['late_max_us'])} us"
        )


def status(console: Output, found: BlockStatus) -> None:
    """One screen."""
    many = f"{found['disks']} x " if found.get("disks", 1) > 1 else ""
    console.text(
        f"{many}{found['preset']}, {short(found['capacity'], 'B')}, "
        f"up {duration(found['uptime_s'])}"
        + (f"; {found['read_only']}" if found["read_only"] else "")
    )
    console.text(
        f"requests: {found['reads']:,} reads, {found['writes']:,} writes, {found['flushes']:,} "
        f"flushes, {found['trims']:,} trims, {found['zeroes']:,} zeroes; {found['failed']:,} "
        f"failed, {found['in_flight']} in flight"
    )
    console.text(
        f"bytes: {short(found['host_bytes_read'], 'B')} read, "
        f"{short(found['host_bytes_written'], 'B')} written, "
        f"{short(found['host_bytes_trimmed'], 'B')} trimmed"
    )
    for line in _disk(found) if _is_disk(found) else _flash(found):
        console.text(line)
    depths = _counts(found["queue_depth"], lambda value: f"{value:,}")
    console.text(f"queue depth: {depths}")
    console.text(f"time between requests: {_counts(found['arrivals_ns'], _time)}")
    late(console, found)


def _counts(histogram: list[int], unit: Callable[[int], str]) -> str:
    """The counts of a histogram by powers of two."""
    shown = ", ".join(
        f"{'0' if place == 0 else f'<{unit(2**place)}'}: {count:,}"
        for place, count in enumerate(histogram)
        if count
    )
    return shown or "-"


def _flash(found: BlockStatus) -> Iterator[str]:
    if found["stopped"]:
        yield (
            f"stopped by a failed assertion: {found['stopped']}; the next start recovers the image "
            "as after a kill"
        )
    pages = found["programmed"]
    amplification = or_dash(found["write_amplification"], "{:.3f}".format)
    yield (
        f"write amplification {amplification}; pages of "
        f"{binary(found['unit'])} programmed: {pages['host']:,} host, {pages['gc']:,} garbage "
        f"collection, {pages['wear']:,} wear levelling, {pages['summary']:,} summaries, "
        f"{pages['trims']:,} trim journal, {pages['padding']:,} padding"
    )
    yield (
        f"buffers: {found['buffered']:,} writes buffered, {found['combined']:,} writes combined, "
        f"{found['forwarded']:,} reads served, {found['bypassed']:,} reads bypassed"
    )
    yield f"mapped: {found['mapped_pages']:,} of {found['exported_pages']:,} pages"
    wear = found["wear"]
    yield (
        f"blocks: {found['free_blocks']:,} free of {found['good_blocks']:,}; {found['erases']:,} "
        f"erases, {found['collections']:,} collected, {found['levelled']:,} of them by wear "
        f"levelling; lifetime erases {wear['least']} to {wear['most']}, mean {wear['mean']:.2f}"
    )
    if found["endurance_used"] is not None:
        written = short(found["host_bytes_written"], "B")
        span = duration(found["uptime_s"])
        yield lifetime(found["endurance_used"], found["lifetime_years"], written, span)
    yield (
        f"errors: {found['bits_corrected']:,} bits corrected, {found['codewords_lost']:,} "
        f"codewords uncorrectable, {found['checksum_errors']:,} checksum mismatches, "
        f"{found['flash_failures']:,} failed programs and erases, {found['medium_errors']:,} I/O "
        "errors of the file"
    )
    use = found["utilisation"]
    if use:
        buses = " ".join(f"{100 * part:.0f}%" for part in use["buses"])
        dies = use["dies"]
        yield (
            f"flash utilisation (modelled): buses {buses}; dies {100 * min(dies):.0f}% to "
            f"{100 * max(dies):.0f}%, mean {100 * sum(dies) / len(dies):.0f}%"
        )


def _disk(found: BlockStatus) -> Iterator[str]:
    if found["read_only"] or found["medium_errors"]:
        yield f"errors: {found['medium_errors']:,} I/O errors of the file"
    disk = found["disk"]
    if disk is None:
        return
    seek, rotation = disk["seek_ms"]["mean"], disk["rotation_ms"]["mean"]
    if seek is not None and rotation is not None:
        yield (
            f"mean per positioning (modelled): seek {figures(seek)} ms, rotation "
            f"{figures(rotation)} ms"
        )
    yield (
        f"reads served from the buffer {disk['buffer_hits']:,}, from read-ahead "
        f"{disk['read_ahead_hits']:,}; destages to the medium {disk['destages']:,}"
    )
    energy = "" if disk["energy_j"] is None else f"; energy {short(disk['energy_j'], 'J')}"
    yield f"busy: reading {disk['reading']:.0%}, writing {disk['writing']:.0%}{energy}"


def _time(ns: int) -> str:
    for scale, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= scale:
            return f"{figures(ns / scale)}{unit}"
    return f"{ns}ns"


Shown = list[tuple[str, Callable[[BlockStatus, BlockStatus, float], str]]]
#: Columns of `--follow`: title, and the value from two states and the seconds between.
FOLLOWED: Shown = [
    ("time", lambda a, b, s: time.strftime("%H:%M:%S")),
    ("read/s", lambda a, b, s: f"{(b['reads'] - a['reads']) / s:,.0f}"),
    ("write/s", lambda a, b, s: f"{(b['writes'] - a['writes']) / s:,.0f}"),
    ("flush/s", lambda a, b, s: f"{(b['flushes'] - a['flushes']) / s:,.0f}"),
    ("MB/s read", lambda a, b, s: _rate(a, b, s, "host_bytes_read")),
    ("MB/s written", lambda a, b, s: _rate(a, b, s, "host_bytes_written")),
    ("in flight", lambda a, b, s: str(b["in_flight"])),
]
#: Further columns of one kind of device.
FLASH: Shown = [
    ("WA", lambda a, b, s: _amplified(a, b)),
    ("erases/s", lambda a, b, s: f"{(b['erases'] - a['erases']) / s:,.0f}"),
    ("free", lambda a, b, s: f"{b['free_blocks']:,}"),
]
DISK: Shown = [
    ("response us", lambda a, b, s: _answered(a, b)),
    ("seeks/s", lambda a, b, s: _moved(a, b, s)),
]


def _answered(a: BlockStatus, b: BlockStatus) -> str:
    """Mean time to an answer."""
    before, now = a["emulation"], b["emulation"]
    if before is None or now is None or now["requests"] == before["requests"]:
        return "-"
    total = now["got_mean_us"] * now["requests"] - before["got_mean_us"] * before["requests"]
    return f"{total / (now['requests'] - before['requests']):,.0f}"


def _moved(a: BlockStatus, b: BlockStatus, seconds: float) -> str:
    before, now = a["disk"], b["disk"]
    if before is None or now is None:
        return "-"
    return f"{(now['seeks'] - before['seeks']) / seconds:,.0f}"


def _rate(
    a: BlockStatus,
    b: BlockStatus,
    seconds: float,
    key: Literal["host_bytes_read", "host_bytes_written"],
) -> str:
    return f"{(b[key] - a[key]) / seconds / 1e6:,.1f}"


def _amplified(a: BlockStatus, b: BlockStatus) -> str:
    written = b["host_bytes_written"] - a["host_bytes_written"]
    pages = _programmed(b) - _programmed(a)
    return f"{pages * b['unit'] / written:.2f}" if written else "-"


def _programmed(status: BlockStatus) -> int:
    """Pages programmed, of all causes."""
    pages = status["programmed"]
    return (
        pages["host"]
        + pages["gc"]
        + pages["wear"]
        + pages["summary"]
        + pages["trims"]
        + pages["padding"]
    )


def follow(look: Callable[[], BlockStatus], interval: float, json_path: str | None) -> None:
    """A line for each interval, until interrupted or the device is gone."""
    if json_path not in (None, "-"):
        raise GordonError(
            "--follow can write JSON to stdout only",
            "--follow --json -",
            kind="exclusive-options",
        )
    before, at = look(), time.monotonic()
    columns = FOLLOWED + (DISK if _is_disk(before) else FLASH)
    if json_path is None:
        data().text("  ".join(f"{title:>12}" for title, _ in columns))
    while True:
        time.sleep(interval)
        try:
            now, then = look(), time.monotonic()
        except GordonError:
            # The image was served at the start, and has been stopped since.
            return
        if json_path is None:
            line = "  ".join(f"{show(before, now, then - at):>12}" for _, show in columns)
        else:
            line = json.dumps(now)
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
        before, at = now, then


def checked(console: Output, image: str, report: CheckReport) -> None:
    order = "closed cleanly" if report["closed_in_order"] else "not closed cleanly"
    console.text(
        f"{image}: {order}; {report['blocks']:,} super-blocks: {report['closed_blocks']:,} closed, "
        f"{report['erased_blocks']:,} erased, {report['bad_blocks']:,} bad; "
        f"{report['data_pages']:,} data pages, {report['trim_pages']:,} trim journal pages; "
        f"{report['logical_pages']:,} of {report['exported_pages']:,} logical pages hold data"
    )
    if report["torn"]:
        console.text(
            f"{report['torn']:,} torn pages: their writes were in flight and not flushed when the "
            "server was killed"
        )
    for error in report["errors"][:20]:
        console.text(f"  {error}")
    if report["error_count"] > 20:
        console.text(f"  and {report['error_count'] - 20:,} more")
    _ranges(console, "cannot be read", report["unreadable_ranges"])
    if report["clean"]:
        console.text("clean")
        return
    console.text(counted(report["error_count"], "error"))
    if not report["servable"]:
        say(
            "the image cannot be served: outdated data could be returned as current",
            f"`gordon block export {image} OUT.raw` to copy the data that is provably current, "
            f"then `gordon block check --repair {image}` to accept the loss of the rest",
        )


def repaired(console: Output, image: str, made: RepairReport) -> None:
    found = made["before"]
    console.text(f"{image}: repaired; {counted(found['error_count'], 'error')} before")
    _ranges(console, "may be older than the last write", made["unproven_ranges"])
    _ranges(console, "could not be read and are now zeros", made["zeroed_ranges"])


def exported(console: Output, out: str, made: ExportReport) -> None:
    missing = (
        f"{made['map']} lists the missing ranges" if made["bad_ranges"] else "no missing ranges"
    )
    console.text(f"{out}: {short(made['bytes'], 'B')}; {missing}")
    _ranges(console, "are missing", made["bad_ranges"])


def _ranges(console: Output, what: str, ranges: list[RangeOfUint64]) -> None:
    if not ranges:
        return
    size = sum(part["end"] - part["start"] for part in ranges)
    console.text(f"{short(size, 'B')} {what}:")
    for part in ranges[:20]:
        console.text(f"  bytes {part['start']:,} to {part['end'] - 1:,}")
    if len(ranges) > 20:
        console.text(f"  and {len(ranges) - 20:,} more ranges")


def worn(console: Output, image: str, report: Wear) -> None:
    console.text(
        f"{image}: {report['erases']:,} erases of {len(report['blocks']):,} super-blocks; good "
        f"blocks {report['least']} to {report['most']}; {report['factory_bad']} factory bad "
        f"blocks, {report['grown_bad']} grown bad blocks"
    )
    if report["endurance_used"] is not None:
        console.text(f"{percent(report['endurance_used'])} of rated endurance used")
    if report["budget_left"] is not None:
        console.text(f"{100 * report['budget_left']:.2f}% of the rated erases are left")
    counts: dict[int, int] = {}
    for block in report["blocks"]:
        counts[block["erases"]] = counts.get(block["erases"], 0) + 1
    if len(counts) <= 20:
        rows = sorted(counts.items())
        console.table(
            [
                Column("erases", [f"{erases:,}" for erases, _ in rows], right=True),
                Column("super-blocks", [f"{count:,}" for _, count in rows], right=True),
            ]
        )


def plot_wear(path: str, image: str, report: Wear) -> None:
    """Erases by block, and how they are distributed."""

    blocks = report["blocks"]
    figure = picture.figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[3, 1], sharey=True)
    for state in sorted({block["state"] for block in blocks}):
        chosen = [block for block in blocks if block["state"] == state]
        at, erases = [b["block"] for b in chosen], [b["erases"] for b in chosen]
        left.plot(at, erases, ".", markersize=3, label=f"{state} ({len(chosen):,})")
    left.set(xlabel="super-block", ylabel="erases", title=Path(image).name)
    left.legend(loc="best", fontsize="small")
    most = max(block["erases"] for block in blocks)
    bins = [place - 0.5 for place in range(0, most + 2, 1 + most // 60)]
    right.hist([block["erases"] for block in blocks], bins=bins, orientation="horizontal")
    left.set_ylim(-0.5, 1.05 * most + 0.5)
    right.set(xlabel="super-blocks")
    picture.save(figure, path)
