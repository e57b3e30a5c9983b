"""The part of a page that is of flash devices: pages, wear, energy, lifetime."""

from collections.abc import Sequence

from gordon.human import percent
from gordon.report import page
from gordon.report.entries import of
from gordon.report.kinds import DeviceKind, Group, Rows, Run, Spec, with_unit
from gordon.report.run_figures import TONES, axis, layout, line_name, over_time
from gordon.reports.devices import FlashRun

PAGES = {
    "host_read": "read for the host",
    "host_program": "programmed with host data",
    "gc_read": "read by garbage collection",
    "gc_program": "copied by garbage collection",
    "merge_read": "read for a read-modify-write",
    "wear_program": "copied by wear levelling",
    "summary_program": "summaries",
    "log_program": "trim journal",
    "padding": "padding (empty slots)",
}


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
        joules, size = with_unit("J"), with_unit("B")
        return [
            (
                "Capacity",
                [
                    row("raw", of("raw_capacity_bytes"), size),
                    row("exported", of("exported_capacity_bytes"), size),
                    row("spare", of("spare_capacity_bytes"), size),
                ],
            ),
            (
                "Pages",
                [
                    row("write amplification, pages", of("write_amplification")),
                    row("write amplification, bytes", of("write_amplification_bytes")),
                    *(row(title, of("pages", key)) for key, title in PAGES.items()),
                    row("still in the write buffer at the end", of("buffered_at_end")),
                    row("writes combined", of("combined")),
                    row("reads bypassed", of("bypassed")),
                    row("reads of unmapped pages", of("unmapped_reads")),
                ],
            ),
            (
                "Wear",
                [
                    row("super-blocks erased", of("erases")),
                    row("most erases of a super-block", of("wear", "max_erases")),
                    row("fewest erases of a super-block", of("wear", "min_erases")),
                    row("rated erases of a super-block", of("wear", "erase_budget")),
                    row(
                        "super-blocks that reach the rated erases",
                        of("wear", "super_block_survival"),
                        page.percent,
                    ),
                    row("grown bad blocks", of("grown_bad")),
                    row("rated endurance used", of("endurance_used"), percent),
                    row("duration of the load, s", of("lifetime_span_s")),
                    row("lifetime", of("lifetime_years"), with_unit("years")),
                    row("lifetime of the first block", of("first_block_years"), with_unit("years")),
                    row("bytes that can be programmed", of("lifetime_writes_bytes"), size),
                ],
            ),
            (
                "Utilisation",
                [
                    row("buses", of("utilisation", "bus"), page.percent),
                    row("dies", of("utilisation", "die"), page.percent),
                    row("dies reading", of("utilisation", "die_read"), page.percent),
                    row("dies programming, erasing", of("utilisation", "die_write"), page.percent),
                    row("controller", of("utilisation", "controller"), page.percent),
                    row("garbage collection active", of("utilisation", "collecting"), page.percent),
                    row("garbage collection active, s", of("collecting_s")),
                ],
            ),
            (
                "Energy",
                [row("total", of("energy_j"), joules), *row.parts("energy_by_part_j", joules)],
            ),
            (
                "Tables",
                [
                    row(
                        "mapping table (L2P) of the device, 4 bytes per raw page",
                        of("lba_table_bytes"),
                        size,
                    ),
                    row("time to rebuild it at power on, s", of("startup_s")),
                    row("map of the simulator", of("map_memory_bytes"), size),
                ],
            ),
        ]

    def figures(self, runs: Sequence[Run[FlashRun]]) -> dict[str, Spec]:
        """Those that have data: nothing programmed has no write amplification, nothing erased no
        erases."""
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
    """In bytes, which all devices have in common; in pages, too, where that is another figure."""
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
