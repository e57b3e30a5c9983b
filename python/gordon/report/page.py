"""Renders a report: a template, its script, plotly.js and the data in one HTML file.

What is large in it is compressed, and unpacked by the browser (`unpack.js`). The filters `sig`,
`si`, `percent`, `times` and `plain` format numbers; `packed` compresses a part of the page.
"""

import gzip
import json
from base64 import b64encode
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

#: The part of plotly.js, which a build downloads.
PLOTLY = "plotly-basic.min.js"

__all__ = ["grouped", "packed", "percent", "plain", "plotly_js", "render", "si", "sig", "times"]


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
    environment.filters.update(packed=packed)
    environment.filters.update(counted=lambda count: counted(count, "request"))
    environment.filters.update(filters or {})
    html: str = environment.get_template(f"{name}.html.j2").render(
        css=Markup(inlined("report.css")),  # noqa: S704 our own file
        scripts=_scripts(
            "\n".join(inlined(f"{name}.js") for name in (*libraries, script or name)),
            data,
            inlined("unpack.js"),
        ),
        **values,
    )
    return html


def packed(text: str, target: str) -> Markup:
    """A part of a page, compressed. The browser puts it into the element with the id `target`."""
    code = b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
    return Markup(f'<script type="text/plain" data-for="{target}">{code}</script>')  # noqa: S704


def _scripts(program: str, data: Any, unpack: str) -> Markup:
    """The data of a page, the library of its plots, and its own program, which runs after both are
    unpacked."""
    result = json.dumps(data, separators=(",", ":"), sort_keys=True)
    return Markup("\n").join(
        [
            Markup('<script type="application/json" id="result"></script>'),
            packed(result, "result"),
            packed(plotly_js(), "plotly"),
            Markup('<script type="text/plain" id="program">{}</script>').format(_script(program)),
            Markup("<script>{}</script>").format(_script(unpack)),
        ]
    )


def plotly_js() -> str:
    """The part of plotly.js with the charts of pages; without it, all of plotly.js as the package
    plotly has it, found without importing the package."""
    part = files("gordon.report") / PLOTLY
    if part.is_file():
        return part.read_text(encoding="utf-8")
    spec = find_spec("plotly")
    for place in (spec.submodule_search_locations or []) if spec else []:
        path = Path(place) / "package_data" / "plotly.min.js"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise GordonError(
        "cannot write the report: plotly.js is not installed",
        "`make build` in the source folder, or pip install plotly",
        kind="no-plotly",
    )


def _script(text: str) -> Markup:
    return Markup(text.replace("</script", "<\\/script"))  # noqa: S704 our own


def grouped(rows: Iterable[Parameter]) -> list[tuple[str, str, list[Parameter]]]:
    """Parameters by kind and part."""
    groups: dict[tuple[str, str], list[Parameter]] = {}
    for row in rows:
        groups.setdefault((row["kind"], row["part"]), []).append(row)
    return [(kind, part, found) for (kind, part), found in groups.items()]
