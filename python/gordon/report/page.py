"""Renders a report: a template, its script, plotly.js and the data in one HTML file.

The filters `sig`, `si`, `percent`, `times` and `plain` format numbers.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from gordon.errors import GordonError
from gordon.human import counted
from gordon.parameters import Parameter
from gordon.report.numbers import percent, plain, si, sig, times

__all__ = ["grouped", "percent", "plain", "plotly_js", "render", "si", "sig", "times"]


def render(
    name: str,
    data: Any,
    filters: dict[str, Callable[..., Any]] | None = None,
    script: str | None = None,
    libraries: Sequence[str] = (),
    package: str = "gordon.report",
    **values: Any,
) -> str:
    """Renders `NAME.html.j2` of a package with the script `NAME.js`, or `script`, and the data. The
    scripts `libraries` come before it."""

    def inlined(name: str) -> str:
        return (files("gordon.report") / name).read_text(encoding="utf-8")

    def template(name: str) -> str:
        own = files(package) / name
        return own.read_text(encoding="utf-8") if own.is_file() else inlined(name)

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(template),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(sig=sig, si=si, percent=percent, plain=plain, times=times)
    environment.filters.update(counted=lambda count: counted(count, "request"))
    environment.filters.update(filters or {})
    html: str = environment.get_template(f"{name}.html.j2").render(
        css=Markup(inlined("report.css")),  # noqa: S704 our own file
        js=_script("\n".join(inlined(f"{name}.js") for name in (*libraries, script or name))),
        plotly=_script(plotly_js()),
        data=_data(data),
        **values,
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
        "cannot write the report: the plotly package has no plotly.min.js",
        "pip install plotly",
        kind="no-plotly",
    )


def _script(text: str) -> Markup:
    return Markup(text.replace("</script", "<\\/script"))  # noqa: S704 our own and plotly's


def _data(result: Any) -> Markup:
    text = json.dumps(result, separators=(",", ":"), sort_keys=True)
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 no tag can be in it


def grouped(rows: Iterable[Parameter]) -> list[tuple[str, str, list[Parameter]]]:
    """Parameters by kind and part."""
    groups: dict[tuple[str, str], list[Parameter]] = {}
    for row in rows:
        groups.setdefault((row["kind"], row["part"]), []).append(row)
    return [(kind, part, found) for (kind, part), found in groups.items()]
