"""The numbers of nodes that --nodes names."""

import pytest

from gordon import GordonError
from gordon.survey.numbers import LARGEST, MOST, parse


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("4", [4]),
        ("2,4,8", [2, 4, 8]),
        ("2..5", [2, 3, 4, 5]),
        ("3..3", [3]),
        ("8, 2", [2, 8]),
        ("1,4..6", [1, 4, 5, 6]),
        (f"{LARGEST}", [LARGEST]),
        (f"1..{MOST}", list(range(1, MOST + 1))),
    ],
)
def test_a_number_a_list_and_a_range_are_read_in_ascending_order(
    text: str, numbers: list[int]
) -> None:
    assert parse(text) == numbers


@pytest.mark.parametrize(
    "text",
    ["", " ", ",", "2,", ",2", "x", "2..", "..2", "2...4", "-1", "+1", "1.5", "2-4", "1e3", "٣"],
)
def test_text_of_another_form_is_refused(text: str) -> None:
    _refused(text, "give one number, a list or a range")


@pytest.mark.parametrize("text", ["0", "0..4", str(LARGEST + 1), "9" * 5000])
def test_a_number_out_of_range_is_refused(text: str) -> None:
    _refused(text, "give one number, a list or a range")


def test_a_range_that_ends_before_it_starts_is_refused_with_the_right_order() -> None:
    _refused("8..2", "write 2..8")


@pytest.mark.parametrize("text", ["2,2", "1..4,3"])
def test_a_number_that_is_named_twice_is_refused(text: str) -> None:
    _refused(text, "name each number once")


def test_more_numbers_than_a_survey_takes_are_refused() -> None:
    _refused(f"1..{MOST + 1}", "give a shorter range")


def _refused(text: str, hint: str) -> None:
    with pytest.raises(GordonError) as error:
        parse(text)
    assert error.value.kind == "bad-nodes"
    assert error.value.args[0].startswith("--nodes")
    assert error.value.args[1].startswith(hint)
