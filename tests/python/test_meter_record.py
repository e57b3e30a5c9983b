"""Samples to joules: integration, baselines, tails, doubts; and a command beside a meter."""

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

from gordon import GordonError, energy
from gordon.energy import account
from gordon.energy.meter import Channel, Kind, Meter
from gordon.energy.sampler import Sampler
from gordon.energy.series import Series, Span
from gordon.energy.session import Session
from gordon.energy.work import Usage
from meters import Clock, proc, zone

from conftest import gordon


class Fake(Meter):
    """A meter that says what it is told to."""

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
    assert ramp.energy(Span(0, 4), ramp.channels[1]) == pytest.approx(40)
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
    # The step at 0.1001 is told from 0 on: alone it would be 5,000 W.
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


def test_a_sampler_is_faster_than_a_counter_goes_round() -> None:
    meter, clock = Fake("energy"), Clock()
    meter.longest_s = 3.0
    sampler = Sampler(meter, 60.0, clock)
    assert sampler.interval_s == 1.5
    sampler._sample()
    clock.now += 3.5
    sampler._sample()
    assert "may go round in 3 s" in meter.warnings[0]


def metered(
    made: Series, runs: list[Span], idle: Span | None, tail: Span | None, records: float = 0
) -> dict[str, Any]:
    """The account of a session that was not."""
    session = Session([made.meter], 1.0)
    session.samplers[0].series = made
    session.idle, session.tail = idle, tail
    session.runs = [Usage(span, 0.0, 0.0, 0, 0, 0) for span in runs]
    (told,) = account.of(session, records)
    return told


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
    told = metered(power, [Span(10, 30)], Span(0, 10), Span(30, 40), records=1000)
    assert told["idle"]["mean_w"] == pytest.approx(10, rel=0.02)
    assert told["energy_j"]["mean"] == pytest.approx(600, rel=0.01)
    assert told["above_idle_j"]["mean"] == pytest.approx(400, rel=0.01)
    tail = told["tail"]
    assert tail["back_at_idle"]
    assert tail["seconds"] == pytest.approx(2, abs=0.11)
    assert tail["above_idle_j"] == pytest.approx(20, rel=0.06)
    assert tail["share_of_above_idle"] == pytest.approx(20 / 420, rel=0.06)
    assert told["records_per_joule"]["value"] == pytest.approx(1000 / 600, rel=0.01)
    assert told["warnings"] == []


def test_a_tail_that_misleads_is_told() -> None:
    power = steps((10, 10), (12, 30), (16, 30), (20, 10))
    told = metered(power, [Span(10, 12)], Span(0, 10), Span(12, 20))
    # 40 J above idle in the run, 80 J after it.
    assert told["tail"]["share_of_above_idle"] == pytest.approx(2 / 3, rel=0.03)
    assert "% of the energy above idle came after" in told["warnings"][0]
    cut = metered(power, [Span(10, 12)], Span(0, 10), Span(12, 13))
    assert not cut["tail"]["back_at_idle"]
    assert "not back at idle after 1 s" in cut["warnings"][0]


def test_runs_have_means_and_deviations() -> None:
    """10, 20 and 30 W for a second, two and three: energy 10, 40, 90."""
    power = steps((1, 10), (3, 20), (6, 30), every=0.001)
    told = metered(power, [Span(0, 1), Span(1, 3), Span(3, 6)], None, None, records=1000)
    assert told["energy_j"]["mean"] == pytest.approx(140 / 3, rel=0.01)
    assert told["energy_j"]["sd"] == pytest.approx(40.4, rel=0.01)
    assert told["mean_w"] == {
        "mean": pytest.approx(20, rel=0.01),
        "sd": pytest.approx(10, rel=0.01),
    }
    # Mean power x mean time, as the benchmark has it: not 1000 over the mean energy.
    assert told["records_per_joule"]["value"] == pytest.approx(1000 / (20 * 2), rel=0.01)
    assert told["above_idle_j"] is None


def test_short_runs_and_slow_counters_are_told() -> None:
    short = metered(steps((10, 10), every=1.0), [Span(4, 6)], None, None)
    assert "a run of 2 s is 2 readings of this meter, one each 1 s" in short["warnings"][0]
    # A counter that changes once in 4 s, read each second.
    slow = series("energy", *((t, 40 * (t // 4)) for t in range(41)), update_s=0.001)
    told = metered(slow, [Span(5, 7)], None, None)
    assert told["resolution_s"] == pytest.approx(4)
    assert "0.5 readings" in told["warnings"][0]
    assert "stood still" in told["warnings"][1]


def test_a_hole_in_the_samples_is_told() -> None:
    points = [(t / 10, 10.0) for t in range(100) if not 30 < t < 60]
    told = metered(series("power", *points), [Span(1, 9)], None, None)
    assert told["warnings"] == ["no sample for 3 s in a run"]


def test_a_meter_that_told_one_sample_is_told() -> None:
    told = metered(series("power", (2.0, 5.0)), [Span(0, 60)], None, None)
    assert told["energy_j"]["mean"] == 300
    assert told["warnings"] == ["one sample in all: its power stands for a whole run"]
    # Those it told before it went silent are not stretched over the rest.
    told = metered(steps((5, 10)), [Span(0, 60)], None, None)
    assert told["energy_j"] is None
    assert told["warnings"] == ["no samples for 1 of 1 runs"]


def test_work_within_the_noise_of_idle_is_told() -> None:
    points = [(t / 10, 10.0 + t % 2) for t in range(300)]
    told = metered(series("power", *points), [Span(10, 20)], Span(0, 10), None)
    assert "within the noise of idle" in told["warnings"][0]


def rapl(root: Path) -> Path:
    proc(root, 0, 0)
    return zone(root, "0", "package-0", 262_100)


def test_a_command_beside_a_counter_that_goes_round(tmp_path: Path) -> None:
    counter = rapl(tmp_path) / "energy_uj"
    new = tmp_path / "new"
    move = f"sleep 0.2; mv {new} {counter}; sleep 0.2"
    work = f"echo 57000000 >{new}; {move}; exit 4"
    done = energy.record(["sh", "-c", work], interval_s=0.02, idle_s=0, tail_s=0, root=tmp_path)
    (meter,) = done.json["meters"]
    # The step is in the middle: at both ends of the run samples are level.
    assert meter["energy_j"]["mean"] == pytest.approx(100, rel=0.001)
    assert (meter["name"], meter["how"]) == ("rapl", "measured")
    assert done.exit_status == 4
    used = done.json["runs"][0]
    assert 0.3 <= used["wall_s"] < 10
    assert used["max_rss_bytes"] > 100_000
    assert used["exit_status"] == 4


def test_runs_one_after_the_other(tmp_path: Path) -> None:
    counter = rapl(tmp_path) / "energy_uj"
    counter.write_text("0\n")
    new = tmp_path / "new"
    move = f"sleep 0.2; mv {new} {counter}; sleep 0.2"
    work = f"read n <{counter}; echo $((n + 5000000)) >{new}; {move}"
    done = energy.record(
        ["sh", "-c", work], runs=3, interval_s=0.02, idle_s=0, tail_s=0, records=10, root=tmp_path
    )
    (meter,) = done.json["meters"]
    assert [run["energy_j"] for run in meter["runs"]] == pytest.approx([5, 5, 5], rel=0.001)
    assert meter["energy_j"]["sd"] == pytest.approx(0, abs=0.01)
    wall, power = done.json["wall_s"]["mean"], meter["mean_w"]["mean"]
    assert meter["records_per_joule"]["value"] == pytest.approx(10 / (wall * power))


def test_a_failed_run_is_the_last(tmp_path: Path) -> None:
    rapl(tmp_path)
    count = tmp_path / "count"
    work = f"echo x >>{count}; test $(wc -l <{count}) -lt 2"
    done = energy.record(["sh", "-c", work], runs=5, idle_s=0, tail_s=0, root=tmp_path)
    assert len(done.json["runs"]) == 2
    assert done.json["warnings"] == ["2 of 5 runs: the last failed with 1"]


def test_the_log_is_aligned_with_the_phases(tmp_path: Path) -> None:
    rapl(tmp_path)
    began = time.time()
    done = energy.record(["sleep", "0.5"], interval_s=0.05, idle_s=0.3, tail_s=0.2, root=tmp_path)
    rows = list(csv.DictReader(done.log().splitlines()))
    phases = [row["phase"] for row in rows if row["phase"]]
    assert list(dict.fromkeys(phases)) == ["idle", "run 1", "tail"]
    times = [float(row["time_s"]) for row in rows]
    assert times == sorted(times)
    assert began - 1 < float(rows[0]["unix_s"]) < began + 10
    run = [float(r["time_s"]) for r in rows if r["phase"] == "run 1"]
    assert len(run) >= 3


def test_a_meter_that_fails_ends_it_before_the_work(tmp_path: Path) -> None:
    made = tmp_path / "made"
    with pytest.raises(GordonError, match="no number of watts"):
        energy.record(["touch", str(made)], meters=["command:echo none"], idle_s=0.5, tail_s=0)
    assert not made.exists()


def test_a_meter_that_ends_in_the_run_is_an_error_unless_another_lives(tmp_path: Path) -> None:
    rapl(tmp_path)
    dying = "command:echo 5; echo 6"
    with pytest.raises(GordonError, match="no more samples"):
        energy.record(["sleep", "0.3"], meters=[dying], idle_s=0, tail_s=0)
    done = energy.record(
        ["sleep", "0.3"], meters=[dying, "rapl"], idle_s=0, tail_s=0, root=tmp_path
    )
    first, second = done.json["meters"]
    assert "no more samples" in first["error"]
    assert second["error"] is None
    assert second["energy_j"]["mean"] == 0


def test_a_program_as_wall_meter(tmp_path: Path) -> None:
    wall = "command:while :; do echo 40; sleep 0.05; done"
    done = energy.record(["sleep", "0.6"], meters=[wall], idle_s=0.6, tail_s=0.2)
    (meter,) = done.json["meters"]
    assert meter["mean_w"]["mean"] == pytest.approx(40)
    assert meter["energy_j"]["mean"] == pytest.approx(40 * done.json["wall_s"]["mean"])
    assert meter["above_idle_j"]["mean"] == pytest.approx(0, abs=1e-6)


def record(folder: Path, *args: str) -> Any:
    return gordon(folder, "meter", "record", "--idle", "0", "--tail", "0", *args)


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
    told = json.loads((tmp_path / "r.json").read_text())
    assert told["exit_status"] == 7
    assert told["version"]
    assert told["wall_s"]["how"] == "measured"
    assert [meter["how"] for meter in told["meters"]] == ["measured"]


def test_a_run_that_no_meter_saw_is_no_measurement(tmp_path: Path) -> None:
    silent = ("--meter", "command:sleep 100", "--json", "r.json", "--")
    ran = record(tmp_path, *silent, "sleep", "0.2")
    assert ran.status == 1
    assert "error: nothing was measured" in ran.err
    told = json.loads((tmp_path / "r.json").read_text())
    assert (told["exit_status"], told["meters"][0]["energy_j"]) == (0, None)
    assert record(tmp_path, *silent, "sh", "-c", "exit 3").status == 3


def test_a_log_is_a_meter(tmp_path: Path) -> None:
    wall = "command:while :; do echo 40; sleep 0.02; done"
    logged = ("--meter", wall, "-o", "log.csv", "--", "sleep", "0.5")
    assert record(tmp_path, *logged).status == 0
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
        (("--meter", "rapl", "--root", ".", "--", "true"), 1, "no zones"),
        (("--interval", "1ms", "--", "true"), 2, "10ms or more"),
        (("--records", "1.5", "--", "true"), 2, "a whole number"),
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
        assert process.wait(timeout=20) == 128 + signal.SIGTERM
    told = json.loads((tmp_path / "r.json").read_text())
    assert told["runs"][0]["exit_status"] == 143


def test_the_list_says_why_not(tmp_path: Path) -> None:
    rapl(tmp_path)
    ran = gordon(tmp_path, "meter", "list", "--root", ".", "--json", "list.json")
    assert ran.status == 0, ran.err
    told = {m["name"]: m for m in json.loads((tmp_path / "list.json").read_text())["meters"]}
    assert told["rapl"]["available"]
    assert told["battery"] == {
        "name": "battery",
        "measures": "the whole machine, from its battery",
        "available": False,
        "why": "no battery in /sys/class/power_supply",
        "try": "",
    }
    assert "command:CMD" in ran.out


def test_watch_prints_a_line_a_sample(tmp_path: Path) -> None:
    meter = "command:while :; do echo 40; sleep 0.05; done"
    args = ("meter", "watch", "--meter", meter, "--interval", "0.2s", "--count", "3")
    ran = gordon(tmp_path, *args)
    assert ran.status == 0, ran.err
    lines = ran.out.splitlines()
    assert len(lines) == 4
    assert lines[-1].split() == ["0.60", "40.0"]
