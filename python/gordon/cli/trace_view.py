"""A trace's summary for people."""

from collections.abc import Sequence
from typing import Literal

from gordon import _core
from gordon.cli.terminal import GAP, Column, data, width
from gordon.human import counted, duration, short
from gordon.reports.shared import DeviceSummary
from gordon.reports.trace import BlockSummary, Manifest, SampleSeries, TraceSummary
from gordon.trace.summary import kind_of

BARS = " ▁▂▃▄▅▆▇█"
BARS_LEAST, BARS_MOST = 10, 40
BYTES, COUNT = "B", ""
_Column = Literal[
    "cpu_s",
    "command_cpu_s",
    "instructions",
    "llc_misses",
    "memory_bytes",
    "command_memory_bytes",
    "disk_read_bytes",
    "disk_write_bytes",
    "disk_ios",
    "rx_bytes",
    "tx_bytes",
]
# Column, what it is, its unit; and the unit of its rate, if it is an amount of each sample.
ROWS: tuple[tuple[_Column, str, str, str | None], ...] = (
    ("cpu_s", "processor", "s", "cores"),
    ("command_cpu_s", "processor, command", "s", "cores"),
    ("instructions", "instructions", COUNT, "/s"),
    ("llc_misses", "cache misses", COUNT, "/s"),
    ("memory_bytes", "memory in use", BYTES, None),
    ("command_memory_bytes", "memory, command", BYTES, None),
    ("disk_read_bytes", "disks, read", BYTES, "B/s"),
    ("disk_write_bytes", "disks, written", BYTES, "B/s"),
    ("disk_ios", "disk I/Os", COUNT, "/s"),
    ("rx_bytes", "network, received", BYTES, "B/s"),
    ("tx_bytes", "network, sent", BYTES, "B/s"),
)
OPS: tuple[Literal["read", "write", "discard", "flush"], ...] = (
    "read",
    "write",
    "discard",
    "flush",
)
TIMES: tuple[Literal["mean", "p50", "p99", "max"], ...] = ("mean", "p50", "p99", "max")


def show(summary: TraceSummary) -> None:
    """The command and how it ended, each column over time, the block I/O. Warnings are left to the
    caller."""
    manifest, samples = summary["manifest"], summary["samples"]
    console = data()
    imported = manifest.get("imported")
    if imported:
        console.text(f"{imported['file']}, converted from {imported['format']}", style="bold")
    else:
        console.text(" ".join(manifest["command"]), style="bold")
    if imported and not samples["start_s"]:
        over = duration(_core.parse_ns(manifest["duration"]) / 1e9)
        console.text(f"block requests alone, over {over}")
        console.text(_block(summary["block"]))
        return
    console.text(", ".join(_facts(manifest, samples)))
    rows: list[tuple[str, ...]] = []
    rates: list[list[float]] = []
    for key, what, unit, per in ROWS:
        kind = kind_of(summary, key)
        row = None if kind == "missing" else _row(samples[key], samples["span_s"], unit, per)
        rows.append((what, *row[0], kind) if row else (what, "", "", "", "missing"))
        rates.append(row[1] if row else [])
    titles = ("", "total", "mean", "max", "how known")
    columns = [
        Column(title, list(cells), right=title in titles[1:4])
        for title, cells in zip(titles, zip(*rows, strict=True), strict=True)
    ]
    left = BARS_MOST if console.line_width is None else console.line_width - width(columns) - GAP
    if left >= BARS_LEAST:
        bars = [_bars(r, min(left, BARS_MOST)) for r in rates]
        columns.append(Column("over time", bars))
    console.table(columns)
    console.text(_block(summary["block"]))
    for device in summary["devices"]:
        console.text(_device(device))
    # A bound below 1 says nothing: the page cache held what the command read.
    amplification = summary["read_amplification"]
    if amplification is not None and amplification > 1:
        console.text(f"read amplification of the command: at least {amplification:.2f}")


def _facts(manifest: Manifest, samples: SampleSeries) -> list[str]:
    machine, end = manifest["machine"], manifest["end"]
    count = len(samples["start_s"])
    facts = [
        f"{count} sample{'s' * (count != 1)}, one each {manifest['interval']}",
        f"ran {duration(sum(samples['span_s']))}",
    ]
    if not manifest.get("imported"):
        facts.append(
            f"ended by signal {end['signalled']}"
            if "signalled" in end
            else f"exit status {end['exited']}"
        )
    facts.append(
        f"{counted(machine['cores'], 'core')} of {machine['cpu_model'] or 'an unknown processor'}"
    )
    if manifest["memory_limit"]:
        facts.append(f"memory limited to {manifest['memory_limit']}")
    return [*facts, *([f"Linux {machine['kernel']}"] if machine["kernel"] else [])]


def _row(
    values: Sequence[float], spans: list[float], unit: str, per: str | None
) -> tuple[tuple[str, str, str], list[float]] | None:
    """Total, mean, most, as text; and the rate of each sample."""
    known = [(v, s) for v, s in zip(values, spans, strict=False) if s > 0]
    if not known:
        return None
    rates = [v / s if per else v for v, s in known]
    mean = sum(r * s for r, (_, s) in zip(rates, known, strict=True)) / sum(s for _, s in known)
    total = short(sum(v for v, _ in known), unit) if per else ""
    return (total, short(mean, per or unit), short(max(rates), per or unit)), rates


def _bars(rates: list[float], bars: int) -> str:
    """The most of each stretch, as bars; a trace of fewer samples than bars has one a sample."""
    if not rates:
        return ""
    count = min(bars, len(rates))
    step = len(rates) / count
    most = [
        max(rates[int(i * step) : max(int((i + 1) * step), int(i * step) + 1)])
        for i in range(count)
    ]
    top = max(most)
    return "".join(BARS[round(m / top * 8) if top > 0 else 0] for m in most).rstrip()


def _device(device: DeviceSummary) -> str:
    """A device with its I/O and the kernel's settings, as far as they are known."""
    parts = [
        f"{short(device['read_bytes'], BYTES)} read",
        f"{short(device['write_bytes'], BYTES)} written",
    ]
    if device["read_ahead_bytes"] is not None:
        parts.append(f"read-ahead {_size(device['read_ahead_bytes'])}")
    if device["max_request_bytes"] is not None:
        parts.append(f"requests up to {_size(device['max_request_bytes'])}")
    if device["scheduler"]:
        parts.append(f"scheduler {device['scheduler']}")
    if device["rotational"]:
        parts.append("rotational")
    if device["members"]:
        parts.append(f"made of {', '.join(device['members'])}")
    elif device["is_virtual"]:
        parts.append("virtual")
    model = f" ({device['model']})" if device["model"] else ""
    return f"{device['name']}{model}: " + ", ".join(parts)


def _size(size: int) -> str:
    """A power of two of the kernel's settings: `128 KiB`."""
    return f"{size >> 20} MiB" if size >= 1 << 20 and size % (1 << 20) == 0 else f"{size >> 10} KiB"


def _block(block: BlockSummary | None) -> str:
    if block is None:
        return "block I/O: not traced"
    parts = [counted(block["events"], "request")]
    if block["lost"]:
        parts.append(f"{block['lost']} events lost")
    for op in OPS:
        of = block[op]
        if of["requests"]:
            size = f", {short(of['bytes'], BYTES)}" if of["bytes"] else ""
            parts.append(f"{op} {of['requests']}{size}")
    latency = block["latency_us"]
    mean, median, p99, most = (latency[key] for key in TIMES)
    if mean is not None and median is not None and p99 is not None and most:
        parts.append(
            f"latency {mean:.0f} us mean, {median:.0f} median, {p99:.0f} p99, {most:.0f} max"
        )
    return "block I/O: " + "; ".join(parts)
