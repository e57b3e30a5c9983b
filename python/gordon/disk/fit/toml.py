"""Writes a disk's config as a readable TOML file."""

import json
from typing import Any

import jinja2

from gordon.disk.fit.report import Goodness, Probed
from gordon.untyped import Config

# A value with its source is a line; what is bare is written as it is.
_TEMPLATE = """\
# Fitted by gordon {{ about.gordon }} to probes of {{ about.target }}\
{{ " (simulated)" if about.simulated else "" }}, seed {{ about.seed }}.
# {{ goodness.reads }} random reads on both disks: demerit figure (RMS distance of the response \
times)
# {{ "%.3f"|format(goodness.demerit_ms) }} ms, \
{{ "%.1f"|format(100 * goodness.demerit_of_mean) }} % of the mean, of which sampling noise \
explains {{ "%.3f"|format(goodness.chance_ms) }} ms.

summary = {{ config.summary|json }}
{% for name, table in tables %}

[{{ name }}]
{% for key, value in table.items() %}
{{ key }} = {{ value|inline }}
{% endfor %}
{% endfor %}
"""


def text(config: Config, about: Probed, goodness: Goodness) -> str:
    """The file."""
    # No HTML is made of this.
    environment = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True)  # noqa: S701
    environment.filters |= {"json": json.dumps, "inline": _inline}
    template = environment.from_string(_TEMPLATE)
    return template.render(
        about=about, goodness=goodness, config=config, tables=list(_tables("", config))
    )


def _tables(prefix: str, table: Config) -> Any:
    """Tables in the order of the file: those with values of their own first."""
    for key, value in table.items():
        if isinstance(value, dict) and not _is_value(value):
            own = {k: v for k, v in value.items() if _is_value(v)}
            if own:
                yield prefix + key, own
            yield from _tables(f"{prefix}{key}.", value)


def _is_value(value: Any) -> bool:
    return not isinstance(value, dict) or "value" in value


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        pairs = ", ".join(f"{key} = {_inline(item)}" for key, item in value.items())
        return "{ " + pairs + " }"
    if isinstance(value, list):
        lines = "".join(f"\n    {_inline(item)}," for item in value)
        simple = all(not isinstance(item, list | dict) for item in value)
        return "[" + ", ".join(map(_inline, value)) + "]" if simple else "[" + lines + "\n]"
    return json.dumps(value)
