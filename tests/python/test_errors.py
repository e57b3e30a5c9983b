"""The error of the package: a sentence, what to try, and a kind."""

from __future__ import annotations

import pickle
import traceback

import pytest

import gordon
import gordon.flash
from gordon.errors import located


def test_an_error_is_a_sentence_with_a_hint() -> None:
    with pytest.raises(gordon.GordonError) as caught:
        gordon.flash.load("nvme-tlc-2tb")
    error = caught.value
    assert error.message == "there is no flash preset `nvme-tlc-2tb`"
    assert "nvme-tlc-1tb" in error.hint
    assert str(error) == f"{error.message}\n  try: {error.hint}"
    assert error.args == (error.message, error.hint)
    printed = "".join(traceback.format_exception(error))
    assert f"GordonError: {error.message}\n" in printed


def test_an_error_without_a_hint_is_its_message() -> None:
    error = gordon.GordonError("it is gone", kind="gone")
    assert str(error) == "it is gone"
    assert error.hint == ""


def test_an_error_is_pickled_with_its_kind() -> None:
    error = gordon.GordonError("it is gone", "look there", kind="gone")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (again.message, again.hint, again.kind) == ("it is gone", "look there", "gone")


def test_a_place_precedes_the_message() -> None:
    with pytest.raises(gordon.GordonError) as caught, located("space.toml"):
        raise gordon.GordonError("no machine", "add one", kind="empty")
    assert caught.value.message == "space.toml: no machine"
    assert caught.value.hint == "add one"
    assert caught.value.kind == "empty"
