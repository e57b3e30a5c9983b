"""The notebooks: run, and compared with what they hold; and how they become pages of the site."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import notebooks

ROOT = Path(__file__).resolve().parents[2]


def made(path: Path, *texts: str) -> Path:
    """A notebook of code cells, without outputs."""
    cells: list[Any] = [
        {"cell_type": "code", "execution_count": None, "id": f"c{n}", "metadata": {}}
        | {"outputs": [], "source": notebooks.lines(text)}
        for n, text in enumerate(texts)
    ]
    path.write_text(json.dumps({"cells": cells, "nbformat": 4}))
    return path


@pytest.mark.parametrize("path", notebooks.notebooks(), ids=lambda path: path.stem)
def test_a_notebook_shows_what_its_cells_print(path: Path) -> None:
    assert notebooks.check(path, update=False) == []


@pytest.mark.parametrize("path", notebooks.notebooks(), ids=lambda path: path.stem)
def test_a_notebook_is_one_question_and_its_answer(path: Path) -> None:
    notebook: Any = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = notebook["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    title = notebooks.source(cells[0]).splitlines()[0]
    assert title.startswith("# ")
    assert title.endswith("?")
    assert notebooks.source(cells[-1]).startswith("**Answer.**")
    lengths = [len(line) for cell in cells for line in notebooks.source(cell).splitlines()]
    assert max(lengths) <= 100


def test_every_notebook_is_on_the_site() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]
    (listed,) = [section["Notebooks"] for section in site if "Notebooks" in section]
    assert sorted(listed) == [f"notebooks/{path.stem}.md" for path in notebooks.notebooks()]


def test_a_difference_is_found_and_updated(tmp_path: Path) -> None:
    path = made(tmp_path / "one.ipynb", "n = 2\nprint(n)", "n * 3", "m = 1")
    (first, second) = notebooks.check(path, update=False)
    assert "one.ipynb, cell 1 shows:\n2" in first
    assert "cell 2 shows:\n6" in second
    assert notebooks.check(path, update=True) == []
    assert notebooks.check(path, update=False) == []
    text = notebooks.page(path)
    assert "```python\nn = 2\nprint(n)\n```\n\n```text\n2\n```" in text
    assert "```text\n6\n```" in text
    assert text.endswith("[one.ipynb](one.ipynb).\n")


def test_a_failing_cell_names_its_line(tmp_path: Path) -> None:
    path = made(tmp_path / "bad.ipynb", "x = 1", "\nx / 0")
    with pytest.raises(ZeroDivisionError) as raised:
        notebooks.check(path, update=False)
    assert "cell 2" in str(raised.getrepr())


def test_cells_write_into_a_folder_of_their_own(tmp_path: Path) -> None:
    path = made(tmp_path / "w.ipynb", "from pathlib import Path\nPath('left').write_text('x')")
    notebooks.check(path, update=True)
    assert not Path("left").exists()
