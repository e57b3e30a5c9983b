"""The report of a survey of a service: the verdict, the load over time, the use of each design.

One HTML file that works offline, like the other reports. The same result gives the same bytes.
"""

from gordon import notices
from gordon.human import duration, in_words
from gordon.parameters import Parameter
from gordon.report import page
from gordon.survey import bill_page, entries
from gordon.survey.jobs import traces as trace_paths
from gordon.survey.machines import OBJECTIVES, recommended
from gordon.survey.machines_page import money, of_machines
from gordon.survey.page import FILTERS, LIBRARIES
from gordon.survey.results import ServiceDesign, ServiceResult
from gordon.survey.service import (
    MODEL,
    RESOURCES,
    cheapest_first,
    is_notable,
    keeps_up,
    remarks,
)

__all__ = ["MODEL", "render"]


def render(result: ServiceResult) -> str:
    """The report's HTML."""
    rows = sorted(result["designs"], key=cheapest_first)
    verdict = recommended(result)
    notable = [row for row in rows if is_notable(row, result)]
    said = {row["id"]: remarks(row, verdict) for row in rows}
    return page.render(
        "service",
        result,
        FILTERS | {"money": money, "keeps_up": keeps_up, "duration": duration},
        libraries=(*LIBRARIES, "bill"),
        notices=notices.grouped(result["warnings"], trace_paths(result)),
        r=result,
        rows=rows,
        remarks=said,
        cards=notable,
        resources=RESOURCES,
        priced=any(row["price_per_month"] is not None for row in rows),
        compared=in_words([OBJECTIVES[one] for one in result["objectives"]] or ["cost"]),
        metered=any(row["power_w"] is not None for row in rows),
        columns=entries.on_page(entries.designs(result), rows, said),
        parts=page.grouped(_used(result["parameters"], notable)),
        bill=bill_page.of(result, rows),
    )


def _used(parameters: list[Parameter], notable: list[ServiceDesign]) -> list[Parameter]:
    """The values of these machines, then those of their storage parts."""
    parts = {row["storage_part"] for row in notable}
    machines = of_machines(parameters, {row["machine"] for row in notable})
    return machines + [p for p in parameters if p["kind"] != "machine" and p["part"] in parts]
