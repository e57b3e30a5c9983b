"""Runs a survey: designs, parts and traces go to the core, whose figures become the result.

The result adds the Pareto front, the named designs, figures relative to the baseline, a comparison
with the paper's Table 6, the sensitivity to the overhead ratio, and every number used with its
source. It is a dict that can be written as JSON; this module neither writes nor prints.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from math import isfinite
from os import fspath
from pathlib import Path as FilePath
from typing import Any

from gordon import _core
from gordon.options import Path, several
from gordon.parts import Catalogue, unknown
from gordon.quantity import number, value
from gordon.run.inputs import Inputs, expand
from gordon.survey import jobs, machines, parameters, power, references, settings, table6
from gordon.survey import space as spaces
from gordon.survey.replays import Replays
from gordon.survey.replays import designs as simulate

NODES = 32  # of the paper's cluster, for a single trace
SHIFT = 0.05
ROWS = 1000
MODELS = ("job", "paper", "stages")
#: Models of a cluster of designs, each with as many nodes as one likes.
OF_GRIDS = ("paper", "stages")
SPACE = "modern"
_STAGE_KEYS = ("name", "start_s", "end_s")
_STAGES_HINT = 'write {"stages": [{"name": "map", "start_s": 0, "end_s": 12.5}]}'
_WHY_SHIFT = (
    "nodes of one job are in the same phase to within some seconds; with 0 they are in step, with "
    "1 every phase runs at all times, the worst case for sync"
)


def run(
    traces: Path | Sequence[Path],
    *,
    space: str = SPACE,
    nodes: int | None = None,
    shift: float = SHIFT,
    set_values: str | Sequence[str] = (),
    charge: str = "auto",
    reference: str | float | None = None,
    model: str | None = None,
    stages: Path | None = None,
    rows: int = ROWS,
    table: Path | None = None,
    cache: Path | None = None,
    engine: str | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Surveys the traced job over a space of designs.

    `traces` is a trace folder, or a list of them: one per node, or fewer that are spread over the
    nodes; or the folder of a run, which has a trace of each node, joined by their clocks; or files
    that `gordon trace convert` reads, such as an event log of Spark. Several runs or event logs
    are surveyed one by one: the result has `jobs`, by id, and its designs are their mean
    (`gordon.survey.jobs`). `nodes` is the size of the cluster; the default is the number of traces,
    or 32 for one trace. Nodes that run copies of one trace start it at samples up to the fraction
    `shift` of its length apart. `space` is a shipped space or a TOML file. `set_values` are values
    to override, each `KEY=VALUE`, of the grid and its parts, or of machines
    (`machines.ID.KEY=VALUE`) and their storage parts. `charge` is `command` to simulate only the
    CPU time and the cache misses of the traced command, `machine` for those of the whole machine,
    or `auto`: those of the command where the trace has them. `reference` is the processor on which
    traces without hardware counters were recorded: the name of a part, or its instructions per
    cycle; the default is the part named in the manifest. `model` is `paper`, `stages` or `job`:
    `job` is for machines and their default; the others are for grids of designs, `stages` if
    `stages` is given, a JSON file with the stages of the job. For machines, `reference` is the
    machine on which the traces were recorded
    (`gordon.survey.references.of_machines`), and `nodes` is the number of traces. At most
    `rows` designs are returned, the front and the named ones always; `table` is a Parquet file to
    write with all of them. `cache` is a folder in which replays are kept and found by later
    surveys, whatever their space. `engine` computes the replays in other processes, by joblib:
    `loky`, `ray`, `dask` or `spark`; `workers` is their number. `progress` is called with the
    replays of traces on storages (done, total); the total is 0 until it is known. Raises
    `gordon.GordonError`, whose args are (message, hint).
    """
    traces = several(traces)
    if not traces:
        raise _core.GordonError(
            "there is no trace to survey",
            "record one with `gordon trace -o DIR -- CMD`",
            kind="no-traces",
        )
    one = partial(
        _survey,
        space=space,
        shift=shift,
        set_values=several(set_values),
        charge=charge,
        reference=reference,
        model=model,
        stages=stages,
        table=table,
        replays=Replays(cache, engine, workers),
        progress=progress,
    )
    given = expand(traces)
    if len(given) == 1:
        return one(given[0], nodes=nodes, rows=rows)
    if table is not None or stages is not None:
        raise _core.GordonError(
            f"{len(given)} jobs are surveyed: a table of designs (--parquet) and a file of stages "
            "(--stages) are for one",
            "survey one run, or leave these options out",
            kind="several-jobs",
        )
    if nodes is None and not uses_machines(spaces.load(space), model):
        # The mean is over clusters of the same size.
        nodes = max(_nodes(inputs) for inputs in given)
    return jobs.run(given, partial(one, nodes=nodes), rows)


def _nodes(inputs: Inputs) -> int:
    """Nodes of a cluster of designs, unless they are given."""
    return NODES if len(inputs.paths) == 1 else len(inputs.paths)


def _survey(inputs: Inputs, **options: Any) -> dict[str, Any]:
    """Surveys one job."""
    with inputs.naming():
        result = inputs.named(_simulated(inputs, **options))
    result["warnings"] = inputs.joined(result["warnings"])
    return result


def _simulated(
    inputs: Inputs,
    *,
    space: str,
    nodes: int | None,
    shift: float,
    set_values: list[str],
    charge: str,
    reference: str | float | None,
    model: str | None,
    stages: Path | None,
    rows: int,
    table: Path | None,
    replays: Replays,
    progress: Callable[[int, int], None] | None,
) -> dict[str, Any]:
    chosen = spaces.load(space)
    is_of_machines = uses_machines(chosen, model)
    model, listed = _staged(model, stages, inputs, is_of_machines)
    # The stages of a run are reported by all models; one uses them.
    reported = listed or inputs.stages
    if is_of_machines:
        if shift != SHIFT:
            raise _core.GordonError(
                "--shift moves copies of one trace, and the job model needs a trace of each node",
                "leave out --shift. --space gordon-2009 surveys clusters of any size",
                kind="bad-shift",
            )
        with spaces.blamed(space, set_values):
            return machines.run(
                inputs,
                chosen,
                nodes=nodes,
                set_values=set_values,
                charge=charge,
                reference=reference,
                reported=reported,
                rows=rows,
                table=table,
                replays=replays,
                progress=progress,
            )
    if nodes is None:
        nodes = _nodes(inputs)
    if len(inputs.paths) > nodes:
        raise _core.GordonError(
            f"there are {len(inputs.paths)} traces for {nodes} nodes: each trace needs a node",
            f"--nodes {len(inputs.paths)}",
            kind="too-few-nodes",
        )
    parts = Catalogue(chosen.get("parts"))
    # What the overhead is fitted to stays what it was, whatever this run changes.
    shipped = Catalogue.shipped_first(chosen.get("parts"))
    settings.apply(set_values, chosen, parts)
    with spaces.blamed(space, set_values):
        spaces.use(parts, chosen)
    is_paper = chosen["name"] == table6.SPACE
    overhead_name = chosen["node"]["overhead"]
    overhead = parts.get("overhead", overhead_name)
    fitted = power.fit(overhead, shipped, value(chosen["node"]["memory_per"]))
    # The core takes the ratio; the machines it was fitted to stay for the report.
    ratio = {"summary": overhead["summary"], "ratio": fitted["field"]}
    config = {
        "traces": inputs.paths,
        "lags": inputs.lags,
        "nodes": nodes,
        "shift": {"value": shift, "assumed": _WHY_SHIFT},
        "charge": charge,
        "references": references.of(reference, shipped),
        "processors": chosen["processors"],
        "storage": chosen["storage"],
        "budget": value(chosen["budget"]),
        "baseline": chosen["baseline"],
        "other_ratios": [anchor["ratio"] for anchor in fitted["anchors"]],
        "node": chosen["node"],
        "parts": parts.used | {"overhead": {overhead_name: ratio}},
        "stages": listed,
        "report_stages": reported,
        "rows": rows,
        "keep": table6.designs() if is_paper else [],
        "table": None if table is None else fspath(table),
    }
    overhead["ratio"] = fitted["field"]
    with spaces.blamed(space, set_values):
        raw = simulate(config, replays, progress)
    if spaces.machines(chosen):
        raw["warnings"].append(
            f"the machines of the space `{chosen['name']}` are left out; --model job surveys "
            "them, and leaves out the grid of designs"
        )
    if reference is not None and not any(trace["estimated_ipc"] for trace in raw["traces"]):
        why = "all traces have counted instructions"
        raw["warnings"].append(f"--reference {reference} has no effect: {why}")
    result = _result(raw, chosen, parts, fitted)
    if "timeline" in raw:
        result["timeline"] = raw["timeline"]
    return result


def _staged(
    model: str | None, stages: Path | None, inputs: Inputs, is_of_machines: bool
) -> tuple[str | None, list[dict[str, Any]] | None]:
    """The model and the stages, of a file or as a run recorded them. A grid with a file of stages
    is surveyed by the stages model; of machines, the limits of the stages are reported."""
    if stages is None:
        if model == "stages":
            if inputs.stages:
                return model, inputs.stages
            if inputs.repeats > 1:
                raise _core.GordonError(
                    f"the {inputs.repeats} repeats of {inputs.name} have no common stages",
                    "survey one of them: RUN/1",
                    kind="no-stages",
                )
            raise _core.GordonError(
                "the stages model needs the stages of the job", "--stages FILE", kind="no-stages"
            )
        return model, None
    if is_of_machines:
        return model, read_stages(stages)
    if model not in (None, "stages"):
        raise _core.GordonError(
            f"--stages {fspath(stages)}: of a grid, only the stages model uses the stages of a job",
            "--model stages",
            kind="no-stages",
        )
    return "stages", read_stages(stages)


def read_stages(path: Path) -> list[dict[str, Any]]:
    """The stages of a job from a JSON file: `{"stages": [{"name", "start_s", "end_s"}]}`, in
    seconds after the start of the traces. Raises GordonError."""
    try:
        found = json.loads(FilePath(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise _core.GordonError(
            f"cannot read the stages {fspath(path)}: {error.strerror}",
            "--stages FILE",
            kind="unreadable-file",
        ) from None
    except ValueError as error:
        hint = _STAGES_HINT
        if FilePath(path).suffix == ".parquet":
            hint = "the JSON with stages that `gordon trace convert LOG OUT --json FILE` writes"
        raise _core.GordonError(
            f"{fspath(path)}: not JSON: {error}", hint, kind="bad-stages"
        ) from None
    listed = found.get("stages") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        raise _core.GordonError(
            f"{fspath(path)}: no list of `stages`", _STAGES_HINT, kind="bad-stages"
        )
    if not listed:
        raise _core.GordonError(
            f"{fspath(path)}: the list of stages is empty", _STAGES_HINT, kind="bad-stages"
        )
    for index, stage in enumerate(listed):
        why = _wrong_stage(stage)
        if why is not None:
            raise _core.GordonError(
                f"{fspath(path)}: stages[{index}]{why}", _STAGES_HINT, kind="bad-stages"
            )
    # An engine may record more about a stage than its time.
    return [{key: stage[key] for key in _STAGE_KEYS} for stage in listed]


def _wrong_stage(stage: Any) -> str | None:
    """What is wrong with an entry of the list of stages."""
    if not isinstance(stage, dict):
        return f": {stage!r} is not an object"
    for key in _STAGE_KEYS:
        if key not in stage:
            return f" has no `{key}`"
    if not isinstance(stage["name"], str):
        return f".name: {stage['name']!r} is not text"
    for key in _STAGE_KEYS[1:]:
        number = stage[key]
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if not (is_number and isfinite(number)):
            return f".{key}: {number!r} is not a number of seconds"
    start, end = stage["start_s"], stage["end_s"]
    if start < 0 or end <= start:
        return (
            f" `{stage['name']}` lasts from {start:g} s to {end:g} s: a stage starts at 0 or "
            "later and ends after its start"
        )
    return None


def uses_machines(chosen: spaces.Space, model: str | None) -> bool:
    """Whether the machines of a space are surveyed, and not its grid of designs. Raises GordonError
    for a model that the space has nothing for."""
    if model not in (None, *MODELS):
        raise unknown("model", str(model), list(MODELS))
    if model == "job" and not spaces.machines(chosen):
        raise _core.GordonError(
            f"the space `{chosen['name']}` lists no machines, which the job model needs",
            "--model paper, or a space with machines (`gordon spaces`)",
            kind="wrong-model",
        )
    if model in OF_GRIDS and not spaces.has_grid(chosen):
        raise _core.GordonError(
            f"the {model} model is of clusters of designs, and the space `{chosen['name']}` lists "
            "machines",
            "leave out --model, or survey a grid of designs: --space gordon-2009",
            kind="wrong-model",
        )
    return bool(spaces.machines(chosen)) and model not in OF_GRIDS


def _result(
    raw: dict[str, Any], chosen: dict[str, Any], parts: Catalogue, fitted: dict[str, Any]
) -> dict[str, Any]:
    rows, base, names = raw["designs"], raw["baseline"], raw["named"]
    is_paper = chosen["name"] == table6.SPACE
    budget = number(chosen["budget"], "budget")
    over = raw["over_budget"]
    if not rows:
        raise _core.GordonError(
            f"every design of the space `{chosen['name']}` needs more than the budget of "
            f"{budget:g} W per node; the least is {over['least_w']:.1f} W",
            f"--set budget={over['least_w'] + 1:.0f}W",
            kind="over-budget",
        )
    by = "stages" if "stages" in base else "sync"
    if min(row[by]["time_s"] for row in [base, *rows]) <= 0:
        raise _core.GordonError(
            "the traces have no work to simulate: no CPU time, network or block I/O",
            "trace a longer job; many machines count CPU time in ticks of 10 ms",
            kind="no-work",
        )
    front = set(raw["front"])
    for row in rows:
        row["storage_kind"] = parts.storage_kind(row["storage"])
        row["pareto"] = row["id"] in front
        row["relative"] = {
            what: row[by][key] / base[by][key]
            for what, key in (("time", "time_s"), ("energy", "energy_j"))
        }
        row["names"] = [name for name, id in names.items() if id == row["id"]]
    sourced = {"budget": chosen["budget"], "memory_per": chosen["node"]["memory_per"]}
    return {
        "version": raw["version"],
        "nodes": raw["nodes"],
        "space": {
            "name": chosen["name"],
            "summary": chosen["summary"],
            "budget_w": budget,
            "designs": raw["designs_total"] + over["total"],
            "over_budget_total": over["total"],
            "over_budget": over["ids"],
            "node": chosen["node"],
        },
        "charge": raw["charge"],
        "charged": _charged(raw),
        "traces": raw["traces"],
        "spread": raw["spread"],
        "model": "paper" if by == "sync" else by,
        "by": by,
        "baseline": {key: base[key] for key in ("id", "sync", "nosync", "stages") if key in base},
        "designs_total": raw["designs_total"],
        "designs": rows,
        "front": raw["front"],
        "named": names,
        "table6": table6.compare(rows, names) if is_paper else None,
        "differences": table6.explain(raw, rows, names, chosen["node"]) if is_paper else [],
        "sensitivity": _sensitivity(fitted, rows, names, over["with_other_ratios"], by),
        "storages": raw["storages"],
        "series": raw["series"],
        "parameters": parameters.rows({"space": {chosen["name"]: sourced}} | parts.used),
        "assumptions": raw["assumptions"],
        "warnings": raw["warnings"],
    }


def _charged(raw: dict[str, Any]) -> str:
    """Whose processor time was simulated, and the share of it that was not the command's."""
    traces = raw["traces"]
    shares = [t["other_cpu_share"] for t in traces if t["other_cpu_share"] is not None]
    if not shares:
        return "the CPU time of the traced machine is simulated; that of the command is unknown"
    least, most = f"{min(shares):.1%}", f"{max(shares):.1%}"
    share = least if least == most else f"{least} to {most}"
    if raw["charge"] == "auto":
        return (
            "the CPU time of the command is simulated where the trace has it, otherwise that of "
            f"the machine; {share} of it is of other programs"
        )
    if raw["charge"] == "command":
        return (
            f"the CPU time of the command is simulated; the other {share} of the machine's CPU "
            "time is left out"
        )
    return (
        f"the CPU time of the traced machine is simulated; {share} of it is of programs other than "
        "the command"
    )


def _sensitivity(
    fitted: dict[str, Any],
    rows: list[dict[str, Any]],
    names: dict[str, str | None],
    over_budget: list[int],
    by: str,
) -> dict[str, Any]:
    """What the overhead ratio of each anchor alone would change.

    Overhead multiplies the power of all parts of all designs, so every watt and joule scales and
    no comparison between designs moves; what can change is which designs the budget allows.
    """
    used = fitted["ratio"]
    others = []
    for anchor, over in zip(fitted["anchors"], over_budget, strict=True):
        factor = anchor["ratio"] / used
        others.append(
            anchor
            | {
                "energy_factor": factor,
                "over_budget": over,
                "named": {
                    name: {
                        "node_power_w": row[by]["node_power_w"] * factor,
                        "energy_j": row[by]["energy_j"] * factor,
                    }
                    for name, id in names.items()
                    for row in rows
                    if row["id"] == id
                },
            }
        )
    text = ""
    if others:
        alone = "; ".join(
            f"{o['ratio']:.3f} for {o['what']} alone would change them by "
            f"{o['energy_factor'] - 1:+.1%}"
            for o in others
        )
        text = (
            f"All powers and energies include an overhead ratio of {used:.3f}, "
            f"{fitted['field']['assumed']}; a ratio of {alone}. The ratio multiplies all designs "
            "equally, so it does not change the front, the named designs or ratios between designs"
        )
        out = [f"{o['over_budget']} with {o['what']}" for o in others if o["over_budget"]]
        text += f", but some designs would exceed the budget: {', '.join(out)}." if out else "."
    return {"parameter": "overhead ratio", "used": used, "alternatives": others, "text": text}
