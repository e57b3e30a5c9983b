"""The results of surveys by model, for tests that know which one they get."""

from __future__ import annotations

from gordon.survey.results import (
    GridMean,
    GridResult,
    JobResult,
    MachinesMean,
    Result,
    ServiceResult,
    TasksResult,
)


def of_grid(result: Result) -> GridResult:
    assert "charged" in result
    return result


def of_machines(result: Result) -> JobResult:
    assert "peak_cache_bytes" in result
    return result


def of_tasks(result: Result) -> TasksResult:
    assert "application" in result
    return result


def of_service(result: Result) -> ServiceResult:
    assert "load" in result
    return result


def mean_of_grids(result: Result) -> GridMean:
    assert "jobs" in result
    assert "by" in result
    return result


def mean_of_machines(result: Result) -> MachinesMean:
    assert "jobs" in result
    assert "by" not in result
    return result
