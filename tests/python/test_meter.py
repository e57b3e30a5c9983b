"""Each meter on a tree, a program or a server that stands for the real one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from gordon import _core
from gordon.energy import battery, find, hwmon, ipmi, model, nvml, rapl, redfish, replay
from gordon.energy.command import Command
from gordon.energy.counter import Counter, unreadable
from gordon.energy.meter import Candidate, Meter
from gordon.energy.series import Series
from limits import PATIENCE_S
from meters import JOULE, Clock, proc, set_joules, write, zone

from conftest import raises


def there(found: list[Candidate], name: str) -> Meter:
    (meter,) = [c.meter for c in found if c.name == name]
    assert meter is not None
    return meter


def missing(found: list[Candidate], name: str) -> Candidate:
    (candidate,) = [c for c in found if c.name == name]
    assert candidate.meter is None
    return candidate


def total(meter: Meter) -> float:
    values = meter.read()
    return sum(
        v for v, c in zip(values, meter.channels, strict=True) if c.counted and v is not None
    )


def test_rapl_adds_packages_and_their_memory_once(tmp_path: Path) -> None:
    for package in (0, 1):
        zone(tmp_path, f"{package}", f"package-{package}", 100 * (package + 1))
        zone(tmp_path, f"{package}:0", "core", 60)
        zone(tmp_path, f"{package}:1", "dram", 7)
    zone(tmp_path, "2", "psys", 1000)
    # The same counters once more, over memory-mapped registers.
    write(
        tmp_path / "sys/class/powercap/intel-rapl-mmio:0",
        name="package-0",
        energy_uj=5,
        max_energy_range_uj=9,
    )
    found = rapl.find(tmp_path)
    meter = there(found, "rapl")
    assert total(meter) == pytest.approx(100 + 200 + 7 + 7)
    assert [c.name for c in meter.channels if not c.counted] == [
        "package-0/core",
        "package-1/core",
    ]
    assert meter.measures == "processor packages and their memory"
    assert total(there(found, "rapl-psys")) == pytest.approx(1000)


def test_a_counter_that_wraps_does_not_fall(tmp_path: Path) -> None:
    package, clock = zone(tmp_path, "0", "package-0", 262100), Clock()
    counter = Counter(package / "energy_uj", 262143 * JOULE, clock=clock)
    begin = counter.read()
    for joules, passed in ((262140, 40), (30, 73), (262000, 262043), (1, 262187)):
        set_joules(package, joules)
        clock.now += 131
        assert counter.read() - begin == pytest.approx(passed)
        assert not counter.was_reset
    # 262,143 J at the 2,000 W that no socket draws.
    meter = there(rapl.find(tmp_path), "rapl")
    assert meter.longest_s == pytest.approx(131.07, abs=0.01)


@pytest.mark.parametrize(
    ("limits", "before", "after"),
    [
        # Half of the range away from its end: a turn would take 50 kW.
        ({}, 10_000, 0),
        ({}, 10_000, 9_000),
        ({}, 10_000, 200_000),
        # Near its end, where a turn is 643 J: too much for a zone of at most 30 W.
        ({"constraint_0_max_power_uw": 30 * JOULE}, 261_500, 0),
        ({"constraint_0_max_power_uw": 0, "constraint_1_power_limit_uw": 30 * JOULE}, 261_500, 0),
    ],
)
def test_a_counter_has_no_energy_over_a_reset(
    tmp_path: Path, limits: dict[str, int], before: float, after: float
) -> None:
    package, clock = zone(tmp_path, "0", "package-0", before), Clock()
    write(package, **limits)
    counter = Counter(package / "energy_uj", 262143 * JOULE, rapl.most_w(package), clock)
    begin = counter.read()
    for joules, was_reset, passed in (
        (before + 30, False, 30),
        (after, True, 30),
        (after + 30, False, 60),
    ):
        clock.now += 1
        set_joules(package, joules)
        assert counter.read() - begin == pytest.approx(passed)
        assert counter.was_reset == was_reset


def test_a_wrap_within_the_range_of_a_zone_is_not_a_reset(tmp_path: Path) -> None:
    package, clock = zone(tmp_path, "0", "package-0", 262_130), Clock()
    write(package, constraint_0_max_power_uw=30 * JOULE)
    counter = Counter(package / "energy_uj", 262143 * JOULE, rapl.most_w(package), clock)
    begin = counter.read()
    clock.now += 1
    set_joules(package, 40)
    assert counter.read() - begin == pytest.approx(53)
    assert not counter.was_reset
    # Firmware that sets no limit says 4,095 W.
    write(package, constraint_0_power_limit_uw=4095 * JOULE)
    assert rapl.most_w(package) == 2000


@pytest.mark.parametrize("text", ["0", "-5", "1", "many"])
def test_a_counter_without_a_usable_range_is_not_a_meter(tmp_path: Path, text: str) -> None:
    package = zone(tmp_path, "0", "package-0", 5)
    (package / "max_energy_range_uj").write_text(f"{text}\n")
    assert "max_energy_range_uj" in missing(rapl.find(tmp_path), "rapl").why


def test_zones_that_are_mounted_nested_are_read_once(tmp_path: Path) -> None:
    powercap = tmp_path / "sys/class/powercap"
    nested = powercap / "intel-rapl"
    zone(tmp_path, "0", "package-0", 100)
    zone(tmp_path, "0:0", "dram", 7)
    for name, above in (("intel-rapl:0", nested), ("intel-rapl:0:0", nested / "intel-rapl:0")):
        above.mkdir(exist_ok=True)
        (powercap / name).rename(above / name)
    meter = there(rapl.find(tmp_path), "rapl")
    assert total(meter) == pytest.approx(107)
    assert [channel.name for channel in meter.channels] == ["package-0", "package-0/dram"]
    # As the kernel has them: links side by side, too.
    (powercap / "intel-rapl:0").symlink_to(nested / "intel-rapl:0")
    (powercap / "intel-rapl:0:0").symlink_to(nested / "intel-rapl:0/intel-rapl:0:0")
    assert total(there(rapl.find(tmp_path), "rapl")) == pytest.approx(107)


def test_a_part_that_is_not_counted_may_be_unreadable(tmp_path: Path) -> None:
    zone(tmp_path, "0", "package-0", 100)
    core = zone(tmp_path, "0:0", "core", 60) / "energy_uj"
    meter = there(rapl.find(tmp_path), "rapl")
    core.unlink()
    core.mkdir()
    assert total(meter) == pytest.approx(100)
    assert "cannot be read" in meter.warnings[0]
    assert str(core) in meter.warnings[0]
    meter = there(rapl.find(tmp_path), "rapl")
    assert [channel.name for channel in meter.channels] == ["package-0"]
    assert total(meter) == pytest.approx(100)


def test_a_counter_for_root_alone_says_what_to_do(tmp_path: Path) -> None:
    package = zone(tmp_path, "0", "package-0", 1)
    (package / "energy_uj").chmod(0)
    if os.access(package / "energy_uj", os.R_OK):
        # Root reads anything: a folder in its place is refused to it, too.
        (package / "energy_uj").unlink()
        (package / "energy_uj").mkdir()
        assert "Is a directory" in missing(rapl.find(tmp_path), "rapl").why
        refused = unreadable(package, PermissionError(13, "Permission denied"))
        assert "chmod a+r" in refused.args[1]
        return
    candidate = missing(rapl.find(tmp_path), "rapl")
    assert "Permission denied" in candidate.why
    assert "chmod a+r" in candidate.hint
    with raises("no-meter", "Permission denied"):
        find.named("rapl", tmp_path)


def test_an_unreadable_meter_hides_no_other_meter(tmp_path: Path) -> None:
    proc(tmp_path, 0, 0)
    (zone(tmp_path, "0", "package-0", 1) / "name").unlink()
    found = find.candidates(tmp_path)
    assert "intel-rapl:0" in missing(found, "rapl").why
    assert there(found, "model").how == "modelled"


def test_amd_counters_are_estimates(tmp_path: Path) -> None:
    zone(tmp_path, "0", "package-0", 1)
    write(tmp_path / "proc", cpuinfo="vendor_id\t: AuthenticAMD")
    assert there(rapl.find(tmp_path), "rapl").how == "estimated"


def test_no_powercap(tmp_path: Path) -> None:
    assert "modprobe" in missing(rapl.find(tmp_path), "rapl").hint


def test_amd_energy_counts_sockets_and_not_their_cores(tmp_path: Path) -> None:
    chip = write(tmp_path / "sys/class/hwmon/hwmon3", name="amd_energy")
    for n in range(1, 13):
        label = f"Ecore{n - 1:03}" if n <= 10 else f"Esocket{n - 11}"
        write(chip, **{f"energy{n}_input": n * 10**6, f"energy{n}_label": label})
    meter = there(hwmon.find(tmp_path), "amd-energy")
    assert total(meter) == pytest.approx(11 + 12)
    assert len(meter.channels) == 12
    assert meter.how == "estimated"


def test_a_counter_without_a_range_that_falls_was_reset(tmp_path: Path) -> None:
    chip = write(tmp_path / "sys/class/hwmon/hwmon0", name="xe", energy1_input=5_000_000)
    meter = there(hwmon.find(tmp_path), "hwmon:xe/energy1")
    assert total(meter) == pytest.approx(5)
    write(chip, energy1_input=4_000_000)
    assert total(meter) == pytest.approx(5)
    assert list(meter.resets) == [True]
    assert "was reset" in meter.warnings[0]


def test_power_of_chips_one_meter_a_channel(tmp_path: Path) -> None:
    chips = tmp_path / "sys/class/hwmon"
    write(
        chips / "hwmon0",
        name="power_meter",
        power1_average=212_000_000,
        power1_average_interval=500,
    )
    write(chips / "hwmon1", name="amdgpu", power1_average=1, power1_input=35_500_000)
    write(chips / "hwmon10", name="amdgpu", power1_input=40_000_000, power2_input=7, temp1_input=3)
    found = hwmon.find(tmp_path)
    node = there(found, "hwmon:power_meter/power1")
    assert (total(node), node.update_s, node.measures) == (212.0, 0.5, "the whole machine")
    assert total(there(found, "hwmon:amdgpu/power1")) == pytest.approx(35.5)
    assert total(there(found, "hwmon:amdgpu.2/power1")) == pytest.approx(40)
    assert [c.name for c in found if "power2" in c.name] == ["hwmon:amdgpu.2/power2"]


def supply(root: Path, name: str, **files: object) -> Path:
    return write(root / "sys/class/power_supply" / name, type="Battery", **files)


def test_a_battery_by_power_or_by_current_and_voltage(tmp_path: Path) -> None:
    supply(tmp_path, "BAT0", status="Discharging", power_now=12_500_000)
    supply(tmp_path, "BAT1", status="Discharging", current_now=-2_000_000, voltage_now=11_500_000)
    supply(tmp_path, "mouse", status="Discharging", power_now=9, scope="Device")
    write(tmp_path / "sys/class/power_supply/AC", type="Mains", online=0)
    meter = there(battery.find(tmp_path), "battery")
    assert meter.read() == pytest.approx([12.5, 23.0])


def test_a_charging_battery_is_not_a_meter(tmp_path: Path) -> None:
    cell = supply(tmp_path, "BAT0", status="Charging", power_now=30_000_000)
    candidate = missing(battery.find(tmp_path), "battery")
    assert candidate.why == "not discharging: BAT0 Charging"
    write(cell, status="Discharging")
    meter = there(battery.find(tmp_path), "battery")
    write(cell, status="Charging")
    assert meter.read() == [None]
    assert "was not discharging" in meter.warnings[0]


IPMITOOL = """#!/bin/sh
[ "$*" = "dcmi power reading" ] || exit 9
cat <<END

    Instantaneous power reading:                   {watts} Watts
    Minimum during sampling period:                  8 Watts
    Power reading state is:                   {state}
END
"""


def program(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (folder / "ipmitool").write_text(text)
    (folder / "ipmitool").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_ipmi_by_its_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, IPMITOOL.format(watts=212, state="activated"))
    meter = there(ipmi.find(), "ipmi")
    assert meter.read() == [212.0]
    assert not meter.quick
    # Some controllers say so and measure.
    program(tmp_path, monkeypatch, IPMITOOL.format(watts=212, state="deactivated"))
    assert there(ipmi.find(), "ipmi").read() == [212.0]
    program(tmp_path, monkeypatch, IPMITOOL.format(watts=0, state="deactivated"))
    assert "deactivated" in missing(ipmi.find(), "ipmi").why
    program(tmp_path, monkeypatch, IPMITOOL.format(watts=0, state="activated"))
    meter = there(ipmi.find(), "ipmi")
    assert meter.read() == [None]
    assert "0 W" in meter.warnings[0]
    program(tmp_path, monkeypatch, "#!/bin/sh\necho 'Could not open device' >&2\nexit 1\n")
    assert "Could not open device" in missing(ipmi.find(), "ipmi").why


@contextmanager
def served(answers: dict[str, tuple[int, Any]], seen: list[str | None]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers["Authorization"])
            status, body = answers[self.path]
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_redfish_in_both_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {
        "/power": (200, {"PowerControl": [{"PowerConsumedWatts": 344}]}),
        "/environment": (200, {"PowerWatts": {"Reading": 120.5}}),
        "/thermal": (200, {"Fans": []}),
        "/secret": (401, {}),
    }
    seen: list[str | None] = []
    monkeypatch.setenv(redfish.PASSWORD, "pass")
    with served(answers, seen) as host:
        meter = redfish.Redfish(f"http://root@{host}/power")
        assert meter.read() == [344.0]
        assert seen == ["Basic cm9vdDpwYXNz"]  # root:pass
        assert meter.name == f"redfish:http://{host}/power"
        assert redfish.Redfish(f"http://{host}/environment").read() == [120.5]
        with raises("no-watts", f"{host}/thermal"):
            redfish.Redfish(f"http://{host}/thermal").read()
        with raises("http-status", f"{host}/secret", "401"):
            redfish.Redfish(f"http://{host}/secret").read()
    with raises("no-answer", host, "refused"):
        meter.read()


@pytest.mark.parametrize(
    "url",
    [
        "bmc/power",
        "ftp://bmc/",
        "http://root:pass@bmc/power",
        "https://root@bmc:70000/power",
        "https://root:pass@bmc:x/power",
        "http://[x",
    ],
)
def test_redfish_wants_an_address_without_a_password(url: str) -> None:
    with raises("bad-url") as error:
        redfish.Redfish(url)
    assert "pass@" not in str(error.value)


def test_a_command_prints_watts() -> None:
    meter = Command("printf '# watts\\n\\n12.5\\n13 W\\n1.4e1 watts\\n'; echo hello")
    assert [meter.read()[0] for _ in range(3)] == [12.5, 13.0, 14.0]
    with raises("bad-watts", "`hello`"):
        meter.read()
    meter.close()
    ended = Command("exit 3")
    with raises("ended", "exit 3", "status 3"):
        ended.read()


def test_a_command_ends_with_its_meter() -> None:
    meter = Command("echo 5; sleep 600 & wait")
    assert meter.read() == [5.0]
    process = meter._process
    assert process is not None
    meter.close()
    process.wait(timeout=PATIENCE_S)
    with raises("ended"):
        meter.read()


def test_a_log_is_played_in_its_own_time(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("time_s,meter,watts\n5,wall,10\n6,other,99\n6,wall,20\n8,wall,40\n")
    clock = Clock()
    meter = replay.Replay(f"{log}#wall", clock)
    seen = []
    for gone in (0, 0.9, 1, 2.9, 3, 3.9, 4.1):
        clock.now = 100 + gone
        seen.append(meter.read()[0])
    assert seen == [10, 10, 20, 20, 40, 40, None]
    assert meter.warnings == ["the log ends after 3.0 s"]
    # Its resolution is that of the log, however often it is read.
    assert meter.update_s == 1.5


def test_a_gap_in_a_log_is_a_gap_in_the_samples(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("time_s,meter,watts\n0,wall,\n1,wall,10\n2,wall,\n3,wall,0\n4,wall,20\n")
    clock = Clock()
    meter = replay.Replay(str(log), clock)
    for gone, watts in ((0, 10), (0.9, 10), (1, None), (1.9, None), (2, 0), (3, 20)):
        clock.now = 100 + gone
        if watts is None:
            with raises("no-sample", "time_s 2"):
                meter.read()
        else:
            assert meter.read() == [watts]
    assert meter.update_s == 1


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("-5", "below zero"),
        ("-5 W", "below zero"),
        ("-0.1W", "below zero"),
        ("-1e-3", "below zero"),
        ("1e400", "not a finite number"),
        ("-1e400 W", "not a finite number"),
    ],
)
def test_power_that_no_machine_draws_is_an_error(line: str, what: str) -> None:
    meter = Command(f"echo '{line}'")
    with raises("bad-watts", line, what):
        meter.read()
    meter.close()


@pytest.mark.parametrize("watts", [float("nan"), float("inf"), -5.0])
def test_redfish_power_that_no_machine_draws_is_an_error(watts: float) -> None:
    answers = {"/power": (200, {"PowerControl": [{"PowerConsumedWatts": watts}]})}
    with served(answers, []) as host, raises("bad-watts", f"{watts:g} W"):
        redfish.Redfish(f"http://{host}/power").read()


def test_redfish_power_of_zero_is_not_a_sample() -> None:
    with served({"/power": (200, {"PowerWatts": {"Reading": 0}})}, []) as host:
        meter = redfish.Redfish(f"http://{host}/power")
        assert meter.read() == [None]
    assert "0 W" in meter.warnings[0]


@pytest.mark.parametrize(
    ("text", "kind", "where"),
    [
        ("a,b\n1,2\n", "bad-log", "time_s and watts"),
        ("time_s,watts\n1,x\n", "bad-log", ":2: time_s or watts"),
        ("time_s,watts\n1,nan\n", "bad-watts", ":2: `nan`"),
        ("time_s,watts\n1,50\n2,1e999\n", "bad-watts", ":3: `1e999`"),
        ("time_s,watts\n1,-5\n", "bad-watts", ":2: `-5`"),
        ("time_s,watts\nnan,5\n", "bad-log", ":2: time_s `nan`"),
        ("time_s,watts\n2,1\n1,1\n", "bad-log", ":3: time_s"),
        ("time_s,watts\n", "bad-log", "samples"),
        ("watts,time_s\n5\n", "bad-log", ":2: time_s or watts"),
        ("\0", "bad-log", "time_s and watts"),
    ],
)
def test_a_file_that_is_not_a_log_is_an_error(
    tmp_path: Path, text: str, kind: str, where: str
) -> None:
    (tmp_path / "log.csv").write_text(text)
    with raises(kind, "log.csv", where):
        find.named(f"replay:{tmp_path / 'log.csv'}")


def test_a_log_of_another_program_is_an_error(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_bytes("time_s,watts\n1,5\n".encode("utf-16"))
    with raises("bad-log", "log.csv: not CSV in UTF-8"):
        find.named(f"replay:{log}")


def test_a_reading_without_a_value_is_not_the_last_one(tmp_path: Path) -> None:
    proc(tmp_path, 0, 0)
    meter = find.named("model", tmp_path)
    series = Series(meter)
    series.add(1.0, [5.0] * len(meter.channels))
    assert series.empty_at < 1.0
    series.add(2.0, [None] * len(meter.channels))
    assert (series.times, series.empty_at, series.missed) == ([1.0], 2.0, [])


def test_the_model_is_parts_times_activity(tmp_path: Path) -> None:
    """The 2009 server by its closed form: 2 of Table 3's cores, 16 modules, one disk."""
    proc(tmp_path, busy=1000, idle=9000)
    clock = Clock()
    meter = model.Model("server-2009", tmp_path, clock)
    assert total(meter) == 0
    ratio = meter.machine.overhead
    clock.now += 10
    proc(tmp_path, busy=2000, idle=10000)  # 10 s of processors in 10 s
    cores = 2 * 12 * 10 + (20.8 - 12) * 10
    modules = 16 * (3 * 10 + (5.3 - 3) * 10 / 2)
    assert total(meter) == pytest.approx(ratio * (cores + modules + 9 * 10))
    before = total(meter)
    clock.now += 4
    # A quarter of the bytes read, three written; the disk at work for 2 s of 4.
    proc(tmp_path, busy=2000, idle=10800, sectors=(1000, 3000), ms=2000)
    disk = 9 * 4 + (0.25 * 13 + 0.75 * 17 - 9) * 2
    assert total(meter) - before == pytest.approx(ratio * (2 * 12 * 4 + 16 * 3 * 4 + disk))
    assert meter.how == "modelled"
    assert [c.name for c in meter.channels] == [
        "processors",
        "memory",
        "sda",
        "supply, regulators, fans",
    ]


def test_readings_of_the_model_in_between_change_nothing(tmp_path: Path) -> None:
    totals = []
    for often in (1, 50):
        proc(tmp_path, 0, 0)
        clock = Clock()
        meter = model.Model("", tmp_path, clock)
        meter.read()
        for step in range(often):
            clock.now += 10 / often
            ticks = 300 * (step + 1) // often
            proc(tmp_path, ticks, ticks, (0, 100 * (step + 1) // often), 40 * (step + 1) // often)
            meter.read()
        totals.append(total(meter))
    assert totals[0] == pytest.approx(totals[1], rel=1e-9)


def test_no_part_of_the_model_draws_more_than_at_work(tmp_path: Path) -> None:
    """Linux counts a request of 5 s when it ends: it is charged over the next 5 s."""
    proc(tmp_path, 0, 0)
    clock = Clock()
    meter = model.Model("server-2009", tmp_path, clock)
    most = meter.about()["model"]["most_w"]
    before = meter.read()
    for step in range(1, 8):
        clock.now += 1
        # Twice as many ticks as two processors have in the time of the first reading, then none.
        proc(tmp_path, 400, 100 * step, (0, 1000), 5000)
        now = meter.read()
        for channel, old, new in zip(meter.channels, before, now, strict=True):
            assert new is not None
            assert old is not None
            assert new - old <= most[channel.name] * (1 + 1e-9), (step, channel.name)
        before = now
    # Nothing is lost: 5 s of writing and 4 s of a processor in 7 s.
    joules = {c.name: j for c, j in zip(meter.channels, before, strict=True)}
    assert joules["sda"] == pytest.approx(9 * 7 + (17 - 9) * 5)
    assert joules["processors"] == pytest.approx(2 * 12 * 7 + (20.8 - 12) * 4)


def test_a_machine_of_ones_own(tmp_path: Path) -> None:
    proc(tmp_path, 0, 0)
    own = tmp_path / "own.toml"
    own.write_text(
        'core = "atom"\nmemory = { part = "ddr2-2gib", size = "4GiB" }\n'
        'storage = "nvme-tlc-1tb"\noverhead = "server-2023"\n'
    )
    meter = find.named(f"model:{own}", tmp_path)
    assert isinstance(meter, model.Model)
    assert meter.machine.modules == pytest.approx(8)
    assert meter.machine.overhead == pytest.approx(1.3)
    own.write_text('core = "atom"\n')
    with raises("bad-machine", "memory"):
        find.named(f"model:{own}", tmp_path)
    with raises("unknown-name", "server-2032"):
        find.named("model:server-2032", tmp_path)


def test_a_machine_of_the_core_is_parts_and_overhead() -> None:
    machine = _core.MachinePower([("a", 2, 3.0, [5.0]), ("b", 1, 1.0, [2.0, 4.0])], 1.5)
    assert machine.idle() == pytest.approx([6, 1, 3.5])
    assert machine.max() == pytest.approx([10, 4, 7])
    parts = [2 * 3 * 10 + 2 * 4, 10 + 1 * 2 + 3 * 3]
    energy = machine.energy(10, {"a": [4], "b": [2, 3]})
    assert energy == pytest.approx([*parts, sum(parts) / 2])
    # A part that is not named is idle.
    assert machine.energy(10, {})[:2] == pytest.approx([60, 10])
    for busy, what in (({"c": [1.0]}, "no part c"), ({"b": [1.0]}, "2 kinds of work")):
        with pytest.raises(ValueError, match=what):
            machine.energy(10, busy)


def test_a_supply_of_the_overhead_loses_what_it_does_at_the_mean_power(tmp_path: Path) -> None:
    proc(tmp_path, 0, 0)
    own = tmp_path / "own.toml"
    own.write_text(
        'core = "core2"\nmemory = { part = "ddr2-2gib", size = "2GiB" }\n'
        'storage = "sata-7200-1tb"\noverhead = "server-2023-supply"\n'
    )
    machine = model.machine(str(own), tmp_path)
    drawn = machine.power(["sda"])
    parts = 2 * 20.8 + machine.modules * 5.3 + 17
    most = 1.22 * parts
    # All parts are half of the rated power, where Titanium has an efficiency of 96 %.
    assert sum(drawn.max()) == pytest.approx(most / 0.96)
    idle = 1.22 * (2 * 12 + machine.modules * 3 + 9)
    low, half = (0.4 * most * (1 / 0.94 - 1), most * (1 / 0.96 - 1))
    lost = low + (half - low) * (idle / (2 * most) - 0.2) / 0.3
    assert sum(drawn.idle()) == pytest.approx(idle + lost)
    assert sum(drawn.energy(10, {})) == pytest.approx(10 * (idle + lost))


@pytest.mark.parametrize("name", model.names())
def test_machines_of_the_catalogue(tmp_path: Path, name: str) -> None:
    proc(tmp_path, 0, 0)
    machine = model.machine(name, tmp_path)
    assert 0 < machine.core.idle < machine.core.active
    assert 0 < machine.disk.idle < min(machine.disk.read, machine.disk.write)
    assert machine.overhead > 1


NVML = """
#include <string.h>
typedef void *device;
static unsigned long long joules = 5000;
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = GPUS; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, device *d) {
    *d = (device)(0x500000000 + i); return 0; }
int nvmlDeviceGetName(device d, char *name, unsigned size) {
    strncpy(name, "GPU X", size); return 0; }
int nvmlDeviceGetTotalEnergyConsumption(device d, unsigned long long *mj) {
    *mj = joules += (unsigned long long)d - 0x500000000 + 1; return STATUS; }
int nvmlDeviceGetPowerUsage(device d, unsigned *mw) { *mw = 250500; return 0; }
"""


@pytest.mark.parametrize(("status", "kind"), [(0, "energy"), (3, "power")])
def test_nvml_by_its_library(tmp_path: Path, status: int, kind: str) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler for a library that answers as NVML")
    source, library = tmp_path / "nvml.c", tmp_path / "libnvml.so"
    source.write_text(NVML)
    define = [f"-DSTATUS={status}", "-DGPUS=2"]
    subprocess.run(["cc", "-shared", "-fPIC", *define, source, "-o", library], check=True)
    meter = there(nvml.find(str(library)), "nvml")
    assert meter.kind == kind
    assert [c.name for c in meter.channels] == ["0 GPU X", "1 GPU X"]
    first, second = meter.read()
    if kind == "power":
        assert (first, second) == (250.5, 250.5)
    else:
        # Two readings found the functions, and a third one that they work; joules of the second GPU
        # follow the first's.
        assert first == pytest.approx(5.007)
        assert second == pytest.approx(5.009)


def test_gpus_without_joules_and_watts_are_no_meter(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler for a library that answers as NVML")
    source, library = tmp_path / "nvml.c", tmp_path / "libnvml.so"
    source.write_text(NVML.replace("*mw = 250500; return 0;", "*mw = 0; return 3;"))
    define = ["-DSTATUS=3", "-DGPUS=1"]
    subprocess.run(["cc", "-shared", "-fPIC", *define, source, "-o", library], check=True)
    assert "nvmlDeviceGetPowerUsage" in missing(nvml.find(str(library)), "nvml").why


def test_no_nvml() -> None:
    assert "libnone-such.so.1" in missing(nvml.find("libnone-such.so.1"), "nvml").why


def test_unknown_meters_are_errors(tmp_path: Path) -> None:
    proc(tmp_path, 0, 0)
    with raises("unknown-name", "rpal") as error:
        find.named("rpal", tmp_path)
    assert error.value.args[1] == "rapl"
    with raises("no-meter", "rapl", "/sys/class/powercap"):
        find.named("rapl", tmp_path)


def test_without_a_meter_the_model_is_used(tmp_path: Path) -> None:
    proc(tmp_path, 0, 0)
    assert [meter.name for meter in find.usual(tmp_path)] == ["model"]
    zone(tmp_path, "0", "package-0", 1)
    assert [meter.name for meter in find.usual(tmp_path)] == ["rapl"]
    with raises("no-meter"):
        find.chosen((), tmp_path / "empty")
