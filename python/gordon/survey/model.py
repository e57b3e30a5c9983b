"""The request of a survey, and the part of a model in Python: the core's configuration, and the
keys of the result that only this model has. `Model.survey` takes the steps that all models share.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from os import fspath
from typing import ClassVar, Generic, TypeVar

from gordon.errors import GordonError
from gordon.options import Path, Progress
from gordon.options.surveys import SurveyOptions
from gordon.parameters import Parameter
from gordon.parts import Catalogue
from gordon.reports.survey import JobMean, PaperMean
from gordon.run.inputs import Inputs, JobStage
from gordon.survey import space as spaces
from gordon.survey.bills import Goals, Use
from gordon.survey.replays import Replays, simulate
from gordon.survey.results import Common, OfOne, Place, Raw
from gordon.survey.space import Space
from gordon.untyped import Config

Report = TypeVar("Report", bound=Raw)
Answer = TypeVar("Answer", bound=OfOne)

#: Share of each resource that a service leaves free, unless it is given.
HEADROOM = 0.3


@dataclass(frozen=True)
class Request:
    """A survey of one job; see `gordon.survey.run`."""

    inputs: Inputs
    #: The name or the file of the space.
    space: str
    #: The number of nodes, for models that take one.
    nodes: int | None
    shift: float
    set_values: list[str]
    charge: str
    reference: str | float | None
    #: The stages that the model uses, if any.
    stages: list[JobStage] | None
    #: The stages whose limits are reported.
    reported: list[JobStage]
    rows: int
    table: Path | None
    #: Numbers of nodes to compare, by models of clusters of machines.
    numbers: list[int] | None = None
    #: Number of tasks of stages that read shuffle data, unless as recorded.
    partitions: int | None = None
    #: How machines are used.
    use: Use = field(default_factory=Use)
    #: Goals by which machines are chosen.
    goals: Goals = field(default_factory=Goals)
    #: When disks sleep inside a job, as the core takes it; None: never.
    spin_down: Config | None = None
    #: The share of each resource that a service leaves free.
    headroom: float = HEADROOM
    #: Requests that a service answers a second.
    requests_per_s: float | None = None

    def with_settings(self, set_values: list[str]) -> "Request":
        """The request with other values of `--set`."""
        return replace(self, set_values=set_values)

    def config(self) -> Config:
        """The settings that all models have in the core."""
        return {
            "traces": self.inputs.paths,
            "lags": self.inputs.lags,
            "charge": self.charge,
            "report_stages": self.reported,
            "rows": self.rows,
            "table": None if self.table is None else fspath(self.table),
        }


class Model(ABC, Generic[Report, Answer]):
    """A model, prepared for a request: `config` is the core's configuration, `chosen` the space
    with the changes of the request, `parts` the catalogue. The core reports
    `Report`, and the result is `Answer`."""

    #: Name of the model in the core.
    core: ClassVar[str]

    config: Config
    chosen: Space
    parts: Catalogue

    def survey(self, request: Request, replays: Replays, progress: Progress | None) -> Answer:
        """The result of the survey. Raises GordonError."""
        with spaces.blamed(request.space, request.set_values):
            try:
                text, warnings = simulate(self.core, self.config, replays, progress)
            except GordonError as error:
                raise self.explained(error) from None
        raw: Report = json.loads(text)
        raw["warnings"] += warnings
        self.check(raw)
        return self.result(raw)

    def explained(self, error: GordonError) -> GordonError:
        """The error of the core in the words of the request."""
        return error

    @abstractmethod
    def check(self, raw: Report) -> None:
        """Raises GordonError for a report of the core without an answer."""

    @abstractmethod
    def result(self, raw: Report) -> Answer:
        """The result: what all models report, and the keys of this one."""


def common(raw: Raw, parameters: list[Parameter], warnings: list[str]) -> Common:
    """The keys that the results of all models have: `parameters` are the numbers that were used,
    with their sources, `warnings` those of the core and of the model."""
    found: Common = {
        "version": raw["version"],
        "nodes": raw["nodes"],
        "charge": raw["charge"],
        "traces": raw["traces"],
        "designs_total": raw["designs_total"],
        "front": raw["front"],
        "named": raw["named"],
        "storages": raw["storages"],
        "parameters": parameters,
        "assumptions": raw["assumptions"],
        "warnings": warnings,
    }
    if "timeline" in raw:
        found["timeline"] = raw["timeline"]
    return found


def places(raw: Raw | PaperMean | JobMean) -> Callable[[str, str | None], Place]:
    """The place of a design, by its id and the kind of its storage part."""
    front = set(raw["front"])

    def place(id: str, storage_kind: str | None) -> Place:
        return {
            "storage_kind": storage_kind,
            "pareto": id in front,
            "names": [name for name, named in raw["named"].items() if named == id],
        }

    return place


def refuse_shift(request: Request, why: str, hint: str = "leave out --shift") -> None:
    """Raises GordonError if a shift is given to a model that has a trace of each node."""
    if request.shift != SurveyOptions.shift:
        raise GordonError(f"--shift moves copies of one trace, and {why}", hint, kind="bad-shift")


def no_work() -> GordonError:
    """The error for traces that take no time on any design."""
    return GordonError(
        "the traces have no work to simulate: no CPU time, network or block I/O",
        "trace a longer job; many machines count CPU time in ticks of 10 ms",
        kind="no-work",
    )
