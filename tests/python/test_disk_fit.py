"""`gordon disk probe` and `fit`: our own disks as the unknown ones, and what is none."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gordon import _core, disk, parts
from gordon._core import parse_bytes, parse_ns
from gordon.disk import device, fit
from gordon.disk.fit.asking import FLUSH, READ, Recorded, answered
from gordon.disk.fit.extract import extract
from gordon.disk.fit.memory import Memory
from gordon.disk.fit.model import goodness, model
from gordon.disk.fit.spindle import Spindle
from gordon.disk.fit.write_cache import WriteCache, find_write_cache
from gordon.quantity import value

from conftest import Run, raises

PRESETS = sorted(parts.names("disk"))
#: One skew, and a head switch as long as a seek: times do not show where a cylinder begins.
HEADS_HIDDEN = {"ide-flashcache"}


def parameters(found: fit.Fit) -> Any:
    """The parameters, whose parts are there where a test reads them."""
    return found["parameters"]


def ms(field: Any) -> float:
    return parse_ns(value(field)) / 1e6


def size(field: Any) -> int:
    return parse_bytes(value(field))


def fitted(folder: Path, preset: str, **how: Any) -> fit.Fit:
    log = folder / "probes.parquet"
    fit.probe(None, log, device=preset, **how)
    return fit.fit(log)


def near(true: float, within: float = 0.05) -> Any:
    return pytest.approx(true, rel=within)


@pytest.mark.parametrize("preset", PRESETS)
def test_parameters_come_back(tmp_path: Path, preset: str) -> None:
    found = fitted(tmp_path, preset)
    truth, extracted = disk.load(preset), parameters(found)
    geometry, seek, cache = truth["geometry"], truth["seek"], truth["cache"]

    assert extracted["rpm"] == value(geometry["rpm"])
    assert extracted["sectors"] == value(geometry["sectors"])
    assert extracted["track_skew_ms"] == near(ms(geometry["track_skew"]), 0.01)
    if preset in HEADS_HIDDEN:
        assert extracted["heads"] is None
    else:
        assert extracted["heads"] == value(geometry["heads"])
        assert extracted["cylinder_skew_ms"] == near(ms(geometry["cylinder_skew"]), 0.01)
        assert extracted["head_switch_ms"] == near(ms(seek["head_switch"]))
    for name in ("track_to_track", "average", "full_stroke"):
        assert extracted["seek_ms"][name] == near(ms(seek["read"][name])), name

    linear = geometry["zones"]["linear"]
    assert len(extracted["zones"]) == value(linear["count"])
    first, last = (extracted["zones"][at]["sectors_per_track"] for at in (0, -1))
    assert last / first == near(value(linear["inner_to_outer"]), 0.01)
    # The outer rate: a cylinder's bytes in the time of its tracks and skews.
    heads, turn = value(geometry["heads"]), 60e3 / value(geometry["rpm"])
    pitch = heads * turn + (heads - 1) * ms(geometry["track_skew"]) + ms(geometry["cylinder_skew"])
    rate = heads * first * 512 / pitch * 1e3
    assert rate == near(size(linear["outer_rate_per_s"]), 0.01)
    # Zones of the presets have equally many cylinders: where each begins follows.
    starts = [zone["first_sector"] for zone in extracted["zones"]]
    tracks = [zone["sectors_per_track"] for zone in extracted["zones"]]
    whole = sum(tracks)
    for at, start in enumerate(starts):
        expected = extracted["sectors"] * sum(tracks[:at]) / whole
        assert abs(start - expected) < 0.05 * extracted["sectors"] / len(starts)

    memory = extracted["read_cache"]
    assert memory["segments"] == value(cache["segments"])
    assert memory["read_ahead_bytes"] == near(size(cache["read_ahead"]))
    assert memory["bytes"] == near(size(cache["size"]) - size(cache["write_limit"]))
    assert extracted["interface_mb_s"] == near(size(truth["interface"]["rate_per_s"]) / 1e6)
    assert extracted["overhead_us"] == pytest.approx(
        ms(truth["interface"]["overhead"]) * 1e3, rel=0.05, abs=1
    )
    good = found.report["goodness"]
    assert good["demerit_of_mean"] < 0.025
    assert good["demerit_ms"] < 3 * good["chance_ms"]


@pytest.mark.parametrize("preset", ["seagate-cheetah-9lp", "quantum-atlas-10k", "dec-rz26"])
def test_drives_of_another_make_are_known_too(tmp_path: Path, preset: str) -> None:
    """One command at a time, overheads for each kind, spares, skews of single zones."""
    found = fitted(tmp_path, preset)
    geometry, extracted = disk.load(preset)["geometry"], parameters(found)
    assert extracted["rpm"] == value(geometry["rpm"])
    assert extracted["heads"] == value(geometry["heads"])
    cylinders = sum(zone["cylinders"] for zone in geometry["zones"]["table"])
    assert extracted["cylinders"] == near(cylinders)
    assert found.report["goodness"]["demerit_of_mean"] < 0.03


@pytest.mark.parametrize("preset", PRESETS)
def test_writes_show_write_seeks_and_the_write_cache(tmp_path: Path, preset: str) -> None:
    found = fitted(tmp_path, preset, write=True)
    truth, extracted = disk.load(preset), parameters(found)["writes"]
    seek, settle = truth["seek"], value(truth["seek"].get("write_settle_ms", 0.0))
    for name in ("track_to_track", "average", "full_stroke"):
        true = ms(seek["write"][name]) if "write" in seek else ms(seek["read"][name]) + settle
        assert extracted["seek_ms"][name] == near(true), name
    assert not extracted["through"]
    assert extracted["cache_bytes"] == near(size(truth["cache"]["write_limit"]))
    assert extracted["extents"] == value(truth["cache"]["write_extents"])
    # Nothing of it is assumed then.
    for table, key in (("cache", "write_limit"), ("cache", "write_extents"), ("seek", "write")):
        assert "assumed" not in json.dumps(found.config[table][key])


@pytest.mark.parametrize(
    ("setting", "limit", "pieces"),
    [
        # It fills with bytes before it is full of pieces.
        (("cache.write_limit=1MiB", "cache.write_extents=4096"), 1 << 20, None),
        (("cache.write_limit=300KiB", "cache.write_extents=7"), 300 << 10, 7),
        (("cache.read_ahead=64KiB",), 16 << 20, 128),
        (("scheduler.policy=fcfs", "cache.destage=4KiB"), 16 << 20, 128),
        (("interface.rate_per_s=60MB", "interface.overhead=1ms"), 16 << 20, 128),
        # Nothing keeps it from emptying its memory while that is filled.
        (("cache.read_ahead=0B",), None, None),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_write_cache_is_found_or_reported_as_unknown(
    run: Run, tmp_path: Path, setting: tuple[str, ...], limit: int | None, pieces: int | None
) -> None:
    found = fitted(tmp_path, "sata-7200-1tb", write=True, set=setting)
    extracted = parameters(found)["writes"]
    assert (extracted["cache_bytes"], extracted["extents"]) == (limit and near(limit, 0.01), pieces)
    shown = run("disk", "fit", str(tmp_path / "probes.parquet")).out
    assert ("size unknown" in shown) == (limit is None)
    assert ("number of extents unknown" in shown) == (pieces is None)
    cache = found.config["cache"]
    assert ("assumed" in cache["write_limit"], "assumed" in cache["write_extents"]) == (
        limit is None, pieces is None,
    )  # fmt: skip


class Slots:
    """The write cache of a drive, without the drive: each write takes a slot, adjacent or not; each
    read lets `leak` of them go to the medium. A write that finds no free slot waits."""

    sector = 512

    def __init__(self, slots: int, leak: int) -> None:
        self.slots, self.leak, self.held, self.now = slots, leak, 0, 0

    def capacity(self) -> int:
        return 1 << 40

    def probe(self, probes: Any) -> list[tuple[int, int]]:
        answers = []
        for op, length in zip(probes[0], probes[2], strict=True):
            issued = self.now
            self.now += 100_000 + length * 10 // 3
            if op == READ:
                self.held = max(0, self.held - self.leak)
            elif op == FLUSH:
                self.held = 0
            elif self.held < self.slots:
                self.held += 1
            else:
                self.now += 5_000_000
            answers.append((issued, self.now))
        return answers


@pytest.mark.parametrize(("leak", "pieces"), [(0, 200), (2, None)])
def test_unclear_times_leave_the_write_cache_unknown(leak: int, pieces: int | None) -> None:
    """Slots that run out before bytes do; a drive that writes while it is kept busy."""
    spindle = Spindle(8.3e6, 0.0, 1e5)
    memory = Memory(overhead=1e5, sectors_a_second=6e5, read_ahead=1024, segments=1, segment=1024)
    asking = find_write_cache(spindle, memory, 1 << 31, 2000, np.random.default_rng(1))
    assert answered(asking, Slots(200, leak)) == WriteCache(None, pieces)


def test_write_through_is_detected(tmp_path: Path) -> None:
    setting = ("cache.write_through=true",)
    found = fitted(tmp_path, "sata-7200-1tb", write=True, set=setting)
    assert parameters(found)["writes"]["through"]
    assert found.config["cache"]["write_through"] is True


@pytest.mark.parametrize(("preset", "heads"), [("sata-7200-1tb", 8), ("sata-7200-20tb", 20)])
def test_a_late_host_does_not_change_the_fit(tmp_path: Path, preset: str, heads: int) -> None:
    log, still = tmp_path / "probes.parquet", tmp_path / "still.parquet"
    pitch = fit.probe(None, log, device=preset, lateness="30us", write=True).cylinder.pitch
    # Tracks to a thousandth of a percent: far away within a zone it is the same track still.
    assert pitch == near(fit.probe(None, still, device=preset).cylinder.pitch, 1e-5)
    found = fit.fit(log)
    truth, fitted = disk.load(preset), parameters(found)
    zones = value(truth["geometry"]["zones"]["linear"]["count"])
    assert (fitted["rpm"], fitted["heads"], len(fitted["zones"])) == (7200, heads, zones)
    for name in ("track_to_track", "average", "full_stroke"):
        assert fitted["seek_ms"][name] == near(ms(truth["seek"]["read"][name])), name
    for name in ("track_skew", "cylinder_skew"):
        assert fitted[f"{name}_ms"] == near(ms(truth["geometry"][name])), name
    assert fitted["writes"]["cache_bytes"] == near(size(truth["cache"]["write_limit"]))
    assert fitted["writes"]["extents"] == value(truth["cache"]["write_extents"])


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("preset", "lateness", "heads", "average"),
    [("sata-7200-1tb", "100us", 8, 8.5), ("sata-7200-20tb", "60us", 20, 7.4)],
)
def test_heads_are_right_or_not_known(
    tmp_path: Path, preset: str, lateness: str, heads: int, average: float, seed: int
) -> None:
    """Where a host is too late for them, other parameters come back all the same."""
    extracted = fitted(tmp_path, preset, lateness=lateness, seed=seed).report["parameters"]
    assert extracted["rpm"] == near(7200, 0.001)
    assert extracted["heads"] in (None, heads)
    assert extracted["seek_ms"]["average"] == near(average)


def test_other_values_are_detected(tmp_path: Path) -> None:
    """No parameter is that of the preset whatever the disk."""
    setting = (
        "geometry.rpm=5900", "geometry.heads=6", "seek.head_switch=0.8ms", "cache.segments=10",
        "cache.read_ahead=200KiB", "interface.rate_per_s=150MB", "interface.overhead=250us",
    )  # fmt: skip
    extracted = parameters(fitted(tmp_path, "sata-7200-1tb", set=setting))
    assert (extracted["rpm"], extracted["heads"], extracted["read_cache"]["segments"]) == (
        5900,
        6,
        10,
    )
    assert extracted["head_switch_ms"] == pytest.approx(0.8, rel=0.05)
    assert extracted["read_cache"]["read_ahead_bytes"] == pytest.approx(200 << 10, rel=0.05)
    assert extracted["interface_mb_s"] == pytest.approx(150, rel=0.05)
    assert extracted["overhead_us"] == pytest.approx(250, rel=0.05)


def test_the_log_reproduces_the_fitted_disk(run: Run, tmp_path: Path) -> None:
    log, out = str(tmp_path / "iolog.parquet"), tmp_path / "mydisk.toml"
    ran = run("disk", "probe", "--preset", "laptop-7200-320gb", "-o", log)
    assert ran.status == 0, ran.err
    args = ("disk", "fit", log, "-o", str(out), "--plot", str(tmp_path / "fit.png"), "--json", "-")
    once = run(*args)
    assert once.status == 0, once.err
    report = json.loads(once.out)
    assert report["parameters"]["rpm"] == 7200
    assert report["probed"]["target"] == "laptop-7200-320gb"
    first = out.read_bytes()
    assert (tmp_path / "fit.png").read_bytes().startswith(b"\x89PNG")
    assert run(*args).out == once.out
    assert out.read_bytes() == first
    ran = run(
        "disk", "bench", "--preset", str(out), "--pattern", "random-read", "--queue-depth", "1",
        "--requests", "3000", "--json", "-",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    # Seek 11 ms, half a revolution, 0.1 ms.
    assert json.loads(ran.out)["response_ms"]["mean"] == pytest.approx(11 + 4.17 + 0.13, rel=0.03)


class Wide(fit._Simulated):
    """A simulated disk with requests of 4096 bytes: its tracks may end within such a sector."""

    sector = 4096


@pytest.mark.parametrize("preset", PRESETS)
def test_sectors_of_4096_bytes(preset: str) -> None:
    """A disk with requests of such sectors has the same parameters."""
    truth, wide = disk.load(preset), Wide({"device": device.made(preset, None, ())})
    found = answered(extract(wide.capacity() // 4096, 1, True), wide)
    made = model(found, disk.load("sata-7200-1tb"), "itself", "it", 4096)
    fitted: Any = made.parameters
    geometry, cache = truth["geometry"], truth["cache"]
    assert fitted["sectors"] == value(geometry["sectors"])
    assert fitted["rpm"] == value(geometry["rpm"])
    assert fitted["heads"] == (None if preset in HEADS_HIDDEN else value(geometry["heads"]))
    linear = geometry["zones"]["linear"]
    assert len(fitted["zones"]) == value(linear["count"])
    first, last = (fitted["zones"][at]["sectors_per_track"] for at in (0, -1))
    assert last / first == near(value(linear["inner_to_outer"]), 0.01)
    assert fitted["track_skew_ms"] == near(ms(geometry["track_skew"]), 0.01)
    for name in ("track_to_track", "average", "full_stroke"):
        assert fitted["seek_ms"][name] == near(ms(truth["seek"]["read"][name])), name
    assert fitted["read_cache"]["bytes"] == near(size(cache["size"]) - size(cache["write_limit"]))
    assert fitted["writes"]["cache_bytes"] == near(size(cache["write_limit"]))
    assert fitted["writes"]["extents"] == value(cache["write_extents"])
    assert goodness(found, made.config, 4096)["demerit_of_mean"] < 0.025


class Flat:
    """Storage that takes always as long: no disk."""

    sector = 512

    def __init__(self) -> None:
        self.now = 0

    def capacity(self) -> int:
        return 1 << 40

    def probe(self, probes: Any) -> list[tuple[int, int]]:
        answers = []
        for think in probes[3]:
            issued = self.now + think
            self.now = issued + 80_000
            answers.append((issued, self.now))
        return answers


def test_a_device_that_does_not_rotate_is_not_a_disk() -> None:
    flat = Flat()
    with raises("not-rotating"):
        answered(extract(flat.capacity() // 512, 1, False), flat)


def test_a_file_is_not_a_disk(run: Run, tmp_path: Path) -> None:
    """Blocks that nothing was written to come at once, whatever the disk below."""
    flat = tmp_path / "flat"
    with flat.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 1 << 29)
    ran = run("disk", "probe", str(flat), "-o", str(tmp_path / "log"))
    if "does not do direct I/O" in ran.err:
        pytest.skip(f"the file system does no direct I/O: {tmp_path}")
    assert ran.status == 1
    assert ran.kind in ("not-rotating", "disk-too-small")
    assert not (tmp_path / "log").exists()


def test_a_log_of_other_probes_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "probes.parquet"
    fit.probe(None, log, device="ide-flashcache")
    recorded = Recorded(log)
    recorded._probes[1][100] += 512
    with raises("log-of-another-version", str(log)):
        answered(extract(recorded.capacity() // 512, 1, False), recorded)


def test_a_log_without_a_value_of_this_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "probes.parquet"
    read = _core.probes_read

    def older(path: str) -> Any:
        text, *rest = read(path)
        about = json.loads(text) | {"gordon": "0.0.1"}
        del about["sector_bytes"]
        return json.dumps(about), *rest

    fit.probe(None, log, device="ide-flashcache")
    monkeypatch.setattr(_core, "probes_read", older)
    with raises("log-of-another-version", "sector_bytes"):
        fit.fit(log)


@pytest.mark.parametrize(
    ("args", "status", "what"),
    [
        (("probe", "-o", "x"), 2, "TARGET"),
        (("probe", "t", "--preset", "ide-flashcache", "-o", "x"), 2, "TARGET"),
        (("probe", "--preset", "no-such", "-o", "x"), 1, "disk preset `no-such`"),
        (("probe", "--preset", "ide-flashcache", "-o", "no/x"), 1, "mkdir -p no"),
        (("probe", "text", "--lateness", "5us", "-o", "x"), 2, "--lateness"),
        (("probe", "missing", "-o", "x"), 1, "missing"),
        (("fit", "missing"), 1, "No such file"),
        (("fit", "text"), 1, "not a Parquet file"),
        (("fit", "text", "--plot", "x.bmp"), 1, "cannot draw x.bmp"),
    ],
)
def test_bad_input_is_one_clear_error(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...],
    status: int, what: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("no Parquet\n")
    ran = run("disk", *args)
    assert (ran.status, ran.out) == (status, "")
    assert what in ran.err
    assert "\n  try: " in ran.err
    assert not Path("x").exists()


def test_a_log_of_requests_is_not_a_log_of_probes(run: Run, tmp_path: Path) -> None:
    out = str(tmp_path / "requests.parquet")
    ran = run(
        "disk", "bench", "--pattern", "random-read", "--requests", "10", "--requests-out", out
    )
    assert ran.status == 0, ran.err
    ran = run("disk", "fit", out)
    assert ran.status == 1
    assert "not a log of probes" in ran.err
    assert "gordon disk probe" in ran.err
