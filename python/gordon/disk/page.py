"""The part of a report that only hard disks have: mechanism, buffer, energy by state."""

from collections.abc import Callable, Sequence
from typing import Literal

from gordon.disk.mechanism import mechanism
from gordon.human import duration
from gordon.report import page
from gordon.report.entries import of
from gordon.report.kinds import DeviceKind, Group, Rows, Run, Spec, with_unit
from gordon.report.run_figures import TONES, axis, layout, over_time
from gordon.reports.devices import DiskRun

MECHANISM = {
    "seek": "seek",
    "rotation": "rotation",
    "transfer": "transfer, read-ahead included",
    "idle": "idle",
}
# Reading and writing as in the other figures.
PART_TONES = {
    "reading": TONES[0],
    "writing": TONES[1],
    "idle": "--overhead",
    "seek": TONES[0],
    "rotation": TONES[1],
    MECHANISM["transfer"]: TONES[2],
    MECHANISM["idle"]: "--overhead",
}
RESPONSES = {
    "mean": "mean",
    "p50": "median",
    "p90": "p90",
    "p99": "p99",
    "p999": "p99.9",
    "p9999": "p99.99",
    "max": "max",
}


Value = Callable[[DiskRun], float | None]


class Disk(DeviceKind[DiskRun]):
    name = "disk"
    unit, in_us = "ms", 1000.0

    def parameters(self, report: DiskRun) -> dict[str, object]:
        """Either kind's config, if need be as it was read from a description of DiskSim's."""
        device = dict(report["provenance"]["config"]["device"])
        described = device.pop("diskspecs", None)
        ((_, config),) = device.items()
        return dict(config) | ({} if described is None else {"source": described})

    def card(self, report: DiskRun) -> list[tuple[str, str]]:
        def ms(value: float | None) -> str:
            return f"{page.sig(value)} ms"

        return [
            ("mean response time", ms(report["response_ms"]["mean"])),
            ("mean seek", ms(report["seek_ms"]["mean"])),
            ("mean rotation", ms(report["rotation_ms"]["mean"])),
            ("energy", page.si(report["energy_j"], "J")),
        ]

    def groups(self, reports: Sequence[DiskRun], row: Rows[DiskRun]) -> list[Group]:
        joules = with_unit("J")
        many = any(report["disks"] > 1 for report in reports)
        responses = [
            row(f"{title}, ms", of("response_ms", key)) for key, title in RESPONSES.items()
        ]
        states = dict.fromkeys(
            state["name"] for report in reports for state in report["power_states"]
        )
        return [
            ("Response times of all requests", responses),
            (
                "Mechanism" + ("s" if many else ""),
                [
                    *([row("disks", of("disks"))] if many else []),
                    *(row(title, _part(key), page.percent) for key, title in MECHANISM.items()),
                    row("reading, positioning included", of("reading"), page.percent),
                    row("writing, positioning included", of("writing"), page.percent),
                    row("busy time per request, ms", _work),
                    row("mean seek per positioning, ms", of("seek_ms", "mean")),
                    row("mean rotation per positioning, ms", of("rotation_ms", "mean")),
                ],
            ),
            (
                "Buffer",
                [
                    row("reads served from the buffer", of("buffer_hits")),
                    row("reads served from read-ahead", of("read_ahead_hits")),
                    row("destages to the medium", of("destages")),
                    row("sectors destaged", of("sectors_destaged")),
                ],
            ),
            (
                "Energy",
                [row("total", of("energy_j"), joules), *row.parts("energy_by_part_j", joules)],
            ),
            (
                "Power states below idle",
                [
                    *(row(name, _state(name, "time_s"), duration) for name in states),
                    *(row(f"{name}: wake-ups", _state(name, "wakes")) for name in states),
                    *([row("time waking up", of("waking_s"), duration)] if states else []),
                ],
            ),
        ]

    def figures(self, runs: Sequence[Run[DiskRun]]) -> dict[str, Spec]:
        found = {
            "utilisation": over_time(
                runs,
                "Utilisation of the mechanism",
                "fraction of the time",
                {"reading": "reading", "writing": "writing"},
                share=True,
            ),
            "mechanism": _bars(
                runs,
                "Time of the mechanism",
                axis("fraction of the time", tickformat=".0%", range=[0, 1.001], dtick=0.2),
                {title: _part(key) for key, title in MECHANISM.items()},
                "%{x:.1%}",
            ),
        }
        known = [run for run in runs if run.report["energy_j"] is not None]
        parts = dict.fromkeys(part for run in known for part in run.report["energy_by_part_j"])
        if known:
            found["energy"] = _bars(
                known,
                "Energy by state",
                axis("energy, J"),
                {part: of("energy_by_part_j", part) for part in parts},
                "%{x:.4g} J",
            )
        return found


def _part(key: str) -> Value:
    """A fraction of the mechanism's time."""

    def value(report: DiskRun) -> float | None:
        times = mechanism(report["mechanism_s"])
        whole = sum(times.values())
        return times[key] / whole if whole else None

    return value


def _work(report: DiskRun) -> float | None:
    """Milliseconds of the mechanism for a request; the rest of its response time it waited."""
    times = mechanism(report["mechanism_s"])
    busy = sum(times.values()) - times["idle"]
    return busy * 1000 / report["requests"] if report["requests"] else None


def _state(name: str, key: Literal["time_s", "wakes"]) -> Value:
    def value(report: DiskRun) -> float | None:
        return next((s[key] for s in report["power_states"] if s["name"] == name), None)

    return value


def _bars(
    runs: Sequence[Run[DiskRun]], title: str, x: Spec, parts: dict[str, Value], shown: str
) -> Spec:
    """A stacked bar for each run."""
    names = [run.name for run in runs]
    left = iter(TONES[2:] * len(parts))
    data = []
    for part, value in parts.items():
        values = [value(run.report) or 0 for run in runs]
        if any(values):
            data.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": part,
                    "x": values,
                    "y": names,
                    "hovertemplate": f"%{{y}}: {part} {shown}<extra></extra>",
                    "marker": {"color": PART_TONES.get(part) or next(left)},
                }
            )
    made = layout(title, x, axis("", autorange="reversed", type="category", showgrid=False))
    stacked = {"barmode": "stack", "bargap": 0.4, "showlegend": True}
    stacked |= {"legend": {"traceorder": "normal"}, "height": 150 + 44 * len(runs)}
    return {"data": data, "layout": made | stacked}
