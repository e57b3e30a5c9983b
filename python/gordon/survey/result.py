"""Results of surveys: mappings with tables and pages."""

from typing import ClassVar

from gordon import fields
from gordon.columns import Columns
from gordon.survey import results
from gordon.untyped import Spec


class Survey(fields.Survey):
    """A survey of one job, of several, or of a service: one of the classes below."""

    ROWS: ClassVar = "designs"

    def says(self) -> str:
        from gordon.survey.columns import fastest

        return super().says() if "sentence" in self else fastest(self.report)

    def _tables(self) -> dict[str, Columns]:
        from gordon.survey.columns import table

        return super()._tables() | {"designs": table(self.report)}

    def _figures(self) -> dict[str, Spec]:
        from gordon.survey.figure import drawn

        return drawn(self.report)


class GridSurvey(Survey, fields.GridSurvey):
    """A job on the designs of a grid."""

    def html(self) -> str:
        from gordon.survey.page import render

        return render(self.report)


class JobSurvey(Survey, fields.JobSurvey):
    """A job on machines."""

    def html(self) -> str:
        from gordon.survey.machines_page import render

        return render(self.report)


class TasksSurvey(Survey, fields.TasksSurvey):
    """An application of Spark on numbers of machines."""

    def html(self) -> str:
        from gordon.survey.tasks_page import render

        return render(self.report)


class ServiceSurvey(Survey, fields.ServiceSurvey):
    """A service on numbers of machines."""

    def html(self) -> str:
        from gordon.survey.service_page import render

        return render(self.report)


class GridMeanSurvey(Survey, fields.GridMeanSurvey):
    """Several jobs on the designs of a grid, and their mean."""

    def html(self) -> str:
        from gordon.survey.jobs_page import render

        return render(self.report)


class MachinesMeanSurvey(Survey, fields.MachinesMeanSurvey):
    """Several jobs on machines, and their mean."""

    def html(self) -> str:
        from gordon.survey.jobs_page import render

        return render(self.report)


def of(found: results.Result) -> Survey:
    """The result with the class of its model."""
    if "jobs" in found:
        return MachinesMeanSurvey(found) if found["model"] == "job" else GridMeanSurvey(found)
    if "application" in found:
        return TasksSurvey(found)
    if "load" in found:
        return ServiceSurvey(found)
    return JobSurvey(found) if "verdict" in found else GridSurvey(found)
