"""Writes docs/REFERENCE.md: every command and option, as `--help` says it, and every config key.

python scripts/build/reference.py           write it
python scripts/build/reference.py --check   fail if it is not up to date
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from gordon import _core
from gordon.cli import gordon

PAGE = Path(__file__).resolve().parents[2] / "docs/REFERENCE.md"
WIDTH = 90
KINDS = (
    *("space", "cpu", "memory", "network", "overhead", "machine"),
    *("flash", "disk", "drive", "sort", "jobs"),
)


def commands(command: click.Command, parent: click.Context | None, name: str) -> Iterator[str]:
    settings = dict(command.context_settings) | {
        "terminal_width": WIDTH,
        "max_content_width": WIDTH,
    }
    context = click.Context(command, parent=parent, info_name=name, **settings)
    yield f"### `{context.command_path}`\n\n```\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        default = getattr(command, "default", None)
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            # A default command's help is its group's.
            if found is not None and child != default:
                yield from commands(found, context, child)


def plain(text: str) -> str:
    """A description in one line. Links of the source's own documentation mean nothing elsewhere."""
    return re.sub(r"\[(`[^`]+`)\](\([^)]*\))?", r"\1", " ".join(text.split()))


class Keys:
    """The keys that a schema allows, as rows: dotted key, what its value is, what it means."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema, self.definitions = schema, schema.get("$defs", {})

    def rows(self) -> Iterator[str]:
        for key, value, text in self._of(self.schema, ""):
            line = plain(text).replace("|", "\\|")
            yield f"| `{key}` | {value} | {line} |"

    def _of(self, table: dict[str, Any], prefix: str) -> Iterator[tuple[str, str, str]]:
        needed = table.get("required", [])
        for key, field in table.get("properties", {}).items():
            yield from self._field(prefix + key, field, "" if key in needed else ", optional")

    def _field(self, key: str, field: dict[str, Any], may: str) -> Iterator[tuple[str, str, str]]:
        kind, text = self._resolved(field), field.get("description", "")
        text = text or kind.get("description", "")
        choices = kind.get("oneOf", [])
        if "items" in kind and "array" in kind["type"]:
            inner = self._resolved(kind["items"])
            if "properties" in inner:
                yield f"{key}[]", f"list of tables{may}", text
                yield from self._of(inner, f"{key}[].")
            else:
                yield key, f"list: {self._value(kind['items'])}{may}", text
        elif kind.get("additionalProperties"):
            part = key.rpartition(".")[2]
            if part in KINDS:
                yield f"{key}.NAME", f"table as [{part}](#{part}){may}", text
            else:
                yield f"{key}.NAME", f"table{may}", text
                yield from self._of(self._resolved(kind["additionalProperties"]), f"{key}.NAME.")
        elif "properties" in kind:
            yield key, f"table{may}", text
            yield from self._of(kind, f"{key}.")
        elif choices and all("properties" in choice for choice in choices):
            names = [name for choice in choices for name in choice["properties"]]
            yield key, "table, one of " + " or ".join(f"`{name}`" for name in names) + may, text
            for choice in choices:
                ((name, inner),) = choice["properties"].items()
                described = {"description": choice.get("description", "")} | inner
                yield from self._field(f"{key}.{name}", described, "")
        else:
            for choice in choices:
                text += f" `{self._choice(choice)}`: {choice['description']}"
            yield key, self._value(field) + may, text

    def _resolved(self, field: dict[str, Any]) -> dict[str, Any]:
        """The schema of the field, behind references, and without null and its address."""
        while True:
            if "$ref" in field:
                field = self.definitions[field["$ref"].rsplit("/", 1)[1]]
            elif "anyOf" in field:
                field = field["anyOf"][0]
            else:
                return field

    def _choice(self, choice: dict[str, Any]) -> str:
        """One of several values, as it is written."""
        if "const" in choice:
            return str(choice["const"])
        ((name, _),) = choice["properties"].items()
        return f"{{ {name} = N }}"

    def _value(self, field: dict[str, Any]) -> str:
        kind = self._resolved(field)
        plain = {"string": "text", "number": "number", "integer": "whole number"}
        if "prefixItems" in kind:
            value = "[" + ", ".join(self._value(item) for item in kind["prefixItems"]) + "]"
        elif "examples" in kind:
            value = f"as `{kind['examples'][0]}`"
        elif "oneOf" in kind:
            value = " or ".join(f"`{self._choice(choice)}`" for choice in kind["oneOf"])
        else:
            named = kind["type"] if isinstance(kind["type"], str) else kind["type"][0]
            value = plain.get(named, "`true` or `false`")
        return value + (" °" if "Sourced_" in json.dumps(field) else "")


def page() -> str:
    parts = [
        "# Reference\n\nGenerated by `scripts/build/reference.py`; do not edit.\n\n## Commands\n\n"
        "A SIZE is a number of bytes: `64KiB`, `64k` and `64K` are 65,536, `64kB` and `64KB` are "
        "64,000.\n",
        *commands(gordon, None, "gordon"),
        '## Files you write\n\nTOML. A quantity is text with its unit (`"25us"`). A value marked ° '
        'may carry its address:\n`{ value = "25us", source = "..." }` or `{ value = "25us", '
        'assumed = "why" }`. `gordon schema KIND` prints the\nJSON Schema.\n',
    ]
    for kind in KINDS:
        schema = json.loads(_core.schema(kind))
        rows = "\n".join(Keys(schema).rows())
        text = " ".join(schema.get("description", "").split())
        parts.append(f"### {kind}\n\n{text}\n\n| key | value | what |\n|---|---|---|\n{rows}\n")
    return "\n".join(parts)


def main() -> None:
    text = page()
    if "--check" not in sys.argv:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        sys.exit("error: docs/REFERENCE.md is out of date\n  try: make reference")


if __name__ == "__main__":
    main()
