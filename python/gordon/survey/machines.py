"""Surveys machines by the `job` model: their time, price, energy, Pareto front and verdict."""

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, TypeVar

from gordon import parameters
from gordon.errors import GordonError, located
from gordon.human import counted, duration, figures, in_words, short
from gordon.parameters import Parameter
from gordon.parts import Catalogue
from gordon.reports.survey import (
    BillReport,
    JobReport,
    JobSurvey,
    MachineReport,
    Objective,
    TasksReport,
    TasksSurvey,
    TasksTime,
)
from gordon.run import not_traces
from gordon.storage import saved
from gordon.survey import (
    doubts,
    machine_parameters,
    prices,
    quotas,
    references,
    settings,
)
from gordon.survey import space as spaces
from gordon.survey.bills import Goals
from gordon.survey.doubts import Figure, Ranked, Ranking
from gordon.survey.model import (
    Answer,
    Model,
    Report,
    Request,
    common,
    no_work,
    places,
    refuse_shift,
)
from gordon.survey.results import (
    JobDesign,
    JobResult,
    MachineDesign,
    MachineSpace,
    MeanMachine,
    Outcome,
    Raw,
    ResultOfMachines,
    ServiceDesign,
    TasksDesign,
    TasksResult,
)
from gordon.untyped import Config

#: The model of machines.
MODEL: Final = "job"
#: The currency of the prices of the catalogue's parts.
CURRENCY: Final = "USD"
#: Objectives that the bill has.
_OF_BILL: Final[set[Objective]] = {"tco", "carbon", "life"}
#: The objectives with a ranking, and their figures.
_RANKED: Final[dict[Objective, Figure]] = {"tco": "total", "carbon": "carbon_kg"}
#: How much longer than the fastest design the recommended one may take.
SLACK: Final = 0.1
#: The objectives of fronts, in words.
OBJECTIVES: Final[dict[Objective, str]] = {
    "time": "time",
    "price": "price",
    "energy": "energy",
    "tco": "total cost",
    "carbon": "carbon",
    "life": "life of flash",
}

#: The most designs that a ranking, and the warnings about limits, are of.
MOST_DESIGNS: Final = 20_000

Design = TypeVar("Design", MachineDesign, TasksDesign, ServiceDesign)
#: Figures with a limit.
Limited = Literal["power", "price", "life"]

#: Options by the keys of the core, with an example.
OPTIONS: Final = {
    "operation.years": ("--years", "4"),
    "operation.runs_per_day": ("--runs-per-day", "40"),
    "operation.price_per_kwh": ("--price-kwh", "0.13"),
    "operation.pue": ("--pue", "1.5"),
    "operation.grams_per_kwh": ("--grid", "380"),
    "spin_down": ("--spin-down", "auto, in a space whose disks have [power.standby]"),
    "goals.objectives": ("--objective", "time,tco"),
    "goals.deadline_s": ("--deadline", "10min"),
    "goals.max_power_w": ("--max-power", "500W"),
    "goals.max_price": ("--max-price", "1.5"),
    "goals.min_life_years": ("--min-life", "5"),
}


class OfMachines(Model[Report, Answer]):
    """The machines of a space: what all models of machines take of it."""

    #: Whether the model has the settings of an application.
    of_application: ClassVar = False

    def read(self, request: Request, chosen: spaces.Space) -> Config:
        """Reads the machines, their parts and prices. Returns what the core needs of them."""
        self.chosen, self.parts = chosen, Catalogue(chosen.get("parts"))
        self.use, self.goals, self.rows = request.use, request.goals, request.rows
        settings.apply_to_machines(
            request.set_values, chosen, self.parts, of_application=self.of_application
        )
        self.prices_date = prices.day(chosen)
        prices.per_hour(chosen, request.use.years)
        machines = spaces.machines(chosen)
        quotas.resolve(machines)
        self.traced = references.of_machines(request.reference, chosen, request.inputs.paths)
        self.ids = [machine["id"] for machine in machines]
        self.tables: dict[str, saved.Measured] = {}
        for machine in machines:
            where = f"machine `{machine['id']}`"
            # The core refuses another type, which --set may give.
            supply = machine.get("supply", {}).get("part")
            if isinstance(supply, str):
                with located(where):
                    self.parts.get("supply", supply)
            for storage in spaces.storages(machine):
                name = storage.get("part")
                if name is not None:
                    with located(where):
                        self.parts.get(self.parts.storage_kind(name), name)
                file = storage.get("measured")
                # The core refuses another type, which --set may give.
                if isinstance(file, str) and file not in self.tables:
                    self.tables[file] = saved.read(file, where)
        self._drop_foreign_prices()
        return {
            "machines": machines,
            "unit": chosen.get("reference", {}).get("machine"),
            "parts": {kind: self.parts.used[kind] for kind in ("flash", "disk", "supply")},
            "measured": self.tables,
            "operation": request.use.operation(chosen),
            **self.traced.config,
        }

    def asked_rows(self) -> int:
        """The number of rows that the core reports: a ranking, and the designs that limits leave
        out, are of all designs."""
        is_of_all = ranked_by(self.goals) is not None or bool(self.goals.limits)
        return max(self.rows, MOST_DESIGNS) if is_of_all else self.rows

    def shown(self, designs: Sequence[Design], ids: Collection[str | None]) -> list[Design]:
        """The designs of a result: the notable ones, those with these ids, and the first others
        until there are as many as were requested."""
        is_shown = [
            bool(row["pareto"] or row["names"] or row["is_reference"] or row["id"] in ids)
            for row in designs
        ]
        free = max(self.rows - sum(is_shown), 0)
        kept = []
        for row, is_notable in zip(designs, is_shown, strict=True):
            if is_notable or free > 0:
                kept.append(row)
                free -= not is_notable
        return kept

    def _drop_foreign_prices(self) -> None:
        """Leaves out the prices of the catalogue's parts, which are in USD, in a space with another
        currency. Parts of the space have its currency."""
        if self.chosen.get("currency", CURRENCY) == CURRENCY:
            return
        own = self.chosen.get("parts", {})
        for kind in ("flash", "disk"):
            for name, part in self.parts.used[kind].items():
                if name not in own.get(kind, {}):
                    part.pop("price", None)

    def explained(self, error: GordonError) -> GordonError:
        """The error with ids instead of places in the list of machines, which users do not see."""
        message = re.sub(r"\bcatalogue\.", "", error.message)
        for key, (option, example) in OPTIONS.items():
            if message.startswith(f"{key}:"):
                text = f"{option}{message[len(key) :]}"
                return GordonError(text, f"{option} {example}", kind="out-of-range")
        message = re.sub(r"machines\[(\d+)\]", lambda m: f"machines.{self.ids[int(m[1])]}", message)
        hint = error.hint
        if not hint and message.startswith("survey: machines."):
            # A value of another type, where the core has the value with its source.
            message = message.removeprefix("survey: ").replace(".value: ", ": ", 1)
            hint = "correct it in the space or --set; `gordon spaces show ec2` has examples"
        return GordonError(message, hint, kind=error.kind)

    def storage_kind(self, part: str | None) -> str | None:
        """The kind of a storage part."""
        return None if part is None else self.parts.storage_kind(part)

    def space(self) -> MachineSpace:
        """The space, as the result has it."""
        chosen = self.chosen
        return {
            "name": chosen["name"],
            "summary": chosen["summary"],
            "region": chosen.get("region"),
            "currency": chosen.get("currency", "USD"),
            "unit": chosen.get("reference"),
            "sources": chosen.get("sources", {}),
            "not_modelled": chosen.get("not_modelled", []),
            "prices_date": self.prices_date,
        }

    def parameters(self, shown: Collection[str]) -> list[Parameter]:
        """The numbers of these machines and of the parts, with their sources."""
        listed = [
            machine
            for machine in self.chosen["machines"]
            if any(is_of(name, machine["id"]) for name in shown)
        ]
        return (
            machine_parameters.of_machines(listed, self.chosen.get("sources", {}))
            + parameters.rows(self.parts.used)
            + parameters.rows(_ownership(self.chosen))
            + machine_parameters.of_measured(self.tables)
        )

    def warnings(self, raw: Raw, not_compared: list[str]) -> list[str]:
        """The warnings of the core, `not_compared` about designs, and those about the space."""
        found = self.traced.warnings + raw["warnings"] + not_compared
        currency = self.chosen.get("currency", CURRENCY)
        if currency != CURRENCY and "price-kwh" not in self.use.given and self.goals.given:
            found.append(
                f"{self.use.price_kwh:g} {currency} a kWh is the default in {CURRENCY}: give the "
                "tariff with --price-kwh"
            )
        if spaces.has_grid(self.chosen):
            found.append(
                f"the grid of designs of the space `{self.chosen['name']}` is left out; --model "
                "paper surveys it, and leaves out the machines"
            )
        return found + prices.age_warnings(self.chosen["name"], self.prices_date)


class Machines(OfMachines[JobSurvey, JobResult]):
    """Machines by the `job` model."""

    core = MODEL

    def __init__(self, request: Request, chosen: spaces.Space) -> None:
        hint = "leave out --shift. --space gordon-2009 surveys clusters of any size"
        refuse_shift(request, "the job model needs a trace of each node", hint)
        with spaces.blamed(request.space, request.set_values):
            self._prepare(request, chosen)

    def _prepare(self, request: Request, chosen: spaces.Space) -> None:
        of_traces = len(request.inputs.paths)
        numbers = request.numbers
        if of_traces == 1 and not not_traces.is_trace(Path(request.inputs.paths[0])):
            # The core says what is wrong with it.
            numbers = None
        if of_traces == 1 and numbers is not None and numbers != [1]:
            raise GordonError(
                f"--nodes {','.join(map(str, numbers))}: one trace is given, and the trace of one "
                "machine does not show whether its job can run on several",
                "leave out --nodes, or give the traces of all nodes of a cluster, or the event log "
                "of an application of Spark. --space gordon-2009 surveys clusters of copies",
                kind="bad-nodes",
            )
        catalogue = self.read(request, chosen)
        of_job = {
            "nodes": numbers or [of_traces],
            "rows": self.asked_rows(),
            "storage_rate": request.inputs.storage_rate,
            "goals": request.goals.config(),
            "spin_down": request.spin_down,
        }
        self.config = request.config() | of_job | {"catalogue": catalogue}

    def check(self, raw: JobSurvey) -> None:
        designs = raw["designs"]
        if designs and all(row["job"]["time_s"] <= 0 for row in designs):
            raise no_work()

    def result(self, raw: JobSurvey) -> JobResult:
        place = places(raw)
        designs: list[MachineDesign] = [
            {**row, **place(row["id"], self.storage_kind(row["storage_part"]))}
            for row in raw["designs"]
        ]
        verdict = raw["verdict"]
        shown = self.shown(designs, [verdict and verdict["id"]])
        parameters = self.parameters({row["machine"] for row in shown})
        space = self.space()
        return {
            **common(raw, parameters, self.warnings(raw, not_compared(self, raw["designs"]))),
            "space": space,
            "designs": shown,
            "model": MODEL,
            "reference": raw["reference"],
            "peak_memory_bytes": raw["peak_memory_bytes"],
            "peak_cache_bytes": raw["peak_cache_bytes"],
            "verdict": verdict,
            "floor_s": raw["floor_s"],
            "operation": raw["operation"],
            "operation_sources": self.use.origins(self.chosen),
            "objectives": raw["objectives"],
            "ranking": ranked(raw, designs, self.goals, SLACK, self.ids),
            "sentence": _sentence(raw, designs, space["currency"], self.goals),
        }


def ranked(
    raw: JobSurvey | TasksSurvey,
    designs: Sequence[JobDesign],
    goals: Goals,
    slack: float,
    ids: Collection[str],
) -> Ranking | None:
    """How sure the design of the least total cost or carbon is, if that is an objective, among the
    designs that the verdict chooses from, by the upper ends of their times; with limits, among
    those of the front. `ids` are the machines of the space."""
    figure = ranked_by(goals)
    fastest, operation = raw["named"]["fastest"], raw["operation"]
    if figure is None or operation is None or fastest is None:
        return None
    peak_memory: Any = raw.get("peak_memory_bytes")
    times = {row["id"]: _time(row) for row in designs}
    longest = goals.deadline_s
    if longest is None:
        longest = times[fastest]["time_s_high"] * (1 + slack)
    rows = [
        Ranked(
            row["id"],
            machine_of(row["machine"], ids),
            row["storage_part"],
            bill,
            (times[row["id"]]["time_s_low"], times[row["id"]]["time_s_high"]),
        )
        for row in designs
        if (bill := row["bill"]) is not None
        and times[row["id"]]["time_s_high"] <= longest
        and holds(row["memory_fits"], peak_memory)
        and (row["pareto"] or not goals.limits)
    ]
    return doubts.ranking(rows, operation, figure)


def holds(fits: bool | None, peak_memory: int | None) -> bool:
    """Whether the memory of a design holds the job, as far as a choice of machines asks. `fits` is
    its `memory_fits`; `peak_memory`, the bytes that the job used, is None if nothing is known."""
    return bool(fits) or (fits is None and peak_memory is None)


def ranked_by(goals: Goals) -> Figure | None:
    """The figure of the first objective with a ranking."""
    return next((_RANKED[one] for one in goals.objectives if one in _RANKED), None)


def _time(row: Any) -> JobReport | TasksTime:
    """The time of a design by its model."""
    outcome: JobReport | TasksTime = row["job"] if "job" in row else row["tasks"]
    return outcome


def not_compared(
    model: OfMachines[Any, Any], rows: Sequence[MachineReport | TasksReport]
) -> list[str]:
    """A warning for designs that may not keep up with the runs of a day, for each limit that leaves
    out designs because their figure is unknown, and for each objective that is unknown of
    others."""
    found = []
    goals, has_runs = model.goals, model.use.runs_per_day is not None
    if has_runs:
        late = [row["id"] for row in rows if not _keeps_up(row)]
        is_compared = bool(_OF_BILL & set(goals.objectives))
        if late:
            out = f", and {'is' if len(late) == 1 else 'are'} not on the front"
            found.append(
                f"{counted(len(late), 'design')} may not keep up with --runs-per-day, by the upper "
                f"end of the time{out if is_compared else ''}: {_some(late)}"
            )
        if is_compared:
            rows = [row for row in rows if _keeps_up(row)]
    found += left_out(
        goals,
        {
            "power": [row["id"] for row in rows if not _has_power(row)],
            "price": [row["id"] for row in rows if not _is_known("price", row)],
            "life": [row["id"] for row in rows if not _is_known("life", row)],
        },
    )
    unknown = {
        objective: [row["id"] for row in rows if not _is_known(objective, row)]
        for objective in goals.objectives
    }
    return found + unknown_of(unknown)


def unknown_of(unknown: dict[Objective, list[str]]) -> list[str]:
    """A warning for each objective that is unknown of these designs."""
    return [
        f"the {OBJECTIVES[objective]} of {counted(len(ids), 'design')} is unknown, so that they "
        f"are not on the front: {_some(ids)}"
        for objective, ids in unknown.items()
        if ids
    ]


def left_out(goals: Goals, unknown: dict[Limited, list[str]]) -> list[str]:
    """A warning for each limit that leaves out designs because their figure is unknown."""
    limits: dict[Limited, tuple[str, float | None]] = {
        "power": ("--max-power", goals.max_power_w),
        "price": ("--max-price", goals.max_price),
        "life": ("--min-life", goals.min_life_years),
    }
    return [
        f"the {'life of flash' if what == 'life' else what} of {counted(len(ids), 'design')} is "
        f"unknown, so that {limits[what][0]} leaves {'it' if len(ids) == 1 else 'them'} out: "
        f"{_some(ids)}"
        for what, ids in unknown.items()
        if ids and limits[what][1] is not None
    ]


def _has_power(row: Any) -> bool:
    """Whether the power of the nodes of a design is known."""
    return row["bill"] is not None and row["bill"]["inputs"]["idle_w"] is not None


def _some(ids: list[str]) -> str:
    return ", ".join(ids[:2]) + (", ..." if len(ids) > 2 else "")


def _keeps_up(row: Any) -> bool:
    """Whether the nodes run the job as often as they have to, by the upper end of its time."""
    of = _time(row)
    busy: float | None = row["bill"]["busy"]
    return busy is None or busy * of["time_s_high"] <= of["time_s"]


def _is_known(objective: Objective, row: Any) -> bool:
    """Whether a figure of a design is known."""
    of = _time(row)
    bill: BillReport = row["bill"]
    match objective:
        case "time":
            return True
        case "price":
            return of["price"] is not None
        case "energy":
            return of["energy_j"] is not None
        case "tco":
            return bill["total"] is not None
        case "carbon":
            return bill["carbon_kg"] is not None
    return has_life(bill)


def has_life(bill: BillReport) -> bool:
    """Whether the life of the flash of a design is known. Flash that a run does not wear lasts."""
    wear = bill["inputs"]["wear"]
    return wear is not None and (wear == 0 or bill["flash_life_years"] is not None)


def _ownership(space: spaces.Space) -> Config:
    """The values that made prices of an hour of purchase prices, if any, as `parameters.rows`
    takes them."""
    ownership = space.get("ownership")
    return {} if ownership is None else {"space": {space["name"]: {"ownership": ownership}}}


def machine_of(name: str, ids: Iterable[str]) -> str:
    """The id of a machine, one of `ids`, from its name with the choices of storage and network."""
    return max((id for id in ids if is_of(name, id)), key=len, default=name)


def is_of(name: str, id: str) -> bool:
    """Whether a name is that of this machine, alone or with choices of storage and network."""
    return name == id or name.startswith(f"{id}/")


def noun(rows: Sequence[MachineDesign]) -> str:
    """The noun of a row: a machine, or a design where a machine has several storages, networks or
    numbers of nodes."""
    is_machine = all(row["id"] == row["machine"] and "/" not in row["id"] for row in rows)
    return "machine" if is_machine else "design"


def in_nodes(result: JobResult) -> str:
    """The numbers of nodes of a result: `2 nodes`, or `1 to 8 nodes, 2 traced`."""
    traced = counted(result["nodes"], "node")
    numbers = {row["nodes"] for row in result["designs"]}
    if numbers <= {result["nodes"]}:
        return traced
    least, most = min(numbers), max(numbers)
    listed = counted(most, "node") if least == most else f"{least} to {most} nodes"
    return f"{listed}, {result['nodes']} traced"


def outcome(row: MachineDesign | MeanMachine) -> Outcome:
    """Time, energy and price of a machine."""
    return row["job"]


def recommended(result: ResultOfMachines) -> str | None:
    """The id of the recommended design, if there is one."""
    verdict = result["verdict"]
    return None if verdict is None else verdict["id"]


def is_notable(row: JobDesign, verdict: str | None) -> bool:
    """Whether a design has a name, is the recorded one, or is the recommended one, `verdict`."""
    return bool(row["names"]) or row["is_reference"] or row["id"] == verdict


def remarks(row: MachineDesign, verdict: str | None = None) -> list[str]:
    """Whether a machine is the recommended one, `verdict`; its names, and what its figures do not
    show."""
    found = (["verdict"] if row["id"] == verdict else []) + row["names"]
    if row["is_reference"]:
        found.append("traced here")
    if row["memory_fits"] is False:
        found.append("too little memory")
    elif row["reads_again"]:
        found.append("little memory")
    return found


def compared(result: JobResult | TasksResult) -> str:
    """The objectives of the front, in words: `time, price and energy`."""
    return in_words([OBJECTIVES[one] for one in result["objectives"]])


def too_late(noun: str, nearest: JobDesign, deadline: float) -> str:
    """The answer if no design is sure to meet a deadline."""
    return (
        f"No {noun} is sure to end within {duration(deadline)}. The nearest is "
        f"{described(nearest)}, which ends within {duration(_time(nearest)['time_s_high'])}."
    )


def _sentence(raw: JobSurvey, designs: Sequence[MachineDesign], currency: str, goals: Goals) -> str:
    """The answer in a sentence: the recommended machine, or why there is none."""
    by_id = {row["id"]: row for row in designs}
    verdict = raw["verdict"]
    if verdict is not None:
        best, first = by_id[verdict["id"]], by_id[verdict["fastest"]]
        deadline, slack = verdict["deadline_s"], verdict["slack"]
        text = substituted(goals, verdict["by"], designs)
        text += recommendation(verdict["by"], best, first, deadline, slack, currency)
        if verdict["by"] == "price":
            return f"{text}.{better_by_estimates(best, designs, currency)}"
        return f"{text}."
    fastest = raw["named"]["fastest"]
    if fastest is None and goals.limits:
        return f"No machine of the space is within {goals.limits}."
    if fastest is None:
        used = short(known(raw["peak_memory_bytes"]), "B")
        return f"No machine of the space is known to have the memory that the job used ({used})."
    if goals.deadline_s is not None:
        return too_late("machine", by_id[fastest], goals.deadline_s)
    return (
        f"No machine makes this job faster than {duration(raw['floor_s'])}: it waits for what no "
        f"machine shortens, such as timers, other machines or a service. The fastest is "
        f"{described(by_id[fastest])}."
    )


def better_by_estimates(
    best: MachineDesign, designs: Sequence[MachineDesign], currency: str
) -> str:
    """Names the fastest design whose time and price are both estimated to be less than those of
    the recommended one, if there is one."""
    time, price = best["job"]["time_s"], best["job"]["price"]
    better = [
        (row["job"]["time_s"], paid, row)
        for row in designs
        if row["memory_fits"] is not False
        and price is not None
        and (paid := row["job"]["price"]) is not None
        and row["job"]["time_s"] < time
        and paid < price
    ]
    if not better:
        return ""
    _, paid, row = min(better, key=lambda one: one[:2])
    times = described(row).removeprefix(f"{row['id']}, ")
    return (
        f" The verdict goes by the upper ends of ranges; the estimates of {row['id']} are lower: "
        f"{times}, {figures(paid)} {currency}."
    )


def recommendation(
    by: Objective,
    best: JobDesign,
    fastest: JobDesign,
    deadline: float | None,
    slack: float,
    currency: str,
) -> str:
    """The start of the sentence about a recommended design: what is least of it, how much, and the
    fastest design if that is another one."""
    within = (
        f"within {slack:.0%} of the fastest" if deadline is None else f"within {duration(deadline)}"
    )
    text = _least(by, best, within, currency)
    return text if best is fastest else f"{text}; by upper ends the fastest is {described(fastest)}"


def _least(by: Objective, row: JobDesign, within: str, currency: str) -> str:
    """The figure by which a design is recommended."""
    design, of, bill = described(row), _time(row), row["bill"]
    match by:
        case "price":
            return f"Cheapest {within}: {design}, {figures(known(of['price']))} {currency}"
        case "energy":
            return f"Least energy {within}: {design}, {short(known(of['energy_j']), 'J')}"
        case "time":
            return f"Fastest: {design}; neither prices nor powers are known"
    assert bill is not None
    match by:
        case "tco":
            cost = figures(known(bill["total"]))
            return f"Least total cost {within}: {design}, {cost} {currency} a run"
        case "carbon":
            grams = short(1000 * known(bill["carbon_kg"]), "g")
            return f"Least carbon {within}: {design}, {grams} of CO2 a run"
    life = bill["flash_life_years"]
    lasts = "which runs do not wear" if life is None else f"whose flash lasts {figures(life)} years"
    return f"Longest life of flash {within}: {design}, {lasts}"


def substituted(goals: Goals, by: Objective, designs: Sequence[JobDesign]) -> str:
    """Why a recommendation goes by another objective than the first one that is asked for."""
    wanted = next((one for one in goals.objectives if one != "time"), by)
    if wanted == by:
        return ""
    if wanted in _OF_BILL and not any(_keeps_up(row) for row in designs):
        return (
            "No design is sure to keep up with --runs-per-day, so that the choice is by "
            f"{OBJECTIVES[by]}. "
        )
    return (
        f"The {OBJECTIVES[wanted]} of no candidate is known, so that the choice is by "
        f"{OBJECTIVES[by]}. "
    )


def known(value: float | None) -> float:
    """A figure that is known, because a design was chosen or refused by it."""
    assert value is not None
    return value


def described(row: JobDesign) -> str:
    """A design: its id, its time, and the range of the time."""
    of = _time(row)
    ends = f"{duration(of['time_s_low'])} to {duration(of['time_s_high'])}"
    return f"{row['id']}, {duration(of['time_s'])} ({ends})"
