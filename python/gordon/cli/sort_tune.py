"""`gordon sort tune`."""

import signal
from typing import Any

import click

from gordon.cli import options
from gordon.options import command, only_given
from gordon.options.outputs import Tables
from gordon.options.sorting import FlashTuning, Tuning
from gordon.options.table import flags

#: Options that have no effect on settings from a simulated device, and all that have one.
OF_SORTS = ("temp", "meter", "plot", "source", "export")
OF_FLASH = ("set", "precondition", "records", "seed")


@click.command(cls=command.Command)
@command.of(Tuning, FlashTuning)
@options.tables_out()
@options.report_out
def tune(to: Tables, report: str | None, **given: Any) -> None:
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
    from gordon.sort.tune.plot import draw

    chosen = only_given(given)
    out, plot = chosen.get("out", Tuning.out), chosen.get("plot")
    output.check(out, to=to, report=report, plot=plot, used=[given["source"]])
    if given["flash"] is not None:
        named = flags(Tuning)
        for name in OF_SORTS:
            if name in chosen:
                raise click.UsageError(
                    f"{named[name]} and --flash exclude each other: --flash does not sort"
                )
        changes = {name: chosen[name] for name in OF_FLASH if name in chosen}
        simulated = api.steer(out, given["flash"], **changes)
        output.finish_result(simulated, sort_tune_view.steered, to, report, written=[out])
        return
    options.check_linux()
    if "set" in chosen or "precondition" in chosen:
        raise click.UsageError("--set and --precondition need --flash, a simulated device")
    if "meter" in chosen:
        from gordon import energy
        from gordon.sort.tune.trial import Metered

        chosen["meter"] = Metered(lambda: energy.named(given["meter"]), interval_s=0.1)
    for name in ("out", "plot"):
        chosen.pop(name, None)
    notify = sort_tune_view.live(terminal.messages())
    found = api.tune(out, curves=plot is not None, notify=notify, **chosen)
    drawn = [(plot, lambda path: draw(found.report, path))]
    output.finish_result(found, sort_tune_view.show, to, report, made=drawn, written=[out])
    if found["interrupted"]:
        click.get_current_context().exit(128 + signal.Signals[found["interrupted"]])
