"""`gordon doctor`: what the machine can do, as the code that does it finds out."""

import json
import shutil
from pathlib import Path

import pytest

from gordon import _core, doctor
from gordon.energy import find
from gordon.run import local

from conftest import Run

AREAS = ["trace", "energy", "sort, storage", "workload", "block", "sweep, survey"]


def _found(what: str) -> dict[str, str]:
    return next(one for one in doctor.examine()["findings"] if one["what"] == what)


def test_each_area_has_findings_and_each_lack_says_what_to_do(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    ran = run("doctor", "--json", str(out))
    assert ran.status == 0
    found = json.loads(out.read_text())
    areas = list(dict.fromkeys(one["area"] for one in found["findings"]))
    assert areas == AREAS
    assert {one["state"] for one in found["findings"]} <= {"yes", "partly", "no"}
    assert all(one["why"] for one in found["findings"])
    for one in found["findings"]:
        assert one["what"] in ran.out
        assert one["hint"] in ran.out


def test_a_trace_says_what_is_measured() -> None:
    of = {one["what"]: one for one in doctor.examine()["findings"] if one["area"] == "trace"}
    assert of["CPU time of the machine"]["state"] == "yes"
    assert "/proc/stat" in of["CPU time of the machine"]["why"]


def test_missing_programs_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    nodes = _found("nodes with limits of their own")
    assert nodes["state"] == "partly"
    assert all(f"there is no program {tool}" in nodes["why"] for tool in local.TOOLS)
    assert _found("programs that attach a served disk")["hint"].startswith("apt-get install")


def test_a_machine_without_meters_is_modelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "candidates", list)
    joules = _found("joules")
    assert (joules["state"], joules["hint"]) == (
        "partly",
        "`gordon meter list` names the meters and what each lacks",
    )


def test_io_uring_that_is_denied_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    setting = tmp_path / "io_uring_disabled"
    setting.write_text("2\n")
    monkeypatch.setattr(doctor, "_URING", setting)
    monkeypatch.setattr(_core, "io_uring_error", lambda: "Operation not permitted")
    denied = _found("io_uring")
    assert denied["state"] == "partly"
    assert denied["hint"] == "sysctl kernel.io_uring_disabled=0"
    # As in a container, whose profile denies the call.
    setting.write_text("0\n")
    assert _found("io_uring")["hint"] == "a container whose seccomp profile permits io_uring"
    monkeypatch.setattr(_core, "io_uring_error", lambda: None)
    assert _found("io_uring")["state"] == "yes"
