"""Surveys machines by the `service` model: which, and how many, keep up with a recorded load.

The traces are records of the nodes of a service, such as a day of sysstat or Prometheus. They have
no end and no job: the answer is a price of a month, never a shorter hour.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from gordon.errors import GordonError
from gordon.human import as_percent, figures, short
from gordon.reports.survey import (
    BillReport,
    NearService,
    Objective,
    ServiceSurvey,
    ServiceVerdictBy,
)
from gordon.survey import doubts
from gordon.survey import space as spaces
from gordon.survey.bills import Goals
from gordon.survey.doubts import Ranked, Ranking
from gordon.survey.machines import (
    OBJECTIVES,
    Limited,
    OfMachines,
    has_life,
    known,
    left_out,
    machine_of,
    ranked_by,
    recommended,
    unknown_of,
)
from gordon.survey.model import Request, common, no_work, places, refuse_shift
from gordon.survey.results import ServiceDesign, ServiceResult

MODEL: Final = "service"
#: Numbers of nodes that are compared, next to the recorded number, unless they are given.
NODES = range(1, 9)
#: The criteria of a verdict, in words.
_TITLES: Final[dict[ServiceVerdictBy, str]] = {
    "price": "Cheapest",
    "power": "Least power",
    "cores": "Fewest cores",
    "tco": "Least total cost",
    "carbon": "Least carbon",
    "life": "Longest life of flash",
}
#: The criterion of a verdict, by the objective.
_BY: Final[dict[Objective, ServiceVerdictBy]] = {
    "price": "price",
    "energy": "power",
    "tco": "tco",
    "carbon": "carbon",
    "life": "life",
}
#: Names of resources in sentences.
RESOURCES = {"cpu": "processor", "memory": "memory", "disk": "storage", "network": "network"}


#: Hours of a year in which machines of a service are used.
_ALWAYS_ON = {"value": 8766.0, "assumed": "a service is on all the time"}
_HOURS = "ownership.hours_per_year"


class Service(OfMachines[ServiceSurvey, ServiceResult]):
    """Machines, and numbers of them, by the `service` model."""

    core = MODEL

    def __init__(self, request: Request, chosen: spaces.Space) -> None:
        refuse_shift(request, "a service has the nodes that were recorded")
        if not 0 <= request.headroom < 1:
            raise GordonError(
                f"--headroom: {request.headroom:g} is not from 0 to below 1, which is 100%",
                "--headroom 30%",
                kind="out-of-range",
            )
        requests = request.requests_per_s
        if requests is not None and not requests > 0:
            raise GordonError(
                f"--requests-per-s: {requests:g} is not above zero",
                "--requests-per-s 200",
                kind="out-of-range",
            )
        self.requests_per_s = requests
        if any(setting.partition("=")[0].strip() == _HOURS for setting in request.set_values):
            raise GordonError(
                f"--set {_HOURS}: a service is on all the time, so that its machines cost the same "
                "whatever hours they work",
                f"leave out --set {_HOURS}, or survey the trace as a job, without --service",
                kind="always-on",
            )
        if "ownership" in chosen or any(
            setting.strip().startswith("ownership.") for setting in request.set_values
        ):
            chosen.setdefault("ownership", {})["hours_per_year"] = _ALWAYS_ON
        with spaces.blamed(request.space, request.set_values):
            catalogue = self.read(request, chosen)
        common = request.config()
        of_traces = len(request.inputs.paths)
        self.config = {key: common[key] for key in ("traces", "charge", "table")} | {
            "rows": self.asked_rows(),
            "nodes": request.numbers or sorted({*NODES, of_traces}),
            "headroom": request.headroom,
            "goals": request.goals.config(),
            "catalogue": catalogue,
        }

    def check(self, raw: ServiceSurvey) -> None:
        load = raw["load"]
        demands = [load["cpu_cores"], load["memory_bytes"]]
        demands += [*(load["disk"] or {}).values(), *(load["network"] or {}).values()]
        if all(of is None or of["peak"] <= 0 for of in demands):
            raise no_work()

    def result(self, raw: ServiceSurvey) -> ServiceResult:
        place = places(raw)
        designs: list[ServiceDesign] = [
            {
                **row,
                **place(row["id"], self.storage_kind(row["storage_part"])),
                "total_per_million_requests": per_million(row["bill"], self.requests_per_s),
            }
            for row in raw["designs"]
        ]
        by_id = {row["id"]: row for row in designs}
        chosen = (raw["verdict"], raw["maybe"], raw["nearest"])
        shown = self.shown(designs, [of and of["id"] for of in chosen])
        space = self.space()
        return {
            **common(
                raw,
                self.parameters({row["machine"] for row in shown}),
                self.warnings(raw, self._not_compared(designs)),
            ),
            "space": space,
            "designs": shown,
            "model": MODEL,
            "reference": raw["reference"],
            "headroom": raw["headroom"],
            "load": raw["load"],
            "requests_per_s": self.requests_per_s,
            "operation": raw["operation"],
            "operation_sources": self.use.origins(self.chosen),
            "objectives": raw["objectives"],
            "ranking": self._ranking(raw, designs),
            "verdict": raw["verdict"],
            "maybe": raw["maybe"],
            "nearest": raw["nearest"],
            "sentence": _sentence(raw, by_id, space["currency"], self.goals),
        }

    def _not_compared(self, designs: Sequence[ServiceDesign]) -> list[str]:
        """A warning for each limit and each objective that leaves out designs that keep up, because
        their figure is unknown."""

        def unknown(objective: Objective) -> list[str]:
            return [
                row["id"] for row in designs if row["keeps_up"] and not _is_known(objective, row)
            ]

        limited: dict[Limited, list[str]] = {
            "power": unknown("energy"),
            "price": unknown("price"),
            "life": unknown("life"),
        }
        compared = {objective: unknown(objective) for objective in self.goals.objectives}
        return left_out(self.goals, limited) + unknown_of(compared)

    def _ranking(self, raw: ServiceSurvey, designs: Sequence[ServiceDesign]) -> Ranking | None:
        """How sure the design of the least total cost or carbon is, of those that keep up."""
        figure, operation = ranked_by(self.goals), raw["operation"]
        if figure is None or operation is None:
            return None
        rows = [
            Ranked(row["id"], machine_of(row["machine"], self.ids), row["storage_part"], bill, None)
            for row in designs
            if (bill := row["bill"]) is not None
            and row["keeps_up"]
            and (row["pareto"] or not self.goals.limits)
        ]
        return doubts.ranking(rows, operation, figure)


def _is_known(objective: Objective, row: ServiceDesign) -> bool:
    """Whether a figure of a design is known."""
    bill = row["bill"]
    if objective == "life":
        return bill is not None and has_life(bill)
    figures: dict[Objective, float | None] = {
        "price": row["price_per_month"],
        "energy": row["power_w"],
        "tco": bill and bill["total"],
        "carbon": bill and bill["carbon_kg"],
    }
    return figures[objective] is not None


def per_million(bill: BillReport | None, requests_per_s: float | None) -> float | None:
    """The total cost of a million requests; None if their number or the total is unknown."""
    if bill is None or bill["total"] is None or requests_per_s is None:
        return None
    return 1e6 * bill["total"] / (requests_per_s * bill["inputs"]["time_s"])


def requests_note(result: ServiceResult) -> str | None:
    """The inputs that are lacking for the cost of a million requests, if it is."""
    if result["requests_per_s"] is not None:
        return None
    return (
        "the cost of a million requests is unknown, because traces do not count requests: give "
        "their number with --requests-per-s"
    )


def is_notable(row: ServiceDesign, result: ServiceResult) -> bool:
    """Whether a design is recommended, near, the recorded one, or has a name."""
    near = [of["id"] for of in (result["maybe"], result["nearest"]) if of is not None]
    return row["id"] in (recommended(result), *near) or row["is_reference"] or _names(row) != []


def remarks(row: ServiceDesign, verdict: str | None = None) -> list[str]:
    """Whether a design is the recommended one, `verdict`; its names, and what its figures do not
    show."""
    found = (["verdict"] if row["id"] == verdict else []) + _names(row)
    if row["is_reference"]:
        found.append("recorded here")
    short_of = " and ".join(RESOURCES[name] for name in row["short_of"])
    if row["keeps_up"] is False:
        found.append(f"too little {short_of}")
    elif row["keeps_up"] is None:
        found.append(f"{short_of} unknown")
    return found


def _names(row: ServiceDesign) -> list[str]:
    """The names of a design that keeps up."""
    return [name for name in row["names"] if name not in ("maybe", "nearest")]


def cheapest_first(row: ServiceDesign) -> tuple[float, float, float]:
    """The order of designs: by price, then by power, then by cores."""
    unknown = float("inf")
    price, power = row["price_per_month"], row["power_w"]
    return (
        unknown if price is None else price,
        unknown if power is None else power,
        row["nodes"] * row["cores"],
    )


def keeps_up(row: ServiceDesign) -> str:
    """Whether a design keeps up, in a word."""
    return {True: "yes", False: "no", None: "unknown"}[row["keeps_up"]]


def _sentence(
    raw: ServiceSurvey, by_id: Mapping[str, ServiceDesign], currency: str, goals: Goals
) -> str:
    """The recommended design, or why there is none."""
    kept = f"keeps up with {as_percent(raw['headroom'])} headroom"
    verdict, maybe, nearest = raw["verdict"], raw["maybe"], raw["nearest"]
    if verdict is not None:
        design = by_id[verdict["id"]]
        text = _substituted(raw, goals)
        text += f"{_TITLES[verdict['by']]} that {kept}: {design['id']}{_cost(design, currency)}"
        text += _in_all(verdict["by"], design["bill"], currency)
        limit = design["limited_by"]
        # Of a design that keeps up, the upper end is known.
        ends = design["range"].get(limit)
        used = known(design["use"][limit] if ends is None else ends[1])
        text += f"; its {RESOURCES[limit]} is at most {used:.0%} used in 99% of the time."
        return text + (f" Less would do if {_open(maybe, by_id, currency)}" if maybe else "")
    text = f"No design is known to {kept.replace('keeps', 'keep')}"
    text += f" within {goals.limits}." if goals.limits else "."
    if maybe is not None:
        text += f" The nearest may, if {_open(maybe, by_id, currency)}"
    elif nearest is not None:
        how = "of unknown use"
        if nearest["use"] is not None:
            how = f"up to {nearest['use']:.0%} used in 99% of the time"
        where = RESOURCES[nearest["resource"]]
        text += f" The nearest is {nearest['id']}, whose {where} is {how}."
    return text


def _substituted(raw: ServiceSurvey, goals: Goals) -> str:
    """Why a verdict goes by another figure than the first objective."""
    verdict = raw["verdict"]
    if not goals.objectives or verdict is None or _BY[goals.objectives[0]] == verdict["by"]:
        return ""
    return f"The {OBJECTIVES[goals.objectives[0]]} of no design that keeps up is known. "


def _in_all(by: ServiceVerdictBy, bill: BillReport | None, currency: str) -> str:
    """The figure of the bill that a verdict goes by, if any."""
    if bill is None:
        return ""
    total, carbon, life = bill["total"], bill["carbon_kg"], bill["flash_life_years"]
    if by == "tco" and total is not None:
        return f", {figures(total)} {currency} a month in all"
    if by == "carbon" and carbon is not None:
        return f", {short(1000 * carbon, 'g')} of CO2 a month"
    if by == "life":
        worn = "which it does not wear" if life is None else f"which lasts {figures(life)} years"
        return f", with flash {worn}"
    return ""


def _open(maybe: NearService, by_id: Mapping[str, ServiceDesign], currency: str) -> str:
    """The resource that decides whether a design keeps up."""
    design = by_id[maybe["id"]]
    what = " and ".join(RESOURCES[name] for name in design["short_of"])
    suffice = "suffices" if len(design["short_of"]) == 1 else "suffice"
    return (
        f"its {what} {suffice}, which the record leaves open: {design['id']}"
        f"{_cost(design, currency)}."
    )


def _cost(design: ServiceDesign, currency: str) -> str:
    """Price of a month and power of a design, where they are known."""
    text = ""
    if design["price_per_month"] is not None:
        text += f", {figures(design['price_per_month'])} {currency} a month"
    if design["power_w"] is not None:
        text += f", {short(design['power_w'], 'W')}"
    return text
