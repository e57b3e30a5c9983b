"""A survey's result as one HTML file that works offline: plots, tables, sources, all inlined.

The tables are in the HTML as it is written; the script draws the plots and sorts. Same result,
same bytes. A content security policy in the file forbids it to load anything.
"""

import json
import re
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from gordon._core import GordonError
from gordon.human import figures, short

LIMITS = ("cpu", "storage", "network")


def render(result: dict[str, Any]) -> str:
    """The report's HTML."""
    own = files("gordon.report")

    def inlined(name: str) -> str:
        return (own / name).read_text(encoding="utf-8")

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        sig=_sig,
        si=_si,
        percent=_percent,
        counters=_counters,
        plain=_plain,
        tone=_tone,
        times=_times,
        code=_code,
    )
    by_id = {d["id"]: d for d in result["designs"]}
    named = {name: by_id[id] for name, id in result["named"].items() if id is not None}
    html: str = environment.from_string(inlined("survey.html.j2")).render(
        r=result,
        by_id=by_id,
        named=named,
        maxe_disk=named.get("MaxE-disk"),
        parts=_grouped(result["parameters"]),
        css=Markup(inlined("survey.css")),  # noqa: S704 our own file
        js=_script(inlined("survey.js")),
        plotly=_script(plotly_js()),
        data=_data(result),
    )
    return html


def plotly_js() -> str:
    """plotly.min.js of the plotly package, found without importing the package."""
    spec = find_spec("plotly")
    for place in (spec.submodule_search_locations or []) if spec else []:
        path = Path(place) / "package_data" / "plotly.min.js"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise GordonError(
        "cannot write the report: the plotly package has no plotly.min.js", "pip install plotly"
    )


def _script(text: str) -> Markup:
    return Markup(text.replace("</script", "<\\/script"))  # noqa: S704 our own and plotly's


def _data(result: dict[str, Any]) -> Markup:
    text = json.dumps(result, separators=(",", ":"), sort_keys=True)
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 no tag can be in it


def _grouped(rows: list[dict[str, Any]]) -> list[tuple[str, str, list[dict[str, Any]]]]:
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        grouped.setdefault((row["kind"], row["part"]), []).append(row)
    return [(kind, part, rows) for (kind, part), rows in grouped.items()]


def _sig(value: float | None, digits: int = 3) -> str:
    """So many significant figures, thousands apart; a dash where there is none."""
    if value is None:
        return "–"
    if isinstance(value, int) or value == 0:
        return f"{value:,.0f}"
    size = abs(value)
    whole = len(str(int(size))) if size >= 1 else 0
    if size < 1:
        return f"{value:#.{digits}g}"
    return f"{value:,.{max(digits - whole, 0)}f}"


def _si(value: float | None, unit: str = "") -> str:
    return "–" if value is None else short(value, unit)


def _times(value: float | None) -> str:
    return "–" if value is None else figures(value)


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _code(text: str) -> Markup:
    """What is between backticks, as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 escaped


def _tone(limit: str) -> str:
    """The class that colours a limit; a mixture has a colour of its own."""
    return limit if limit in LIMITS else "mixed"


def _counters(device: dict[str, int]) -> list[tuple[str, str]]:
    """A device's counters by name; times as seconds."""
    return [
        (key[:-3], f"{_sig(count / 1e9)} s") if key.endswith("_ns") else (key, f"{count:,}")
        for key, count in device.items()
    ]


def _plain(value: Any) -> str:
    """A parameter as its file has it, a worked-out number with six figures."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)
