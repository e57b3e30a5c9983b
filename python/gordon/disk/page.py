"""The part of a report that only hard disks have: mechanism, buffer, energy by state."""

from collections.abc import Sequence

from gordon.disk import entries
from gordon.disk.entries import MECHANISM, Value, part
from gordon.report import page
from gordon.report.entries import of
from gordon.report.kinds import DeviceKind, Group, Rows, Run
from gordon.report.run_figures import TONES, axis, layout, over_time
from gordon.reports.devices import DiskRun
from gordon.untyped import Spec

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
        many = any(report["disks"] > 1 for report in reports)
        energy = [entries.ENERGY, *row.parts("energy_by_part_j", entries.ENERGY.unit)]
        states = dict.fromkeys(
            state["name"] for report in reports for state in report["power_states"]
        )
        return [
            row.group("Response times of all requests", entries.RESPONSE),
            row.group("Mechanisms", [entries.DISKS, *entries.WORK])
            if many
            else row.group("Mechanism", entries.WORK),
            row.group("Buffer", entries.BUFFER),
            row.group("Energy", energy),
            row.group("Power states below idle", entries.states(states)),
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
                {title: part(key) for key, title in MECHANISM.items()},
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


def _bars(
    runs: Sequence[Run[DiskRun]], title: str, x: Spec, parts: dict[str, Value], shown: str
) -> Spec:
    """A stacked bar for each run."""
    names = [run.name for run in runs]
    left = iter(TONES[2:] * len(parts))
    data = []
    for name, value in parts.items():
        values = [value(run.report) or 0 for run in runs]
        if any(values):
            data.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": name,
                    "x": values,
                    "y": names,
                    "hovertemplate": f"%{{y}}: {name} {shown}<extra></extra>",
                    "marker": {"color": PART_TONES.get(name) or next(left)},
                }
            )
    made = layout(title, x, axis("", autorange="reversed", type="category", showgrid=False))
    stacked = {"barmode": "stack", "bargap": 0.4, "showlegend": True}
    stacked |= {"legend": {"traceorder": "normal"}, "height": 150 + 44 * len(runs)}
    return {"data": data, "layout": made | stacked}
