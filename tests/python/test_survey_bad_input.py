"""Bad input of `gordon trace convert`, `trace show` and `survey`: one error that names
the file and the place, and no output; or, for usable input, a warning that counts what is left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sadf
from gordon.human import counted
from spaces import BOTH, GRID, MACHINES

from conftest import Ran, Run

Sample = dict[str, Any]
START_S = 10 * 3600
REFUSED = 2  # exit status of a wrong use of options


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def at(second: int, interval: int = 1, **load: float) -> Sample:
    """A sample that ends `second` seconds after ten o'clock."""
    sample = sadf.second(0, **load)
    minutes, seconds = divmod(START_S + second, 60)
    time = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
    sample["timestamp"] |= {"time": time, "interval": interval}
    return sample


def seconds(first: int, last: int) -> list[Sample]:
    return [at(second) for second in range(first, last + 1)]


def convert(run: Run, text: str, *words: str) -> Ran:
    Path("day.json").write_text(text)
    return run("trace", "convert", "day.json", "day.trace", *words)


def files() -> set[str]:
    return {str(path) for path in Path().rglob("*")}


@pytest.fixture
def trace(run: Run) -> str:
    made = convert(run, sadf.day(seconds(1, 10), "db1"))
    assert made.status == 0, made.err
    return "day.trace"


def survey(run: Run, *words: str) -> dict[str, Any]:
    ran = run("survey", *words, "--json", "-")
    assert ran.status == 0, ran.err
    result: dict[str, Any] = json.loads(ran.out)
    return result


def without(section: str, *fields: str) -> Sample:
    """A sample whose section, or each entry of it, lacks these fields; without any, the section."""
    sample = at(1)
    if not fields:
        del sample[section]
        return sample
    of = sample[section]["net-dev"] if section == "network" else sample[section]
    for entry in of:
        for field in fields:
            del entry[field]
    return sample


# sysstat: input of which no trace can be made.

REFUSED_SAMPLES: dict[str, tuple[Any, str, str, str]] = {
    "cores": (sadf.day([at(1)], "db1", cores=None), "cores", "db1", "--cores"),
    "no-cores": (sadf.day([at(1)], "db1", cores=0), "cores", "db1", "--cores"),
    "other-cores": (sadf.day([at(1)], "db1").replace('s": 2', 's": 9000'), "cores", "9000", "--"),
    "no-host": ('{"sysstat": {"hosts": []}}', "no-samples", "day.json", "sadf -j"),
    "no-hosts": ('{"sysstat": {}}', "json", "day.json, line 1, column", "sadf -j"),
    "no-samples": (sadf.day([], "db1"), "no-samples", "db1: no sample", "sadf -j"),
    "no-cpu": (sadf.day([without("cpu-load")], "db1"), "no-samples", "1 without CPU", "sadf -j"),
    "busy": (sadf.day([at(1, user=300.0)], "db1"), "no-samples", "1 implausible", "sadf -j"),
    "user": (sadf.day([without("cpu-load", "user")], "db1"), "json", "`user`", "sadf -j"),
    "tps": (sadf.day([without("disk", "tps")], "db1"), "json", "`tps`", "sadf -j"),
    "rkB": (sadf.day([without("disk", "rkB")], "db1"), "json", "`rkB` of disk sda", "sadf -j"),
    "rxkB": (sadf.day([without("network", "rxkB")], "db1"), "json", "`rxkB`", "sadf -j"),
    "text": (sadf.day([at(1) | {"disk": "sda"}], "db1"), "json", "column", "sadf -j"),
    "cut": (sadf.day([at(1)], "db1")[:200], "json", "ends early", "fresh copy"),
    "empty": ("", "content", "day.json: it is empty", "another file"),
}


@pytest.mark.parametrize("name", REFUSED_SAMPLES)
def test_input_without_a_usable_sample_is_one_error(run: Run, name: str) -> None:
    text, kind, what, hint = REFUSED_SAMPLES[name]
    ran = convert(run, text, "--format", "sysstat", "--json", "out.json")
    ran.refused(kind, what)
    assert hint in ran.err.partition("try: ")[2]
    assert files() == {"day.json"}


# sysstat: usable input, with a warning of the conversion and one of the trace that it makes.

IRREGULAR: dict[str, tuple[list[Sample], int, tuple[str, ...], str]] = {
    "gap": (
        [*seconds(1, 5), *seconds(600, 605)],
        11,
        ("gaps: 1 stretch, 594 s in all",),
        "no samples for 594 s: the input has 1 gap",
    ),
    "two gaps": (
        [at(1), at(5), at(9)],
        3,
        ("gaps: 2 stretches, 6 s in all",),
        "no samples for 6 s: the input has 2 gaps",
    ),
    "clock jumps back": (
        [*seconds(100, 105), *seconds(1, 5)],
        11,
        ("clock jumps: 1 sample starts before the end of the sample before",),
        "no steady clock: 1 sample starts before the end of the sample before",
    ),
    "repeated": (
        [at(1), at(1), at(2)],
        2,
        ("duplicates: 1 ",),
        "no samples that repeat a time: the conversion left out 1 of them",
    ),
    "impossible": (
        [*seconds(1, 5), at(6, user=-5.0), at(7, user=300.0)],
        5,
        ("implausible: 2 ",),
        "no samples with impossible amounts: the conversion left out 2 of them",
    ),
    "without CPU time": (
        [at(1), without("cpu-load") | {"timestamp": at(2)["timestamp"]}],
        1,
        ("without CPU: 1 ",),
        "no samples without CPU time: the conversion left out 1 of them",
    ),
    "no time": (
        [at(1), at(2) | {"timestamp": {"date": "2026-13-45", "time": "99:99:99", "interval": 1}}],
        1,
        ("without time: 1 ",),
        "no samples without a valid time: the conversion left out 1 of them",
    ),
    "no interval": (
        [at(1), at(2, 0)],
        1,
        ("bad intervals: 1 ",),
        "no samples without a valid interval: the conversion left out 1 of them",
    ),
    "no disks in a sample": (
        [at(1), without("disk") | {"timestamp": at(2)["timestamp"]}],
        2,
        ("without disks: 1 sample has no disks, taken as no I/O",),
        "no I/O in some samples: 1 sample without disks",
    ),
    "no memory": (
        [without("memory")],
        1,
        (),
        "no memory: the input has no such section",
    ),
    "swap alone": (
        [at(1) | {"memory": {"swpfree": 5, "swpused": 0}}],
        1,
        (),
        "no memory: the input has no such section",
    ),
    "no network": (
        [without("network")],
        1,
        ("network: the input has none, so the network never limits",),
        "no network: the input has no such section",
    ),
}


@pytest.mark.parametrize("name", IRREGULAR)
def test_irregular_input_is_counted_by_the_conversion_and_by_the_survey(
    run: Run, name: str
) -> None:
    samples, kept, warnings, lost = IRREGULAR[name]
    made = convert(run, sadf.day(samples, "db1"))
    assert made.status == 0, made.err
    assert f"\n{counted(kept, 'sample')} of db1" in f"\n{made.err}"
    for warning in warnings:
        assert f"warning: day.json: {warning}" in made.err
    assert f"warning: {lost}\n" in run("trace", "show", "day.trace").err
    for space in ("modern", "gordon-2009"):
        assert f"day.trace: {lost}" in survey(run, "day.trace", "--space", space)["warnings"]


def test_the_time_of_a_gap_is_not_that_of_the_job(run: Run) -> None:
    samples = [*seconds(1, 5), *seconds(600, 604)]
    report = json.loads(convert(run, sadf.day(samples, "db1"), "--json", "-").out)
    assert report["hosts"][0]["span_s"] == 10
    result = survey(run, "day.trace", "--space", "ec2", "--reference", "m5.large")
    traced = next(design for design in result["designs"] if design["id"] == "m5.large")
    assert traced["job"]["time_s"] == pytest.approx(10)


def test_mixed_intervals_keep_their_lengths(run: Run) -> None:
    samples = [*seconds(1, 6), *(at(second, 10) for second in (16, 26))]
    made = convert(run, sadf.day(samples, "db1"), "--json", "-")
    assert "mixed intervals: 2 samples are not of the most frequent length" in made.err
    host = json.loads(made.out)["hosts"][0]
    assert (host["span_s"], host["interval_s"], host["cpu_s"]) == (26, 1, 52)


def test_warnings_about_several_files_name_how_many_they_are(run: Run) -> None:
    Path("late.json").write_text(sadf.day(seconds(20, 22), "db1"))
    Path("day.json").write_text(sadf.day(seconds(1, 5), "db1"))
    made = run("trace", "convert", "day.json", "late.json", "day.trace")
    assert "warning: day.json and 1 more: gaps: 1 stretch, 14 s" in made.err


def test_barriers_of_traces_with_other_intervals_or_starts_get_a_warning(run: Run) -> None:
    entries = {
        "one": seconds(1, 30),
        "same": seconds(1, 30),
        "ten": [at(second, 10) for second in (10, 20, 30)],
        "late": seconds(11, 40),
    }
    hosts = [
        {"nodename": name, "number-of-cpus": 2, "statistics": samples}
        for name, samples in entries.items()
    ]
    made = convert(run, json.dumps({"sysstat": {"hosts": hosts}}))
    assert made.status == 0, made.err

    def barriers(other: str, *space: str) -> list[str]:
        traces = ("day.trace/one", f"day.trace/{other}")
        result = survey(run, *traces, *space)
        return [warning for warning in result["warnings"] if "barriers" in warning]

    grid = ("--space", "gordon-2009")
    assert barriers("same", *grid) == []
    [intervals] = barriers("ten", *grid)
    assert intervals.startswith(
        "day.trace/one and day.trace/ten: intervals differ: sample 2 starts at 1.0 s and at 10.0 s"
    )
    [starts] = barriers("late", *grid)
    assert "the traces start 10.0 s apart" in starts
    # Machines are surveyed without barriers.
    assert barriers("ten") == []


# Prometheus.


def answer(*series: tuple[str, dict[str, str], list[Any]], **more: Any) -> str:
    result = [
        {
            "metric": {"__name__": name, "instance": "db1:9100"} | labels,
            "values": [[1_795_687_200 + 15 * nth, str(value)] for nth, value in enumerate(values)],
        }
        for name, labels, values in series
    ]
    data = {"resultType": "matrix", "result": result}
    return json.dumps({"status": "success", "data": data} | more)


CPU = "node_cpu_seconds_total"
USER = (CPU, {"cpu": "0", "mode": "user"}, [0, 10, 20])
IDLE = (CPU, {"cpu": "0", "mode": "idle"}, [0, 5, 10])
READ = ("node_disk_read_bytes_total", {"device": "sda"}, [0, 512, 1024])


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        (answer(USER), "content", "db1:9100: node_cpu_seconds_total of core 0 lacks the mode idle"),
        (answer(IDLE), "content", "db1:9100: node_cpu_seconds_total of core 0 lacks the mode user"),
        (answer(USER, (*IDLE[:2], [0, "many", 10])), "content", "`many` of node_cpu_seconds_total"),
        (answer(READ), "no-samples", "db1:9100: no sample"),
        (answer(USER, IDLE).replace("matrix", "vector"), "content", "query at one time"),
        ('{"status": "error", "error": "timed out"}', "content", "timed out"),
        ('{"status": "error", "data": null, "error": "timed out"}', "content", "timed out"),
        ('{"data": null, "error": "timed out"}', "json", "line "),
    ],
)
def test_answers_of_prometheus_that_do_not_give_the_load_are_one_error(
    run: Run, text: str, kind: str, what: str
) -> None:
    ran = convert(run, text, "--format", "prometheus")
    ran.refused(kind, "day.json", what)
    assert "try: " in ran.err
    assert files() == {"day.json"}


def test_time_of_the_kernel_that_prometheus_lacks_is_said(run: Run) -> None:
    made = convert(run, answer(USER, IDLE), "--format", "prometheus")
    assert made.status == 0, made.err
    assert "lack the mode system, so the time of the kernel counts as 0" in made.err
    system = (CPU, {"cpu": "0", "mode": "system"}, [0, 1, 2])
    again = convert(run, answer(USER, IDLE, system), "--force")
    assert again.status == 0, again.err
    assert "mode system" not in again.err


def test_a_machine_of_prometheus_that_was_resized_has_the_cores_of_each_time(run: Run) -> None:
    def core(number: int, first: int) -> list[tuple[str, dict[str, str], list[Any]]]:
        modes = {"user": 15, "system": 0, "idle": 0}
        return [
            (CPU, {"cpu": str(number), "mode": mode}, [secs * nth for nth in range(first, 5)])
            for mode, secs in modes.items()
        ]

    late = core(1, 2)
    text = answer(*core(0, 0), *late)
    listed = json.loads(text)
    for series in listed["data"]["result"]:
        if series["metric"]["cpu"] == "1":
            series["values"] = [[at + 30, value] for at, value in series["values"]]
    made = convert(run, json.dumps(listed), "--format", "prometheus")
    assert made.status == 0, made.err
    assert "the machine had 1 and 2 at different times" in " ".join(made.err.split())


def test_samples_without_memory_and_network_are_counted(run: Run) -> None:
    samples = [sadf.second(nth) for nth in range(4)]
    for sample in samples[2:]:
        del sample["memory"], sample["network"]
    made = convert(run, sadf.day(samples, "web1"))
    assert made.status == 0, made.err
    said = " ".join(made.err.split())
    assert "without memory: 2 samples have no memory, which is 0 there" in said
    assert "without network: 2 samples have no network, taken as no traffic" in said


def test_values_of_prometheus_that_are_left_out_are_counted(run: Run) -> None:
    other = (READ[0], READ[1] | {"job": "other"}, [0, 4096, 8192])
    nan = ("node_disk_written_bytes_total", {"device": "sda"}, ["NaN", 512, "+Inf"])
    made = convert(run, answer(USER, IDLE, READ, other, nan, warnings=["one store is down"]))
    assert made.status == 0, made.err
    for warning in ("values: 2 ", "contradictions: 2 ", "the server warned: one store is down"):
        assert f"warning: day.json: {warning}" in made.err


def test_a_parquet_file_that_is_not_of_rezolus_is_one_error(run: Run, trace: str) -> None:
    parquet = f"{trace}/activity.parquet"
    before = files()
    ran = run("trace", "convert", parquet, "out", "--format", "rezolus")
    ran.refused("content", parquet, "timestamp")
    Path("cut.parquet").write_bytes(Path(parquet).read_bytes()[:200])
    run("trace", "convert", "cut.parquet", "out", "--format", "rezolus").refused(
        "content", "cut.parquet", "damaged"
    )
    assert files() == before | {"cut.parquet"}


# Traces that are not whole, or not of this version.


def _manifest(trace: str, **changes: Any) -> None:
    path = Path(trace, "manifest.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def _truncate(trace: str) -> None:
    path = Path(trace, "activity.parquet")
    path.write_bytes(path.read_bytes()[:-9])


def _flip(trace: str) -> None:
    path = Path(trace, "activity.parquet")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _no_cores(trace: str) -> None:
    machine = json.loads(Path(trace, "manifest.json").read_text())["machine"]
    _manifest(trace, machine=machine | {"cores": "many"})


DAMAGE: dict[str, tuple[Callable[[str], Any], str, str]] = {
    "version": (lambda t: _manifest(t, version=99, gordon="9.9"), "version", "9.9"),
    "format": (lambda t: _manifest(t, format="other"), "foreign", "manifest.json"),
    "cut manifest": (
        lambda t: os.truncate(f"{t}/manifest.json", 90),
        "damaged",
        "manifest.json",
    ),
    "text": (lambda t: Path(t, "manifest.json").write_text("x"), "foreign", "manifest.json"),
    "no manifest": (lambda t: Path(t, "manifest.json").unlink(), "foreign", "manifest.json"),
    "no activity": (lambda t: Path(t, "activity.parquet").unlink(), "damaged", "activity.parquet"),
    "cut activity": (_truncate, "damaged", "activity.parquet"),
    "changed activity": (_flip, "damaged", "activity.parquet"),
    "value": (_no_cores, "damaged", "manifest.json"),
}


@pytest.mark.parametrize("name", DAMAGE)
@pytest.mark.parametrize("words", [("trace", "show"), ("survey",)])
def test_a_damaged_trace_is_one_error(
    run: Run, trace: str, name: str, words: tuple[str, ...]
) -> None:
    damage, kind, what = DAMAGE[name]
    damage(trace)
    ran = run(*words, trace, "--json", "out.json")
    # An error of a trace in a survey is of the kind `trace`.
    ran.refused("trace" if words == ("survey",) else kind, trace, what)
    assert "try: " in ran.err
    assert not Path("out.json").exists()


@pytest.mark.parametrize("words", [("trace", "show"), ("survey",)])
def test_a_missing_trace_is_one_error(run: Run, words: tuple[str, ...]) -> None:
    run(*words, "none.trace", "--json", "out.json").refused("missing-trace", "none.trace")
    Path("file").write_text("x")
    run(*words, "file", "--json", "out.json").refused("not-a-trace", "file", "not a trace")
    assert files() == {"file"}


def test_a_trace_of_requests_alone_cannot_be_surveyed(run: Run) -> None:
    Path("requests").write_text("5 0 8 8 1\n9 0 16 8 0\n")
    assert run("trace", "convert", "requests", "requests.trace").status == 0
    ran = run("survey", "requests.trace", "--json", "out.json")
    assert ran.status == 1
    assert ran.err.count("error: ") == 1
    assert "requests.trace" in ran.err
    assert "try: " in ran.err
    assert not Path("out.json").exists()


# Spaces.


def machines(old: str, new: str) -> str:
    assert old in MACHINES
    return MACHINES.replace(old, new, 1)


HEAD = 'name = "own"\nsummary = "a space of a test"\n'
TWO = 'storage = ["nvme-tlc-1tb", "nvme-tlc-1tb"]'
LARGE = 'storage = "nvme-tlc-1tb"'
CORES = "cores = 2\n"

BAD_SPACES: dict[str, tuple[str, str, str]] = {
    "no machines": (f"{HEAD}machines = []\n", "the list of machines is empty", "[[machines]]"),
    "no storage": (machines(LARGE, "storage = []"), "line 21: the list is empty", ""),
    "no network": (machines('"10Gb"', "[]"), "line 11: the list is empty", ""),
    "storage twice": (machines(LARGE, TWO), "`large`: storage: the list has", "space"),
    "network twice": (machines('"10Gb"', '["10Gb", "1.25GB"]'), "network: the list has", "space"),
    "id twice": (machines('"large"', '"small"'), "machine `small`: another", "space"),
    "no id": (machines('"large"', '" "'), "machine ` `: id", "space"),
    "idle above active": (machines('"4W"', '"40W"'), "`small`: idle: 40W is above", "space"),
    "negative power": (machines('"4W"', '"-4W"'), "line 13: `-4W`", ""),
    "threads above cores": (
        machines(CORES, f"{CORES}threads_per_core = 4\n"),
        "`small`: threads_per_core: 4 is not 1 to 2",
        "space",
    ),
    "no threads": (machines(CORES, f"{CORES}threads_per_core = 0\n"), "threads_per_core", "space"),
    "less than no core": (machines(CORES, "cores = -2.5\n"), "`small`: cores: -2.5", "quota"),
    "text for cores": (machines(CORES, 'cores = "2"\n'), "expected a whole number", ""),
    "blank processor": (machines(CORES, f'{CORES}models = [""]\n'), "`small`: models", "space"),
    "price below zero": (machines("0.096", "-1"), "price_per_hour: -1 is below zero", "space"),
    "price is nan": (machines("0.096", "nan"), "machines[0].price_per_hour: NaN", "leave"),
    "price is inf": (machines("0.096", "inf"), "machines[0].price_per_hour: inf", "leave"),
    "price with a unit": (machines("0.096", '"0.1$"'), "line 12: ", ""),
    "no memory": (machines('"16GiB"', '"0B"'), "machine `small`: memory", "space"),
    "memory without a unit": (machines('"16GiB"', "1"), "line 9: ", ""),
    "unknown part": (machines(LARGE, 'storage = "nvme-tlc-1t"'), "`large`: ", "`nvme-tlc-1tb`"),
    "unknown part in a list": (
        machines(LARGE, 'storage = ["nvme-tlc-1tb", "sata-7200-1t"]'),
        "machine `large`: there is no flash or disk part `sata-7200-1t`",
        "`sata-7200-1tb`",
    ),
    "unknown unit": (machines('"131MB"', '"131MQ"'), "line 10: `131MQ`: unknown unit", ""),
    "no speed": (machines("core_speed = 1.0\n", ""), "line 5: missing field", "add `core_speed`"),
    "no speed at all": (machines("= 1.0\n", "= 0\n"), "`small`: core_speed: 0 is not", "space"),
    "speed below zero": (machines("= 1.0\n", "= -2\n"), "`small`: core_speed: -2 is not", "space"),
    "count without a part": (machines(LARGE, "storage = { count = 2 }"), "`large`: storage", ""),
    "a key twice": (machines(CORES, CORES * 2), "line 8: duplicate key", ""),
    "unknown key": (machines(CORES, "coress = 2\n"), "line 7: unknown field", "`cores`"),
    "date": (machines(CORES, f"{CORES}date = 2026-13-02\n"), "line 8: ", ""),
    "not TOML": ("x = = 3\n", "line 1: ", ""),
    "nothing": ("", "there are no machines", "[[machines]]"),
    "half a grid": (GRID.replace("baseline =", "#"), "missing field `baseline`", "baseline"),
    "no clock": (GRID.replace('["1.9GHz"]', "[]"), "the space has no design", "clock"),
    "no processor": (GRID.replace("counts = [1] }]", "counts = [0] }]"), "cpus: 0 is not", ""),
    "clock of another": (GRID.replace('["1.9GHz"]', '["9GHz"]'), "clock 9GHz: `atom` runs", ""),
    "unknown processor": (GRID.replace('part = "atom"', 'part = "atm"'), "cpu part `atm`", "atom"),
    "budget": (GRID.replace("40W", "-40W"), "line 4: `-40W`", ""),
}


@pytest.mark.parametrize("name", BAD_SPACES)
def test_a_bad_space_is_one_error_that_names_the_file_and_the_place(
    run: Run, trace: str, name: str
) -> None:
    text, what, hint = BAD_SPACES[name]
    assert text not in (GRID, MACHINES)
    Path("bad.toml").write_text(text)
    before = files()
    ran = run("survey", trace, "--space", "bad.toml", "--json", "o.json", "--parquet", "o.parquet")
    assert (ran.status, ran.out) == (1, "")
    assert ran.kind
    assert ran.err.startswith("error: bad.toml"), ran.err
    assert ran.err.count("error: ") == 1
    assert what in ran.err
    assert hint in ran.err.partition("try: ")[2]
    assert files() == before


def test_an_error_that_may_be_due_to_a_setting_does_not_name_the_space(
    run: Run, trace: str
) -> None:
    Path("own.toml").write_text(MACHINES)
    ran = run("survey", trace, "--space", "own.toml", "--set", "machines.small.cores=0")
    assert ran.err.startswith("error: machine `small`: cores: 0 is not"), ran.err


@pytest.mark.parametrize(
    ("text", "words", "kind", "what", "hint"),
    [
        (MACHINES, ("--reference", "smal"), "unknown-name", "`smal`", "`small`"),
        (MACHINES, ("--model", "stages"), "wrong-model", "stages", "leave out --model"),
        (MACHINES, ("--model", "paper"), "wrong-model", "paper", "leave out --model"),
        (MACHINES, ("--nodes", "2"), "bad-nodes", "--nodes 2", "leave out --nodes"),
        (GRID, ("--model", "stages"), "no-stages", "stages", "--stages FILE"),
        (MACHINES, ("--set", "budget=3W"), "no-grid", "budget", "machines.ID.KEY"),
        (GRID, ("--model", "job"), "wrong-model", "`own`", "--model paper"),
        (GRID, ("--set", "machines.small.cores=3"), "no-machines", "machines.small.cores", "job"),
        (GRID, ("--reference", "atm"), "unknown-name", "`atm`", "`atom`"),
        (GRID, ("--reference", "-1"), "bad-number", "-1", "--reference 3"),
        (GRID, ("--reference", "nan"), "bad-number", "nan", "--reference 3"),
        (
            MACHINES,
            ("--set", "machines.small.cores=-1"),
            "config-error",
            "small.cores=-1: expected a whole number",
            "",
        ),
        (
            MACHINES,
            ("--set", "machines.small.memory=5"),
            "config-error",
            "small.memory=5: expected a quantity with its unit",
            "",
        ),
        (MACHINES, ("--set", "machines.small.cores=nan"), "not-finite", "small.cores=nan", "="),
        (MACHINES, ("--set", "machines.small.cores=1e999"), "not-finite", "cores=1e999", "="),
        (BOTH, ("--set", "budget=100W"), "no-grid", "budget", "machines.ID.KEY"),
        (BOTH, ("--model", "paper", "--set", "machines.small.cores=3"), "no-machines", "", "job"),
    ],
)
def test_options_that_contradict_the_space_are_one_error(
    run: Run, trace: str, text: str, words: tuple[str, ...], kind: str, what: str, hint: str
) -> None:
    Path("own.toml").write_text(text)
    ran = run("survey", trace, "--space", "own.toml", *words, "--json", "out.json")
    wrong_use = {"wrong-model", "bad-nodes"}
    ran.refused(kind, what, status=REFUSED if kind in wrong_use else 1)
    assert hint in ran.err.partition("try: ")[2]
    assert not Path("out.json").exists()


@pytest.mark.parametrize("words", [("--rows", "-1"), ("--rows", "x"), ("--nodes", "0")])
def test_numbers_out_of_range_are_a_wrong_use(run: Run, trace: str, words: list[str]) -> None:
    ran = run("survey", trace, *words, "--json", "out.json")
    assert (ran.status, ran.out) == (REFUSED, "")
    assert words[0] in ran.err
    assert not Path("out.json").exists()


def test_the_half_of_a_space_that_is_left_out_is_a_warning(run: Run, trace: str) -> None:
    Path("both.toml").write_text(BOTH)
    words = (trace, "--space", "both.toml", "--nodes", "1")
    machines_only = survey(run, *words)["warnings"]
    assert any("the grid of designs of the space `own` is left out" in w for w in machines_only)
    grid_only = survey(run, *words, "--model", "paper")["warnings"]
    assert any("the machines of the space `own` are left out" in w for w in grid_only)


@pytest.mark.parametrize("name", ["folder", "none.toml", "bytes.toml"])
def test_a_space_that_cannot_be_read_is_one_error(run: Run, trace: str, name: str) -> None:
    Path("folder").mkdir()
    Path("bytes.toml").write_bytes(b"\xff\xfe")
    space = "./folder" if name == "folder" else name
    run("survey", trace, "--space", space).refused("unreadable-file", name)


# Outputs.


@pytest.mark.parametrize("option", ["--parquet", "--json", "--csv"])
@pytest.mark.parametrize(
    "path",
    [
        "own.toml",
        "./own.toml",
        "link.toml",
        "day.trace/manifest.json",
        "day.trace/activity.parquet",
        "stages.json",
    ],
)
def test_no_output_replaces_the_space_the_trace_or_the_stages(
    run: Run, trace: str, option: str, path: str
) -> None:
    Path("own.toml").write_text(MACHINES)
    Path("link.toml").symlink_to("own.toml")
    Path("stages.json").write_text(STAGES)
    staged = ("--stages", "stages.json")
    before = Path(path).read_bytes()
    ran = run("survey", trace, "--space", "own.toml", *staged, option, path)
    ran.refused("path-in-use", path)
    assert Path(path).read_bytes() == before


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("out.json", "path-in-use"),
        ("./out.json", "path-in-use"),
        ("no/out.parquet", "missing-folder"),
        ("day.trace", "is-a-folder"),
        ("-", "binary-to-stdout"),
    ],
)
def test_a_table_that_cannot_be_written_is_an_error_before_the_work(
    run: Run, trace: str, path: str, kind: str
) -> None:
    before = files()
    ran = run("survey", trace, "--json", "out.json", "--parquet", path)
    ran.refused(kind)
    assert files() == before


def test_a_table_that_fails_is_an_error_with_its_own_name(
    run: Run, trace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("locked").mkdir()
    # As root, every folder looks writable.
    monkeypatch.setattr(os, "access", lambda *_: True)
    if os.geteuid() == 0:
        target = "/proc/gordon.parquet"
    else:
        target = "locked/gordon.parquet"
        Path("locked").chmod(0o500)
    ran = run("survey", trace, "--parquet", target, "--json", "out.json")
    ran.refused("table", f"cannot write {target}: ")
    assert ".partial" not in ran.err
    assert not Path("out.json").exists()


# Stages.

STAGES = '{"stages": [{"name": "map", "start_s": 0, "end_s": 5}]}'
BAD_STAGES = {
    "text": ("map 0 5", "bad.json: not JSON"),
    "cut": (STAGES[:-9], "bad.json: not JSON"),
    "list": ("[]", "bad.json: no list of `stages`"),
    "empty": ('{"stages": []}', "bad.json: the list of stages is empty"),
    "number": ('{"stages": [5]}', "bad.json: stages[0]: 5 is not an object"),
    "key": (STAGES.replace("end_s", "ends"), "bad.json: stages[0] has no `end_s`"),
    "name": (STAGES.replace('"map"', "3"), "bad.json: stages[0].name: 3 is not text"),
    "word": (STAGES.replace("5}", '"5"}'), "bad.json: stages[0].end_s: '5' is not a number"),
    "truth": (STAGES.replace("5}", "true}"), "bad.json: stages[0].end_s: True is not a number"),
    "nan": (STAGES.replace("5}", "NaN}"), "bad.json: stages[0].end_s: nan is not a number"),
    "order": (STAGES.replace("5}", "0}"), "bad.json: stages[0] `map` lasts from 0 s to 0 s"),
    "early": (STAGES.replace("0,", "-1,"), "bad.json: stages[0] `map` lasts from -1 s"),
}


@pytest.mark.parametrize("name", BAD_STAGES)
@pytest.mark.parametrize("space", ["modern", "gordon-2009"])
def test_bad_stages_are_one_error_that_names_the_entry(
    run: Run, trace: str, name: str, space: str
) -> None:
    text, what = BAD_STAGES[name]
    Path("bad.json").write_text(text)
    words = ("--space", space, "--stages", "bad.json")
    ran = run("survey", trace, *words, "--json", "out.json")
    ran.refused("bad-stages", what)
    assert '{"stages": [' in ran.err.partition("try: ")[2]
    assert not Path("out.json").exists()


def test_a_stage_outside_of_the_trace_is_a_warning(run: Run, trace: str) -> None:
    """As of a file in milliseconds."""
    Path("ms.json").write_text(STAGES.replace("0,", "5000,").replace("5}", "9000}"))
    words = ("--space", "gordon-2009", "--stages", "ms.json")
    warnings = survey(run, trace, *words)["warnings"]
    assert any(w.startswith("stages[0] `map`, 5000 s to 9000 s: ") for w in warnings), warnings
