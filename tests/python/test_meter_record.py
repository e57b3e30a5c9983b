"""Samples to joules: integration, baselines, tails, warnings; and a command under a meter."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gordon import GordonError, energy, peak
from gordon.cli import Ended
from gordon.energy import account, work
from gordon.energy.meter import Channel, Kind, Meter
from gordon.energy.sampler import Sampler
from gordon.energy.series import Series, Span
from gordon.energy.session import Session
from gordon.energy.work import Usage
from limits import PATIENCE_S
from meters import Clock, proc, zone
from steady import AWAIT, install

from conftest import gordon, raises


@pytest.fixture(autouse=True)
def steady(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    install(monkeypatch.setattr, tmp_path)


class Fake(Meter):
    """A meter whose reading is `next`."""

    name, measures, how, step = "fake", "nothing", "measured", ""

    def __init__(self, kind: Kind, update_s: float | None = None) -> None:
        super().__init__()
        self.kind, self.update_s = kind, update_s
        self.channels = [Channel("all", "nothing"), Channel("part", "nothing", counted=False)]
        self.next: list[float | None] = [0.0, 0.0]

    def read(self) -> list[float | None]:
        return self.next


def series(kind: Kind, *points: tuple[float, float], update_s: float | None = None) -> Series:
    made = Series(Fake(kind, update_s))
    for at, value in points:
        made.add(at, [value, value / 2])
    return made


def test_power_by_trapezoids_between_any_two_moments() -> None:
    ramp = series("power", (0, 0), (1, 10), (3, 30), (4, 40))  # 10 W a second
    for begin, end in ((0, 4), (0.5, 3.5), (1.2, 1.3), (3, 4)):
        joules = 10 * (end**2 - begin**2) / 2
        assert ramp.energy(Span(begin, end)) == pytest.approx(joules)
    assert ramp.energy(Span(0, 4), 1) == pytest.approx(40)
    assert ramp.mean(Span(1, 3)) == pytest.approx(20)


def test_counters_by_differences() -> None:
    counter = series("energy", (0, 5), (1, 15), (2, 45), update_s=0.001)
    assert counter.energy(Span(0.5, 1.5)) == pytest.approx(20)
    assert counter.energy(Span(0, 2)) == 40
    assert counter.watts() == [None, 10, 30]


def test_power_of_a_counter_spans_steps_of_it() -> None:
    counter = series("energy", (0, 0), (0.1, 1), (0.1001, 1.5), (0.2, 2), update_s=0.01)
    watts = counter.watts()
    assert watts[:2] == [None, pytest.approx(10)]
    # The step at 0.1001 counts from 0 on: as a step of 0.1 ms it would be 5,000 W.
    assert watts[2] == pytest.approx(1.5 / 0.1001)
    assert watts[3] == pytest.approx(10)
    assert counter.last() == watts[3]
    assert series("power", (0, 7), (1, 9)).last() == 9
    assert series("energy", (0, 7)).last() is None


def test_no_samples_no_energy() -> None:
    assert series("power").energy(Span(0, 1)) is None
    assert series("power", (5, 1)).energy(Span(0, 1)) is None
    assert series("energy", (0, 1), (1, 2)).energy(Span(50, 60)) is None
    assert series("power", (0, 1), (1, 1), (2, 1)).energy(Span(0, 20)) is None


def test_missing_channels_leave_the_sample_out() -> None:
    some = Series(Fake("power"))
    some.add(0, [1.0, None])
    some.add(1, [None, None])
    some.add(2, [3.0, 1.0])
    assert (some.times, some.totals) == ([2], [3.0])


def test_energy_is_unknown_only_over_a_reset() -> None:
    counter = Series(Fake("energy"))
    for at, total, resets in (
        (0, 0, (False, False)),
        (1, 30, (False, False)),
        (2, 30, (True, False)),
        (3, 60, (False, True)),
        (4, 90, (False, False)),
    ):
        counter.add(at, [float(total), float(total)], resets)
    for begin, end, joules in ((0, 1, 30), (2, 4, 60), (0, 4, None), (0.5, 1.5, None)):
        assert counter.energy(Span(begin, end)) == joules
    # A part that is not counted has its own.
    assert counter.energy(Span(1, 2), 1) == 0
    assert counter.energy(Span(2, 4), 1) is None
    assert counter.watts() == [None, 30, None, 30, 30]


def test_a_run_over_a_reset_keeps_all_but_its_energy() -> None:
    counter = Series(Fake("energy", 0.001))
    for at in range(21):
        counter.add(at, [30.0 * at, 0.0], (at == 10, False))
    report = metered(counter, [Span(5, 15), Span(15, 20)], None, None)
    assert [run["energy_j"] for run in report["runs"]] == [None, pytest.approx(150)]
    assert report["energy_j"]["mean"] == pytest.approx(150)


class Failing(Fake):
    """A meter of which some readings fail."""

    def __init__(self, *fail: int) -> None:
        super().__init__("power")
        self.fail, self.count, self.next = fail, 0, [40.0, 0.0]

    def read(self) -> list[float | None]:
        self.count += 1
        if self.count in self.fail:
            raise GordonError("no answer")
        return self.next


def test_a_failed_reading_leaves_a_gap() -> None:
    meter, clock = Failing(3, 4), Clock()
    session = Session([meter], 1.0)
    (sampler,) = session.samplers
    sampler._clock = clock
    session._begin = clock.now
    for _ in range(8):
        sampler._try()
        clock.now += 1
    session.runs = [Usage(Span(100, 107), 0.0, 0.0, 0, 0, 0)]
    report: Any
    (report,) = account.of(session)
    assert report["gaps"] == [{"begin_s": 1, "end_s": 4, "readings": 2, "why": "no answer"}]
    assert report["energy_j"]["mean"] == pytest.approx(40 * 7)
    (warning,) = (text for text in report["warnings"] if text.startswith("2 readings failed"))
    assert warning.endswith("no answer")
    assert report["error"] is None
    watts = [row["watts"] for row in session.rows()]
    assert watts == [40, 40, None, None, 40, 40, 40, 40]


def test_a_sampler_is_faster_than_a_counter_wraps() -> None:
    meter, clock = Fake("energy"), Clock()
    meter.longest_s = 3.0
    sampler = Sampler(meter, 60.0, clock)
    assert sampler.interval_s == 1.5
    sampler._sample()
    clock.now += 3.5
    sampler._sample()
    assert "wrap around within 3 s" in meter.warnings[0]


def metered(
    made: Series, runs: list[Span], idle: Span | None, tail: Span | None, records: float = 0
) -> Any:
    """The account of a session that was not."""
    session = Session([made.meter], 1.0)
    session.samplers[0].series = made
    session.idle, session.tail = idle, tail
    session.runs = [Usage(span, 0.0, 0.0, 0, 0, 0) for span in runs]
    (report,) = account.of(session, records)
    return report


def steps(*levels: tuple[float, float], every: float = 0.1) -> Series:
    """Power that holds a level until a moment, then the next."""
    points, at = [], 0.0
    for until, watts in levels:
        while at < until - 1e-9:
            points.append((at, watts))
            at = round(at + every, 6)
    return series("power", *points, (at, levels[-1][1]))


def test_above_idle_and_the_tail() -> None:
    """10 W idle for 10 s, 30 W for 20 s, then 2 s at 20 W before 10 W again."""
    power = steps((10, 10), (30, 30), (32, 20), (40, 10))
    report = metered(power, [Span(10, 30)], Span(0, 10), Span(30, 40), records=1000)
    assert report["idle"]["mean_w"] == pytest.approx(10, rel=0.02)
    assert report["energy_j"]["mean"] == pytest.approx(600, rel=0.01)
    assert report["above_idle_j"]["mean"] == pytest.approx(400, rel=0.01)
    tail = report["tail"]
    assert tail["back_at_idle"]
    assert tail["seconds"] == pytest.approx(2, abs=0.11)
    assert tail["above_idle_j"] == pytest.approx(20, rel=0.06)
    assert tail["share_of_above_idle"] == pytest.approx(20 / 420, rel=0.06)
    assert report["records_per_joule"]["value"] == pytest.approx(1000 / 600, rel=0.01)
    assert report["warnings"] == []


@pytest.mark.parametrize("last", [5.01, 5.5, 5.99])
def test_the_idle_baseline_has_nothing_of_the_run(last: float) -> None:
    """A meter of 1 Hz: 50 W until the run starts between two samples, then 200 W."""
    levels = [(float(t), 50.0 if t <= 5 else 200.0) for t in range(20)]
    report = metered(series("power", *levels), [Span(last, 15)], Span(0.5, last), None)
    assert report["idle"] == {"mean_w": 50, "sd_w": 0, "seconds": 4.5, "channels_w": None}
    joules = [(t, sum(w for s, w in levels if s <= t)) for t, _ in levels]
    report = metered(series("energy", *joules), [Span(last, 15)], Span(0.5, last), None)
    assert report["idle"]["mean_w"] == pytest.approx(50)


def test_an_idle_time_without_a_sample_has_no_baseline() -> None:
    power = series("power", *((float(t), 50.0) for t in range(0, 20, 5)))
    report = metered(power, [Span(4, 15)], Span(1, 4), None)
    assert report["idle"] is None
    assert "no sample in 3 s of idle time" in report["warnings"][-1]


def test_a_modelled_baseline_above_rest_is_explained() -> None:
    counter = series("energy", *((t / 10, 1.5 * t) for t in range(200)))
    rest = {"rest_w": {"all": 7.6, "part": 0.0}}
    about: Any = {"name": "model", "how": "modelled", "model": rest}
    counter.meter.about = lambda: about  # type: ignore[method-assign]
    report = metered(counter, [Span(10, 15)], Span(0, 10), None)
    (warning,) = (text for text in report["warnings"] if "idle parts" in text)
    assert "baseline of 15 W is above the 7.6 W" in warning
    assert "(part +7.5 W, all +7.4 W)" in warning


def test_a_misleading_tail_is_a_warning() -> None:
    power = steps((10, 10), (12, 30), (16, 30), (20, 10))
    report = metered(power, [Span(10, 12)], Span(0, 10), Span(12, 20))
    # 40 J above idle in the run, 80 J after it.
    assert report["tail"]["share_of_above_idle"] == pytest.approx(2 / 3, rel=0.03)
    assert "% of the energy above idle was drawn after" in report["warnings"][0]
    cut = metered(power, [Span(10, 12)], Span(0, 10), Span(12, 13))
    assert not cut["tail"]["back_at_idle"]
    assert "not back at idle after 1 s" in cut["warnings"][0]


def test_runs_have_means_and_deviations() -> None:
    """10, 20 and 30 W for a second, two and three: energy 10, 40, 90."""
    power = steps((1, 10), (3, 20), (6, 30), every=0.001)
    report = metered(power, [Span(0, 1), Span(1, 3), Span(3, 6)], None, None, records=1000)
    assert report["energy_j"]["mean"] == pytest.approx(140 / 3, rel=0.01)
    assert report["energy_j"]["sd"] == pytest.approx(40.4, rel=0.01)
    assert report["mean_w"] == {
        "mean": pytest.approx(20, rel=0.01),
        "sd": pytest.approx(10, rel=0.01),
    }
    # Mean power x mean time, as the benchmark has it: not 1000 over the mean energy.
    assert report["records_per_joule"]["value"] == pytest.approx(1000 / (20 * 2), rel=0.01)
    assert report["above_idle_j"] is None


def test_short_runs_and_slow_counters_are_warnings() -> None:
    short = metered(steps((10, 10), every=1.0), [Span(4, 6)], None, None)
    assert "a run of 2 s has only 2 readings of this meter (one per 1 s)" in short["warnings"][0]
    # A counter that changes once in 4 s, read each second.
    slow = series("energy", *((t, 40 * (t // 4)) for t in range(41)), update_s=0.001)
    report = metered(slow, [Span(5, 7)], None, None)
    assert report["resolution_s"] == pytest.approx(4)
    assert "0.5 readings" in report["warnings"][0]
    assert "did not change during a run" in report["warnings"][1]


def test_a_gap_in_the_samples_is_a_warning() -> None:
    points = [(t / 10, 10.0) for t in range(100) if not 30 < t < 60]
    report = metered(series("power", *points), [Span(1, 9)], None, None)
    assert report["warnings"] == ["no sample for 3 s during a run"]


def test_a_meter_with_one_sample_is_a_warning() -> None:
    report = metered(series("power", (2.0, 5.0)), [Span(0, 60)], None, None)
    assert report["energy_j"]["mean"] == 300
    assert report["warnings"] == ["there is only one sample: its power is assumed for a whole run"]
    # Samples before the meter went silent are not extended over the rest.
    report = metered(steps((5, 10)), [Span(0, 60)], None, None)
    assert report["energy_j"] is None
    assert report["warnings"] == ["samples cover only 0 of 1 runs from beginning to end"]


def test_work_within_the_noise_of_idle_is_a_warning() -> None:
    points = [(t / 10, 10.0 + t % 2) for t in range(300)]
    report = metered(series("power", *points), [Span(10, 20)], Span(0, 10), None)
    assert "within the noise of the idle power" in report["warnings"][0]


def rapl(root: Path) -> Path:
    proc(root, 0, 0)
    return zone(root, "0", "package-0", 262_100)


def test_energy_of_a_command_across_a_wrap_of_the_counter(tmp_path: Path) -> None:
    counter = rapl(tmp_path) / "energy_uj"
    new = tmp_path / "new"
    work = f"{AWAIT} echo 57000000 >{new}; await 2; mv {new} {counter}; await 2; exit 4"
    done = energy.record(["sh", "-c", work], interval_s=0.02, idle_s=0, tail_s=0, root=tmp_path)
    meter: Any
    (meter,) = done.report["meters"]
    # The step is in the middle: at both ends of the run two samples are level.
    assert meter["energy_j"]["mean"] == pytest.approx(100, rel=0.001)
    assert (meter["name"], meter["how"]) == ("rapl", "measured")
    assert done.exit_status == 4
    used = done.report["runs"][0]
    assert used["wall_s"] > 0
    assert used["max_rss_bytes"] > 100_000
    assert used["exit_status"] == 4


def test_runs_are_consecutive(tmp_path: Path) -> None:
    counter = rapl(tmp_path) / "energy_uj"
    counter.write_text("0\n")
    new = tmp_path / "new"
    move = f"await 2; mv {new} {counter}; await 2"
    work = f"{AWAIT} read n <{counter}; echo $((n + 5000000)) >{new}; {move}"
    done = energy.record(
        ["sh", "-c", work], runs=3, interval_s=0.02, idle_s=0, tail_s=0, records=10, root=tmp_path
    )
    meter: Any
    (meter,) = done.report["meters"]
    assert [run["energy_j"] for run in meter["runs"]] == pytest.approx([5, 5, 5], rel=0.001)
    assert meter["energy_j"]["sd"] == pytest.approx(0, abs=0.01)
    wall, power = done.report["wall_s"]["mean"], meter["mean_w"]["mean"]
    assert meter["records_per_joule"]["value"] == pytest.approx(10 / (wall * power))


def test_a_failed_run_is_the_last(tmp_path: Path) -> None:
    rapl(tmp_path)
    count = tmp_path / "count"
    work = f"echo x >>{count}; test $(wc -l <{count}) -lt 2"
    done = energy.record(["sh", "-c", work], runs=5, idle_s=0, tail_s=0, root=tmp_path)
    assert len(done.report["runs"]) == 2
    (warning,) = done.report["warnings"]
    assert "2 of 5 runs" in warning
    assert warning.endswith("status 1")


def test_the_log_is_aligned_with_the_phases(tmp_path: Path) -> None:
    rapl(tmp_path)
    began = time.time()
    work = ["sh", "-c", f"{AWAIT} await 3"]
    done = energy.record(work, interval_s=0.05, idle_s=0.1, tail_s=0.1, root=tmp_path)
    rows = list(csv.DictReader(done.log().splitlines()))
    phases = [row["phase"] for row in rows if row["phase"]]
    assert list(dict.fromkeys(phases)) == ["idle", "run 1", "tail"]
    times = [float(row["time_s"]) for row in rows]
    assert times == sorted(times)
    assert began <= float(rows[0]["unix_s"]) <= time.time()
    run = [float(r["time_s"]) for r in rows if r["phase"] == "run 1"]
    assert len(run) >= 3


def test_a_meter_that_fails_at_first_prevents_the_run(tmp_path: Path) -> None:
    made = tmp_path / "made"
    with raises("bad-watts", "`none`"):
        energy.record(["touch", str(made)], meters=["command:echo none"], idle_s=0.01, tail_s=0)
    assert not made.exists()


def test_a_meter_that_ends_in_the_run_leaves_the_run(tmp_path: Path) -> None:
    rapl(tmp_path)
    dying = "command:echo 5; echo 6"
    done = energy.record(["sh", "-c", "exit 3"], meters=[dying], idle_s=0, tail_s=0)
    assert "status 0" in str(done.report["meters"][0]["error"])
    assert done.exit_status == 3
    done = energy.record(["true"], meters=[dying, "rapl"], idle_s=0, tail_s=0, root=tmp_path)
    first: Any
    second: Any
    first, second = done.report["meters"]
    assert "status 0" in first["error"]
    assert second["error"] is None
    assert second["energy_j"]["mean"] == 0


def test_a_program_as_wall_meter(tmp_path: Path) -> None:
    wall = "command:while :; do echo 40; sleep 0.05; done"
    work = ["sh", "-c", f"{AWAIT} await 3"]
    done = energy.record(work, meters=[wall], idle_s=0.1, tail_s=0.1)
    meter: Any
    (meter,) = done.report["meters"]
    assert meter["mean_w"]["mean"] == pytest.approx(40)
    assert meter["energy_j"]["mean"] == pytest.approx(40 * done.report["wall_s"]["mean"])
    assert meter["above_idle_j"]["mean"] == pytest.approx(0, abs=1e-6)


def record(folder: Path, *args: str, steady: bool = True) -> Any:
    """A session that waits for samples, unless the meter has none."""
    words = ("meter", "record", "--idle", "0", "--tail", "0")
    return gordon(folder, *words, *args, steady=steady)


def test_the_command_line(tmp_path: Path) -> None:
    rapl(tmp_path)
    ran = record(
        tmp_path,
        "--root",
        ".",
        "-o",
        "log.csv",
        "--json",
        "r.json",
        "--",
        "sh",
        "-c",
        "echo hi; exit 7",
    )
    assert (ran.status, ran.out) == (7, "hi\n")
    assert "exit status 7" in ran.err
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["exit_status"] == 7
    assert report["version"]
    assert report["wall_s"]["how"] == "measured"
    assert [meter["how"] for meter in report["meters"]] == ["measured"]


def test_a_run_without_a_sample_is_not_a_measurement(tmp_path: Path) -> None:
    silent = ("--meter", "command:sleep 100", "--json", "r.json", "--")
    ran = record(tmp_path, *silent, "true", steady=False)
    assert ran.status == 1
    assert "error: nothing was measured" in ran.err
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["exit_status"], report["meters"][0]["energy_j"]) == (0, None)
    assert record(tmp_path, *silent, "sh", "-c", "exit 3", steady=False).status == 3


NOT_ALWAYS = "n=0; while :; do n=$((n+1)); case $n in 3) echo '[N/A]';; *) echo 40;; esac"


def test_a_line_without_watts_loses_neither_the_run_nor_its_status(tmp_path: Path) -> None:
    wall = f"command:{NOT_ALWAYS}; sleep 0.02; done"
    args = ("--meter", wall, "-o", "log.csv", "--json", "r.json", "--")
    ran = record(tmp_path, *args, "sh", "-c", f"{AWAIT} await 8; exit 5")
    assert ran.status == 5, ran.err
    assert "warning" in ran.err
    (meter,) = json.loads((tmp_path / "r.json").read_text())["meters"]
    assert meter["mean_w"]["mean"] == pytest.approx(40)
    assert [gap["readings"] for gap in meter["gaps"]] == [1]
    assert "[N/A]" in meter["gaps"][0]["why"]
    rows = list(csv.DictReader((tmp_path / "log.csv").read_text().splitlines()))
    assert [row["watts"] for row in rows].count("") == 1


def test_a_counter_that_is_reset_in_a_run_is_unknown(tmp_path: Path) -> None:
    counter = rapl(tmp_path) / "energy_uj"
    counter.write_text("10000000000\n")
    new = tmp_path / "new"
    work = f"{AWAIT} echo 0 >{new}; await 2; mv {new} {counter}; await 2; exit 0"
    args = ("--root", ".", "--interval", "20ms", "--json", "r.json", "--")
    ran = record(tmp_path, *args, "sh", "-c", work)
    assert ran.status == 0, ran.err
    assert "was reset" in ran.err
    (meter,) = json.loads((tmp_path / "r.json").read_text())["meters"]
    assert meter["energy_j"] is None
    assert meter["runs"][0]["energy_j"] is None


def test_a_range_of_nothing_is_an_error(tmp_path: Path) -> None:
    (rapl(tmp_path) / "max_energy_range_uj").write_text("0\n")
    args = ("--meter", "rapl", "--root", ".")
    for ran in (
        record(tmp_path, *args, "--", "true", steady=False),
        gordon(tmp_path, "meter", "watch", *args, "--count", "1"),
    ):
        assert ran.status == 1
        assert "max_energy_range_uj" in ran.err


def test_a_meter_that_never_answers_is_an_error_of_watch(tmp_path: Path) -> None:
    args = ("--meter", "command:sleep 100", "--interval", "20ms", "--count", "3")
    ran = gordon(tmp_path, "meter", "watch", *args)
    assert ran.status == 1
    assert "no meter gave a sample" in ran.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("meter", ["model", "command:echo there >&2; exec sleep 100"])
def test_a_signal_ends_a_watch(tmp_path: Path, number: int, meter: str) -> None:
    command = [sys.executable, "-m", "gordon", "meter", "watch", "--meter", meter]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "W (" in process.stdout.readline()
        process.send_signal(number)
        assert process.wait(timeout=PATIENCE_S) == 128 + number


def test_a_log_is_a_meter(tmp_path: Path) -> None:
    wall = "command:while :; do echo 40; sleep 0.02; done"
    logged = ("--meter", wall, "-o", "log.csv", "--", "sh", "-c", f"{AWAIT} await 3")
    assert record(tmp_path, *logged).status == 0
    # Longer than any session of this test.
    *_, last = csv.DictReader((tmp_path / "log.csv").read_text().splitlines())
    with (tmp_path / "log.csv").open("a") as log:
        csv.DictWriter(log, last).writerow(last | {"time_s": 1e6})
    ran = record(tmp_path, "--meter", "replay:log.csv", "--json", "-", "--", "echo", "hi")
    assert ran.status == 0, ran.err
    (meter,) = json.loads(ran.out)["meters"]
    assert meter["how"] == "replayed"
    assert meter["mean_w"]["mean"] == pytest.approx(40)


def test_json_on_stdout_is_alone_there(tmp_path: Path) -> None:
    ran = record(tmp_path, "--meter", "model", "--json", "-", "--", "echo", "hi")
    assert ran.status == 0, ran.err
    (meter,) = json.loads(ran.out)["meters"]
    assert meter["how"] == "modelled"
    assert meter["energy_j"]["mean"] > 0
    assert "hi" in ran.err


@pytest.mark.parametrize(
    ("args", "status", "what"),
    [
        (("--", "no-such-program"), 1, "no such program"),
        (("--", __file__), 1, "try: chmod +x"),
        (("--meter", "rapl", "--root", ".", "--", "true"), 1, "/sys/class/powercap"),
        (("--interval", "1ms", "--", "true"), 2, "less than 10ms"),
        (("--records", "1.5", "--", "true"), 2, "--records"),
        (("--idle", "long", "--", "true"), 2, "long"),
        ((), 2, "Missing argument"),
    ],
)
def test_bad_words(tmp_path: Path, args: tuple[str, ...], status: int, what: str) -> None:
    ran = record(tmp_path, *args)
    assert ran.status == status, ran.err
    assert what in ran.err


def test_a_signal_goes_on_to_the_command(tmp_path: Path) -> None:
    words = ("--idle", "0", "--tail", "0", "--meter", "model", "--json", "r.json", "--")
    # It says when it is there to be ended.
    command = [sys.executable, "-m", "gordon", "meter", "record", *words]
    with subprocess.Popen(
        [*command, "sh", "-c", "echo there; exec sleep 60"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE_S) == 128 + signal.SIGTERM
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["runs"][0]["exit_status"] == 143


def test_a_second_signal_kills_a_command_that_ignores_the_first(tmp_path: Path) -> None:
    words = ("--idle", "0", "--tail", "0", "--meter", "model", "--")
    command = [sys.executable, "-m", "gordon", "meter", "record", *words]
    # The shell says so when the first one has come, and goes on.
    ignores = "trap 'echo ignored' TERM; echo there; while :; do sleep 0.01; done"
    with subprocess.Popen(
        [*command, "sh", "-c", ignores], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in ("there\n", "ignored\n"):
            assert process.stdout.readline() == line
            process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE_S) == 128 + signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_ctrl_c_ends_the_tail_alone_and_other_signals_all(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def interrupt(_: float) -> None:
        raise Ended(number)

    monkeypatch.setattr(time, "sleep", interrupt)
    session = Session([], 1.0)
    session.runs = [Usage(Span(0, 1), 0.0, 0.0, 0, 0, 0)]
    if number == signal.SIGINT:
        session.wait(100)
        assert session.tail is not None
        return
    with pytest.raises(Ended):
        session.wait(100)


def test_the_list_says_why_not(tmp_path: Path) -> None:
    rapl(tmp_path)
    ran = gordon(tmp_path, "meter", "list", "--root", ".", "--json", "list.json")
    assert ran.status == 0, ran.err
    report = {m["name"]: m for m in json.loads((tmp_path / "list.json").read_text())["meters"]}
    assert report["rapl"]["available"]
    assert report["battery"] == {
        "name": "battery",
        "measures": "the whole machine, from its battery",
        "available": False,
        "why": "there is no battery in /sys/class/power_supply",
        "try": "",
    }
    assert "command:CMD" in ran.out


def test_watch_prints_a_line_a_sample(tmp_path: Path) -> None:
    meter = "command:while :; do echo 40; sleep 0.05; done"
    args = ("meter", "watch", "--meter", meter, "--interval", "0.2s", "--count", "3")
    ran = gordon(tmp_path, *args, steady=True)
    assert ran.status == 0, ran.err
    lines = ran.out.splitlines()
    assert len(lines) == 4
    assert lines[-1].split() == ["0.60", "40.0"]


def test_the_peak_of_a_small_command_is_a_bound() -> None:
    small, large = (
        work.run([sys.executable, "-S", "-c", f"bytearray({size} << 20)"]).about()
        for size in (0, 4 * peak.resident() >> 20)
    )
    assert small["max_rss_is_bound"]
    assert not large["max_rss_is_bound"]
    assert large["max_rss_bytes"] > 3 * small["max_rss_bytes"]
    assert work.memory([small]).startswith("peak memory at most ")
    assert work.memory([small, large]).startswith("peak memory ")
    assert "at most" not in work.memory([small, large])
