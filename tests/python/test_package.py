"""The package as people import it: its names, and lists that may be given as one item."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import gordon
from gordon import GordonError

PACKAGES = ["block", "cache", "disk", "energy", "flash", "joulesort", "sort", "storage", "survey"]


@pytest.mark.parametrize("name", PACKAGES)
def test_import_gordon_reaches_each_public_package(name: str) -> None:
    # In a process of its own: here, other tests have imported the package already.
    code = f"import gordon; print(gordon.{name}.__name__)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == f"gordon.{name}\n"


def test_dir_lists_the_public_packages_and_all_public_packages_are_listed() -> None:
    folder = Path(gordon.__file__).parent
    public = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert public - {"cli", "parts", "report"} == set(PACKAGES)
    assert dir(gordon) == sorted(["GordonError", "__version__", *PACKAGES])


def test_a_survey_takes_one_trace_as_text_or_path_or_list(trace: str, surveyed: str) -> None:
    wanted = json.loads(surveyed)["designs"]
    for given in (trace, Path(trace), [trace], (Path(trace),)):
        assert gordon.survey.run(given)["designs"] == wanted


def test_one_setting_is_not_taken_apart_into_characters(trace: str) -> None:
    several = gordon.survey.run(trace, set_values=["budget=60W"])
    assert gordon.survey.run(trace, set_values="budget=60W")["designs"] == several["designs"]
    load = {"pattern": "random-read", "requests": 10, "size": "4KiB"}
    one = gordon.flash.bench(set_values="capacity=2GiB", **load)
    assert one.report == gordon.flash.bench(set_values=["capacity=2GiB"], **load).report


def test_a_command_in_one_text_is_an_error() -> None:
    with pytest.raises(GordonError, match="shlex"):
        gordon.energy.record("sleep 1")
