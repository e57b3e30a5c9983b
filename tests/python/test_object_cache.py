"""The cache of objects from Python: contents, restarts, errors, and its trace in the simulator."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from gordon.cache import ObjectCache, tiered

from conftest import raises

SIZES = {"dram": "256KiB", "flash_size": "4MiB", "segment": "64KiB"}


def _open(folder: Path, **options: object) -> ObjectCache:
    return ObjectCache(flash=folder, **(SIZES | options))  # type: ignore[arg-type]


def test_objects_are_found_after_a_restart(tmp_path: Path) -> None:
    bodies = {f"/{number}".encode(): bytes([number % 256]) * 3000 for number in range(300)}
    with _open(tmp_path) as cache:
        assert cache.recovery()["created"]
        for key, body in bodies.items():
            assert cache.put(key, body, meta=b"meta " + key) == "stored"
        assert cache.delete(b"/7")
        assert not cache.delete(b"/7")
        # Some are in flash, and not counted.
        assert cache.purge(b"/29") <= 11
        assert not any(cache.get(key) for key in bodies if key.startswith(b"/29"))
        assert cache.update_meta(b"/8", b"new")
        assert cache.put(b"large", bytes(10 << 20)) in ("stored", "too-large")
    with raises("closed", "closed"):
        cache.get(b"/1")
    with _open(tmp_path) as cache:
        assert cache.recovery()["clean"]
        assert not cache.recovery()["created"]
        found = {key: cache.get(key) for key in bodies}
        assert found[b"/7"] is None
        assert found[b"/291"] is None
        for key, item in found.items():
            if item is not None:
                assert item.body == bodies[key]
                assert item.meta == (b"new" if key == b"/8" else b"meta " + key)
        assert cache.check()["damaged"] == 0
        stats = cache.stats()
        assert stats["flash_hits"] == sum(item is not None for item in found.values())


def test_small_objects_move_to_sets_and_are_found_after_a_restart(tmp_path: Path) -> None:
    bodies = {f"/{number}".encode(): bytes([number % 256]) * 100 for number in range(5000)}
    with _open(tmp_path, sets=0.9) as cache:
        for key, body in bodies.items():
            assert cache.put(key, body) == "stored"
        assert cache.put(b"large", bytes(60_000)) == "stored"
        stats = cache.stats()
        assert stats["set_objects"] > stats["flash_objects"] > 0
        assert stats["sets"] * 4096 > 0.8 * (4 << 20)
        each = stats["index_bytes_per_object"]
        assert each is not None
        assert each < 10
        assert stats["expected_life_years"] is None
        cache.delete(b"/7")
        assert cache.purge(b"/1") == 0
    # The number of sets is that of the creation.
    with _open(tmp_path) as cache:
        found = {key: cache.get(key) for key in bodies}
        assert not any(found[key] for key in bodies if key == b"/7" or key.startswith(b"/1"))
        assert sum(item is not None for item in found.values()) > 1000
        assert all(item.body == bodies[key] for key, item in found.items() if item is not None)
        assert cache.check()["damaged"] == 0
    with raises("other-shape", "cache.flash", "sets of"):
        _open(tmp_path, sets=0.5)


def test_sets_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    for share in (0.0, 1.0, -1.0, 1e-9):
        with raises("config", "sets"):
            _open(tmp_path, sets=share)
    with raises("config", "lifetime", "sets"):
        _open(tmp_path, sets=0.5, lifetime=5.0)
    with raises("config", "dram", "filters"):
        _open(tmp_path, sets=0.5, dram="1KiB")
    # The flash is too small with or without sets; then only with them.
    with raises("config", "flash", "100KiB has 0 segments of 64KiB after the journal;"):
        _open(tmp_path, sets=0.5, flash_size="100KiB")
    with raises("config", "flash", "segments of 64KiB after the journal and", "sets;"):
        _open(tmp_path, sets=0.99)


def test_a_cache_without_flash_is_in_dram() -> None:
    cache = ObjectCache(dram="100KiB")
    for number in range(100):
        cache.put(str(number).encode(), bytes(5000))
    assert cache.get(b"99")
    assert not cache.get(b"1")
    assert cache.stats()["dram_bytes"] <= 100 << 10


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    script = (
        "import sys; from gordon.cache import ObjectCache as C;"
        "C(dram='256KiB', flash=sys.argv[1], flash_size='4MiB', segment='64KiB')"
    )
    cache = _open(tmp_path)
    ran = subprocess.run(
        [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert "in use by another process" in ran.stderr
    cache.close()


def test_bad_input_is_refused(tmp_path: Path) -> None:
    with raises("", "flash"):
        ObjectCache(dram="1MiB", flash=tmp_path)
    with raises("", "admission", "often"):
        _open(tmp_path, admission="often")
    with raises("", "years"):
        _open(tmp_path, admission="years:5")
    with raises("config", "segment"):
        _open(tmp_path, segment="5000")
    with raises("config", "admission"):
        _open(tmp_path, admission="hits:2", lifetime=5.0)
    other = tmp_path / "text"
    other.write_text("of another program")
    with raises("foreign", str(other)):
        _open(other)
    _open(tmp_path).close()
    with raises("other-shape", "cache.flash", "4MiB", "8MiB"):
        _open(tmp_path, flash_size="8MiB")


@pytest.mark.parametrize("reinsert", [False, True])
def test_the_simulator_predicts_the_hits_of_the_trace(tmp_path: Path, reinsert: bool) -> None:
    trace = tmp_path / "trace"
    with _open(tmp_path, trace=trace, reinsert=reinsert) as cache:
        draw = 1
        for _ in range(8000):
            draw = draw * 6364136223846793005 % (1 << 64) + 1442695040888963407
            part = (draw >> 33) / (1 << 31)
            number = int(part**3 * 4000)
            key = f"/objects/{number}".encode()
            if cache.get(key) is None:
                cache.put(key, bytes(300 + number * 7919 % 3000))
                # Objects are refused while a disk is behind, which the simulator has not.
                time.sleep(0.001)
        stats = cache.stats()
        if stats["refused_bytes"]:
            pytest.skip("the disk of this machine is too slow at the moment")
        flash = stats["flash_capacity"]
    report = tiered.replay(
        trace,
        dram="256KiB",
        flash=str(flash),
        layout="log",
        segment="64KiB",
        objects=True,
        no_reinsert=not reinsert,
        pages_per_block=16,
    )
    hits = stats["dram_hits"] + stats["flash_hits"]
    assert hits > 1000
    assert report["levels"][1]["hits"] > 100
    assert report["miss_ratio"] is not None
    assert abs(hits / stats["requests"] - (1 - report["miss_ratio"])) < 0.01
