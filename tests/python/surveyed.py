"""The results of surveys by model, for tests that know which one they get."""

from __future__ import annotations

from typing import Any

from gordon.survey import Survey
from gordon.survey.results import (
    GridMean,
    GridResult,
    JobResult,
    MachinesMean,
    ServiceResult,
    TasksResult,
)

LOG = "spark-sort"
#: Clusters for which the log needs seconds.
SMALL: Any = {"space": "modern", "nodes": [1, 2, 4], "runs_per_day": 40.0}


def of_grid(survey: Survey) -> GridResult:
    result = survey.report
    assert "charged" in result
    return result


def of_machines(survey: Survey) -> JobResult:
    result = survey.report
    assert "peak_cache_bytes" in result
    return result


def of_tasks(survey: Survey) -> TasksResult:
    result = survey.report
    assert "application" in result
    return result


def of_service(survey: Survey) -> ServiceResult:
    result = survey.report
    assert "load" in result
    return result


def mean_of_grids(survey: Survey) -> GridMean:
    result = survey.report
    assert "jobs" in result
    assert "by" in result
    return result


def mean_of_machines(survey: Survey) -> MachinesMean:
    result = survey.report
    assert "jobs" in result
    assert "by" not in result
    return result
