"""Pages with computed tables: how a template becomes a page, and what was measured for one."""

from pathlib import Path

import pytest

import markdown_pages
import sort_tuning_live

ROOT = Path(__file__).resolve().parents[2]

TEMPLATE = """\
# A heading
and text of
three lines, with
{{ count }}. That is it.
- an item
  of two lines
- another one

1. a number
   of two lines
2. the next one

| a | b |
|---|---|
| 1
  | 2 |

```
code
stays
```
{% filter lines %}
kept
apart
{% endfilter %}
{% block part %}
It is
{{ share | form(".1%") }}.
{% endblock %}
"""

PAGE = """\
# A heading
and text of three lines, with 350. That is it.
- an item of two lines
- another one

1. a number of two lines
2. the next one

| a | b |
|---|---|
| 1 | 2 |

```
code
stays
```
kept
apart
It is 12.5%.
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made.md.j2").write_text(TEMPLATE)
    monkeypatch.setattr(markdown_pages, "FOLDER", tmp_path)


@pytest.mark.usefixtures("folder")
def test_paragraphs_items_and_rows_are_lines_of_a_page() -> None:
    assert markdown_pages.render("made", count=350, share=0.125) == PAGE
    assert markdown_pages.render("made", "part", share=0.125) == "It is 12.5%.\n"


def test_numbers_of_a_table_are_at_the_right() -> None:
    rows = [["x", "1"], ["y", "2"]]
    assert markdown_pages.table(["", "n"], rows) == "|  | n |\n|---|---|\n| x | 1 |\n| y | 2 |"
    rule = markdown_pages.table(["", "n"], rows, text_columns=1).splitlines()[1]
    assert rule == "|---|--:|"


def test_the_page_of_tuning_has_what_was_measured() -> None:
    page = (ROOT / "docs/design/sort-tuning.md").read_text(encoding="utf-8")
    rewriting, search = sort_tuning_live.rewritten()["rewriting"], sort_tuning_live.searched()
    for table in (rewriting["outputs"], rewriting["differences"], search["trials"]):
        assert table in page, "run `make figures`"
