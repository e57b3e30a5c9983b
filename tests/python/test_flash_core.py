"""Flash runs through the binding: keys, tables, errors, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from gordon import _core
from gordon.errors import GordonError

PRESET = Path(__file__).resolve().parents[2] / "python/gordon/parts/flash/gordon-slc-256g.toml"


def config(requests: int) -> dict[str, Any]:
    device = json.loads(_core.load_toml("flash", PRESET.read_text(), PRESET.name))
    device["geometry"]["blocks_per_plane"] = 16
    device["capacity"] = "192MiB"
    bench = {"pattern": "mixed", "size": "16KiB", "requests": requests}
    return {"device": device, "load": {"bench": bench}}


def test_a_run_has_a_summary_and_tables() -> None:
    ticks: list[tuple[int, int]] = []
    result = _core.flash_run(json.dumps(config(5000)), lambda *tick: ticks.append(tick))
    report = json.loads(result.json())
    assert report["requests"] == 5000
    assert report["read"]["requests"] + report["write"]["requests"] == 5000
    # Laying out 16 pages counts as a request does.
    steps = 5000 + report["preloaded_pages"] // 16
    assert ticks[-1] == (steps, steps) != (5000, 5000)
    for _, table in result.tables():
        assert len(table) > 0
        assert "arrow_array_stream" in repr(table.__arrow_c_stream__())


def test_concurrent_runs_equal_single_runs() -> None:
    configs = [config(1000) | {"seed": seed} for seed in (1, 2)]
    alone = [_core.flash_run(json.dumps(c)).json() for c in configs]
    at_once = [r.json() for r in _core.flash_run_all([("a", json.dumps(c)) for c in configs])]
    assert at_once == alone
    assert alone[0] != alone[1]


def test_errors_have_a_hint() -> None:
    with pytest.raises(GordonError) as wrong:
        _core.flash_run(json.dumps(config(10) | {"sed": 1}))
    assert "`seed`" in wrong.value.args[1]


def test_write_amplification_is_near_theory() -> None:
    wa = json.loads(_core.flash_wa(json.dumps({"rho": 0.7, "blocks": 256, "pages_per_block": 16})))
    assert wa["write_amplification"] == pytest.approx(wa["theory"], rel=0.03)
    assert wa["pages"]["gc_program"] > 0


def test_ctrl_c_ends_a_run() -> None:
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        _core.flash_run(json.dumps(config(10**10)))


def test_ctrl_c_ends_preconditioning_and_leaves_nothing(tmp_path: Path) -> None:
    preset = PRESET.with_stem("nvme-tlc-1tb")
    wanted = config(1000) | {"precondition": 1.0, "checkpoint": str(tmp_path / "c")}
    wanted["device"] = json.loads(_core.load_toml("flash", preset.read_text(), preset.name))
    seen: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        seen.append((done, total))
        if done:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        _core.flash_run(json.dumps(wanted), stop)
    done, total = seen[-1]
    # 16 of its 244 million pages are a step.
    assert 0 < done <= total
    assert 15e6 < total < 16e6
    assert list(tmp_path.iterdir()) == []
