"""Writes docs/API.md: the public functions of the package with their keywords, from the package.

python scripts/build/api.py           write it
python scripts/build/api.py --check   fail if it is not up to date
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
import types
import typing
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import gordon
from gordon import bundled
from gordon.result import Result

FILE = Path(__file__).resolve().parents[2] / "docs/API.md"
#: Modules with public functions next to those of the packages.
MODULES = ("cache.tiered", "cache.web", "disk.fit", "sort.systems", "sort.tune", "storage.fit")
WIDTH = 100
HEAD = """# Python reference

The functions of the package, with their keywords. [The guide](guide/python.md) has examples, and
what all results have in common. This page is generated from the package; `help()` shows the same.
"""


def places() -> Iterator[str]:
    """The names of the modules, without `gordon`."""
    for name in sorted((*dir(gordon), *MODULES)):
        if name not in ("GordonError", "__version__", "bundled"):
            yield name


def wrapped(text: str, first: str = "", rest: str = "") -> str:
    """A paragraph of a docstring."""
    return textwrap.fill(
        " ".join(text.split()),
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def kind(hint: Any) -> str:
    """A type as text, without the modules."""
    if isinstance(hint, str):
        return hint
    text = hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)
    for part in ("typing.", "collections.abc.", "pathlib.", "_local.", "gordon._core."):
        text = text.replace(part, "")
    return re.sub(r"\bgordon\.[\w.]*\.(\w+)", r"\1", text)


def value(default: object) -> str:
    """A default as text; a folder of the package is shown as its name, wherever it is installed."""
    if callable(default):
        return "..."
    return "bundled.FOLDER" if default == bundled.FOLDER else repr(default)


def signature(name: str, function: types.FunctionType) -> str:
    """The signature of a function, a line each where it is long."""
    made = inspect.signature(function)
    shown: list[str] = []
    is_keyword = False
    for parameter in made.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword:
            shown.append("*")
            is_keyword = True
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        default = parameter.default
        if default is parameter.empty:
            shown.append(f"{star}{parameter.name}")
        else:
            shown.append(f"{parameter.name}={value(default)}")
    returned = kind(made.return_annotation)
    line = wrapped(f"{name}({', '.join(shown)}) -> {returned}", "", " " * 4)
    return f"```text\n{line}\n```\n"


def described(text: str) -> Iterator[str]:
    """A docstring as Markdown; its options are a list."""
    text, _, options = text.partition("\nOptions:\n")
    for paragraph in text.strip().split("\n\n"):
        if paragraph.startswith("    "):
            yield f"```python\n{textwrap.dedent(paragraph)}\n```\n"
        else:
            yield wrapped(paragraph) + "\n"
    items: list[str] = []
    for line in options.splitlines():
        if line.startswith("    ") and not line.startswith("     "):
            items.append(line.strip())
        elif line.strip():
            items[-1] += " " + line.strip()
    if items:
        made = []
        for item in items:
            name, _, about = item.partition(": ")
            made.append(wrapped(f"`{name}`: {about}", "- ", "  "))
        yield "\n".join(made) + "\n"


def source() -> str:
    """The text of the page."""
    parts = [HEAD]
    for place in places():
        module = import_module(f"gordon.{place}")
        parts.append(f"## gordon.{place}\n")
        parts += described(inspect.getdoc(module) or "")
        for name in module.__all__:
            one = getattr(module, name)
            if inspect.isfunction(one):
                parts.append(f"### {place}.{name}\n")
                parts.append(signature(name, one))
                parts += described(inspect.getdoc(one) or "")
        results = [
            wrapped(f"`{name}`: {(inspect.getdoc(one) or '').partition(chr(10))[0]}", "- ", "  ")
            for name in module.__all__
            if isinstance(one := getattr(module, name), type) and issubclass(one, Result)
        ]
        if results:
            parts.append("Results:\n\n" + "\n".join(results) + "\n")
    return "\n".join(parts)


def main() -> None:
    text = source()
    if "--check" not in sys.argv:
        FILE.write_text(text)
    elif not FILE.exists() or FILE.read_text() != text:
        sys.exit("error: docs/API.md is out of date\n  try: make reference")


if __name__ == "__main__":
    main()
