"""Runs the configurations of a sweep and keeps what is finished."""

from collections.abc import Callable
from contextlib import closing
from os import PathLike, fspath
from typing import TypedDict

from gordon import _core
from gordon.engine import DEFAULT, check, completed
from gordon.errors import GordonError
from gordon.options import Progress
from gordon.sweep import rows, store
from gordon.sweep.commands import COMMANDS, Values
from gordon.sweep.config import Sweep, load
from gordon.sweep.result import SweepReport
from gordon.sweep.swept import SweepResult
from gordon.untyped import Row


class Outcome(TypedDict, total=False):
    """The result of a configuration, or the error with which the command refuses it."""

    result: Row
    error: str
    hint: str


def run(
    sweep: str | PathLike[str] | Sweep,
    out: str | PathLike[str],
    *,
    engine: str = DEFAULT,
    workers: int | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    notify: Callable[[str], None] | None = None,
) -> SweepResult:
    """Runs the sweep of a TOML file and writes a row for each configuration to `out`, as Parquet.

    Returns the rows, with the objectives, the Pareto front and the effect of each range.
    Configurations that the command refuses are rows with an `error`. Until all are finished, the
    rows are in `OUT.partial`; `resume` uses them. The same file gives the same bytes with any
    engine and any number of workers. `progress` is called with the numbers of configurations (done,
    total), `notify` with a sentence about finished rows that are not used. Raises GordonError, also
    if no configuration succeeds.
    """
    check(engine)
    asked = sweep if isinstance(sweep, Sweep) else load(sweep)
    with store.Store(store.place(fspath(out)), resume) as kept:
        outcomes = _outcomes(asked, kept, engine, workers, progress, notify)
        version = _core.version()
        made = [rows.made(asked, number, outcomes[number], version) for number in asked.chosen]
        failed = [row for row in made if row["error"] is not None]
        if len(failed) == len(made):
            first = outcomes[asked.chosen[0]]
            raise GordonError(
                f"all {len(made):,} configurations failed, the first one with: {first['error']}",
                first["hint"],
                kind="all-failed",
            )
        result = SweepResult(_result(asked, made, len(failed), version))
        rows.write(result["rows"], out)
        kept.remove()
    return result


def _outcomes(
    sweep: Sweep,
    kept: store.Store,
    name: str,
    workers: int | None,
    progress: Progress | None,
    notify: Callable[[str], None] | None,
) -> dict[int, Outcome]:
    """The result or error of each configuration."""
    version = _core.version()
    keys = {
        number: store.address(
            version,
            sweep.command.name,
            sweep.settings | sweep.parameters(number),
            sweep.inputs_of(number),
        )
        for number in sweep.chosen
    }
    outcomes: dict[int, Outcome] = {
        n: {"result": kept.found[key]} for n, key in keys.items() if key in kept.found
    }
    unused = len(kept.found) - len(set(keys.values()) & set(kept.found))
    if unused and notify is not None:
        notify(
            f"{unused:,} of {len(kept.found):,} finished configurations in {kept.path} are not "
            "used: they are of another version of gordon, other values or changed inputs"
        )
    checked = False
    for outcome in list(outcomes.values())[:1]:
        rows.check_objectives(sweep.objectives, _named(sweep, outcome))
        checked = True
    due = [number for number in sweep.chosen if number not in outcomes]
    items = [(sweep.command.name, sweep.values(number)) for number in due]
    total = len(sweep.chosen)
    if progress is not None:
        progress(len(outcomes), total)
    with closing(completed(simulate, items, name, workers)) as results:
        for index, outcome in results:
            number = due[index]
            outcomes[number] = outcome
            if "result" in outcome:
                if not checked:
                    rows.check_objectives(sweep.objectives, _named(sweep, outcome))
                    checked = True
                kept.add(keys[number], outcome["result"])
            if progress is not None:
                progress(len(outcomes), total)
    return outcomes


def _named(sweep: Sweep, outcome: Outcome) -> Row:
    """A row with the names of the columns."""
    return rows.made(sweep, sweep.chosen[0], outcome, "")


def simulate(item: tuple[str, Values]) -> Outcome:
    """Runs one configuration: its result, or the error with which the command refuses it."""
    name, values = item
    command = COMMANDS[name]
    try:
        given, changes = command.parse(values)
        given.pop("set", None)
        return {"result": rows.flat(command.simulate(given, changes))}
    except GordonError as error:
        return {"error": error.message, "hint": error.hint}


def _result(sweep: Sweep, made: list[Row], failed: int, version: str) -> SweepReport:
    front = rows.front(made, sweep.objectives) if len(sweep.objectives) > 1 else []
    if front:
        on = set(front)
        made = [row | {"pareto": row["configuration"] in on} for row in made]
    sampled = sweep.sample is not None and sweep.sample < sweep.product
    return {
        "command": sweep.command.name,
        "version": version,
        "settings": sweep.settings,
        "ranges": sweep.ranges,
        "combinations": sweep.product,
        "sample": {"size": sweep.sample, "seed": sweep.sample_seed} if sampled else None,
        "inputs": [{"path": path, "sha256": sha} for path, sha in sweep.inputs.items()],
        "objectives": [str(objective) for objective in sweep.objectives],
        "failed": failed,
        "pareto": front,
        "effects": rows.effects(sweep, made),
        "rows": made,
    }
