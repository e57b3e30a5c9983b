"""Options that the commands for simulated devices share. Each name is that of the Python API."""

from collections.abc import Callable
from math import isfinite
from typing import Any

import click

from gordon.cli.trace_input import of_trace

PATTERNS = (
    "random-write",
    "random-read",
    "sequential-write",
    "sequential-read",
    "mixed",
    "hot-cold",
    "zipf",
    "gordon-pair",
)
# `VictimPolicy` of the core, as its schema has it; a test compares them.
POLICIES = ("greedy", "fifo", "random", "d-choices", "cost-benefit")

Decorator = Callable[[Any], Any]


class _Number(click.types.FloatParamType):
    """Finite; ranges let NaN pass."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number: float = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class _Fraction(_Number):
    """A number, or a percentage: 0.8 is 80%."""

    name = "fraction"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, str) and value.endswith("%"):
            return super().convert(value[:-1], param, ctx) / 100
        return super().convert(value, param, ctx)


class _Share(click.FloatRange, _Fraction):
    """From 0 to 1, or 0% to 100%."""

    name = "fraction"


SHARE = _Share(0, 1)
FRACTION = _Fraction()
"""A fraction whose range the core checks."""
NUMBER = _Number()
COUNT = click.IntRange(1)


class InOrder(click.Group):
    """Lists its commands as they are written here."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


def _all(*decorators: Decorator) -> Decorator:
    def decorate(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def seed(what: str, default: int = 1) -> Decorator:
    """`--seed`; `what` is a sentence, or a phrase that continues "Random seed"."""
    return click.option(
        "--seed",
        type=click.IntRange(0),
        default=default,
        show_default=True,
        metavar="N",
        help=f"Random seed{'. ' if what[0].isupper() else ' '}{what}",
    )


preset = click.option(
    "--preset",
    "device",
    default="gordon-slc-256g",
    show_default=True,
    metavar="NAME|FILE",
    help="Device: a preset (`gordon flash presets`) or a TOML file.",
)

device = _all(
    click.option(
        "--set",
        "set_values",
        multiple=True,
        metavar="KEY=VALUE",
        help="Override a value of the device: ftl.victim=fifo, timing.read=50us; capacity=8GiB "
        "makes a smaller array with the same share of spare capacity.",
    ),
    click.option(
        "--spare",
        metavar="SHARE",
        help="Over-provisioning: with 18%, the array has 118% of the exported capacity, which does "
        "not change.  [default: the device's]",
    ),
    click.option(
        "--super-page",
        metavar="SIZE",
        help="Size of a super-page, such as 64KiB.  [default: the device's]",
    ),
    click.option(
        "--write-points",
        type=COUNT,
        metavar="N",
        help="Number of write points, each with an open block.  [default: the device's]",
    ),
    click.option(
        "--precondition",
        type=SHARE,
        metavar="FRACTION",
        help="Fraction of the capacity to map before the run, such as 0.8 or 80%, in the steady "
        "state of random overwrites.  [default: an empty device]",
    ),
)

SCHEDULERS = ("fcfs", "sstf", "look", "c-look", "v-scan", "sptf")

diskspecs = click.option(
    "--diskspecs",
    metavar="FILE",
    help="Disk in DiskSim 4.0's format, in place of --preset. Files that it names are looked up "
    "in its folder.",
)

disks = _all(
    click.option(
        "--stripe",
        type=COUNT,
        metavar="N",
        help="Stripe over N disks (RAID-0), mirrors included.  [default: no striping]",
    ),
    click.option(
        "--stripe-unit",
        metavar="SIZE",
        help="Stripe unit.  [default: 64KiB]",
    ),
    click.option(
        "--copies",
        type=COUNT,
        metavar="N",
        help="Mirror each stripe member on N disks: --copies 2 is RAID-1 of two disks, --stripe "
        "4 --copies 2 is RAID-10 of two pairs.  [default: 1]",
    ),
    click.option(
        "--bus-rate",
        metavar="SIZE",
        help="Bytes per second of the bus or host adapter that the disks share: 300MB.  "
        "[default: not shared]",
    ),
    click.option(
        "--coalesce",
        metavar="SIZE",
        help="Merge queued requests with adjacent ones, up to this size.  [default: do not merge]",
    ),
    click.option(
        "--scheduler",
        type=click.Choice(SCHEDULERS),
        help="Order in which queued requests are served, by the drive or, if the drive has no "
        "queue, by the host.  [default: the disk's]",
    ),
)

host = _all(
    click.option(
        "--closed-loop",
        is_flag=True,
        help="Keep a constant number of requests outstanding and ignore the times of the load.",
    ),
    click.option(
        "--gaps",
        is_flag=True,
        help="Issue each request after the previous one is complete and the gap between their "
        "times in the load has passed.",
    ),
    click.option(
        "--queue-depth",
        type=COUNT,
        metavar="N",
        help="Maximum number of requests outstanding at the device.  [default: 32 in a closed "
        "loop, 1 with gaps, no limit for arrivals]",
    ),
    click.option(
        "--speed",
        type=NUMBER,
        metavar="X",
        help="Speed up the arrivals of the load by this factor.  [default: 1]",
    ),
    click.option(
        "--split",
        metavar="SIZE",
        help="Split larger requests into device requests of at most this size.  [default: do not "
        "split]",
    ),
    click.option(
        "--fit",
        type=click.Choice(["error", "wrap"]),
        default="error",
        show_default=True,
        help="Handling of addresses past the end: report an error, or take them modulo the "
        "capacity.",
    ),
    click.option(
        "--weights",
        metavar="N,N...",
        callback=lambda ctx, param, text: _weights(ctx, param, text),
        help="Numbers of requests that the queues issue per round, in the order of the queues.  "
        "[default: 1 each]",
    ),
    seed("The same seed gives the same results."),
)

trace = _all(
    of_trace,
    click.option(
        "--repeat", type=COUNT, metavar="N", help="Replay the trace this many times.  [default: 1]"
    ),
    click.option(
        "--queue-by",
        type=click.Choice(["one", "device", "process"]),
        help="Submission queues: a single one, one per device of the trace, or one per process.  "
        "[default: one]",
    ),
)

bench = _all(
    click.option("--size", metavar="SIZE", help="Request size.  [default: 4KiB]"),
    click.option(
        "--requests", type=COUNT, metavar="N", help="Number of requests.  [default: 100000]"
    ),
    click.option(
        "--span",
        metavar="SIZE",
        help="Size of the address range that the pattern covers.  [default: the whole device, "
        "or its preconditioned part]",
    ),
    click.option(
        "--read-share",
        type=SHARE,
        metavar="SHARE",
        help="mixed, hot-cold, zipf: fraction of reads.  [default: 0.7 for mixed, else 0]",
    ),
    click.option(
        "--hot-space",
        type=SHARE,
        metavar="SHARE",
        help="hot-cold: fraction of the span that is hot.  [default: 0.1]",
    ),
    click.option(
        "--hot-share",
        type=SHARE,
        metavar="SHARE",
        help="hot-cold: fraction of requests to the hot part.  [default: 0.9]",
    ),
    click.option("--exponent", type=NUMBER, metavar="S", help="zipf: exponent.  [default: 0.99]"),
    click.option(
        "--way",
        type=click.Choice(["read", "write"]),
        help="gordon-pair: operation.  [default: read]",
    ),
    click.option(
        "--queues",
        type=COUNT,
        metavar="N",
        help="Number of submission queues, used round-robin.  [default: 1]",
    ),
    click.option(
        "--every",
        metavar="TIME",
        help="Time between arrivals in an open loop.  [default: a closed loop with 32 requests "
        "outstanding]",
    ),
    click.option(
        "--fsync",
        type=COUNT,
        metavar="N",
        help="Flush after each N writes. --requests does not count the flushes, and the result "
        "does.  [default: no flushes]",
    ),
)

pair_order = click.option(
    "--order",
    type=click.Choice(["random", "sequential"]),
    help="gordon-pair: order of the regions.  [default: random]",
)

requests_out = click.option(
    "--requests-out", metavar="FILE.parquet", help="Write a row for each request."
)
_FROM = click.option(
    "--from-checkpoint",
    metavar="FILE",
    help="Restore the device from a file that --checkpoint wrote.",
)
_KEEP = click.option(
    "--checkpoint", metavar="FILE", help="Write the state of the device at the end to FILE."
)


def checkpoints(command: Any) -> Any:
    """Devices in files."""
    return _FROM(_KEEP(command))


json_out = click.option(
    "--json", "json_path", metavar="PATH", help="Write the result as JSON (-: stdout)."
)
report_out = click.option(
    "--report", metavar="PATH", help="Write the report, one HTML file that works offline."
)
parquet_out = click.option(
    "--parquet",
    metavar="DIR",
    help="Write the tables (over time, latencies, queue depths, erases) as Parquet.",
)


def _weights(ctx: click.Context, param: click.Parameter, text: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in text.split(",")) if text else ()
    except ValueError:
        raise click.BadParameter(
            f"`{text}` is not a list of numbers separated by commas", ctx, param
        ) from None
