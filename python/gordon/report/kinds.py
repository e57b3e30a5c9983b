"""The interface of a kind of device to the report of runs, and the rows of the report's tables."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypedDict, TypeVar

from gordon.report import page
from gordon.report.entries import Entry, Unit, Value, of
from gordon.reports.devices import DiskRun, FlashRun
from gordon.untyped import Config, Spec

#: The report of a run on any device.
DeviceRun = FlashRun | DiskRun
D = TypeVar("D", bound=DeviceRun)
D_co = TypeVar("D_co", bound=DeviceRun, covariant=True)


class TableRow(TypedDict):
    """A row of a table: a cell for each run, and the ratio to that of the first run."""

    title: str
    cells: list[tuple[str, str]]


Group = tuple[str, list[TableRow]]


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

    def parameters(self, report: D) -> Config:
        """The config of the simulated device."""
        found: Config = report["provenance"]["config"]["device"]
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

    def __call__(self, entry: Entry[D]) -> TableRow | None:
        """The row of an entry; None if no report has a value."""
        values = [entry.value(report) for report in self.reports]
        if all(value is None for value in values):
            return None
        first = values[0]
        ratios = [
            page.times(value / first) if first and value is not None and number else ""
            for number, value in enumerate(values)
        ]
        texts = [entry.on_page(report) for report in self.reports]
        return {"title": entry.title, "cells": list(zip(texts, ratios, strict=True))}

    def group(self, title: str, entries: Iterable[Entry[D]]) -> Group:
        """A table of the report: the entries that have a value."""
        return title, [row for row in map(self, entries) if row is not None]

    def parts(self, key: str, unit: Unit) -> list[Entry[D]]:
        """An entry for each part of a table in the reports that is not zero in all of them."""
        tables = [of(key)(report) for report in self.reports]
        names = dict.fromkeys(name for table in tables for name, value in table.items() if value)
        return [Entry(name, name.replace("_", " "), of(key, name), unit) for name in names]
