"""Results of runs on simulated devices, and comparisons of several results."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypedDict, TypeVar

from gordon import _core
from gordon.errors import GordonError, missing_package
from gordon.files import write_all
from gordon.reports.devices import DiskRun, FlashRun

if TYPE_CHECKING:
    from gordon.report.kinds import DeviceKind


#: The report of a run on any device.
DeviceRun = FlashRun | DiskRun
D_co = TypeVar("D_co", bound=DeviceRun, covariant=True)


class _Shown(ABC):
    """A result with figures and a page."""

    @abstractmethod
    def _runs(self) -> "Sequence[Run[DeviceRun]]": ...

    @abstractmethod
    def _json(self) -> Any: ...

    def html(self) -> str:
        """The report, one HTML file that works offline."""
        from gordon.report.runs import render

        return render(self._runs())

    def figures(self) -> dict[str, Any]:
        """The figures of the report as plotly figures, by name. Raises
        GordonError without the package plotly."""
        try:
            import plotly.graph_objects as go  # type: ignore[import-untyped, unused-ignore]
        except ImportError:
            raise missing_package("plotly", "figures") from None

        from gordon.report.run_figures import figures, light

        return {name: go.Figure(light(spec)) for name, spec in figures(self._runs()).items()}

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the report to a `.html` file, or only its numbers to a `.json` file. Raises
        GordonError for another format, or if the file cannot be written."""
        target = Path(fspath(path))
        if target.suffix == ".html":
            text = self.html()
        elif target.suffix == ".json":
            text = json.dumps(self._json(), indent=1) + "\n"
        else:
            raise GordonError(
                f"{target}: a report is .html or .json",
                "a name that ends in .html or .json, or to_parquet for tables",
                kind="bad-report-format",
            )
        write_all({fspath(path): text})


class Run(_Shown, Generic[D_co]):
    """The result of one run: `report` is the summary, tables are Arrow columns."""

    RATIOS: ClassVar[dict[str, str]] = {}
    """Figures that a comparison gives as ratios: name, path in the report."""

    @abstractmethod
    def kind(self) -> "DeviceKind[Any]":
        """The part of a report that only this kind of device has. It takes reports as this one."""

    def __init__(self, name: str, core: _core.RunResult) -> None:
        self.name = name
        self._core = core

    @cached_property
    def report(self) -> D_co:
        """The summary of the run. Keys are in snake_case and carry their units."""
        report: D_co = json.loads(self._core.json())
        return report

    @property
    def tables(self) -> list[str]:
        """The names of the tables of the run."""
        return self._core.tables()

    def table(self, name: str) -> _core.RunTable:
        """A table, for libraries that read Arrow: `pyarrow.table(t)`, `polars.DataFrame(t)`. Raises
        GordonError for an unknown name."""
        return self._core.table(name)

    def columns(self, name: str) -> dict[str, list[Any]]:
        """The columns of a table as lists, by name. Raises GordonError for an unknown name."""
        columns: dict[str, list[Any]] = json.loads(self.table(name).json())
        return columns

    def to_parquet(self, folder: str | PathLike[str]) -> None:
        """Writes each table to NAME.parquet in the folder. Raises GordonError if it cannot."""
        self._core.write_parquet(fspath(folder))

    def __repr__(self) -> str:
        report = self.report
        return (
            f"<{package(type(self))}.Result {self.name}: "
            f"{report['requests']} requests in {report['simulated_s']:.3g} s>"
        )

    def _runs(self) -> "Sequence[Run[DeviceRun]]":
        return [self]

    def _json(self) -> Any:
        return self.report


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


class Comparison(_Shown, Generic[R]):
    """The results of the same load on several devices; ratios are to the first device."""

    def __init__(self, results: list[R]) -> None:
        self.results = results

    @cached_property
    def report(self) -> ComparedDevices:
        """The summary of each device, and ratios of its figures to those of the first device."""
        first = self.results[0]
        return {
            "kind": first.report["kind"],
            "baseline": first.name,
            "devices": [
                {"name": r.name, "relative": relative(r, first), "report": r.report}
                for r in self.results
            ],
        }

    def __getitem__(self, name: str) -> R:
        for result in self.results:
            if result.name == name:
                return result
        raise KeyError(name)

    def _runs(self) -> Sequence[Run[DeviceRun]]:
        return self.results

    def _json(self) -> Any:
        return self.report

    def __repr__(self) -> str:
        names = ", ".join(run.name for run in self.results)
        return f"<{package(type(self.results[0]))}.Comparison of {names}>"


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


def package(kind: type[Run[DeviceRun]]) -> str:
    """Where people find it."""
    return kind.__module__.rpartition(".")[0]
