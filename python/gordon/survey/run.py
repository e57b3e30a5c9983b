"""Runs a survey: a space, a model and traces go to the core, whose figures become the result.

The steps are the same for all models: load the space, prepare the model (`gordon.survey.grids`,
`gordon.survey.machines`), call the core, assemble the result. The result adds the Pareto front, the
named designs, what the model answers, and every number used with its source. It is a dict that can
be written as JSON, with the keys of `gordon.survey.results`; this module neither writes nor prints.
"""

from collections.abc import Sequence
from functools import partial
from os import fspath
from typing import Any, Literal

from gordon import _core, settings
from gordon.errors import GordonError
from gordon.options import Path, Progress, Settings, several
from gordon.options.explicit import explicit
from gordon.options.surveys import MODELS, SurveyOptions
from gordon.parts import unknown
from gordon.quantity import parsed
from gordon.run.inputs import Inputs, expand
from gordon.survey import grids, jobs, numbers, result, tasks
from gordon.survey import space as spaces
from gordon.survey.bills import Goals, Use
from gordon.survey.grids import Grid
from gordon.survey.machines import Machines
from gordon.survey.model import HEADROOM, Request
from gordon.survey.replays import Replays
from gordon.survey.result import Survey
from gordon.survey.results import OfOne
from gordon.survey.service import Service
from gordon.survey.stages import of as stages_of


@explicit(SurveyOptions)
def run(
    traces: Path | Sequence[Path],
    *,
    space: Path = SurveyOptions.space,
    nodes: int | str | Sequence[int] | None = None,
    shift: float = SurveyOptions.shift,
    set: Settings = (),
    charge: Literal["auto", "machine", "command"] = "auto",
    reference: str | float | None = None,
    model: str | None = None,
    service: bool = False,
    headroom: float | None = None,
    requests_per_s: float | None = None,
    stages: Path | None = None,
    partitions: int | None = None,
    years: float | None = None,
    runs_per_day: float | None = None,
    price_kwh: float = SurveyOptions.price_kwh,
    pue: float = SurveyOptions.pue,
    grid: str | float | None = None,
    objective: str | Sequence[str] = (),
    deadline: float | None = None,
    max_power: str | float | None = None,
    max_price: float | None = None,
    min_life: float | None = None,
    spin_down: str | float | None = None,
    rows: int = SurveyOptions.rows,
    table: Path | None = None,
    cache: Path | None = None,
    engine: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Survey:
    """Surveys the traced job over a space of designs.

    `traces` is a trace folder, or a list of them: one per node, or fewer that are spread over the
    nodes; or the folder of a run, which has a trace of each node, joined by their clocks; or files
    that `gordon trace convert` reads, such as an event log of Spark. Several runs or event logs
    are surveyed one by one: the result has `jobs`, by id, and its designs are their mean
    (`gordon.survey.jobs`). `progress` is called with the bytes of files read, then with the replays
    of traces on storages, then with the designs (done, total); the total is 0 until it is known.
    Raises GordonError.
    """
    traces, space = several(traces), fspath(space)
    if not traces:
        raise GordonError(
            "there is no trace to survey",
            "record one with `gordon trace -o DIR -- CMD`",
            kind="no-traces",
        )
    counts = _listed(nodes)
    has_machines = bool(spaces.machines(spaces.load(space)))
    is_of_tasks = model == tasks.MODEL or (model is None and stages is None)
    keep_log = has_machines and not service and is_of_tasks
    given = expand(traces, keep_log=keep_log, progress=progress)
    if model is None and keep_log and _is_application(given):
        model = tasks.MODEL
    if model == tasks.MODEL and len(given) > 1:
        raise GordonError(
            f"the tasks model surveys one application, and {len(given)} are given",
            "one log or run at a time, or --model job",
            kind="several-jobs",
        )
    if model != tasks.MODEL:
        _refuse("partitions", partitions, "the tasks model, which needs an event log of Spark")
    of_machines = service or uses_machines(spaces.load(space), model)
    goals = Goals.of(objective, deadline, max_power, max_price, min_life)
    use = Use(years, runs_per_day, price_kwh, pue, grid)
    if not of_machines:
        for name in (*goals.given, *use.given):
            _refuse(name, True, "a job on machines (`gordon spaces`)")
    if service or not of_machines or model == tasks.MODEL:
        _refuse("spin-down", spin_down, "the job model of machines, which has the gaps of a trace")
    if service:
        _check_use_of_service(goals, use)
        _refuse_applications(given)
    else:
        _refuse("requests-per-s", requests_per_s, "a service: add --service")
        _refuse("headroom", headroom, "a service: add --service")
    one = partial(
        _survey,
        partitions=partitions,
        use=use,
        goals=goals,
        spin_down=_spin_down(spin_down),
        space=space,
        shift=shift,
        set_values=settings.listed(set),
        charge=charge,
        reference=reference,
        model=model,
        service=service,
        headroom=HEADROOM if headroom is None else headroom,
        requests_per_s=requests_per_s,
        numbers=counts if of_machines else None,
        stages=stages,
        table=table,
        replays=Replays(cache, engine, workers),
        progress=progress,
    )
    count = None if of_machines else _one(counts)
    if len(given) == 1:
        return result.of(one(given[0], nodes=count, rows=rows))
    if goals.given not in ([], ["deadline"]) and not service:
        raise GordonError(
            f"{len(given)} jobs are surveyed, and their mean is compared by time, price and "
            f"energy: --{goals.given[0]} is for one",
            "survey one run",
            kind="several-jobs",
        )
    if service:
        raise GordonError(
            f"{len(given)} jobs are given, and --service takes the traces of one service",
            "the traces of its nodes, recorded in the same hours",
            kind="several-jobs",
        )
    if table is not None or stages is not None:
        raise GordonError(
            f"{len(given)} jobs are surveyed: a table of designs (--parquet) and a file of stages "
            "(--stages) are for one",
            "survey one run, or leave these options out",
            kind="several-jobs",
        )
    if count is None and not of_machines:
        # The mean is over clusters of the same size.
        count = max(grids.nodes(len(inputs.paths)) for inputs in given)
    if keep_log and model is None and all(inputs.is_application for inputs in given):
        given[0].warnings.append(
            f"{len(given)} event logs are surveyed by the job model, from their CPU time and "
            "bytes. One alone is surveyed by its tasks, on any number of nodes: `gordon survey "
            f"{given[0].log or given[0].folder}`"
        )
    return result.of(jobs.run(given, partial(one, nodes=count), rows))


def _spin_down(given: str | float | None) -> dict[str, float] | None:
    """When disks sleep inside a job, as the core takes it. Raises GordonError."""
    if given is None:
        return None
    if given == "auto":
        return {}
    if not isinstance(given, str):
        return {"after_s": given}
    return {"after_s": parsed("--spin-down", given, _core.parse_ns, "15s, or auto") / 1e9}


def _one(counts: list[int] | None) -> int | None:
    """The number of nodes for a model that takes one. Raises GordonError for several."""
    if counts is None or len(counts) == 1:
        return None if counts is None else counts[0]
    raise GordonError(
        "--nodes names several numbers, and the survey of a grid of designs takes one",
        "one number; surveys of machines compare several",
        kind="bad-nodes",
    )


def _listed(nodes: int | str | Sequence[int] | None) -> list[int] | None:
    """Numbers of nodes as a list."""
    if nodes is None:
        return None
    if isinstance(nodes, int | str):
        return numbers.parse(str(nodes))
    return list(nodes)


def _is_application(given: list[Inputs]) -> bool:
    """Whether the input is one application of Spark with its tasks."""
    return len(given) == 1 and bool(given[0].log) and given[0].repeats == 1


def _refuse(name: str, value: Any, of: str) -> None:
    """Raises GordonError for an option that is of another survey."""
    if value is not None:
        raise GordonError(f"--{name} is for {of}", f"leave out --{name}", kind="wrong-model")


def _check_use_of_service(goals: Goals, use: Use) -> None:
    """Raises GordonError for what a service does not have: a time, and runs."""
    for name in ("deadline", "runs-per-day"):
        if name in (*goals.given, *use.given):
            _refuse(name, True, "a job; a service runs all the time")
    if "time" in goals.objectives:
        raise GordonError(
            "--objective time is for a job; a service has no time",
            "--objective price,tco",
            kind="wrong-model",
        )


def _survey(inputs: Inputs, **options: Any) -> OfOne:
    """Surveys one job."""
    with inputs.naming():
        found = inputs.named(_simulated(inputs, **options))
    found["warnings"] = inputs.joined(found["warnings"])
    return found


def _simulated(
    inputs: Inputs,
    *,
    model: str | None,
    service: bool,
    stages: Path | None,
    replays: Replays,
    progress: Progress | None,
    **options: Any,
) -> OfOne:
    """Surveys one job."""
    chosen = spaces.load(options["space"])
    if service:
        _check_service(model, stages, chosen)
    is_of_machines = service or uses_machines(chosen, model)
    _, listed = stages_of(model, stages, inputs, is_of_machines)
    # The stages of a run are reported by all models; one uses them.
    request = Request(inputs=inputs, stages=listed, reported=listed or inputs.stages, **options)
    prepared = _prepared(model, request, chosen, service, is_of_machines)
    return prepared.survey(request, replays, progress)


def _prepared(
    model: str | None,
    request: Request,
    chosen: spaces.Space,
    service: bool,
    is_of_machines: bool,
) -> Service | tasks.Tasks | Machines | Grid:
    """The model, prepared for a request."""
    if service:
        return Service(request, chosen)
    if model == tasks.MODEL:
        return tasks.Tasks(request, chosen)
    return Machines(request, chosen) if is_of_machines else Grid(request, chosen)


def _refuse_applications(given: list[Inputs]) -> None:
    """Raises GordonError for an event log of Spark in place of the record of a service."""
    for inputs in given:
        if inputs.is_application:
            name = inputs.name or inputs.log or inputs.folder
            raise GordonError(
                f"{name} is an event log of Spark, which has the tasks of a job: --service takes "
                "what machines recorded over hours",
                "leave out --service; or the records of its nodes, by sysstat (sadf), Prometheus "
                "or rezolus",
                kind="wrong-model",
            )


def _check_service(model: str | None, stages: Path | None, chosen: spaces.Space) -> None:
    """Raises GordonError for options that are of jobs, and for a space without machines."""
    for option, given in (("--model", model), ("--stages", stages)):
        if given is not None:
            raise GordonError(
                f"{option} is of a job, and --service of a load",
                f"leave out {option} or --service",
                kind="wrong-model",
            )
    if not spaces.machines(chosen):
        raise GordonError(
            f"the space `{chosen['name']}` lists no machines, which --service needs",
            "a space with machines (`gordon spaces`): --space ec2",
            kind="wrong-model",
        )


def uses_machines(chosen: spaces.Space, model: str | None) -> bool:
    """Whether the machines of a space are surveyed, and not its grid of designs. Raises GordonError
    for a model that the space has nothing for."""
    if model not in (None, *MODELS):
        raise unknown("model", str(model), list(MODELS))
    if model in ("job", tasks.MODEL) and not spaces.machines(chosen):
        raise GordonError(
            f"the space `{chosen['name']}` lists no machines, which the {model} model needs",
            "--model paper, or a space with machines (`gordon spaces`)",
            kind="wrong-model",
        )
    if model in grids.MODELS and not spaces.has_grid(chosen):
        raise GordonError(
            f"the {model} model is of clusters of designs, and the space `{chosen['name']}` lists "
            "machines",
            "leave out --model, or survey a grid of designs: --space gordon-2009",
            kind="wrong-model",
        )
    return bool(spaces.machines(chosen)) and model not in grids.MODELS
