"""The FlashCache paper's experiment with a real server, at a thirty-second of its size."""

import json

import pytest

from gordon.reproduce import flashcache
from gordon.reproduce import flashcache_served as served
from gordon.reproduce.papers import paper

from conftest import Run, raises

PLAN = served.Plan(scale=32, paced_s=4, loop_s=0.5, rounds=3, requests=20_000)


@pytest.fixture(scope="module")
def measured() -> served.Measured:
    if not served.is_possible():
        pytest.skip("this system has no server")
    return served.measure(PLAN)


def _configurations(measured: served.Measured) -> list[served.Served]:
    return [measured.alone, measured.both]


def test_both_servers_answer_the_same_requests(measured: served.Measured) -> None:
    assert (measured.alone.dram_mib, measured.alone.flash_mib) == (32, 0)
    assert (measured.both.dram_mib, measured.both.flash_mib) == (4, 32)
    paced = [one.paced for one in _configurations(measured)]
    assert [window.requests for window in paced] == [round(PLAN.rate * 4)] * 2
    assert paced[0].bytes == paced[1].bytes
    for window in paced:
        assert window.seconds == pytest.approx(4, rel=0.3)
        assert 0 < window.median_ms <= window.p99_ms
    for one in _configurations(measured):
        assert one.loop.requests / one.loop.seconds > PLAN.rate
        assert one.resident_bytes > one.dram_mib << 20


def test_every_request_is_counted_at_the_level_that_served_it(measured: served.Measured) -> None:
    for one in _configurations(measured):
        for window in (one.paced, *one.loops):
            assert window.share("dram", "flash", "miss") == pytest.approx(1)
            sent = window.counts["requests"]["bytes_sent"]
            assert sum(sent.values()) == window.bytes
            assert (window.share("flash") > 0) == (one.flash_mib > 0)
            misses = window.counts["requests"]["results"]["miss"]
            assert window.disk_busy_s >= 0.0033 * (misses - window.counts["requests"]["collapsed"])


def test_power_is_that_of_the_counted_accesses(measured: served.Measured) -> None:
    # 80 mW a Gbit, or 18 mW powered down: Table 1.
    for one in _configurations(measured):
        gbits = one.dram_mib / 128
        ready, down = (served.power(one, is_powered_down=down) for down in (False, True))
        assert ready.dram_idle_w == pytest.approx(0.080 * gbits)
        assert down.dram_idle_w == pytest.approx(0.018 * gbits)
        assert ready.total_w - down.total_w == pytest.approx(0.062 * gbits)
        assert ready.dram_active_w == down.dram_active_w > 0
        assert (ready.flash_w > 0) == (ready.controller_w > 0) == (one.flash_mib > 0)
    both = served.power(measured.both, is_powered_down=False)
    energy = measured.both.paced.counts["energy"]
    seconds = measured.both.paced.counts["uptime_s"]
    parts = sum(value for name, value in energy.items() if name.endswith("_j"))
    assert both.total_w - both.controller_w == pytest.approx(parts / seconds)


def test_the_results_are_compared_with_the_paper(measured: served.Measured) -> None:
    rows = served.rows(measured)
    places = {place.place for place in paper("flashcache").places}
    assert {row.table for row in rows} == served.TABLES <= {place.casefold() for place in places}
    bandwidth, *memory = rows
    pairs = zip(measured.both.loops, measured.alone.loops, strict=True)
    ratios = [both.bandwidth_bit_s / alone.bandwidth_bit_s for both, alone in pairs]
    assert bandwidth.ours == sorted(ratios)[1]
    assert [row.low for row in rows] == [1.0, 2.5, 2.5]
    for row in memory:
        assert row.ours > 1
        assert "replay" in row.reason


def test_the_command_serves_unless_it_is_to_be_quick(
    measured: served.Measured, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    asked: list[str] = []

    def measure(**_: object) -> served.Measured:
        asked.append("served")
        return measured

    monkeypatch.setattr(served, "measure", measure)
    monkeypatch.setattr(flashcache, "measure", lambda *_: None)
    monkeypatch.setattr(flashcache, "rows", lambda _: [])
    for words, count in (([], 3), (["--figure", "6"], 2), (["--figure", "section 6.3"], 0)):
        ran = run("reproduce", "flashcache", *words, "--json", "-")
        assert ran.status == 0, ran.err
        found = json.loads(ran.out)["items"]
        assert [item["job"] for item in found] == ["surge, served"] * count
    assert len(asked) == 2
    assert run("reproduce", "flashcache", "--quick").status == 0
    assert len(asked) == 2


def test_a_server_that_does_not_start_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    if not served.is_possible():
        pytest.skip("this system has no server")
    monkeypatch.setattr(served, "DRAM_ALONE", (0, 0))
    with raises("not-served", "--dram"):
        served.measure(PLAN)
