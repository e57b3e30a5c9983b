"""The part of a page that is of flash devices: pages, wear, energy, lifetime."""

from collections.abc import Sequence

from gordon.flash import entries
from gordon.human import percent
from gordon.report import page
from gordon.report.kinds import DeviceKind, Group, Rows, Run
from gordon.report.run_figures import TONES, axis, layout, line_name, over_time
from gordon.reports.devices import FlashRun
from gordon.untyped import Spec


class Flash(DeviceKind[FlashRun]):
    name = "flash"

    def card(self, report: FlashRun) -> list[tuple[str, str]]:
        if report["worn_out"]:
            life = ("lifetime", "worn out")
        elif report["lifetime_years"] is None:
            life = ("rated endurance used", percent(report["endurance_used"]))
        else:
            life = ("lifetime", page.si(report["lifetime_years"], "years"))
        return [
            ("write amplification", _amplification(report)),
            ("energy", page.si(report["energy_j"], "J")),
            life,
        ]

    def groups(self, reports: Sequence[FlashRun], row: Rows[FlashRun]) -> list[Group]:
        energy = [entries.ENERGY, *row.parts("energy_by_part_j", entries.ENERGY.unit)]
        return [
            row.group("Capacity", entries.CAPACITY),
            row.group("Pages", entries.PAGES),
            row.group("Wear", entries.WEAR),
            row.group("Utilisation", entries.UTILISATION),
            row.group("Energy", energy),
            row.group("Tables", entries.TABLES),
        ]

    def figures(self, runs: Sequence[Run[FlashRun]]) -> dict[str, Spec]:
        """The figures that have data: nothing programmed has no write amplification, nothing erased
        no erases."""
        made = {
            "utilisation": over_time(
                runs,
                "Utilisation of buses and dies",
                "fraction of the time",
                {
                    "buses": "bus",
                    "dies reading": "die_read",
                    "dies programming, erasing": "die_write",
                    "garbage collection active": "collecting",
                },
                share=True,
            ),
            "write_amplification": over_time(
                runs,
                "Write amplification over time",
                "pages programmed per host page",
                {"write amplification": "write_amplification"},
                whole=False,
            ),
            "erases": _erases(runs),
        }
        if all(run.report["write_amplification"] is None for run in runs):
            del made["write_amplification"]
        if all(run.report["wear"]["max_erases"] == 0 for run in runs):
            del made["erases"]
        return made


def _amplification(report: FlashRun) -> str:
    """Write amplification in bytes, which all devices have, and in pages if it differs."""
    in_bytes = page.sig(report["write_amplification_bytes"], 4)
    in_pages = page.sig(report["write_amplification"], 4)
    return in_bytes if in_bytes == in_pages else f"{in_bytes} in bytes, {in_pages} in pages"


def _erases(runs: Sequence[Run[FlashRun]]) -> Spec:
    data = []
    for i, run in enumerate(runs):
        table = run.columns("erases")
        blocks = sum(table["blocks"])
        data.append(
            {
                "type": "bar",
                "name": line_name(runs, run, "super-blocks"),
                "x": table["erases"],
                "y": [count / blocks for count in table["blocks"]],
                "customdata": table["blocks"],
                "hovertemplate": "%{customdata} super-blocks erased %{x} times",
                "marker": {"color": TONES[i % len(TONES)]},
            }
        )
    made = layout(
        "Erases since the device was new",
        axis("erases"),
        axis("fraction of the super-blocks", tickformat="~%"),
    )
    few = all(max(run.columns("erases")["erases"]) < 10 for run in runs)
    made["xaxis"] |= {"dtick": 1} if few else {}
    return {
        "data": data,
        "layout": made | {"barmode": "group", "bargap": 0.1, "showlegend": len(runs) > 1},
    }
