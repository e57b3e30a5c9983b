"""The request of a survey, and the part of a model in Python: the core's configuration, and the
keys of the result that only this model has. `gordon.survey.run` takes the steps that all models
share.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from os import fspath
from typing import Any, ClassVar

from gordon.errors import GordonError
from gordon.options import Path
from gordon.options.surveys import SurveyOptions
from gordon.parts import Catalogue
from gordon.run.inputs import Inputs
from gordon.survey.space import Space

Row = dict[str, Any]

#: Share of each resource that a service leaves free, unless it is given.
HEADROOM = 0.3
#: Share of a trace over which copies of it are shifted, unless it is given.
SHIFT = SurveyOptions.shift


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
    stages: list[Row] | None
    #: The stages whose limits are reported.
    reported: list[Row]
    rows: int
    table: Path | None
    #: Numbers of nodes to compare, by models of clusters of machines.
    numbers: list[int] | None = None
    #: Number of tasks of stages that read shuffle data, unless as recorded.
    partitions: int | None = None
    #: Seconds within which the job has to end.
    deadline_s: float | None = None

    #: The share of each resource that a service leaves free.
    headroom: float = HEADROOM

    def with_settings(self, set_values: list[str]) -> "Request":
        """The request with other values of `--set`."""
        return replace(self, set_values=set_values)

    def config(self) -> Row:
        """The settings that all models have in the core."""
        return {
            "traces": self.inputs.paths,
            "lags": self.inputs.lags,
            "charge": self.charge,
            "report_stages": self.reported,
            "rows": self.rows,
            "table": None if self.table is None else fspath(self.table),
        }


class Model(ABC):
    """A model, prepared for a request: `config` is the core's configuration, `chosen` the space
    with the changes of the request, `parts` the catalogue."""

    #: Name of the model in the core.
    core: ClassVar[str]

    config: Row
    chosen: Space
    parts: Catalogue

    def explained(self, error: GordonError) -> GordonError:
        """The error of the core in the words of the request."""
        return error

    @abstractmethod
    def check(self, raw: Row) -> None:
        """Raises GordonError for a report of the core without an answer."""

    @abstractmethod
    def storage_kind(self, row: Row) -> str | None:
        """The kind of the storage part of a design, if it has one."""

    def figures(self, row: Row, raw: Row) -> Row:
        """Keys of a design that only this model has, in addition to those of the core."""
        return {}

    @abstractmethod
    def space(self, raw: Row) -> Row:
        """The space, as the result has it."""

    @abstractmethod
    def keys(self, raw: Row) -> Row:
        """Keys of the result that only this model has, and `model`. The designs are complete."""

    @abstractmethod
    def parameters(self, raw: Row) -> list[Row]:
        """The numbers that were used, with their sources."""

    @abstractmethod
    def warnings(self, raw: Row) -> list[str]:
        """The warnings of the core and of the model."""


def no_work() -> GordonError:
    """The error for traces that take no time on any design."""
    return GordonError(
        "the traces have no work to simulate: no CPU time, network or block I/O",
        "trace a longer job; many machines count CPU time in ticks of 10 ms",
        kind="no-work",
    )
