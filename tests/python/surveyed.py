"""The results of surveys by model, for tests that know which one they get."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

from gordon import survey
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


@cache
def _small() -> TasksResult:
    return of_tasks(survey.run(LOG, **SMALL))


def small() -> TasksResult:
    """The survey of the log over these clusters, which is computed once. The test may change it."""
    return deepcopy(_small())


def of_grid(found: Survey) -> GridResult:
    result = found.report
    assert "charged" in result
    return result


def of_machines(found: Survey) -> JobResult:
    result = found.report
    assert "peak_cache_bytes" in result
    return result


def of_tasks(found: Survey) -> TasksResult:
    result = found.report
    assert "application" in result
    return result


def of_service(found: Survey) -> ServiceResult:
    result = found.report
    assert "load" in result
    return result


def mean_of_grids(found: Survey) -> GridMean:
    result = found.report
    assert "jobs" in result
    assert "by" in result
    return result


def mean_of_machines(found: Survey) -> MachinesMean:
    result = found.report
    assert "jobs" in result
    assert "by" not in result
    return result
