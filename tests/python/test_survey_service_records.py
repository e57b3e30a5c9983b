"""Records of services: hosts, gaps, clocks, sections that are missing, and what they hide."""

import json
from pathlib import Path
from typing import Any

import pytest

import sadf
from services import answer, by_id, converted, record
from spaces import MACHINES

from conftest import Run


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(MACHINES)


def test_hosts_of_a_service_are_added(run: Run) -> None:
    folder = converted(run, record(), "web1", "web2")
    result = answer(run, folder, "--reference", "small", "--nodes", "1..2")
    designs = by_id(result)
    assert designs["1 x small"]["use"]["cpu"] == pytest.approx(0.4)
    assert designs["2 x small"]["use"]["cpu"] == pytest.approx(0.2)
    assert designs["2 x small"]["is_reference"]
    memory = {id: designs[id]["use"]["memory"] for id in ("1 x small", "2 x small")}
    assert memory["1 x small"] == pytest.approx(2 * memory["2 x small"])
    assert result["load"]["nodes"] == 2


def test_gaps_and_restarts_are_counted_and_the_rest_is_used(run: Run) -> None:
    samples = record(count=96)
    del samples[10:20]
    Path("day.json").write_text(
        json.dumps(
            {
                "sysstat": {
                    "hosts": [
                        {
                            "nodename": "web1",
                            "number-of-cpus": 2,
                            "statistics": samples,
                            "restarts": [{"boot": {"date": "2026-11-01", "time": "07:10:00"}}],
                        }
                    ]
                }
            }
        )
    )
    assert run("trace", "convert", "day.json", "day.trace").status == 0
    result = answer(run, "day.trace", "--reference", "small")
    assert result["load"]["samples"] == 86
    assert by_id(result)["1 x small"]["use"]["cpu"] == pytest.approx(0.2)
    (warning,) = [w for w in result["warnings"] if "86 samples of 43.0 hours are used" in w]
    assert "samples for 18000 s (the input has 1 gap)" in warning
    assert "time of restarts (the input has 1 restart" in warning


def test_a_short_record_and_one_of_the_processor_alone_warn(run: Run) -> None:
    samples = record(count=10, interval=60)
    for sample in samples:
        for section in ("memory", "disk", "network"):
            del sample[section]
    result = answer(run, converted(run, samples, "web1"), "--reference", "small", "--nodes", "1")
    text = "\n".join(result["warnings"])
    assert "the record covers 10 minutes: it has none of the peaks of a day or a week" in text
    for name in ("memory", "disks", "network"):
        assert f"the record has no {name}" in text
    small = by_id(result)["1 x small"]
    assert small["use"] == {
        "cpu": pytest.approx(0.2),
        "memory": None,
        "disk": None,
        "network": None,
    }
    # The recorded machine has the memory that it had.
    assert small["keeps_up"] is True


def test_a_range_query_of_prometheus_is_a_load(run: Run) -> None:
    start, step, count = 1795687200, 60, 30

    def series(name: str, labels: dict[str, str], a_second: float) -> dict[str, Any]:
        values = [[start + step * n, str(a_second * step * n)] for n in range(count)]
        return {"metric": {"__name__": name, "instance": "a:9100", **labels}, "values": values}

    cpus = [
        series("node_cpu_seconds_total", {"cpu": cpu, "mode": mode}, share)
        for cpu in ("0", "1")
        for mode, share in (("user", 0.3), ("idle", 0.7))
    ]
    network = [
        series(f"node_network_{way}_bytes_total", {"device": "eth0"}, 1e6)
        for way in ("receive", "transmit")
    ]
    found = {"status": "success", "data": {"resultType": "matrix", "result": cpus + network}}
    Path("hour.json").write_text(json.dumps(found))
    assert run("trace", "convert", "hour.json", "a.trace", "--format", "prometheus").status == 0
    result = answer(run, "a.trace", "--reference", "small")
    small = by_id(result)["1 x small"]
    assert small["use"]["cpu"] == pytest.approx(0.3, rel=0.01)
    assert small["use"]["network"] == pytest.approx(8e6 / 10e9, rel=0.01)


@pytest.mark.parametrize(("busy_in_gap", "are_peaks_missing"), [(0.3, False), (0.9, True)])
def test_a_gap_of_prometheus_is_left_out_of_the_load(
    run: Run, busy_in_gap: float, are_peaks_missing: bool
) -> None:
    start, step, gap = 1795687200, 60, range(100, 110)
    busy = [busy_in_gap if number in gap else 0.3 for number in range(300)]

    def series(cpu: str, mode: str, shares: list[float]) -> dict[str, Any]:
        counter = [sum(shares[:number]) * step for number in range(len(shares))]
        values = [
            [start + step * number, str(value)]
            for number, value in enumerate(counter)
            if number not in gap
        ]
        labels = {"instance": "a:9100", "cpu": cpu, "mode": mode}
        return {"metric": {"__name__": "node_cpu_seconds_total", **labels}, "values": values}

    idle = [1 - share for share in busy]
    cpus = [
        series(cpu, mode, shares)
        for cpu in ("0", "1")
        for mode, shares in (("user", busy), ("idle", idle))
    ]
    found = {"status": "success", "data": {"resultType": "matrix", "result": cpus}}
    Path("hours.json").write_text(json.dumps(found))
    result = answer(run, "hours.json", "--reference", "small")
    small = by_id(result)["1 x small"]
    assert small["use"]["cpu"] == pytest.approx(0.3, rel=0.01)
    assert small["peak"]["cpu"] == pytest.approx(0.3, rel=0.01)
    (note,) = (text for text in result["warnings"] if "has a gap there" in text)
    assert note.startswith("1 sample is left out of the load, 11 min")
    assert ("peaks of the load are missing" in note) == are_peaks_missing


def test_an_event_log_is_not_the_record_of_a_service(run: Run) -> None:
    ran = run("survey", "spark-sort", "--space", "own.toml", "--service")
    assert ran.status == 2
    assert "spark-sort is an event log of Spark" in ran.err
    assert "leave out --service" in ran.err


def test_a_busy_disk_of_a_long_record_takes_no_memory(run: Run) -> None:
    # 3e11 requests: the sums of a record are taken without making its requests.
    samples = record(count=48, interval=86_400)
    for sample in samples[:28]:
        sample["disk"][0] |= {"tps": 100_000.0, "wkB": 4e6, "rkB": 4e6}
    converted_ = converted(run, samples[:28], "web1")
    result = answer(run, converted_, "--reference", "small", "--nodes", "1")
    assert result["load"]["disk"]["writes_per_s"]["peak"] == pytest.approx(50_000)


def test_records_in_other_time_zones_are_not_added(run: Run) -> None:
    utc, local = record(), record()
    for sample in local:
        sample["timestamp"]["utc"] = 0
    entries = [
        {"nodename": name, "number-of-cpus": 2, "statistics": samples}
        for name, samples in (("web1", utc), ("web2", local))
    ]
    Path("day.json").write_text(json.dumps({"sysstat": {"hosts": entries}}))
    ran = run("survey", "day.json", "--space", "own.toml", "--service")
    assert ran.status == 1
    assert "some times are UTC" in ran.err
    assert "without -t and -T" in ran.err


def test_records_of_other_hours_are_refused_with_what_to_do(run: Run) -> None:
    early, late = record(), record()
    for sample in late:
        sample["timestamp"]["date"] = "2026-12-01"
    entries = [
        {"nodename": name, "number-of-cpus": 2, "statistics": samples}
        for name, samples in (("web1", early), ("web2", late))
    ]
    Path("day.json").write_text(json.dumps({"sysstat": {"hosts": entries}}))
    ran = run("survey", "day.json", "--space", "own.toml", "--service", "--reference", "small")
    assert ran.status == 1
    assert "no time is in all of them" in ran.err
    assert "records of the same hours" in ran.err


def test_what_a_record_hides_is_said(run: Run) -> None:
    full = record()
    for sample in full:
        sample["memory"] = {"memfree": 0, "memused": 990_000, "memused-percent": 99.0, "avail": 0}
        sample["disk"][0]["util-percent"] = 100.0
    entries = [
        {"nodename": name, "number-of-cpus": cores, "statistics": full}
        for name, cores in (("web1", 2), ("db1", 4))
    ]
    Path("day.json").write_text(json.dumps({"sysstat": {"hosts": entries}}))
    text = "\n".join(answer(run, "day.json", "--reference", "small")["warnings"])
    assert "memory was at least 95 % used in 100.00 % of the time" in text
    assert "a disk had requests without a pause in 100.00 % of the time" in text
    assert "the recorded nodes have 2 to 4 cores" in text


def test_a_warning_about_a_missing_section_is_given_once(run: Run) -> None:
    samples = record()
    for sample in samples:
        for section in ("disk", "network"):
            del sample[section]
    Path("day.json").write_text(sadf.day(samples, "web1"))
    text = "\n".join(answer(run, "day.json", "--reference", "small")["warnings"])
    assert "-n DEV" in text
    assert "the network is not judged" not in text
    assert "storage is not judged" not in text
