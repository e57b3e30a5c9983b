"""Results of runs on simulated devices, and comparisons of several results."""

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypedDict, TypeVar, overload

from gordon import _core
from gordon.columns import Columns
from gordon.errors import GordonError
from gordon.human import duration
from gordon.parts import unknown
from gordon.reports.devices import DiskRun, FlashRun
from gordon.result import Result
from gordon.untyped import Spec

if TYPE_CHECKING:
    from gordon.report.kinds import DeviceKind


#: The report of a run on any device.
DeviceRun = FlashRun | DiskRun
D_co = TypeVar("D_co", bound=DeviceRun, covariant=True)


class Run(Result[D_co], ABC):
    """The result of one run: the report, and tables as Arrow columns."""

    ROWS: ClassVar = "series"
    RATIOS: ClassVar[dict[str, str]] = {}
    """Figures that a comparison gives as ratios: name, path in the report."""

    @abstractmethod
    def kind(self) -> "DeviceKind[Any]":
        """The part of a report that only this kind of device has. It takes reports as this one."""

    def __init__(self, name: str, core: _core.RunResult) -> None:
        super().__init__(json.loads(core.json()))
        self.name = name
        self._arrow = dict(core.tables())

    @property
    def tables(self) -> list[str]:
        return list(self._arrow)

    def table(self, name: str | None = None) -> "_core.Table":
        name = self.ROWS if name is None else name
        if name not in self._arrow:
            raise unknown("table", name, self.tables)
        return self._arrow[name]

    def columns(self, name: str | None = None) -> Columns:
        table = self.table(name)
        columns = json.loads(table.json())
        return {column: columns[column] for column in table.names()}

    def says(self) -> str:
        return f"{self.name}, {self['requests']} requests in {duration(self['simulated_s'])}"

    def html(self) -> str:
        from gordon.report.runs import render

        return render([self])

    def _figures(self) -> dict[str, Spec]:
        from gordon.report.run_figures import figures

        return figures([self])


R = TypeVar("R", bound=Run[DeviceRun])


class Compared(TypedDict):
    """A device of a comparison."""

    name: str
    #: Figures over those of the first device; None where one is unknown.
    relative: dict[str, float | None]
    report: DeviceRun


class ComparedDevices(TypedDict):
    """The results of the same load on several devices."""

    kind: str
    #: Name of the first device.
    baseline: str
    devices: list[Compared]


class CheckpointError(GordonError):
    """A run succeeded, but its checkpoint could not be written. `result` is the run's result."""

    def __init__(self, result: Run[DeviceRun], message: str, hint: str, kind: str = "") -> None:
        super().__init__(message, hint, kind)
        self.result = result


class Comparison(Result[ComparedDevices], Generic[R]):
    """The results of the same load on several devices; ratios are to the first device. A device
    is found by its name."""

    ROWS: ClassVar = "devices"

    def __init__(self, results: list[R]) -> None:
        self.results = results
        first = results[0]
        super().__init__(
            {
                "kind": first["kind"],
                "baseline": first.name,
                "devices": [
                    {"name": r.name, "relative": relative(r, first), "report": r.report}
                    for r in results
                ],
            }
        )

    @overload
    def __getitem__(self, name: Literal["kind", "baseline"]) -> str: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self, name: Literal["devices"]) -> list[Compared]: ...  # type: ignore[overload-overlap]
    @overload
    def __getitem__(self, name: str) -> R: ...
    def __getitem__(self, name: str) -> Any:
        found = next((result for result in self.results if result.name == name), None)
        return super().__getitem__(name) if found is None else found

    def says(self) -> str:
        return ", ".join(run.name for run in self.results)

    def html(self) -> str:
        from gordon.report.runs import render

        return render(self.results)

    def _figures(self) -> dict[str, Spec]:
        from gordon.report.run_figures import figures

        return figures(self.results)


def figure(report: DeviceRun, path: str) -> float | None:
    """A number of the report, by its path."""
    value: Any = report
    for key in path.split("."):
        value = value[key]
    return None if value is None else float(value)


def relative(result: Run[DeviceRun], first: Run[DeviceRun]) -> dict[str, float | None]:
    """Figures over the first's; none where there is nothing to divide, or to divide by."""
    found = {}
    for name, path in result.RATIOS.items():
        ours, theirs = figure(result.report, path), figure(first.report, path)
        found[name] = ours / theirs if ours is not None and theirs else None
    return found
