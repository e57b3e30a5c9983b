"""A device's config as a readable TOML file: a comment, values with their sources, tables."""

import json
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

from gordon.untyped import Config


def text(comment: Sequence[str], config: Config) -> str:
    """The file. Each paragraph of the comment begins a line."""
    lines = [f"# {line}" for paragraph in comment for line in wrap(paragraph, 98)]
    lines += ["", *(_line(key, value) for key, value in config.items() if _is_value(value))]
    for name, table in _tables("", config):
        lines += ["", f"[{name}]", *(_line(key, value) for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _tables(prefix: str, table: Config) -> Iterator[tuple[str, Config]]:
    """Tables in the order of the file: those with values of their own first."""
    for key, value in table.items():
        if isinstance(value, dict) and not _is_value(value):
            own = {k: v for k, v in value.items() if _is_value(v)}
            if own:
                yield prefix + key, own
            yield from _tables(f"{prefix}{key}.", value)


def _line(key: str, value: Any) -> str:
    return f"{key} = {_inline(value)}"


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
