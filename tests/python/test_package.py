"""The package as people import it: its names, and lists that may be given as one item."""

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gordon
from gordon import GordonError, _core

from conftest import Run, raises

PACKAGES = [
    *("block", "bundled", "cache", "compare", "cost", "disk", "energy", "flash", "joulesort"),
    *("reproduce", "run", "sort", "storage", "survey", "sweep", "trace", "workload"),
]


@pytest.mark.parametrize("name", PACKAGES)
def test_import_gordon_reaches_each_public_package(name: str) -> None:
    # In a process of its own: here, other tests have imported the package already.
    code = f"import gordon; print(gordon.{name}.__name__)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == f"gordon.{name}\n"


def test_dir_lists_the_public_packages_and_all_public_packages_are_listed() -> None:
    folder = Path(gordon.__file__).parent
    public = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert public - {"cli", "options", "parts", "report", "reports"} == set(PACKAGES)
    assert dir(gordon) == sorted(["GordonError", "__version__", *PACKAGES])


def test_a_survey_takes_one_trace_as_text_or_path_or_list(trace: str, surveyed: str) -> None:
    wanted = json.loads(surveyed)["designs"]
    for given in (trace, Path(trace), [trace], (Path(trace),)):
        assert gordon.survey.run(given, space="gordon-2009")["designs"] == wanted


def test_one_setting_is_not_taken_apart_into_characters(trace: str) -> None:
    several = gordon.survey.run(trace, space="gordon-2009", set=["budget=60W"])
    assert (
        gordon.survey.run(trace, space="gordon-2009", set="budget=60W")["designs"]
        == several["designs"]
    )
    load: dict[str, Any] = {"pattern": "random-read", "requests": 10, "size": "4KiB"}
    one = gordon.flash.bench(set="capacity=2GiB", **load)
    assert one.report == gordon.flash.bench(set=["capacity=2GiB"], **load).report


def test_a_command_in_one_text_is_an_error() -> None:
    with raises("command-is-text", "'sleep 1'") as error:
        gordon.energy.record("sleep 1")
    assert "shlex" in error.value.args[1]


def test_an_error_has_a_message_a_hint_and_a_kind() -> None:
    error = GordonError("x.toml: not a text file", "a TOML file", "unreadable-file")
    assert error.args == ("x.toml: not a text file", "a TOML file")
    for one in (error, pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 our own
        assert (one.message, one.hint) == error.args
        assert one.kind == "unreadable-file"
    assert str(error) == "x.toml: not a text file\n  try: a TOML file"
    assert str(GordonError("what")) == "what"
    placed = error.at("space")
    assert (placed.message, placed.hint) == ("space: x.toml: not a text file", "a TOML file")
    assert placed.kind == error.kind
    assert (GordonError("what").args, GordonError("what").kind) == (("what", ""), "")


def test_a_package_of_an_extra_that_is_missing_is_one_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gordon.picture.find_spec", lambda name: None)
    with raises("missing-package", "matplotlib") as error:
        gordon.picture.check("plot.svg")
    assert "gordon-storage[plot]" in error.value.hint
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "from gordon.errors import GordonError\n"
        "try: import gordon.arrays\n"
        "except GordonError as error: print(error.kind, error.hint)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stdout == "missing-package pip install 'gordon-storage[fit]'\n", ran.stderr


def test_the_kind_of_an_error_of_the_core_is_its_variant(tmp_path: Path) -> None:
    assert GordonError is GordonError
    with raises("system", "no/in"):
        gordon.sort.run("no/in", tmp_path / "out")
    # Plain text has none.
    with raises("", "`much`"):
        _core.parse_bytes("much")


def test_the_kind_of_a_failed_command_is_that_of_its_error(run: Run) -> None:
    run("parts", "show", "atum").refused("unknown-name", "part `atum`", "`atom`")
