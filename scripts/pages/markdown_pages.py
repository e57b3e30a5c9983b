"""Pages in Markdown: a template that is filled with values, and tables.

A template has a line break where a reader of the source wants one. A page has each paragraph, each
item of a list and each row of a table on one line, so that a changed number changes one line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

from gordon.human import figures

FOLDER = Path(__file__).resolve().parent / "templates"
#: Starts of lines that do not continue the line before: headings, rows of tables, items.
_START = re.compile(r"#|\||- ")
#: A numbered item, if it follows another one: a sentence can end in a number, as in `350. The`.
_NUMBERED = re.compile(r"\d+\. ")
#: Line breaks that stay in a page.
_KEPT = "\0"


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int | None = None
) -> str:
    """A table. Columns after the first `text_columns` are numbers, aligned at the right; the
    default is that none are."""
    left = len(head) if text_columns is None else text_columns
    rule = "|" + "---|" * left + "--:|" * (len(head) - left)
    return "\n".join([_row(head), rule, *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def render(page: str, block: str | None = None, **values: Any) -> str:
    """The page of a template, or one block of it."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=False,  # noqa: S701 Markdown
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        figures=figures, form=format, lines=lambda text: text.replace("\n", _KEPT)
    )
    template = environment.get_template(f"{page}.md.j2")
    if block is None:
        return _joined(template.render(values))
    return _joined("".join(template.blocks[block](template.new_context(values))))


def _joined(text: str) -> str:
    """The text with each paragraph, item and row on one line. Code stays as it is, and so do kept
    line breaks."""
    lines: list[str] = []
    is_code = is_open = False
    for line in text.split("\n"):
        is_fence = line.startswith("```")
        is_item = _NUMBERED.match(line) and _NUMBERED.match(lines[-1] if lines else "")
        if is_open and line and not (is_fence or is_item or _START.match(line)):
            lines[-1] += f" {line.lstrip()}"
            continue
        lines.append(line)
        is_code ^= is_fence
        is_whole = line.startswith("#") or (line.startswith("|") and line.endswith("|"))
        is_open = bool(line) and not (is_code or is_fence or is_whole)
    return "\n".join(lines).replace(_KEPT, "\n")
