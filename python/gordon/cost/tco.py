"""The total cost of a job or a service on machines that are bought or rented, by run or month and
by year, and how far that is known.

The time, the energy and the wear are those of a survey (`gordon.survey.run`); the equations are
those of its bills (docs/design/cluster.md, "Total cost").
"""

from collections.abc import Sequence
from math import floor
from os import fspath
from typing import Any, Literal, TypedDict

from gordon import __version__, _core, fields
from gordon.cost import prices
from gordon.cost.rent import BreakEven, break_even
from gordon.errors import GordonError
from gordon.human import duration, figures
from gordon.options import Path, Progress, several
from gordon.options.costs import TcoOptions
from gordon.options.explicit import explicit
from gordon.parts import Catalogue, Part, unknown
from gordon.quantity import value
from gordon.reports.survey import BillReport, JobReport, Operation, TasksTime
from gordon.survey import doubts
from gordon.survey import space as spaces
from gordon.survey.doubts import Sensitivity
from gordon.survey.machines import holds, is_of
from gordon.survey.results import DesignOfMachines, Result, ResultOfMachines
from gordon.survey.run import run
from gordon.survey.service import requests_note
from gordon.untyped import Given

#: Designs of a survey, at most: more than any space has machines.
_ROWS = 100_000
_GB = 1e9
_DAY_S = 86400
_DRIVES = "the price of its drives"
#: Bytes of a sector of a disk.
_SECTOR = 512


class Rented(TypedDict):
    """A machine that is rented for the same runs, and from when on renting it costs more."""

    design: str
    machine: str
    nodes: int
    space: str
    time_s: float
    break_even: BreakEven


class Tco(TypedDict):
    """The total cost of a job or a service on nodes of a machine."""

    version: str
    design: str
    machine: str
    nodes: int
    space: str
    currency: str
    model: Literal["job", "tasks", "service"]
    #: Of a run; of a service, of a month.
    time_s: float
    #: None of a service.
    time_s_low: float | None
    time_s_high: float | None
    energy_j: float | None
    operation: Operation
    operation_sources: dict[str, str]
    #: Of a run; of a service, of a month.
    run: BillReport
    #: Bytes that the traced job read and wrote; None if that is unknown, and of a service.
    processed_bytes: float | None
    #: Of a GB that is read or written.
    per_gb: float | None
    #: Requests that a service answers a second; None if that is not given.
    requests_per_s: float | None
    per_million_requests: float | None
    #: Whether the nodes keep up with the load of a service; None if the record leaves it open.
    keeps_up: bool | None
    #: Of a year; None if machines are rented, and the number of runs is not given.
    per_year: float | None
    carbon_kg_per_year: float | None
    cost: Sensitivity | None
    carbon: Sensitivity | None
    #: The machine rented in place of nodes that are owned; None without `rent`, or if that is
    #: unknown.
    rented: Rented | None
    #: Why a figure is unknown.
    unknown: list[str]
    warnings: list[str]


class TcoResult(fields.TcoResult):
    """The total cost of a job or a service."""

    def says(self) -> str:
        total = self["run"]["total"]
        if total is None:
            return f"{self['design']}: the total is unknown"
        span = "a month" if self["model"] == "service" else "a run"
        return f"{self['design']}: {figures(total)} {self['currency']} {span}"


@explicit(TcoOptions)
def tco(
    traces: Path | Sequence[Path],
    node: str,
    *,
    nodes: int | None = None,
    space: str | None = None,
    reference: str | float | None = None,
    service: bool = False,
    headroom: float | None = None,
    requests_per_s: float | None = None,
    years: float | None = None,
    runs_per_day: float | None = None,
    price_kwh: float = TcoOptions.price_kwh,
    pue: float = TcoOptions.pue,
    grid: str | float | None = None,
    price_year: int | None = None,
    spin_down: str | float | None = None,
    rent: str | None = None,
    progress: Progress | None = None,
) -> TcoResult:
    """The total cost of a traced job on nodes of a machine, or of a service for a month.

    `traces` are those of `gordon.survey.run`, `node` is a machine of `space`, or with one of its
    storages, as `framework-desktop/nvme-qlc-2tb`; without a space, of the first shipped one that
    has it. `rent` is a machine that is rented in its place, or a space, whose cheapest
    machine is taken that is as fast. Raises GordonError.
    """
    of_job: Given = {
        "nodes": nodes,
        "reference": reference,
        "years": years,
        "runs_per_day": runs_per_day,
        "price_kwh": price_kwh,
        "pue": pue,
        "grid": grid,
        "rows": _ROWS,
        "progress": progress,
    }
    if rent is not None and "-" in [fspath(trace) for trace in several(traces)]:
        raise GordonError(
            f"--rent {rent} surveys the input twice, and standard input is read once",
            "a file in place of -",
            kind="exclusive-options",
        )
    found = space if space is not None else _space_of(node)
    of_year = [] if price_year is None else _drive_prices(found, price_year)
    if service and rent is not None:
        raise GordonError(
            f"--rent {rent} is compared by the time of a job, and a service has none",
            "--rent without --service",
            kind="exclusive-options",
        )
    result = _surveyed(
        run(
            traces,
            space=found,
            spin_down=spin_down,
            set=of_year,
            service=service,
            headroom=headroom,
            requests_per_s=requests_per_s,
            **of_job,
        ).report
    )
    if nodes is None and "load" in result:
        nodes = result["load"]["nodes"]
    row = _design(result, node, nodes)
    if price_year is not None and row["storage_part"] is None:
        raise GordonError(
            f"--price-year {price_year}: {row['machine']} has no drives of the catalogue",
            "leave out --price-year, or a machine that is bought, such as --node framework-desktop",
            kind="no-drives",
        )
    made = _of(result, row)
    if rent is not None:
        _check_owned(made, rent)
        is_space = rent in spaces.names() or spaces.path(rent) is not None
        other = _surveyed(run(traces, space=rent if is_space else _space_of(rent), **of_job).report)
        _add_rented(made, other, None if is_space else _design(other, rent, nodes))
    return TcoResult(made)


def _drive_prices(space: str, year: int) -> list[str]:
    """Settings that give the drives of a space the prices of a year, by their capacity. Raises
    GordonError for a year without a price, and for a space in another currency."""
    chosen = spaces.load(space)
    currency = chosen.get("currency", prices.CURRENCY)
    if currency != prices.CURRENCY:
        raise GordonError(
            f"--price-year {year}: prices by year are in {prices.CURRENCY}, and the space "
            f"`{chosen['name']}` is in {currency}",
            "leave out --price-year",
            kind="mixed-currencies",
        )
    parts = Catalogue(chosen.get("parts"))
    stored = [one for machine in spaces.machines(chosen) for one in spaces.storages(machine)]
    settings = []
    for name in sorted({one["part"] for one in stored if "part" in one}):
        kind = parts.storage_kind(name)
        price = prices.drive(kind, year)
        usd = price.usd_per_gb * _capacity(kind, parts.get(kind, name)) / _GB
        settings.append(f"{kind}.{name}.price={usd:.6g}")
    return settings


def _capacity(kind: str, part: Part) -> int:
    """Bytes of a flash device or a disk of the catalogue."""
    if kind == "flash":
        return _core.parse_bytes(value(part["capacity"]))
    sectors: int = value(part["geometry"]["sectors"])
    return sectors * _SECTOR


def _surveyed(result: Result) -> ResultOfMachines:
    """The survey of one job. Raises GordonError for that of several."""
    if "verdict" in result and "operation" in result:
        return result
    raise GordonError(
        "several jobs are given, and the total cost is of one",
        "one trace, run or event log",
        kind="several-jobs",
    )


def _check_owned(made: Tco, rent: str) -> None:
    """Raises GordonError for a machine that is rented itself."""
    if made["run"]["inputs"]["purchase_price"] is None:
        raise GordonError(
            f"--rent {rent} is compared with a machine that is bought, and {made['machine']} has "
            "no purchase price",
            "--node framework-desktop",
            kind="not-owned",
        )


def _add_rented(made: Tco, result: ResultOfMachines, row: DesignOfMachines | None) -> None:
    """Adds what is rented in place of the owned nodes: a design, or the cheapest that is as fast.
    Raises GordonError for another currency, and for a design that is not rented."""
    space, currency = result["space"]["name"], result["space"]["currency"]
    if currency != made["currency"]:
        raise GordonError(
            f"the machines of {made['space']} have prices in {made['currency']}, and those of "
            f"{space} in {currency}",
            "two spaces with one currency",
            kind="mixed-currencies",
        )
    if row is None:
        fast = [
            one
            for one in result["designs"]
            if (bill := one["bill"]) is not None
            and bill["rent"] is not None
            and _holds(result, one)
            and bill["inputs"]["time_s"] <= made["time_s"]
        ]
        if not fast:
            made["unknown"].append(
                f"the break-even with {space} is unknown: no machine that it rents runs the job in "
                f"{duration(made['time_s'])}"
            )
            return
        row = min(fast, key=lambda one: (_rent(one), one["id"]))
    bill = row["bill"]
    if bill is None or bill["inputs"]["rent_per_hour"] is None:
        raise GordonError(
            f"{row['machine']} of {space} has no price of an hour to rent it for",
            "a rented machine: --rent m5.xlarge, or a space of them: --rent ec2",
            kind="not-rented",
        )
    found = break_even(made["run"]["inputs"], bill["inputs"], made["operation"])
    if found is None:
        made["unknown"].append(f"the break-even with {row['machine']} needs the total cost")
        return
    made["rented"] = {
        "design": row["id"],
        "machine": row["machine"],
        "nodes": row["nodes"],
        "space": space,
        "time_s": bill["inputs"]["time_s"],
        "break_even": found,
    }


def _holds(result: ResultOfMachines, row: DesignOfMachines) -> bool:
    """Whether a survey would choose a design, as to its memory."""
    if "load" in result:
        return True
    fits: Any = row.get("memory_fits")
    peak_memory: Any = result.get("peak_memory_bytes")
    return holds(fits, peak_memory)


def _rent(row: DesignOfMachines) -> float | None:
    """Rent of a run; None if the machine is not rented."""
    return None if row["bill"] is None else row["bill"]["rent"]


def _space_of(node: str) -> str:
    """The first shipped space that has a machine."""
    known: list[str] = []
    for name in spaces.names():
        ids = [one["id"] for one in spaces.machines(spaces.load(name))]
        if any(is_of(node, id) for id in ids):
            return name
        known += ids
    hint = "a machine of `gordon spaces`, as framework-desktop, or --space FILE.toml with yours"
    raise unknown("machine", node.partition("/")[0], known, hint)


def _design(result: ResultOfMachines, node: str, nodes: int | None) -> DesignOfMachines:
    """The design of a node. Raises GordonError if there is none, or several."""
    rows: list[DesignOfMachines] = list(result["designs"])
    of_machine = [row for row in rows if is_of(row["machine"], node)]
    wanted = min((row["nodes"] for row in of_machine), default=0) if nodes is None else nodes
    of_machine = [row for row in of_machine if row["nodes"] == wanted]
    if not of_machine:
        refusals: Any = result.get("refused", [])
        for refused in refusals:
            if is_of(refused["machine"], node):
                raise GordonError(
                    f"{refused['machine']}: {refused['why']}",
                    "another --node, or smaller executors: --set of gordon survey",
                    kind="too-small",
                )
        raise unknown("machine", node, sorted({row["machine"] for row in rows}))
    # The first storage and network of a machine is its usual one.
    return of_machine[0]


def _of(result: ResultOfMachines, row: DesignOfMachines) -> Tco:
    outcome = _outcome(row)
    bill, operation = row["bill"], result["operation"]
    assert bill is not None
    assert operation is not None
    times = None if outcome is None else (outcome["time_s_low"], outcome["time_s_high"])
    processed = sum(trace["read_bytes"] + trace["write_bytes"] for trace in result["traces"])
    if "load" in result:
        processed = 0
    total, carbon, runs = bill["total"], bill["carbon_kg"], bill["runs_per_year"]
    served: Any = row if "keeps_up" in row else None
    note = requests_note(result) if "load" in result else None
    return {
        "version": __version__,
        "design": row["id"],
        "machine": row["machine"],
        "nodes": row["nodes"],
        "space": result["space"]["name"],
        "currency": result["space"]["currency"],
        "model": result["model"],
        "time_s": bill["inputs"]["time_s"],
        "time_s_low": None if times is None else times[0],
        "time_s_high": None if times is None else times[1],
        "energy_j": bill["inputs"]["energy_j"],
        "operation": operation,
        "operation_sources": result["operation_sources"],
        "run": bill,
        "processed_bytes": processed or None,
        "per_gb": total / (processed / _GB) if processed and total is not None else None,
        "requests_per_s": result["requests_per_s"] if "load" in result else None,
        "per_million_requests": None if served is None else served["total_per_million_requests"],
        "keeps_up": None if served is None else served["keeps_up"],
        "per_year": None if total is None or runs is None else total * runs,
        "carbon_kg_per_year": None if carbon is None or runs is None else carbon * runs,
        "cost": doubts.sensitivity(bill, times, operation, "total"),
        "carbon": doubts.sensitivity(bill, times, operation, "carbon_kg"),
        "rented": None,
        "unknown": _unknown(bill, operation, result["space"]["currency"])
        + ([] if note is None else [note]),
        "warnings": [*_of_design(result, row), *_of_tariff(result), *_of_job(result)],
    }


def _outcome(row: Any) -> JobReport | TasksTime | None:
    """The time of a design by its model; None for a service."""
    outcome: JobReport | TasksTime | None = row.get("job") or row.get("tasks")
    return outcome


def _of_design(result: ResultOfMachines, row: DesignOfMachines) -> list[str]:
    """A warning for a design that may not hold the job."""
    if _holds(result, row):
        return []
    has = "may have" if row.get("memory_fits") is None else "has"
    return [
        f"{row['id']} {has} less memory than the job used: it would swap or be killed, and the "
        "time has neither"
    ]


def _of_job(result: ResultOfMachines) -> list[str]:
    """The warnings of a survey that are not about its other designs."""
    of_designs = ("may not keep up with --runs-per-day", ": less memory than the ")
    return [text for text in result["warnings"] if not any(part in text for part in of_designs)]


def _of_tariff(result: ResultOfMachines) -> list[str]:
    """A warning for a tariff in another currency than that of the space."""
    operation, currency = result["operation"], result["space"]["currency"]
    assert operation is not None
    if currency == prices.CURRENCY or result["operation_sources"]["price_per_kwh"] == "given":
        return []
    return [
        f"{operation['price_per_kwh']:g} {currency} a kWh is the default in {prices.CURRENCY}: "
        "give the tariff with --price-kwh"
    ]


def _unknown(bill: BillReport, operation: Operation, currency: str) -> list[str]:
    """Why the total or the carbon is unknown."""
    inputs = bill["inputs"]
    if (bill["busy"] or 0) > 1:
        return [
            f"the nodes do not keep up: {operation.get('runs_per_day', 0):g} runs a day of "
            f"{duration(inputs['time_s'])} take {bill['busy']:.0%} of the day, which holds "
            f"{floor(_DAY_S / inputs['time_s']):,}"
        ]
    reasons = {
        "the price of the machine": bill["rent"] is None and inputs["purchase_price"] is None,
        "the power of the machine": inputs["energy_j"] is None,
        _DRIVES: inputs["drives_price"] is None and bill["rent"] is None,
        "the carbon of making the machine": inputs["embodied_kg"] is None,
        "the carbon of making its drives": inputs["drives_embodied_kg"] is None,
    }
    why = {}
    if currency != prices.CURRENCY:
        why[_DRIVES] = (
            f": parts of the catalogue have prices in {prices.CURRENCY}, and the space is in "
            f"{currency}; a part in the space has its currency"
        )
    return [
        f"{what} is unknown{why.get(what, '')}"
        for what, is_unknown in reasons.items()
        if is_unknown
    ]
