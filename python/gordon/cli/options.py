"""Options that the commands for simulated devices share. Each name is that of the Python API."""

from collections.abc import Callable
from math import isfinite
from typing import Any

import click

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
POLICIES = ("greedy", "fifo", "random", "d-choices", "cost-benefit")

Decorator = Callable[[Any], Any]


class _Number(click.types.FloatParamType):
    """Finite; ranges let NaN pass."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number: float = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is no finite number.", param, ctx)
        return number


class _Share(click.FloatRange, _Number):
    """From 0 to 1."""


SHARE = _Share(0, 1)
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


preset = click.option(
    "--preset",
    "device",
    default="gordon-slc-256g",
    show_default=True,
    metavar="NAME|FILE",
    help="The device: a preset (`gordon flash presets`) or a TOML file.",
)

device = _all(
    click.option(
        "--set",
        "set_values",
        multiple=True,
        metavar="KEY=VALUE",
        help="Change a value of the device: ftl.victim=fifo, timing.read=50us; capacity=8GiB gives "
        "its planes fewer blocks.",
    ),
    click.option("--super-page", metavar="SIZE", help="Size of a super-page: 64KiB."),
    click.option("--write-points", type=COUNT, metavar="N", help="Super-pages open to writes."),
    click.option(
        "--precondition",
        type=SHARE,
        metavar="FRACTION",
        help="Map this part of the capacity before, in the steady state of random overwrites; "
        "without it the device is new.",
    ),
)

SCHEDULERS = ("fcfs", "sstf", "look", "c-look", "v-scan", "sptf")

diskspecs = click.option(
    "--diskspecs",
    metavar="FILE",
    help="A disk as DiskSim 4.0 describes it, in its place; the files that it names are found "
    "beside it.",
)

disks = _all(
    click.option(
        "--stripe",
        type=COUNT,
        metavar="N",
        help="So many of it as one (RAID-0); the copies are among them.",
    ),
    click.option(
        "--stripe-unit",
        metavar="SIZE",
        help="What lies on one of them before the next has its turn.  [default: 64KiB]",
    ),
    click.option(
        "--copies",
        type=COUNT,
        metavar="N",
        help="The same lies on so many of them: --copies 2 is RAID-1 of two, --stripe 4 --copies 2 "
        "RAID-10 of two pairs.  [default: 1]",
    ),
    click.option(
        "--bus-rate",
        metavar="SIZE",
        help="Bytes a second that cross the bus or host adapter that all of them share: 300MB.  "
        "[default: each has its own]",
    ),
    click.option(
        "--coalesce",
        metavar="SIZE",
        help="Join requests that wait for a disk with their neighbours, up to this size.",
    ),
    click.option(
        "--scheduler",
        type=click.Choice(SCHEDULERS),
        help="Which request comes next, where several wait: in a drive's queue, or at the host "
        "where it has none.  [default: the disk's]",
    ),
)

host = _all(
    click.option(
        "--closed-loop",
        is_flag=True,
        help="Keep a constant number of requests outstanding, whatever the load's own times.",
    ),
    click.option(
        "--gaps",
        is_flag=True,
        help="Issue each request the trace's gap after its predecessor completes.",
    ),
    click.option(
        "--queue-depth",
        type=COUNT,
        metavar="N",
        help="The most requests at the device.  [default: 32 in a closed loop, 1 with gaps, no "
        "limit for arrivals]",
    ),
    click.option(
        "--speed", type=NUMBER, metavar="X", help="2: arrivals twice as fast as the load's own."
    ),
    click.option("--split", metavar="SIZE", help="The most bytes of one device request."),
    click.option(
        "--fit",
        type=click.Choice(["error", "wrap"]),
        default="error",
        show_default=True,
        help="Addresses past the end: an error, or taken modulo the capacity.",
    ),
    click.option(
        "--weights",
        metavar="N,N...",
        callback=lambda ctx, param, text: _weights(ctx, param, text),
        help="Requests that each queue issues in its turn, by queue.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0),
        default=1,
        show_default=True,
        metavar="N",
        help="Of everything random: the same seed gives the same bytes.",
    ),
)

trace = _all(
    click.option(
        "--format",
        metavar="F",
        help="The trace's format (`gordon trace formats`); without it, its content tells.",
    ),
    click.option("--repeat", type=COUNT, metavar="N", help="Replay it so many times over."),
    click.option(
        "--device",
        "only_device",
        type=click.IntRange(0),
        metavar="N",
        help="Only requests to this device of the trace.",
    ),
    click.option(
        "--queue-by",
        type=click.Choice(["one", "device", "process"]),
        help="Queues: one, one for each device of the trace, one for each process.",
    ),
    click.option("--skip-bad", is_flag=True, help="Leave out malformed lines, and count them."),
    click.option(
        "--order",
        type=click.Choice(["strict", "clamp", "sort"]),
        help="Where time goes backwards: an error; keep the file's order; put in order of time.",
    ),
    click.option("--time-unit", metavar="TIME", help="Unit of its times, if not the format's."),
    click.option(
        "--event",
        type=click.Choice(["queue", "issue", "complete"]),
        help="Event that counts in blkparse and blktrace traces.",
    ),
)

bench = _all(
    click.option("--size", metavar="SIZE", help="Bytes of a request.  [default: 4KiB]"),
    click.option(
        "--requests", type=COUNT, metavar="N", help="How many requests.  [default: 100000]"
    ),
    click.option(
        "--span",
        metavar="SIZE",
        help="Bytes that the pattern runs over.  [default: all, or the preconditioned part]",
    ),
    click.option(
        "--read-share",
        type=SHARE,
        metavar="SHARE",
        help="mixed, hot-cold, zipf: part of the requests that read.  [default: 0.7 for mixed, 0]",
    ),
    click.option(
        "--hot-space",
        type=SHARE,
        metavar="SHARE",
        help="hot-cold: part of the span that is hot.  [default: 0.1]",
    ),
    click.option(
        "--hot-share",
        type=SHARE,
        metavar="SHARE",
        help="hot-cold: part of the requests that go there.  [default: 0.9]",
    ),
    click.option(
        "--exponent", type=NUMBER, metavar="S", help="zipf: its exponent. [default: 0.99]"
    ),
    click.option(
        "--way", type=click.Choice(["read", "write"]), help="gordon-pair: what it asks for."
    ),
    click.option("--queues", type=COUNT, metavar="N", help="Queues that requests go to in turn."),
    click.option(
        "--every",
        metavar="TIME",
        help="Time between arrivals, for an open loop; else the loop is closed, 32 outstanding.",
    ),
)

pair_order = click.option(
    "--order",
    type=click.Choice(["random", "sequential"]),
    help="gordon-pair: in which order the regions come.",
)

requests_out = click.option(
    "--requests-out", metavar="FILE.parquet", help="Write a row for each request."
)
_FROM = click.option(
    "--from-checkpoint", metavar="FILE", help="Go on with the device that --checkpoint kept."
)
_KEEP = click.option("--checkpoint", metavar="FILE", help="Keep what the device has become.")


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


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given: the API has the defaults of the others."""
    return {
        name: value
        for name, value in options.items()
        if value is not None and value is not False and value != ()
    }


def _weights(ctx: click.Context, param: click.Parameter, text: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in text.split(",")) if text else ()
    except ValueError:
        raise click.BadParameter(f"`{text}`: not numbers with commas", ctx, param) from None
