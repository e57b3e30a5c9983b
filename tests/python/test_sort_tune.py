"""`gordon sort tune`: the search on devices that are formulas, and one real search."""

import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from math import log2
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from gordon import GordonError, sort
from gordon.sort.run import settings
from gordon.sort.tune import TuneResult, plot, tune
from gordon.sort.tune.point import Point, toml
from gordon.sort.tune.search import BASE, PAIRS, Search, Space
from gordon.sort.tune.trial import Trials
from gordon.sort.tune.tune import warnings
from limits import PATIENCE_S

from conftest import Run, raises

Cost = Callable[[Point], float]


class Device:
    """Sorts take what a formula says, times noise of a seed; time passes as they say."""

    def __init__(self, cost: Cost, noise: float = 0.0) -> None:
        self.now = 0.0
        self.cost = cost
        self.noise = random.Random(7), noise
        self.measured: list[Point] = []
        self.interrupt_at: int | None = None

    def measure(self, point: Point, role: str) -> tuple[float, Any]:
        self.measured.append(point)
        if self.interrupt_at == len(self.measured):
            raise KeyboardInterrupt
        stream, deviation = self.noise
        took = self.cost(point) * stream.gauss(1, deviation)
        self.now += took
        return took, {"time_s": took}

    def search(self, budget_s: float = 1e6, seed: int = 0, **changes: Any) -> Search:
        space = Space(
            starts=[Point(input_transfer=1 << 20, output_transfer=4 << 20)],
            methods=["one-pass", "distribute", "merge"],
            most_transfer=1 << 26,
            in_core=["radix", "merge"],
            threads=[1, 2],
            io=["threads", "uring"],
            folders=[1],
        )
        return Search(
            self.measure,
            replace(space, **changes),
            budget_s=budget_s,
            clock=lambda: self.now,
            seed=seed,
        )


def bowl(point: Point) -> float:
    """Least at 2 MiB out, 512 KiB for temporary files and by merging."""
    out = log2(point.output_transfer or 1 << 25) - 21
    temp = log2(point.temp_transfer or 1 << 25) - 19
    return 10 + abs(out) / 4 + abs(temp) / 4 + (point.method != "merge")


def test_the_minimum_of_a_formula_is_found_between_the_coarse_steps() -> None:
    search = Device(bowl).search()
    search.run()
    assert search.finished
    best = search.best
    assert (best.method, best.output_transfer, best.temp_transfer) == ("merge", 1 << 21, 1 << 19)
    gain = search.gain()
    assert gain["compared"] == "in turn"
    # Without noise the least number of comparisons is enough: the budget is not used up.
    assert gain["pairs"] == PAIRS
    assert "the gain is known to within 1%" in search.stopped()
    assert gain["beyond_noise"]
    assert gain["gain"] == pytest.approx(1 - 10 / bowl(Point()))
    assert gain["deviation"] == pytest.approx(0, abs=1e-12)


def test_noise_alone_gains_nothing() -> None:
    """A device on which no setting matters: at 95 % on both sides, one search in 40 may err."""
    found, noises = [], []
    for seed in range(20):
        device = Device(lambda point: 10.0, noise=0.1)
        device.noise = random.Random(seed), 0.1
        search = device.search(1500.0)
        search.run()
        found.append(search.gain()["beyond_noise"])
        noises.append(search.noise())
    # The pooled deviation is near the true one: each is of few trials.
    assert fmean(noises) == pytest.approx(0.1, rel=0.15)
    assert sum(found) <= 2


def test_a_gain_beyond_the_noise_is_found_within_it() -> None:
    device = Device(lambda point: 10.0 if point.buffered else 20.0, noise=0.05)
    search = device.search()
    search.run()
    gain: Any = search.gain()
    assert search.best.buffered
    assert gain["beyond_noise"]
    assert gain["gain"] == pytest.approx(0.5, abs=4 * gain["deviation"])


def test_the_rest_of_the_budget_goes_to_the_comparison() -> None:
    """With noise of 20 % a few pairs do not resolve a gain of 1 %."""
    device = Device(lambda point: 10.0 if point.buffered else 11.0, noise=0.2)
    search = device.search(3000.0)
    search.run()
    assert search.finished
    assert 3000.0 - device.now < 40.0
    assert search.gain()["pairs"] > 20


def test_the_cheapest_point_is_confirmed_and_compared() -> None:
    """A small gain on top of a large one is within the noise of one trial, and is not lost."""

    def cost(point: Point) -> float:
        return (5.0 if point.buffered else 10.0) * (0.99 if point.io == "uring" else 1.0)

    search = Device(cost).search()
    search.run()
    assert search.best == Point(buffered=True, io="uring")
    alone = [t for t in search.trials if t.point == search.best and t.role != "compare"]
    assert len(alone) >= 3
    assert search.gain()["best"] == pytest.approx(4.95)


def test_one_slow_trial_hides_no_setting() -> None:
    """The first trial through the page cache takes twice as long as it should, and more than the
    defaults: another program ran meanwhile."""
    slow = [True]

    def cost(point: Point) -> float:
        if point.buffered and slow:
            slow.clear()
            return 12.0
        return 5.5 if point.buffered else 10.0

    search = Device(cost, noise=0.02).search()
    search.run()
    assert search.best.buffered
    assert search.gain()["gain"] == pytest.approx(0.45, abs=0.03)


def test_the_io_method_is_searched() -> None:
    device = Device(lambda point: 10.0 if point.io == "uring" else 12.0, noise=0.01)
    search = device.search()
    search.run()
    assert search.best.io == "uring"
    assert Point(io="uring").label() == "uring"
    assert search.gain()["beyond_noise"]


def test_the_order_in_memory_is_searched() -> None:
    device = Device(lambda point: 10.0 if point.in_core == "merge" else 12.0, noise=0.01)
    search = device.search()
    search.run()
    assert search.best.in_core == "merge"
    assert Point(in_core="merge").label() == "in core merge"


def test_the_stripe_unit_is_searched_over_several_folders() -> None:
    """Small units cost twice the time, as on the paper's SSDs (figure 8)."""

    def cost(point: Point) -> float:
        return 20.0 if (point.stripe or 1 << 20) < 1 << 18 else 10.0 - bool(point.stripe)

    device = Device(cost)
    search = device.search()
    search.run()
    tried = {trial.point.stripe for trial in search.trials if trial.role == "stripe"}
    assert {1 << 14, 1 << 16, 1 << 18, 1 << 20} <= tried
    assert (search.best.stripe or 0) >= 1 << 18
    assert search.gain()["gain"] == pytest.approx(0.1)
    assert Point(stripe=1 << 18).label() == "stripe 256 KiB"
    # One folder has no stripe.
    alone = Device(cost)
    alone.search(folders=[]).run()
    assert not any(point.stripe for point in alone.measured)


@pytest.mark.parametrize("method", ["distribute", "merge"])
@pytest.mark.parametrize("unit", ["4KiB", "64KiB", "1MiB"])
def test_a_stripe_unit_changes_no_result(tmp_path: Path, method: Any, unit: str) -> None:
    sort.generate(tmp_path / "in", records=100_000)
    folders = [tmp_path / "t1", tmp_path / "t2", tmp_path / "t3"]
    for folder in folders:
        folder.mkdir()
    runs: list[tuple[str, dict[str, Any]]] = [("plain", {}), ("striped", {"temp_stripe": unit})]
    for name, options in runs:
        report = sort.run(
            tmp_path / "in",
            tmp_path / name,
            memory="2MiB",
            method=method,
            temp=folders,
            **options,
        ).report
        assert report["plan"]["temp_stripe"] == (unit if options else None)
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "striped").read_bytes()
    assert not [path for folder in folders for path in folder.iterdir()]


@pytest.mark.parametrize("unit", ["2KiB", "6KiB", "2GiB"])
def test_a_bad_stripe_unit_is_an_error(tmp_path: Path, unit: str) -> None:
    sort.generate(tmp_path / "in", records=1000)
    with raises("impossible", f"temporary files: {unit}"):
        sort.run(tmp_path / "in", tmp_path / "out", temp_stripe=unit)
    assert not (tmp_path / "out").exists()


def test_the_same_seed_asks_the_same_and_another_in_another_order() -> None:
    orders = []
    for seed in (1, 1, 2):
        device = Device(bowl)
        device.search(seed=seed).run()
        orders.append(device.measured)
    assert orders[0] == orders[1] != orders[2]


@pytest.mark.parametrize("budget", [250.0, 400.0, 600.0])
def test_the_budget_holds_and_leaves_room_to_compare(budget: float) -> None:
    device = Device(bowl)
    search = device.search(budget)
    search.run()
    assert not search.finished
    # What is begun ends.
    assert device.now <= budget + 2 * bowl(Point())
    assert sum(trial.role == "compare" for trial in search.trials) >= 2 * PAIRS


def test_a_setting_that_fails_is_reported_and_dropped() -> None:
    def cost(point: Point) -> float:
        if point.method == "one-pass":
            raise GordonError("one pass needs 3GB of memory", "--memory")
        return bowl(point)

    search = Device(cost).search()
    search.run()
    failed = [trial for trial in search.trials if trial.error]
    assert [trial.point for trial in failed] == [Point(method="one-pass")]
    assert failed[0].about()["cost"] is None


def test_defaults_that_fail_end_the_search() -> None:
    def cost(point: Point) -> float:
        raise GordonError("in: no such file", kind="missing-input")

    with raises("missing-input"):
        Device(cost).search().run()


def test_overwriting_is_chosen_only_if_allowed() -> None:
    for may in (False, True):
        device = Device(lambda p: 5.0 if p.overwrite else 10.0)
        search = device.search(may_overwrite=may, curves=True)
        search.run()
        assert search.best.overwrite is may
        # The curve of the picture needs it either way.
        assert any(trial.point.overwrite for trial in search.trials)


def test_an_interrupted_search_has_no_gain_without_a_comparison() -> None:
    device = Device(bowl)
    device.interrupt_at = 30
    search = device.search()
    search.run()
    assert search.interrupted == "SIGINT"
    assert search.best.method == "merge"
    gain = search.gain()
    assert gain["compared"] == "not in turn"
    assert gain["gain"] is None
    assert not gain["beyond_noise"]
    assert search.stopped() == "interrupted by SIGINT"
    # Before the defaults were measured there is nothing to keep.
    early = Device(bowl)
    early.interrupt_at = 1
    with pytest.raises(KeyboardInterrupt):
        early.search().run()


def test_an_interrupt_after_enough_comparisons_keeps_the_gain() -> None:
    whole = Device(bowl, noise=0.02)
    full = whole.search(3000.0)
    full.run()
    device = Device(bowl, noise=0.02)
    compared = [trial.role for trial in full.trials].index("compare")
    device.interrupt_at = compared + 2 * PAIRS + 1
    search = device.search(3000.0)
    search.run()
    assert search.interrupted
    assert search.gain()["pairs"] == PAIRS
    assert search.gain()["beyond_noise"]


def test_the_file_of_settings_is_read_back(tmp_path: Path) -> None:
    point = Point(method="merge", output_transfer=1 << 21, temp_transfer=3 << 10, threads=2)
    odd = 'a "b" \\c\td'
    path = tmp_path / "tuned.toml"
    point = point.to(buffered=True, io="uring", in_core="merge", folders=1, stripe=1 << 16)
    path.write_text(toml(point, (odd, "y"), "2GB", ["first"]))
    read = settings(path, {})
    sizes = {"input": None, "output": "2MiB", "temp": "3KiB", "stripe": "64KiB"}
    assert read["transfers"] == sizes
    assert read["temp"] == [odd]
    assert (read["method"], read["mode"], read["threads"]) == ("merge", "buffered", 2)
    assert read["memory"] == "2GB"
    assert (read["io"], read["in_core"]) == ("uring", "merge")


def test_energy_is_what_a_meter_says(tmp_path: Path) -> None:
    source = tmp_path / "in"
    sort.generate(source, records=20_000)

    def meter(work: Callable[[], Any]) -> float:
        work()
        return 42.0

    given: dict[str, Any] = {"memory": "4MiB", "temp": (), "seed": 0, "objective": "energy"}
    with raises("needs-option", "--objective energy"):
        Trials(source, tmp_path, **given)
    trials = Trials(source, tmp_path, meter=meter, **given)
    cost, facts = trials.measure(Point(), "defaults")
    assert cost == facts["energy_j"] == 42.0
    assert facts["time_s"] > 0
    assert facts["cpu_s"] > 0


def test_a_real_search(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("work", "t1", "t2"):
        (tmp_path / name).mkdir()
    words = "sort tune --budget 8s --records 20000 --seed 3 -o tuned.toml --json r.json"
    made = run(*words.split(), "--folder", "work", "--temp", "t1,t2", "--plot", "p.png")
    assert made.status == 0, made.err
    report = json.loads((tmp_path / "r.json").read_text())
    assert [trial["trial"] for trial in report["trials"]] == [
        *range(1, len(report["trials"]) + 1),
    ]
    assert report["checked"]
    assert report["bytes"] == 2_000_000
    good = [trial for trial in report["trials"] if trial["error"] is None]
    assert len(good) > BASE
    assert all(trial["cpu_s"] > 0 and trial["phases"] for trial in good)
    transfers = {trial["settings"]["output_transfer"] for trial in good}
    sizes = {trial["plan"]["output_transfer"] for trial in good}
    assert len(transfers) > 1
    assert len(sizes) > 1
    # Nothing is left behind, and the file does what it is for.
    assert not list((tmp_path / "work").iterdir())
    sort.generate(tmp_path / "in", records=1000)
    again = run("sort", "--config", "tuned.toml", "in", "out")
    assert again.status == 0, again.err
    assert sort.validate(tmp_path / "out")["in_order"]
    gain = "gain over the defaults" if report["gain"]["beyond_noise"] else "are the defaults"
    text = (tmp_path / "tuned.toml").read_text()
    assert gain in text
    assert gain in made.out
    assert report["stopped"] in made.out.replace("\n", " ")
    # The size and memory are next to the gain, and folders are found from everywhere.
    assert "# measured with 2.00 MB and memory 16MiB" in text
    assert f'temp = ["{tmp_path}/t1"' in text
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    with raises("bad-image-format"):
        plot.draw(report, "p.txt")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_the_defaults_and_leaves_no_files(
    tmp_path: Path, number: signal.Signals
) -> None:
    words = [
        "sort",
        "tune",
        "--budget",
        "5min",
        "--records",
        "200000",
        "-o",
        "tuned.toml",
        "--json",
        "r.json",
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "gordon", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "method:" in line:
                process.send_signal(number)
                break
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + number, err
    assert f"interrupted by {number.name}" in out
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["interrupted"] == number.name
    assert report["gain"]["gain"] is None
    assert report["chosen"]["what"] == "defaults"
    assert "no gain over the defaults (interrupted before a comparison" in out.replace("\n", " ")
    assert not report["checked"]
    assert settings(tmp_path / "tuned.toml", {})["mode"] == "direct"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.json", "tuned.toml"]


def test_the_generated_file_follows_the_memory(tmp_path: Path) -> None:
    report = tune(tmp_path / "t.toml", folder=tmp_path, memory="1MiB", budget_s=8)
    assert report["bytes"] == 4_194_300
    assert report["memory"] == "1MiB"
    assert isinstance(report, TuneResult)
    assert len(report.table()) == len(report["trials"])
    assert report.html().startswith("<!doctype html>")
    # What does not fit into the budget is an error: no other size is taken in its place.
    with raises("budget-too-short", "--memory 1048576B", "4.19 MB"):
        tune(tmp_path / "u.toml", folder=tmp_path, memory=1 << 20, budget_s=1e-6)
    assert [path.name for path in tmp_path.iterdir()] == ["t.toml"]


def test_a_trial_has_the_peak_of_its_own_sort(tmp_path: Path) -> None:
    """The memory of an earlier, larger sort of the process is not in it."""
    sort.generate(tmp_path / "in", records=1_000_000)
    sort.run(tmp_path / "in", tmp_path / "out", memory="400MB", method="one-pass")
    (tmp_path / "out").unlink()
    sort.generate(tmp_path / "few", records=10_000)
    trials = Trials(tmp_path / "few", tmp_path, memory="2MiB", temp=(), seed=0)
    _, facts = trials.measure(Point(), "defaults")
    whole = int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    peak = facts["peak_resident_bytes"]
    assert peak is None or peak < whole + 60_000_000


def test_a_file_system_in_memory_is_named(tmp_path: Path) -> None:
    assert warnings([str(tmp_path)]) == []
    memory = "/dev/shm"  # noqa: S108 nothing is written there
    (warning,) = warnings([memory, memory])
    assert f"{memory} is on a file system in memory" in warning


def test_errors_before_anything_is_made(tmp_path: Path) -> None:
    with raises("missing-folder", str(tmp_path / "none")):
        tune(tmp_path / "t.toml", folder=tmp_path / "none")
    with raises("no-space", str(tmp_path)):
        tune(tmp_path / "t.toml", folder=tmp_path, records=10**13)
    (tmp_path / "empty").touch()
    with raises("empty-file", str(tmp_path / "empty")):
        tune(tmp_path / "t.toml", folder=tmp_path, source=tmp_path / "empty")
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]
