"""Surveys numbers of machines by the `tasks` model: an application of Spark on clusters."""

from collections.abc import Sequence
from os import fspath
from typing import Final

from gordon import _core
from gordon.errors import GordonError
from gordon.human import counted, duration
from gordon.options.surveys import SurveyOptions
from gordon.quantity import finite
from gordon.reports.survey import ApplicationReport, TasksSurvey, TasksTime
from gordon.settings import split
from gordon.survey import space as spaces
from gordon.survey.bills import Goals
from gordon.survey.machines import (
    SLACK,
    OfMachines,
    not_compared,
    ranked,
    recommendation,
    substituted,
    too_late,
)
from gordon.survey.model import Request, common, places, refuse_shift
from gordon.survey.results import TasksDesign, TasksResult
from gordon.survey.settings import APPLICATION
from gordon.untyped import Config

#: The model of clusters.
MODEL: Final = "tasks"
#: An option of `gordon trace convert` that an error about a log names.
_SKIP_BAD = "--skip-bad"
#: Share of a time from which its floor is the answer.
_MOSTLY_FLOOR = 0.9


class Tasks(OfMachines[TasksSurvey, TasksResult]):
    """Clusters of the machines of a space."""

    core = MODEL
    of_application = True

    def __init__(self, request: Request, chosen: spaces.Space) -> None:
        _check(request)
        with spaces.blamed(request.space, request.set_values):
            self._prepare(request, chosen)

    def _prepare(self, request: Request, chosen: spaces.Space) -> None:
        own, others = _settings(request.set_values)
        inputs = request.inputs
        catalogue = self.read(request.with_settings(others), chosen)
        window = inputs.window
        self.config = {
            "event_log": inputs.log,
            "window": window and {"start_unix_ns": window[0], "end_unix_ns": window[1]},
            "traces": inputs.paths,
            "lags": inputs.lags,
            "storage_rate": inputs.storage_rate,
            "scattered_input": inputs.scattered_input,
            "full_share": inputs.full_share,
            "nodes": request.numbers or [],
            "partitions": request.partitions,
            "goals": request.goals.config(),
            "rows": self.asked_rows(),
            "table": None if request.table is None else fspath(request.table),
            **own,
            "catalogue": catalogue,
        }

    def explained(self, error: GordonError) -> GordonError:
        """A survey reads logs without options: one with malformed lines can be converted."""
        error = super().explained(error)
        if _SKIP_BAD not in error.hint:
            return error
        return GordonError(
            error.message,
            f"a fresh copy of the log; or `gordon trace convert LOG OUT {_SKIP_BAD}`, which leaves "
            "out such lines and counts them, and then OUT, which the job model surveys",
            kind=error.kind,
        )

    def check(self, raw: TasksSurvey) -> None:
        """Every log with a task has an answer."""

    def result(self, raw: TasksSurvey) -> TasksResult:
        place = places(raw)
        designs: list[TasksDesign] = [
            {**row, **place(row["id"], self.storage_kind(row["storage_part"]))}
            for row in raw["designs"]
        ]
        verdict = raw["verdict"]
        shown = self.shown(designs, [verdict and verdict["id"]])
        parameters = self.parameters({row["machine"] for row in shown})
        space = self.space()
        return {
            **common(raw, parameters, self.warnings(raw, not_compared(self, raw["designs"]))),
            "nodes": raw["application"]["nodes"],
            "space": space,
            "designs": shown,
            "model": MODEL,
            "reference": raw["reference"],
            "application": raw["application"],
            "refused": raw["refused"],
            "verdict": verdict,
            "floor_s": raw["floor_s"],
            "deadline_s": self.goals.deadline_s,
            "operation": raw["operation"],
            "operation_sources": self.use.origins(self.chosen),
            "objectives": raw["objectives"],
            "ranking": ranked(raw, designs, self.goals, SLACK, self.ids),
            "sentence": _sentence(raw, designs, space["currency"], self.goals),
        }


def _check(request: Request) -> None:
    """Raises GordonError for a request that the model cannot answer."""
    inputs = request.inputs
    if not inputs.log:
        raise GordonError(
            "the tasks model needs the event log of an application of Spark, and there is none: "
            + (inputs.folder or ", ".join(inputs.paths) or "no input"),
            "the log itself (a file or folder of spark.eventLog.dir), or a run of `gordon workload "
            "run`; --model job surveys traces",
            kind="no-event-log",
        )
    if inputs.repeats > 1:
        raise GordonError(
            f"{inputs.name} has {inputs.repeats} repeats, each with a log of its own",
            "survey one of them: RUN/1; or --model job",
            kind="several-jobs",
        )
    if request.stages is not None:
        raise GordonError(
            "--stages is for the models of traces, and the tasks model has the stages of the log",
            "leave out --stages, or --model job with traces of `gordon trace`",
            kind="wrong-model",
        )
    if request.charge != SurveyOptions.charge:
        raise GordonError(
            f"--charge {request.charge} is for the models of traces, and the tasks model has the "
            "CPU time of each task",
            "leave out --charge, or --model job with traces of `gordon trace`",
            kind="wrong-model",
        )
    refuse_shift(request, "the tasks model has the tasks of all nodes")


def _settings(given: list[str]) -> tuple[Config, list[str]]:
    """The settings of executors and driver, as the core takes them, and the other ones."""
    own: Config = {"executor": {}}
    others = []
    for setting in given:
        key, text = split(setting, "executor.cores=2")
        if key not in APPLICATION:
            others.append(setting)
            continue
        try:
            match key:
                case "executor.cores":
                    own["executor"]["cores"] = int(text)
                case "executor.memory":
                    own["executor"]["memory"] = f"{_core.parse_bytes(text)}B"
                case "output.replicas":
                    own["output_replicas"] = int(text)
                case _:
                    own["driver_speed"] = finite(text)
        except (ValueError, GordonError):
            raise GordonError(
                f"--set {setting}: {text!r} is not a value of {key}",
                "executor.cores=2, executor.memory=4GiB, output.replicas=3 or driver.speed=1.5",
                kind="bad-setting",
            ) from None
    return own, others


def outcome(row: TasksDesign) -> TasksTime:
    """Time, energy and price of a cluster."""
    return row["tasks"]


def remarks(row: TasksDesign, verdict: str | None = None) -> list[str]:
    """Whether a cluster is the recommended one, `verdict`; its names, and what its figures do not
    show."""
    found = (["verdict"] if row["id"] == verdict else []) + row["names"]
    return found + (["recorded here"] if row["is_reference"] else [])


def limiting(row: TasksDesign) -> str:
    """The part that takes most of the time of a cluster: `compute 80%`."""
    limits = row["limits"]
    most = max(limits, key=lambda name: limits[name], default=None)
    return "" if most is None else f"{most.replace('_', ' ')} {limits[most]:.0%}"


def _sentence(raw: TasksSurvey, designs: Sequence[TasksDesign], currency: str, goals: Goals) -> str:
    """The answer in a sentence."""
    by_id = {row["id"]: row for row in designs}
    verdict, deadline = raw["verdict"], goals.deadline_s
    if raw["named"]["fastest"] is None:
        return f"No cluster of the space is within {goals.limits}."
    fastest = by_id[raw["named"]["fastest"]]
    if verdict is None:
        return too_late("cluster", fastest, deadline or 0)
    best = by_id[verdict["id"]]
    text = substituted(goals, verdict["by"], designs)
    text += recommendation(verdict["by"], best, fastest, deadline, SLACK, currency)
    floor = outcome(best)["floor_s"]
    if floor > _MOSTLY_FLOOR * outcome(best)["time_s"]:
        text += (
            f". More nodes do not help: {duration(floor)} are start-up, driver and the longest "
            "task of each stage"
        )
    return text + "."


def recorded_line(application: ApplicationReport) -> str:
    """How the application was recorded, in a line."""
    name = application["name"] or "an application without a name"
    return (
        f"recorded: {name}, {duration(application['time_s'])} on "
        f"{counted(application['nodes'], 'node')}, "
        f"{counted(application['executors'], 'executor')} of "
        f"{counted(application['slots_per_executor'], 'slot')}, "
        f"{counted(len(application['stages']), 'stage')}, "
        f"{counted(application['tasks'], 'task')}; start-up {duration(application['startup_s'])}, "
        f"driver {duration(application['driver_s'])}"
    )
