"""Published worked examples of what machines cost, and the page that has them."""

from pathlib import Path

import pytest

import total_cost
from markdown_pages import render
from published_costs import MOST, examples

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = {one["id"]: one for one in examples()}


@pytest.mark.parametrize("id", EXAMPLES)
def test_a_published_example_follows_from_its_inputs(id: str) -> None:
    one = EXAMPLES[id]
    assert one["ratio"] == pytest.approx(1, abs=MOST)
    assert one["source"]
    if abs(one["ratio"] - 1) > 0.01:
        assert one["reason"]


def test_the_electricity_of_a_server_is_that_of_the_article() -> None:
    assert EXAMPLES["ibm-server"]["ours"] == pytest.approx(380 / 1000 * 0.10 * 8766)


def test_the_page_has_what_its_program_computes() -> None:
    page = (ROOT / "docs/design/total-cost.md").read_text(encoding="utf-8")
    assert page == render("total-cost", **total_cost.values())
