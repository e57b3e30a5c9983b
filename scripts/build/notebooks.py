#!/usr/bin/env python3
"""Runs the notebooks of docs/notebooks and compares what their cells print with what they hold.

    notebooks.py [NOTEBOOK...]   exit status 1 if a cell fails or prints something else
    notebooks.py --update        writes what they print into the notebooks

Each notebook is run in an empty folder of its own, by the Python that runs this program: a cell
shows what it prints, and the value of its last line as Jupyter does, by its repr. `page` makes a
page of the site of a notebook.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/notebooks"
#: Kinds of outputs that are compared: others are pictures and tracebacks of a person's own run.
STREAM, RESULT = "stream", "execute_result"

Cell = dict[str, Any]


def notebooks() -> list[Path]:
    """All notebooks, by name."""
    return sorted(FOLDER.glob("*.ipynb"))


def source(cell: Cell) -> str:
    """The text of a cell, which a notebook has as lines."""
    return "".join(cell["source"])


def lines(text: str) -> list[str]:
    """A text as a notebook has it."""
    return text.splitlines(keepends=True)


def run(cells: list[Cell]) -> list[list[Cell]]:
    """The outputs of code cells, run in their order. Raises what a cell raises."""
    names: dict[str, Any] = {"__name__": "__main__"}
    made = []
    for number, cell in enumerate(cells, 1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = _run(source(cell), f"cell {number}", names)
        outputs: list[Cell] = []
        if printed.getvalue():
            text = lines(printed.getvalue())
            outputs.append({"name": "stdout", "output_type": STREAM, "text": text})
        if value is not None:
            data = {"text/plain": lines(repr(value))}
            outputs.append(
                {"data": data, "execution_count": number, "metadata": {}, "output_type": RESULT}
            )
        made.append(outputs)
    return made


def _run(text: str, where: str, names: dict[str, Any]) -> Any:
    """Runs the text of a cell; the value of its last line, if that is an expression."""
    tree = ast.parse(text, where)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, where, "exec"), names)  # noqa: S102 - the cells of this repository
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), where, "eval"), names)  # noqa: S307


def shown(cell: Cell) -> str:
    """The text that a code cell shows."""
    texts = [
        output["text"] if output["output_type"] == STREAM else output["data"]["text/plain"]
        for output in cell["outputs"]
    ]
    return "\n".join("".join(text).rstrip("\n") for text in texts)


def page(path: Path) -> str:
    """A notebook as a page of Markdown."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            parts.append(source(cell))
            continue
        parts.append(f"```python\n{source(cell)}\n```")
        if cell["outputs"]:
            parts.append(f"```text\n{shown(cell)}\n```")
    end = f"The notebook: [{path.name}]({path.name})."
    return "\n\n".join([*parts, end]) + "\n"


def check(path: Path, update: bool) -> list[str]:
    """Runs a notebook; the differences, which are written into it with `update`."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="gordon-notebook-") as folder:
        os.chdir(folder)
        try:
            made = run(code)
        finally:
            os.chdir(here)
    found = []
    for number, (cell, outputs) in enumerate(zip(code, made, strict=True), 1):
        before = shown(cell) if cell["outputs"] else ""
        cell["outputs"], cell["execution_count"] = outputs, number
        after = shown(cell) if outputs else ""
        if before != after:
            found.append(f"{path.name}, cell {number} shows:\n{after}\nand not:\n{before}")
    if update:
        text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
        path.write_text(text + "\n", encoding="utf-8")
        return []
    return found


def main() -> None:
    """Runs the notebooks."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("notebooks", nargs="*", type=Path)
    parser.add_argument("--update", action="store_true")
    given = parser.parse_args()
    found = []
    for path in given.notebooks or notebooks():
        begin = time.monotonic()
        found += check(path, given.update)
        print(f"{time.monotonic() - begin:6.2f} s  {path.name}", file=sys.stderr)
    if found:
        sys.exit("\n\n".join(found))


if __name__ == "__main__":
    main()
