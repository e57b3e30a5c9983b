"""The first screen of a report of runs: a sentence, and the latencies."""

from collections.abc import Sequence
from typing import Any, Final, Literal, TypedDict

from gordon.human import figures, short
from gordon.report.kinds import DeviceKind, DeviceRun, Run

Op = Literal["read", "write"]
OPS: Final[tuple[Op, ...]] = ("read", "write")
#: Runs whose lengths differ by less had the arrivals of a trace, so that speed says nothing.
SAME_LENGTH = 1.05
#: Figures of the table of latencies, and their titles.
TIMES = {"mean": "mean", "p50": "median", "p99": "99 %", "p999": "99.9 %", "max": "longest"}


class Latencies(TypedDict):
    """A row of the table of latencies."""

    name: str
    op: str
    requests: int
    times: list[float | None]


def sentence(runs: Sequence[Run[DeviceRun]]) -> str:
    """The figures of one run, or the differences of several."""
    kind = runs[0].kind()
    return _alone(kind, runs[0]) if len(runs) == 1 else compared(runs)


def latencies(runs: Sequence[Run[DeviceRun]]) -> list[Latencies]:
    """The latencies of reads and writes of each run, in the unit of the device."""
    return [
        {
            "name": run.name,
            "op": op,
            "requests": run.report[op]["requests"],
            "times": [run.kind().time(op, "latency_us", key)(run.report) for key in TIMES],
        }
        for op in OPS
        for run in runs
        if run.report[op]["requests"]
    ]


def _alone(kind: DeviceKind[Any], run: Run[DeviceRun]) -> str:
    report = run.report
    found = [
        f"{report['iops'] or 0:,.0f} requests/s",
        short((report["bandwidth_mb_s"] or 0) * 1e6, "B/s"),
        *(f"99 % of {op}s within {_p99(kind, report, op)}" for op in _ops([run])),
    ]
    return f"{run.name}: {', '.join(found)}."


def compared(runs: Sequence[Run[DeviceRun]]) -> str:
    """How several runs differ: in length, or else in their latencies."""
    first, *others = sorted(runs, key=lambda run: run.report["simulated_s"])
    length = first.report["simulated_s"]
    slowest = others[-1].report["simulated_s"]
    if length > 0 and slowest > SAME_LENGTH * length:
        times = ", ".join(
            f"{figures(run.report['simulated_s'] / length)} times that of {run.name}"
            for run in others
        )
        return f"{first.name} is the fastest: its speed is {times}."
    said = []
    for op in _ops(runs):
        by_p99 = sorted((run.report[op]["latency_us"]["p99"] or 0.0, run.name) for run in runs)
        listed = ", ".join(f"{name} {_time(us)}" for us, name in by_p99)
        said.append(f"99 % of {op}s: {listed}")
    return f"{'; '.join(said)}." if said else "No device read or wrote."


def _p99(kind: DeviceKind[Any], report: DeviceRun, op: Op) -> str:
    time = kind.time(op, "latency_us", "p99")(report)
    return "an unknown time" if time is None else _time(time * kind.in_us)


def _time(us: float) -> str:
    """Microseconds in the unit that suits them."""
    for scale, unit in ((1e6, "s"), (1e3, "ms")):
        if us >= scale:
            return f"{figures(us / scale)} {unit}"
    return f"{figures(us)} us"


def _ops(runs: Sequence[Run[DeviceRun]]) -> list[Op]:
    return [op for op in OPS if any(run.report[op]["requests"] for run in runs)]
