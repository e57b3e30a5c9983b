"""The types of the results of surveys: what the core reports, and what the package adds.

A result is `Result`: which keys it has depends on its space and model, and `"verdict" in result`
tells mypy. Types of the core's reports are in `gordon.reports.survey`.
"""

from typing import Literal, NotRequired, TypedDict, final

from gordon.parameters import Parameter
from gordon.power import Anchor
from gordon.reports import survey as reports
from gordon.reports.survey import (
    ApplicationReport,
    Assumption,
    BaselineReport,
    Charge,
    DesignReport,
    JobReport,
    LoadReport,
    MachineReport,
    MeanOutcome,
    NearService,
    Objective,
    Operation,
    ReferenceReport,
    Refusal,
    Series,
    ServiceReport,
    ServiceVerdict,
    StorageReport,
    StreamReport,
    TasksReport,
    TasksVerdict,
    Timeline,
    Verdict,
)
from gordon.survey.doubts import Ranking
from gordon.untyped import Config

#: Keys of the outcomes of a design of a grid.
By = Literal["sync", "nosync", "stages"]
#: The models of the paper's tables.
Barriers = Literal["sync", "nosync"]


class Surveyed(TypedDict):
    """The keys that reports of the core and results of one job have by any model."""

    version: str
    nodes: int
    charge: Charge
    traces: list[StreamReport]
    storages: list[StorageReport]
    designs_total: int
    #: Ids of the designs on the Pareto front, by time.
    front: list[str]
    #: Id of the design of a name, if any.
    named: dict[str, str | None]
    timeline: NotRequired[Timeline]


class Raw(Surveyed):
    """The keys that the core reports by any model."""

    warnings: list[str]
    assumptions: list[Assumption]


class Common(Surveyed):
    """The result of a survey of one job by any model."""

    #: The numbers that were used. These three are of all jobs if there are several.
    parameters: NotRequired[list[Parameter]]
    assumptions: NotRequired[list[Assumption]]
    warnings: NotRequired[list[str]]


class Place(TypedDict):
    """The place of a design among the others."""

    #: Kind of its storage part, if it has one.
    storage_kind: str | None
    #: Whether it is on the Pareto front.
    pareto: bool
    names: list[str]


class Relative(TypedDict):
    """Time and energy over those of the baseline."""

    time: float
    energy: float


class GridDesign(DesignReport, Place):
    """A design of a grid; of several jobs, the mean."""

    relative: Relative


@final
class GridSpace(TypedDict):
    """A space with a grid of designs."""

    name: str
    summary: str
    budget_w: float
    #: Number of designs, with those above the budget.
    designs: int
    over_budget_total: int
    #: Ids of the first of them.
    over_budget: list[str]
    #: The parts of all nodes, as in the file of the space.
    node: Config


class ChangedDesign(TypedDict):
    """A design by another overhead ratio."""

    node_power_w: float
    energy_j: float


class Alternative(Anchor):
    """The results by the overhead ratio of an anchor alone."""

    energy_factor: float
    #: Number of designs that would be above the budget.
    over_budget: int
    named: dict[str, ChangedDesign]


class Sensitivity(TypedDict):
    """The changes by other overhead ratios."""

    parameter: str
    used: float
    alternatives: list[Alternative]
    text: str


class Figures(TypedDict):
    """A design in a row of Table 6; None without a disk design to compare with."""

    power_w: float
    power_vs_minp_disk: float | None
    perf_per_watt_vs_maxe_disk: float | None
    speedup_vs_mint_disk: float | None


class FiguresByModel(TypedDict):
    """A design in Table 6."""

    sync: Figures
    nosync: Figures


class Table6Row(TypedDict):
    """A design of the paper's Table 6, of this survey, or both."""

    #: Id of the design of this survey.
    design: str | None
    paper_name: str
    paper_front: bool
    paper_design: str | None
    paper: FiguresByModel | None
    ours: FiguresByModel | None


class Table6(TypedDict):
    """Table 6 of the paper next to the survey."""

    source: str
    #: By column: its meaning.
    columns: dict[str, str]
    rows: list[Table6Row]


@final
class GridResult(Common):
    """A survey of a grid of designs."""

    space: GridSpace
    designs: list[GridDesign]
    model: Literal["paper", "stages"]
    #: The outcome by which designs are compared.
    by: By
    #: Whose processor time was simulated, in a sentence.
    charged: str
    spread: str | None
    baseline: BaselineReport
    table6: Table6 | None
    #: Sentences that explain differences to the paper's table.
    differences: list[str]
    sensitivity: Sensitivity
    series: Series


@final
class MachineSpace(TypedDict):
    """A space with machines; values are as in its file."""

    name: str
    summary: str
    region: str | None
    currency: str
    #: The machine whose cores have a speed of 1, and how speeds were measured.
    unit: Config | None
    sources: Config
    not_modelled: list[str]
    #: The oldest day of a price.
    prices_date: str | None


class MachineDesign(MachineReport, Place):
    """A machine with one of its storages and networks, and a number of nodes."""


@final
class JobResult(Common):
    """A survey of machines for a job."""

    space: MachineSpace
    designs: list[MachineDesign]
    model: Literal["job"]
    reference: ReferenceReport
    peak_memory_bytes: int | None
    peak_cache_bytes: int
    verdict: Verdict | None
    floor_s: float
    operation: Operation | None
    #: Where the values of the operation come from.
    operation_sources: dict[str, str]
    objectives: list[Objective]
    #: How sure the design of the least total cost or carbon is, if that is an objective.
    ranking: Ranking | None
    #: The answer.
    sentence: str


class TasksDesign(TasksReport, Place):
    """A number of machines."""


@final
class TasksResult(Common):
    """A survey of numbers of machines for an application of Spark."""

    space: MachineSpace
    designs: list[TasksDesign]
    model: Literal["tasks"]
    reference: ReferenceReport
    application: ApplicationReport
    refused: list[Refusal]
    verdict: TasksVerdict | None
    floor_s: float
    deadline_s: float | None
    operation: Operation | None
    #: Where the values of the operation come from.
    operation_sources: dict[str, str]
    objectives: list[Objective]
    #: How sure the design of the least total cost or carbon is, if that is an objective.
    ranking: Ranking | None
    #: The answer.
    sentence: str


class ServiceDesign(ServiceReport, Place):
    """A number of machines."""

    #: Total cost of a million requests; None if their number or the total is unknown.
    total_per_million_requests: float | None


@final
class ServiceResult(Common):
    """A survey of numbers of machines for the load of a service."""

    space: MachineSpace
    designs: list[ServiceDesign]
    model: Literal["service"]
    reference: ReferenceReport
    headroom: float
    load: LoadReport
    #: Requests that it answers a second; None if that is not given.
    requests_per_s: float | None
    operation: Operation | None
    #: Where the values of the operation come from.
    operation_sources: dict[str, str]
    objectives: list[Objective]
    ranking: Ranking | None
    verdict: ServiceVerdict | None
    maybe: NearService | None
    nearest: NearService | None
    #: The answer.
    sentence: str


class Mean(TypedDict):
    """The keys that the mean of several jobs has, whatever the space."""

    version: str
    charge: Charge
    #: None if the jobs differ in it.
    nodes: int | None
    designs_total: int
    front: list[str]
    named: dict[str, str | None]
    parameters: list[Parameter]
    assumptions: list[Assumption]
    warnings: list[str]
    table6: Table6 | None
    differences: list[str]


@final
class GridMean(Mean):
    """A survey of a grid of designs for several jobs."""

    jobs: dict[str, GridResult]
    space: GridSpace
    designs: list[GridDesign]
    model: Literal["paper", "stages"]
    by: By
    baseline: BaselineReport
    sensitivity: Sensitivity


class MeanMachine(reports.MeanMachine, Place):
    """A machine and the mean of several jobs."""


@final
class MachinesMean(Mean):
    """A survey of machines for several jobs."""

    jobs: dict[str, JobResult]
    space: MachineSpace
    designs: list[MeanMachine]
    model: Literal["job"]


#: A survey of one job.
OfOne = GridResult | JobResult | TasksResult | ServiceResult
#: A survey of machines.
ResultOfMachines = JobResult | TasksResult | ServiceResult
#: A design of such a survey, and one that takes the time of a job.
DesignOfMachines = MachineDesign | TasksDesign | ServiceDesign
JobDesign = MachineDesign | TasksDesign
#: A survey of several jobs.
OfSeveral = GridMean | MachinesMean
#: A survey of one job or of several. (Not of the two above: mypy narrows by keys in a flat union.)
Result = GridResult | JobResult | TasksResult | ServiceResult | GridMean | MachinesMean
#: The time of a machine: of a job, or the mean of several.
Outcome = JobReport | MeanOutcome
