"""`extrapolate`: models every system of a file and compares it with its measured row."""

from os import PathLike, fspath
from typing import ClassVar

from gordon import __version__, fields, settings, tables
from gordon.errors import GordonError, located
from gordon.options import Settings
from gordon.parts import unknown
from gordon.sort.systems import data, fit, model, own, plateaus, rows
from gordon.sort.systems.demand import Demand, Phase
from gordon.sort.systems.model import Parts, Taken
from gordon.sort.systems.report import (
    Errors,
    Extrapolation,
    Figures,
    Fitted,
    MeasuredRow,
    Modelled,
    OwnRun,
    SystemRow,
)
from gordon.sort.systems.schema import System, Systems


class ExtrapolateResult(fields.ExtrapolateResult):
    """A sort on other systems, each compared with its measured row."""

    ROWS: ClassVar = "systems"

    def says(self) -> str:
        return f"{len(self['systems'])} systems, {self['records']:,} records"


def extrapolate(
    systems: str | PathLike[str] | None = None,
    *,
    measured: str | PathLike[str] | None = None,
    home: str | None = None,
    set: Settings = (),
) -> ExtrapolateResult:
    """Models time, power and records/J of a sort on the systems of a TOML file.

    Without `systems`, the systems are those of the JouleSort paper. `measured` is the JSON file of
    a sort of your own, to model in place of the paper's; `home` is the system on which it ran, if
    the file does not name one. `set` are values to override, each `KEY=VALUE`. Times are in
    seconds, powers in watts. Raises GordonError.
    """
    where = fspath(systems) if systems is not None else ""
    if systems is None:
        table, names = data.shipped(), list(data.shipped()["system"])
    else:
        table, names = data.joined(data.read(systems), where)
    data.change(table, settings.listed(set))
    mine = own.read(measured, home) if measured is not None else None
    if mine is None and home is not None:
        raise GordonError(
            f"--on {home} needs --from: there is no run of your own",
            "--from FILE",
            kind="needs-option",
        )
    with located(where):
        parts = Parts(tables.read(Systems, table, ""))
        work = fit.Work(parts)
        modelled = _modelled(parts, names)
    if mine is not None:
        _known(parts, mine.system)
    with located(where):
        taken = {name: _taken(parts, work, name, mine) for name in modelled}
        bases = _bases(parts, work, mine)
    entries = [_system(parts, work, name, taken.get(name), bases, mine) for name in names]
    points = plateaus.points(parts.all.records.value, entries)
    report: Extrapolation = {
        "kind": "modelled",
        "version": __version__,
        "source": where or parts.all.source,
        "records": mine.demand.records if mine else int(parts.all.records.value),
        "set": settings.listed(set),
        "run": _run(mine),
        "fitted": _fitted(parts, work, bases),
        "systems": entries,
        "warnings": _warnings(parts, mine, entries, names),
        "plateaus": plateaus.of(points),
    }
    return ExtrapolateResult(report)


def _known(parts: Parts, system: str | None) -> None:
    if system is not None and system not in parts.all.system:
        raise unknown("system", system, list(parts.all.system)).at("the run's system")


def _modelled(parts: Parts, names: list[str]) -> list[str]:
    """The systems whose parts are known; half a system is an error."""
    for name in names:
        system = parts.all.system[name]
        if not model.whole(system):
            for key in ("cpu", "board", "memory", "files"):
                if getattr(system, key) is None and system.measured is None:
                    raise GordonError(f"system.{name}: `{key}` is missing", kind="missing-key")
        for key, table in (("cpu", parts.all.cpu), ("board", parts.all.board)):
            part = getattr(system, key)
            if part is not None and part not in table:
                raise unknown(key, part, list(table)).at(f"system.{name}")
        for array in (system.files, system.temp, system.boot):
            if array is not None and array.drive not in parts.all.drive:
                raise unknown("drive", array.drive, list(parts.all.drive)).at(f"system.{name}")
    return [name for name in names if model.whole(parts.all.system[name])]


def _taken(
    parts: Parts,
    work: fit.Work,
    name: str,
    mine: own.Run | None,
    records: int | None = None,
) -> list[Taken] | None:
    """The phases on a system, of `records` or of the number that the file has; None if the work of
    its processor is not known."""
    system = parts.all.system[name]
    assert system.cpu is not None
    if mine is None:
        known = work.of(system.cpu)
        if known is None:
            return None
        return model.run(parts, system, fit.demand_of(parts, system, known, records))
    faster = _faster(parts, work, mine, system)
    return model.run(parts, system, _scaled(mine.demand, faster or 1.0))


def _faster(parts: Parts, work: fit.Work, mine: own.Run, system: System) -> float | None:
    """Core-seconds on a system's processor over those on the run's own; none if not known."""
    assert system.cpu is not None
    home = parts.all.system[mine.system].cpu if mine.system else None
    if home is None:
        return None
    if home == system.cpu:
        return 1.0
    ours, theirs = work.of(home), work.of(system.cpu)
    return sum(theirs) / sum(ours) if ours and theirs else None


def _scaled(demand: Demand, by: float) -> Demand:
    phases = [
        Phase(p.name, p.reads, p.writes, p.core_s * by if p.core_s else None) for p in demand.phases
    ]
    return Demand(demand.records, phases)


def _bases(parts: Parts, work: fit.Work, mine: own.Run | None) -> dict[str, fit.Base]:
    """Power of each board itself, from all measured systems, not only from those requested."""
    left: dict[str, tuple[str, float]] = {}
    for name, system in parts.all.system.items():
        if not model.whole(system):
            continue
        power: float | None = None
        taken: list[Taken] | None = None
        if mine is not None and name == mine.system:
            power, taken = mine.power_w, _taken(parts, work, name, mine)
        elif system.measured is not None:
            row = system.measured
            power = row.power.value if row.power else None
            taken = _taken(parts, work, name, None, row.records)
        if power is None or taken is None:
            continue
        assert system.board is not None
        dc = power * parts.all.board[system.board].efficiency.value
        drawn = model.parts_w(model.mean_w(parts, system, taken, 0.0))
        left[name] = (system.board, dc - sum(drawn.values()))
    return fit.bases(parts, left)


def _system(
    parts: Parts,
    work: fit.Work,
    name: str,
    taken: list[Taken] | None,
    bases: dict[str, fit.Base],
    mine: own.Run | None,
) -> SystemRow:
    system = parts.all.system[name]
    entry: SystemRow = {
        "name": name,
        "summary": system.summary,
        "cpu": system.cpu,
        "board": system.board,
        "passes": system.passes,
        "modelled": None,
        "measured": _measured(parts, system) if mine is None else None,
    }
    if mine is not None and name == mine.system:
        figures = _figures(mine.demand.records, mine.time_s, mine.power_w)
        entry["measured"] = {
            "time_s": figures["time_s"],
            "power_w": figures["power_w"],
            "energy_j": figures["energy_j"],
            "records_per_j": figures["records_per_j"],
            "records": mine.demand.records,
        }
    if taken is None:
        return entry
    assert system.board is not None
    demand = mine.demand if mine else fit.demand_of(parts, system, None)
    entry["passes"] = sum(1 for phase in demand.phases if phase.writes)
    base = bases[system.board]
    records = mine.demand.records if mine else int(parts.all.records.value)
    modelled: Modelled = {
        **_modelled_figures(parts, system, records, taken, base),
        "board_w": base.watts,
        "parts_w": model.parts_w(model.mean_w(parts, system, taken, base.watts or 0.0)),
        "phases": [
            {"name": t.name, "time_s": t.time_s, "limit": t.limit, "limits_s": t.limits}
            for t in taken
        ],
    }
    entry["modelled"] = modelled
    row = entry["measured"]
    if row is None:
        return entry
    same: Figures = modelled
    if row["records"] != records:
        # A row is compared with the model of its own size.
        taken = _taken(parts, work, name, None, row["records"])
        assert taken is not None
        same = _modelled_figures(parts, system, row["records"], taken, base)
    error = _error(same, row, is_fitted=list(base.by_system) == [name])
    entry["error"] = error
    others = base.without(name)
    if others is not None and name in base.by_system and row["power_w"]:
        without = sum(model.mean_w(parts, system, taken, others).values())
        error["power_w_without_it"] = without / row["power_w"] - 1
    return entry


def _modelled_figures(
    parts: Parts, system: System, records: int, taken: list[Taken], base: fit.Base
) -> Figures:
    """The figures of a sort by its modelled phases; without power if that of the board is not
    known."""
    power = None
    if base.watts is not None:
        power = sum(model.mean_w(parts, system, taken, base.watts).values())
    return _figures(records, sum(t.time_s for t in taken), power)


def _figures(records: int, time: float | None, power: float | None) -> Figures:
    energy = time * power if time is not None and power is not None else None
    return {
        "time_s": time,
        "power_w": power,
        "energy_j": energy,
        "records_per_j": records / energy if energy else None,
    }


def _measured(parts: Parts, system: System) -> MeasuredRow | None:
    row = system.measured
    if row is None:
        return None
    if row.energy is None:
        for key in ("power", "records_per_j"):
            if getattr(row, key) is None:
                raise GordonError(f"measured: `{key}` is missing", kind="missing-key")
    records = row.records or int(parts.all.records.value)
    time, power, energy, score = (
        printed.value if printed else None
        for printed in (row.time, row.power, row.energy, row.records_per_j)
    )
    figures = _figures(records, time, power)
    if energy is not None:
        figures["energy_j"] = energy
        figures["records_per_j"] = records / energy
    if score is not None:
        figures["records_per_j"] = score
    passes = system.passes
    if model.whole(system):
        phases = fit.demand_of(parts, system, None, records).phases
        passes = sum(1 for phase in phases if phase.writes)
    return {
        **figures,
        "records": records,
        "passes": passes,
        "row": rows.check(row, records),
    }


def _error(modelled: Figures, measured: MeasuredRow, *, is_fitted: bool) -> Errors:
    """The errors of a row; with `is_fitted` the board's own power is what this row alone leaves, so
    that no error of its power can be seen."""
    return {
        "time_s": _over(modelled["time_s"], measured["time_s"]),
        "power_w": _over(modelled["power_w"], measured["power_w"]),
        "records_per_j": _over(modelled["records_per_j"], measured["records_per_j"]),
        "records": measured["records"],
        "power_fitted_to_it": is_fitted,
    }


def _over(modelled: float | None, measured: float | None) -> float | None:
    return modelled / measured - 1 if modelled and measured else None


def _run(mine: own.Run | None) -> OwnRun | None:
    if mine is None:
        return None
    return {
        "time_s": mine.time_s,
        "power_w": mine.power_w,
        "power_how": mine.power_how,
        "system": mine.system,
    }


def _fitted(parts: Parts, work: fit.Work, bases: dict[str, fit.Base]) -> Fitted:
    """The parts of the model that come from measured rows and from statements about them."""
    return {
        "busy_share_of_tdp": parts.busy_share,
        "memory_w_per_gib": parts.memory_w * 2**30,
        "core_s_per_gb": {
            name: list(known) if (known := work.of(name)) else None for name in parts.all.cpu
        },
        "board_w": {
            name: {"value": base.watts, "rows": base.by_system}
            for name, base in bases.items()
            if base.watts is not None
        },
    }


def _warnings(
    parts: Parts, mine: own.Run | None, entries: list[SystemRow], names: list[str]
) -> list[str]:
    warnings = []
    for row in entries:
        modelled, name = row["modelled"], row["name"]
        system = parts.all.system[name]
        if not model.whole(system):
            continue
        if modelled is None:
            warnings.append(
                f"{name}: not modelled, as the work of a sort on {system.cpu} is unknown"
            )
            continue
        board = parts.all.board[str(system.board)]
        if board.ports is not None and parts.ports(system) > board.ports.value:
            warnings.append(
                f"{name}: its board has ports for {board.ports.value:.0f} drives, not for "
                f"{parts.ports(system)}: this system cannot be built"
            )
        if modelled["board_w"] is None:
            warnings.append(
                f"{name}: the power of its board is unknown and cannot be derived from a measured "
                f"row; set board.{system.board}.base"
            )
        elif modelled["board_w"] < 0:
            warnings.append(
                f"{name}: the power that remains for its board is below zero: its parts draw less "
                "than modelled"
            )
    if mine is not None:
        if mine.power_how not in (None, "measured"):
            warnings.append(f"the power of the run is {mine.power_how}, not measured")
        home = parts.all.system[mine.system].cpu if mine.system else None
        if home is None:
            warnings.append(
                "the run does not name its system (--on SYSTEM): core-seconds are used unscaled"
            )
        else:
            work = fit.Work(parts)
            for name in names:
                system = parts.all.system[name]
                if model.whole(system) and _faster(parts, work, mine, system) is None:
                    warnings.append(
                        f"{name}: the speeds of {home} and {system.cpu} cannot be compared: "
                        "core-seconds are used unscaled"
                    )
    return warnings
