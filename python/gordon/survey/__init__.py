"""Predicts a traced job on every machine, or every design, of a space.

    from gordon import survey
    result = survey.run("sort.trace", space="ec2", reference="m5.xlarge")
    result["verdict"], result["front"]

The core replays the storage requests of the trace on each storage and scales CPU and network time
to each machine or design. The software does not change with the machine. The models are in
docs/design/cluster.md. A failure raises `gordon.GordonError`.
"""

from gordon.survey.result import (
    GridMeanSurvey,
    GridSurvey,
    JobSurvey,
    MachinesMeanSurvey,
    ServiceSurvey,
    Survey,
    TasksSurvey,
)
from gordon.survey.run import run

__all__ = [
    "GridMeanSurvey",
    "GridSurvey",
    "JobSurvey",
    "MachinesMeanSurvey",
    "ServiceSurvey",
    "Survey",
    "TasksSurvey",
    "run",
]


def __dir__() -> list[str]:
    return __all__
