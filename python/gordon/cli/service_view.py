"""The screen of a survey of a service: use, price and power of each design, and the verdict."""

from gordon.cli import warn
from gordon.cli.designs_view import ALL_CORES, legend, table
from gordon.cli.terminal import Output
from gordon.human import counted, duration, figures, in_words
from gordon.survey import entries
from gordon.survey.doubts import described
from gordon.survey.machines import OBJECTIVES
from gordon.survey.prices import dated
from gordon.survey.results import ServiceResult
from gordon.survey.service import (
    RESOURCES,
    cheapest_first,
    is_notable,
    remarks,
    requests_note,
)

#: The entries on the screen, with what is left out of a narrow one.
SPARE = {"all_cores": 3, "keeps": 0, **dict.fromkeys(RESOURCES, 0), "month": 0, "power": 2}
#: Designs of the front that are shown, the cheapest ones.
_OF_FRONT = 8
#: Cells of the remarks.
_ENOUGH = 18


def show_service(console: Output, result: ServiceResult, show_all: bool) -> None:
    """The table, the verdict, and the warnings."""
    rows = result["designs"]
    ordered = sorted(rows, key=cheapest_first)
    front = [row["id"] for row in ordered if row["pareto"]][:_OF_FRONT]
    shown = [r for r in ordered if show_all or r["id"] in front or is_notable(r, result)]
    load = result["load"]
    console.text(
        f"{counted(result['designs_total'], 'design')} of {result['space']['name']} for "
        f"{duration(load['span_s'])} of {counted(load['nodes'], 'node')}: "
        f"{figures(load['cpu_cores']['p99'])} cores busy at the 99th percentile, "
        f"{figures(load['cpu_cores']['peak'])} at the peak{dated(result)}"
    )
    listed = [*entries.designs(result), ALL_CORES]
    spare = SPARE | entries.asked(result)
    console.table(table("design", shown, listed, spare, remarks, _ENOUGH))
    cost = in_words([OBJECTIVES[one] for one in result["objectives"]] or ["cost"])
    text = legend(result, f"{cost} and use", bool(front), len(shown))
    console.text(f"use: not exceeded in 99% of the time{'.' if front else ';'} {text}")
    console.text(result["sentence"])
    if result["ranking"] is not None:
        console.text(described(result["ranking"]))
    note = requests_note(result)
    if note is not None and "tco" in result["objectives"]:
        console.text(note)
    warn(result["warnings"], [trace["path"] for trace in result["traces"]])
