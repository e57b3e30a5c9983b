"""Options of a FlashCache: DRAM and flash."""

from typing import Any

import click

from gordon.cli import options

_OPTIONS = (
    click.option(
        "--preset",
        metavar="NAME|FILE",
        help="flashcache: a design (`gordon cache presets`) or a TOML file.  [default: cases-2006]",
    ),
    click.option(
        "--set",
        "set_values",
        multiple=True,
        metavar="KEY=VALUE",
        help="flashcache: override a value of the design: cache.ways=8, wear.rules=none.",
    ),
    click.option(
        "--ecc",
        type=options.COUNT,
        metavar="N",
        help="flashcache: number of wrong bits corrected in each 512 bytes of flash. The "
        "endurance of a block and the time of a read depend on it.  [default: 1, the code of the "
        "rating]",
    ),
    click.option(
        "--backend",
        metavar="disk|origin|DISK",
        help="flashcache: storage below the cache. disk: a disk with a fixed access time; "
        "origin: a server over a network; or a simulated disk, a preset (`gordon disk "
        "presets`) or a TOML file.  [default: disk]",
    ),
    click.option(
        "--speed",
        type=float,
        metavar="X",
        help="flashcache: speed up the trace's arrivals by this factor.",
    ),
    click.option(
        "--rate",
        type=float,
        metavar="N",
        help="flashcache: requests per second, evenly spaced, in place of the trace's times. "
        "The pages of a request arrive together.",
    ),
    click.option(
        "--outstanding",
        type=options.COUNT,
        metavar="N",
        help="flashcache: number of outstanding requests in a closed loop, in place of the "
        "trace's times.",
    ),
    click.option(
        "--think",
        metavar="TIME",
        help="flashcache: think time between an answer and the next request of a closed loop.",
    ),
)


def of_flashcache(command: Any) -> Any:
    """Adds them, in this order."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
