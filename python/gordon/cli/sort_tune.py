"""`gordon sort tune`."""

import signal
from typing import Any

import click

from gordon.cli import options
from gordon.files import STDOUT, write_all
from gordon.options import command, only_given


def _seconds(ctx: click.Context, param: click.Parameter, text: str) -> float:
    """A time; `m` are minutes here, as nobody gives milliseconds or metres."""
    from gordon import _core
    from gordon.errors import GordonError

    try:
        found = _core.parse_ns(f"{text}in" if text.endswith("m") else text) / 1e9
    except GordonError as error:
        raise click.BadParameter(str(error.args[0]), ctx, param) from None
    if found <= 0:
        raise click.BadParameter(f"`{text}` is not above zero", ctx, param)
    return found


@click.command()
@click.option(
    "-o",
    "--output",
    "--out",
    "out",
    default="tuned.toml",
    show_default=True,
    metavar="FILE",
    help="File of settings to write, for `gordon sort --config FILE`.",
)
@click.option(
    "--budget",
    "budget_s",
    default="10m",
    show_default=True,
    callback=_seconds,
    metavar="TIME",
    help="Time limit of the search: 90s, 10m, 1h.",
)
@click.option(
    "--records",
    type=command.Amount(1, 64),
    metavar="N",
    help="Number of records of the generated file.  [default: 4 times --memory, else the number "
    "for which 60 sorts fit into the budget]",
)
@click.option(
    "--input", "source", metavar="FILE", help="Sort this file of benchmark records instead."
)
@click.option(
    "--memory",
    metavar="SIZE",
    help="Memory for records and buffers, written to the settings.  [default: a quarter of the "
    "file, not written]",
)
@click.option(
    "--temp",
    metavar="DIR,DIR...",
    help="Folders of temporary files. The search also tries fewer of them.",
)
@click.option(
    "--folder",
    default=".",
    show_default=True,
    metavar="DIR",
    help="Folder on the device of input and output. The files made there are removed afterwards.",
)
@click.option(
    "--objective",
    type=click.Choice(["time", "energy"]),
    default="time",
    show_default=True,
    help="Quantity to minimise; energy needs --meter.",
)
@click.option("--meter", metavar="NAME", help="Meter of energy (`gordon meter list`).")
@click.option(
    "--overwrite",
    "may_overwrite",
    is_flag=True,
    help="Allow settings that overwrite an existing output in place. An interrupted sort then "
    "leaves it broken.",
)
@options.seed("of the order of trials.", default=0)
@click.option(
    "--export",
    metavar="SOCKET",
    help="Socket of the device, served by `gordon block serve --timing real`, that holds all "
    "folders. Its statistics of collection, queue and busy dies steer the search.",
)
@click.option(
    "--flash",
    metavar="NAME|FILE",
    help="Do not sort: derive transfer sizes from a simulated device (`gordon flash presets`) "
    "as a starting point. Modelled.",
)
@click.option(
    "--set",
    "set_values",
    multiple=True,
    metavar="KEY=VALUE",
    help="With --flash: override a value of the device. capacity=32GiB makes the simulation "
    "faster.",
)
@click.option(
    "--precondition",
    type=command.SHARE,
    metavar="FRACTION",
    help="With --flash: fraction of the capacity in use, in the steady state of random "
    "overwrites.  [default: 0.8]",
)
@options.json_out
@click.option("--plot", metavar="PATH", help="Draw cost against each setting, as PNG, SVG or PDF.")
def tune(
    out: str,
    json_path: str | None,
    plot: str | None,
    meter: str | None,
    temp: str | None,
    flash: str | None,
    set_values: tuple[str, ...],
    precondition: float | None,
    **given: Any,
) -> None:
    """Find the settings that sort best on your own devices.

    The defaults run first, several times: their deviation is the noise. Then come the methods, the
    transfer sizes of the JouleSort paper, and one setting at a time; settings that are better
    beyond the noise are tried again. The gain is measured at the end, with the best settings and
    the defaults alternating, until it is known to within 1 % or the budget ends. If the search is
    interrupted before that, it writes the defaults, and the exit status is 130 (Ctrl-C) or 143
    (SIGTERM).
    """
    from gordon.cli import output, sort_tune_view, terminal
    from gordon.sort import tune as api

    output.check(out, json_path, plot=plot, used=[given["source"]])
    console = terminal.messages() if STDOUT in (json_path, out) else terminal.data()
    if flash is not None:
        of_sorts = {
            "--temp": temp,
            "--meter": meter,
            "--plot": plot,
            "--input": given["source"],
            "--export": given["export"],
        }
        for name, value in of_sorts.items():
            if value is not None:
                raise click.UsageError(
                    f"{name} and --flash exclude each other: --flash does not sort"
                )
        from gordon.sort.tune.steer import steer

        changes = only_given({"precondition": precondition, "records": given["records"]})
        simulated = steer(out, flash, set_values=set_values, seed=given["seed"], **changes)
        if json_path is not None:
            write_all({json_path: simulated})
        sort_tune_view.steered(console, simulated, out)
        return
    if set_values or precondition is not None:
        raise click.UsageError("--set and --precondition need --flash, a simulated device")
    given["temp"] = tuple(temp.split(",")) if temp is not None else ()
    if meter is not None:
        from gordon.energy import named
        from gordon.sort.tune.trial import Metered

        given["meter"] = Metered(lambda: named(meter), interval_s=0.1)
    given["curves"] = plot is not None
    report = api.tune(out, notify=sort_tune_view.live(terminal.messages()), **given)
    if plot is not None:
        from gordon.sort.tune.plot import draw

        draw(report, plot)
    if json_path is not None:
        write_all({json_path: report})
    sort_tune_view.show(console, report, out)
    if report["interrupted"]:
        click.get_current_context().exit(128 + signal.Signals[report["interrupted"]])
