"""The screen of a survey of a service: use, price and power of each design, and the verdict."""

from gordon.cli import warn
from gordon.cli.designs_view import ALL_CORES, table
from gordon.cli.terminal import Output
from gordon.human import counted, duration, figures
from gordon.survey import entries
from gordon.survey.prices import dated
from gordon.survey.results import ServiceResult
from gordon.survey.service import RESOURCES, cheapest_first, is_notable, remarks

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
    console.table(table("design", shown, listed, SPARE, remarks, _ENOUGH))
    text = "use: not exceeded in 99% of the time. * on the Pareto front of cost and use"
    left_out = len(rows) - len(shown)
    console.text(text + (f"; --all also prints {left_out} more" if left_out else ""))
    console.text(result["sentence"])
    warn(result["warnings"], [trace["path"] for trace in result["traces"]])
