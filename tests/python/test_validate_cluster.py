"""The page of predicted and measured times of local nodes, of made-up results."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts/validation"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    yield importlib.import_module("validate_cluster")
    sys.modules.pop("validate_cluster", None)


def predicted(time: float, low: float, high: float) -> dict[str, float]:
    return {"time_s": time, "time_s_low": low, "time_s_high": high}


def results() -> dict[str, Any]:
    """One job on two configurations: 10 s on one, 20 s on the other."""
    recorded = {
        "driver_s": 2.0,
        "startup_s": 0.0,
        "time_s": 10.0,
        "stages": [{"longest_s": 3.0, "median_s": 2.0, "tasks": 8}],
    }
    fast = {"1 x 0.4": predicted(25.0, 18.0, 30.0), "2 x 0.4": predicted(10.0, 9.0, 11.0)}
    slow = {"1 x 0.4": predicted(20.0, 19.0, 21.0), "2 x 0.4": predicted(5.0, 4.0, 6.0)}
    of = {"2 x 0.4": (10.0, fast), "1 x 0.4": (20.0, slow)}
    return {
        "version": "0",
        "runs": 1,
        "sizes": {"sort": "1MB"},
        "clusters": list(of),
        "jobs": {
            "sort": {
                name: {
                    "runs": [{}],
                    "run_s": [secs],
                    "log_s": [secs],
                    "run": [made | {"recorded": recorded}],
                    "log": [],
                    "traces": [],
                }
                for name, (secs, made) in of.items()
            }
        },
    }


def test_errors_and_ranges_are_those_of_other_configurations(script: Any) -> None:
    found = script.pairs(results(), "run")
    assert [(pair["source"], pair["target"]) for pair in found] == [
        ("2 x 0.4", "1 x 0.4"),
        ("1 x 0.4", "2 x 0.4"),
    ]
    assert [script.error(pair["time"], pair["measured"]) for pair in found] == [25.0, 50.0]
    assert script.linear(found[0]) == 20.0
    # 2 s of the driver stay, the other 8 s double.
    assert script.amdahl(found[0]) == 18.0
    # 8 tasks of 2 s on one slot, and the driver.
    assert script.sparklens(found[0]) == 18.0
    page = script.page(results())
    assert "| tasks | 2 | 37.5 % | 50.0 % | 50% |" in page
    assert "## By event logs alone" not in page


def test_the_order_of_times_that_are_apart_is_compared(script: Any) -> None:
    def pair(measured: float, time: float) -> dict[str, Any]:
        return {"job": "sort", "source": "a", "measured": measured, "time": time}

    assert script.ordered([pair(10, 9), pair(20, 8), pair(10.5, 30)]) == (0, 2)
    assert script.ordered([pair(10, 9), pair(20, 18)]) == (1, 1)
