"""The interface of a kind of device to the report of runs, and the rows of the report's tables."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from gordon.report import page
from gordon.report.entries import Value, of
from gordon.reports.devices import DiskRun, FlashRun

D = TypeVar("D", bound=FlashRun | DiskRun)
D_co = TypeVar("D_co", bound=FlashRun | DiskRun, covariant=True)
Shown = Callable[[Any], str]
Group = tuple[str, list[dict[str, Any]]]
Spec = dict[str, Any]


class Run(Protocol[D_co]):
    """The result of a run."""

    name: str

    @property
    def report(self) -> D_co:
        """Its summary."""

    def columns(self, name: str) -> dict[str, list[Any]]:
        """A table of the result, by column."""

    def table(self, name: str) -> Any:
        """A table of the result, for libraries that read Arrow."""

    def kind(self) -> "DeviceKind[Any]":
        """The part of a report that only this kind of device has."""


class DeviceKind(ABC, Generic[D]):
    """The part of a report that only one kind of device has."""

    name = ""
    unit, in_us = "us", 1.0
    """The unit of latencies, and that unit in microseconds."""

    def parameters(self, report: D) -> dict[str, Any]:
        """The config of the simulated device."""
        found: dict[str, Any] = report["provenance"]["config"]["device"]
        return found

    @abstractmethod
    def card(self, report: D) -> list[tuple[str, str]]:
        """The most important figures other than speed."""

    @abstractmethod
    def groups(self, reports: Sequence[D], row: "Rows[D]") -> list[Group]:
        """The tables of the report."""

    @abstractmethod
    def figures(self, runs: Sequence[Run[D]]) -> dict[str, Spec]:
        """The figures of the report by name."""

    def time(self, *path: str) -> Value:
        """A latency, converted from microseconds to the unit."""

        def value(report: Mapping[str, Any]) -> Any:
            us = of(*path)(report)
            return None if us is None else us / self.in_us

        return value


class Rows(Generic[D]):
    """Makes rows of a table: a cell for each report, with the ratio to the first report."""

    def __init__(self, reports: Sequence[D]) -> None:
        self.reports = reports

    def __call__(
        self, title: str, value: Callable[[D], Any], shown: Shown = page.sig
    ) -> dict[str, Any]:
        values = [value(report) for report in self.reports]
        first = values[0]
        cells = [
            (
                "–" if v is None else shown(v),
                page.times(v / first) if first and v is not None and i else "",
            )
            for i, v in enumerate(values)
        ]
        return {"title": title, "cells": cells, "any": any(v is not None for v in values)}

    def parts(self, key: str, shown: Shown) -> list[dict[str, Any]]:
        """A row for each entry of a table in the reports that is not zero in all of them."""
        tables = [of(key)(report) for report in self.reports]
        names = dict.fromkeys(name for table in tables for name, value in table.items() if value)
        return [self(name.replace("_", " "), of(key, name), shown) for name in names]


def with_unit(name: str) -> Shown:
    """Formats a value with a prefix and this unit."""
    return lambda value: page.si(value, name)
