#!/usr/bin/env python3
"""Prints docs/design/flashcache-served.md: the FlashCache paper's experiment with a real server.

    python scripts/pages/flashcache_served.py >docs/design/flashcache-served.md

Takes about two minutes on a quiet machine with two cores, 1 GB of memory and 0.6 GB of the system's
temporary files. `gordon reproduce flashcache` runs the same experiment and compares its results
with the paper's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from gordon.human import figures, percent
from gordon.reproduce import flashcache_served as served
from gordon.reproduce.flashcache_served import Measured, Served, Window
from markdown_pages import render, table

Cell = Callable[[Served], str]
LEVELS = {"dram": "DRAM", "flash": "flash", "miss": "the disk"}
MODES = {"power_active": "always ready", "power_down": "powered down by an oracle"}


def main() -> None:
    others = os.getloadavg()[0]
    measured = served.measure()
    sys.stdout.write(
        render(
            "flashcache-served",
            plan=measured.plan,
            files=measured.files,
            files_mb=measured.files_bytes / 1e6,
            clients=served.CLIENTS,
            cores=served.cores(),
            others=others,
            paced=traffic(measured, lambda one: one.paced),
            loop=traffic(measured, lambda one: one.loop),
            power=powers(measured),
            rows=compared(measured),
        )
    )


def _table(measured: Measured, rows: dict[str, Cell]) -> str:
    both = (measured.alone, measured.both)
    head = ["", *(f"{one.dram_mib} MiB, flash {one.flash_mib} MiB" for one in both)]
    return table(head, [[name, *map(cell, both)] for name, cell in rows.items()], text_columns=1)


def _share(of: Callable[[Served], Window], level: str) -> Cell:
    return lambda one: percent(of(one).share(level))


def _sent(of: Callable[[Served], Window], level: str) -> Cell:
    return lambda one: f"{of(one).counts['requests']['bytes_sent'][level] / 1e6:,.0f}"


def traffic(measured: Measured, of: Callable[[Served], Window]) -> str:
    """The traffic of the servers in a window."""
    rows: dict[str, Cell] = {
        "requests/s": lambda one: f"{of(one).requests / of(one).seconds:,.0f}",
        "Mbit/s": lambda one: f"{of(one).bandwidth_bit_s / 1e6:,.0f}",
        **{f"requests served by {name}": _share(of, level) for level, name in LEVELS.items()},
        **{f"MB from {name}": _sent(of, level) for level, name in LEVELS.items()},
        "MB written to flash": lambda one: f"{of(one).counts['cache']['written_bytes'] / 1e6:,.0f}",
        "time in which the disk was busy": lambda one: percent(
            of(one).disk_busy_s / of(one).seconds
        ),
        "median, 99th percentile of the latency, ms": lambda one: (
            f"{figures(of(one).median_ms)}, {figures(of(one).p99_ms)}"
        ),
        "processor time of the server, us a request": lambda one: (
            f"{1e6 * of(one).cpu_s / of(one).requests:,.0f}"
        ),
    }
    return _table(measured, rows)


#: The parts of the power, and their names in a replay.
PARTS = {
    "DRAM idle": ("dram_idle_w", ("dram_idle_w",)),
    "DRAM active": ("dram_active_w", ("dram_read_w", "dram_write_w")),
    "flash": ("flash_w", ("flash_read_w", "flash_program_w", "flash_erase_w", "flash_idle_w")),
    "controller": ("controller_w", ("controller_w",)),
    "all": ("total_w", ("total_w",)),
}


def powers(measured: Measured) -> dict[str, str]:
    """The power of the memories by part, as counted and as replayed."""
    return {
        name: _table(measured, {part: _power(mode, part) for part in PARTS})
        for mode, name in MODES.items()
    }


def _power(mode: str, part: str) -> Cell:
    ours, replayed = PARTS[part]

    def cell(one: Served) -> str:
        counted = getattr(served.power(one, is_powered_down=mode == "power_down"), ours)
        modelled = sum(one.replay[mode][name] for name in replayed)
        return f"{figures(1e3 * counted)} ({figures(1e3 * modelled)})"

    return cell


def compared(measured: Measured) -> str:
    """The comparisons with the paper."""
    rows = [
        [
            row.what,
            f"{row.low:g}" if row.low == row.high else f"at least {row.low:g}",
            figures(row.ours),
            "-" if row.ratio is None else figures(row.ratio),
            row.reason.rstrip("."),
        ]
        for row in served.rows(measured)
    ]
    return table(["", "the paper", "here", "ratio", "reason"], rows)


if __name__ == "__main__":
    main()
