"""The report of a survey: one HTML file that works offline, with plots, tables and sources.

The tables are plain HTML; a script draws the plots and sorts the tables. The same result gives the
same bytes. A content security policy in the file keeps it from loading anything.
"""

import re
from collections.abc import Callable
from typing import Any

from markupsafe import Markup, escape

from gordon import notices
from gordon.human import figures
from gordon.report import page
from gordon.survey.jobs import gains
from gordon.survey.jobs import traces as trace_paths
from gordon.survey.results import GridMean, GridResult, JobResult

#: Scripts that the pages of surveys share.
LIBRARIES = ("charts", "tables")
#: Limits with a colour of their own.
_LIMITS = ("cpu", "storage", "network", "idle")


def render(result: GridResult) -> str:
    """The report's HTML."""
    by_id = {d["id"]: d for d in result["designs"]}
    named = {name: by_id[id] for name, id in result["named"].items() if id is not None}
    return page.render(
        "survey",
        result,
        FILTERS,
        libraries=libraries(result),
        notices=notices.grouped(result["warnings"], trace_paths(result)),
        r=result,
        sentence=sentence(result),
        by_id=by_id,
        named=named,
        maxe_disk=named.get("MaxE-disk"),
        stage_columns=stage_columns(result, {d["id"]: d["names"] for d in result["designs"]}),
        parts=page.grouped(result["parameters"]),
    )


def sentence(result: GridResult | GridMean) -> str:
    """The fastest design and the one with the most work for a joule, compared with disks."""
    gained = gains(result)
    titles = {"MinT": ("Fastest", "the speed"), "MaxE": ("most work per joule", "that")}
    said = []
    for name, (title, what) in titles.items():
        id = result["named"].get(name)
        if id is not None:
            over = (
                f", {figures(gained[name])} times {what} of the best disk design" if gained else ""
            )
            said.append(f"{title}: {id}{over}")
    return f"{'; '.join(said)}." if said else "No design is on the front."


def libraries(result: GridResult | JobResult) -> tuple[str, ...]:
    """The scripts of a survey of one job."""
    return (*LIBRARIES, "stages") if "timeline" in result else LIBRARIES


def stage_columns(
    result: GridResult | JobResult, names: dict[str, list[str]]
) -> list[tuple[str, list[str]]]:
    """The designs on which the result has the limits of each stage: id, and its names."""
    stages = result["timeline"]["stages"] if "timeline" in result else []
    covered = [stage["designs"] for stage in stages if stage["designs"]]
    return [(design["id"], names[design["id"]]) for design in covered[0]] if covered else []


def _code(text: str) -> Markup:
    """Text in which words between backticks are code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 escaped


def _tone(limit: str) -> str:
    """The class that colours a limit; a mixture has a colour of its own."""
    return limit if limit in _LIMITS else "mixed"


def _counters(device: dict[str, int]) -> list[tuple[str, str]]:
    """A device's counters by name; times as seconds."""
    return [
        (key[:-3], f"{page.sig(count / 1e9)} s") if key.endswith("_ns") else (key, f"{count:,}")
        for key, count in device.items()
    ]


#: Filters that the pages of surveys share.
FILTERS: dict[str, Callable[..., Any]] = {
    "code": _code,
    "counters": _counters,
    "tone": _tone,
}
