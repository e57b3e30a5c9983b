"""`gordon cache replay --policy flashcache`: two levels over a trace, the report, bad input."""

from __future__ import annotations

import json
import math
import os
import struct
from pathlib import Path
from typing import Any

import pytest

from browser import result_of
from gordon import cache, disk
from gordon.cache import flashcache, server

from conftest import Run, mqsim, raises

SHARED = Path(__file__).resolve().parents[3] / "shared/traces"
REAL = Path(os.environ.get("GORDON_TRACES", SHARED)) / "block/cloudPhysicsIO.vscsi.gz"


def replay(trace: str | Path, dram: str, flash: str, **options: Any) -> Any:
    return cache.replay(trace, policy="flashcache", dram=dram, flash=flash, **options)


@pytest.fixture
def web(tmp_path: Path) -> str:
    """Repeated requests for pages of files, one in a thousand a write."""
    rows = []
    for i in range(20_000):
        page = int(3000 * math.sin(i * i) ** 8)
        rows.append((i * 60_000_000, page * 8, 8, int(i % 1000 != 0)))
    return mqsim(tmp_path / "web", *rows)


def test_a_run_through_the_command(web: str, run: Run, tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    args = ("cache", "replay", web, "--policy", "flashcache", "--dram", "4MiB", "--flash", "8MiB")
    ran = run(*args, "--json", str(out))
    assert ran.status == 0, ran.err
    report: Any = json.loads(out.read_text())
    assert report == replay(web, "4MiB", "8MiB")
    assert (report["policy"], report["dram_policy"], report["unit"]) == (
        "flashcache",
        "lru",
        "page",
    )
    assert report["requests"] == report["hits"] + report["misses"] == 20_000
    levels = report["levels"]
    assert sum(level["requests"] for level in levels.values()) == 20_000
    assert sum(level["bytes"] for level in levels.values()) == report["bytes"] == 20_000 * 4096
    for name in ("dram", "flash", "backend"):
        assert levels[name]["requests"] > 0
        assert levels[name]["latency_us"]["p50"] > 0
    # Found at a microsecond, in hundreds of them, in thousands.
    p50 = [levels[name]["latency_us"]["p50"] for name in ("dram", "flash", "backend")]
    assert p50[0] < 2 < 100 < p50[1] < 1000 < 3000 < p50[2]
    memory = report["memory"]
    charged = ("primary_bytes", "write_buffer_bytes", "tables_bytes")
    assert sum(memory[key] for key in charged) == 4 << 20
    for message in ("miss ratio", "requests/s", "hot sets swapped", "cm2", "modelled", "DRAM idle"):
        assert message in ran.out
    # The paper's Table 2.
    (last,) = (line for line in ran.out.splitlines() if line.startswith("2016"))
    assert last.split()[:4] == ["2016", "1.88", "7.50", "0.750"]
    assert "10,000,000" in last


def test_without_flash_it_is_the_policy(web: str) -> None:
    for policy in ("lru", "sieve", "belady"):
        two = replay(web, "2MiB", "0", dram_policy=policy)
        one: Any = cache.replay(web, policy=policy, dram="2MiB")
        assert (two["misses"], two["byte_miss_ratio"]) == (one["misses"], one["byte_miss_ratio"])
        assert two["flash"] is None
        assert two["wear"] is None


def test_flash_saves_power_and_area_compared_with_dram_alone(web: str) -> None:
    """The claim of the paper, with its own numbers: the same bandwidth, less power."""
    two = replay(web, "128MiB", "1GiB")
    one = replay(web, "1GiB", "0")
    assert two["bandwidth_mb_s"] == pytest.approx(one["bandwidth_mb_s"], rel=0.01)
    assert one["power_down"]["total_w"] > 2.5 * two["power_down"]["total_w"]
    assert one["power_active"]["total_w"] > 2.5 * two["power_active"]["total_w"]
    assert two["area"]["total_cm2"] == pytest.approx(0.618 * one["area"]["total_cm2"], rel=1e-3)
    assert (two["cost"]["total_usd"], one["cost"]["total_usd"]) == (216, 384)
    for report in (one, two):
        power = report["power_down"]
        parts = [power[key] for key in power if key.endswith("_w") and key != "total_w"]
        assert sum(parts) == pytest.approx(power["total_w"])


def test_wear_rules_help_where_one_set_is_hot(tmp_path: Path) -> None:
    """Two sets of one way: all requests but the first go to one of them."""
    # Which blocks share a set is a hash's secret: the one is found that two of three share.
    flash = {"dram": "2MiB", "flash": "256KiB"}
    one_way = ["cache.fill=block", "cache.ways=1", "wear.set_threshold=20"]

    def replayed(blocks: list[int], rules: str) -> Any:
        # Another page of the block in each round, so that DRAM does not have it.
        pages = ((i, block * 32 + i // 40 % 32) for i, block in enumerate(blocks))
        rows = [(i * 50_000_000, page * 8, 8, 1) for i, page in pages]
        trace = mqsim(tmp_path / "t", *rows)
        return replay(trace, set=[*one_way, f"wear.rules={rules}"], **flash)

    hot = [0]
    for block in range(1, 2000):
        # Of all in one set, each evicts the one before.
        if len(hot) == 40:
            break
        if replayed([0, block], "none")["wear"]["evictions"]:
            hot.append(block)
    hot *= 100
    without, by_rule = replayed(hot, "none")["wear"], replayed(hot, "both")["wear"]
    assert (without["max"], without["min"], without["set_rule_fired"]) == (3999, 0, 0)
    assert by_rule["set_rule_fired"] > 0
    assert by_rule["swap_erases"] <= 0.01 * by_rule["evictions"]
    bound = max(without["max"], by_rule["mean"] + 20) + by_rule["max_swap_erases"]
    assert by_rule["max"] <= bound
    # The first block lasts longer.
    assert by_rule["max"] < without["max"] / 1.5


def test_objects_take_whole_pages(tmp_path: Path) -> None:
    path = tmp_path / "objects"
    rows = [(second, second % 700, 100 + second % 9000, -1) for second in range(3000)]
    path.write_bytes(b"".join(struct.pack("<IQIq", *row) for row in rows))
    report = replay(path, "2MiB", "4MiB")
    assert (report["unit"], report["fill"], report["requests"]) == ("object", "page", 3000)
    assert report["flash"]["bytes_programmed"] % 4096 == 0
    assert report["memory"]["resident_bytes"] % 4096 == 0
    assert 2999 < report["simulated_s"] < 3001
    assert replay(path, "2MiB", "4MiB", speed=2.0)["simulated_s"] == pytest.approx(1500, abs=1)
    fast = replay(path, "2MiB", "4MiB", rate=100.0)
    assert 2999 / 100 <= fast["simulated_s"] < 40
    closed = replay(path, "2MiB", "4MiB", outstanding=24)
    assert closed["misses"] == fast["misses"] == report["misses"]
    far = replay(path, "2MiB", "4MiB", backend="origin")
    assert far["backend"]["kind"] == "origin"
    assert far["levels"]["backend"]["latency_us"]["min"] > 20_000
    assert far["misses"] == report["misses"]
    below = replay(path, "2MiB", "4MiB", backend="sata-7200-1tb")
    assert below["misses"] == report["misses"]
    head = below["backend"]["head"]
    assert head["places"] == "objects in the order in which they are first asked for"
    assert sum(head["mechanism_s"].values()) == pytest.approx(below["simulated_s"])
    assert head["positionings"] > 0
    # 700 objects of a page or three lie within 4 MB: most are read ahead.
    assert head["read_ahead_hits"] > 0.9 * below["backend"]["reads"]
    assert below["levels"]["backend"]["latency_us"]["mean"] < 1000


def test_misses_can_go_to_a_simulated_disk(web: str, tmp_path: Path, run: Run) -> None:
    """Misses wait less for one that turns twice as fast."""
    table: Any = disk.text("sata-7200-1tb")
    (tmp_path / "own.toml").write_text(table.replace("value = 7200,", "value = 14400,"))
    args = ("cache", "replay", web, "--policy", "flashcache", "--dram", "2MiB", "--flash", "4MiB")
    means = []
    for name in ("sata-7200-1tb", str(tmp_path / "own.toml")):
        ran = run(*args, "--backend", name, "--json", "-")
        assert ran.status == 0, ran.err
        report = json.loads(ran.out)
        assert " positionings; " in ran.err
        means.append(report["levels"]["backend"]["latency_us"]["mean"])
        assert report["levels"]["dram"]["requests"] > 0
    assert means[1] < means[0]
    ran = run(*args, "--backend", "sata-7200-1bt")
    assert (ran.status, "try: `sata-7200-1tb`" in ran.err) == (1, True), ran.err
    ran = run(*args, "--backend", "nowhere.toml")
    assert (ran.status, "nowhere.toml" in ran.err) == (1, True), ran.err


def test_a_real_trace() -> None:
    if not REAL.is_file():
        pytest.skip(f"the real trace is not here: {REAL}")
    report = replay(REAL, "64MiB", "512MiB")
    assert report["requests"] == 1_141_869
    wear = report["wear"]
    assert wear["evictions"] > 100
    assert report["flash"]["erases"] == 4 * (wear["evictions"] + wear["swap_erases"])
    assert wear["lifetimes"][0]["years"] * 10 == pytest.approx(wear["lifetimes"][1]["years"])
    assert [year["year"] for year in report["roadmap"]] == [2005, 2007, 2009, 2011, 2013, 2016]


def test_reads_of_other_banks_do_not_wait(web: str, run: Run) -> None:
    """Banks change the waiting of reads, and nothing of what is found or worn."""
    common = ("cache", "replay", web, "--dram", "4MiB", "--flash", "8MiB", "--rate", "500")
    found = []
    for banks in ("1", "32"):
        given = ("--policy", "flashcache", "--set", f"flash.banks={banks}", "--json", "-")
        ran = run(*common, *given)
        assert ran.status == 0, ran.err
        found.append(json.loads(ran.out))
    one, several = found
    assert (one["misses"], one["flash"]["erases"]) == (
        several["misses"],
        several["flash"]["erases"],
    )
    waits = [report["levels"]["flash"]["latency_us"]["mean"] for report in found]
    assert waits[1] < waits[0]
    ran = run(*common, "--policy", "flashcache", "--set", "flash.banks=0")
    assert ran.status == 1
    assert ran.err.startswith("error: flash.banks: ")


def test_a_warm_start_through_the_command(web: str, run: Run) -> None:
    """Requests that caches of one level and of two leave out; a part is as many requests."""
    one = ("cache", "replay", web, "--dram", "4MiB")
    for more in ((), ("--policy", "flashcache", "--flash", "8MiB")):
        found = []
        for warmup in ("5k", "25%", "300s"):
            ran = run(*one, *more, "--warmup", warmup, "--json", "-")
            assert ran.status == 0, ran.err
            assert "warm-up, not counted: 5,000 requests" in ran.err
            report = json.loads(ran.out)
            assert report["warmup"]["requests"] == report["warmup"]["accesses"] == 5000
            assert report["warmup"]["time_s"] == pytest.approx(300)
            assert report["requests"] == 15_000
            del report["provenance"]
            found.append(report)
        assert found[0] == found[1] == found[2]
    swept = cache.sweep(web, dram="2MiB,4MiB", warmup="5k")
    assert swept["points"][1] == cache.replay(web, dram="4MiB", warmup="5k")
    assert "warm the caches" in swept.html()
    for bad, message in (("5x", "--warmup 5x"), ("0", "nothing comes"), ("20k", "20000 requests")):
        ran = run(*one, "--warmup", bad)
        assert (ran.status, message in ran.err) == (1, True), ran.err


def test_a_stronger_code_lets_blocks_last_longer(web: str, run: Run) -> None:
    sizes = ("--policy", "flashcache", "--dram", "4MiB", "--flash", "8MiB")
    report, lasts = {}, []
    for bits in (1, 4):
        ran = run("cache", "replay", web, *sizes, "--ecc", str(bits), "--json", "-")
        assert ran.status == 0, ran.err
        report[bits] = json.loads(ran.out)
        assert ("corrects 4 bits" in ran.err) == (bits == 4)
    assert report[1] == replay(web, "4MiB", "8MiB", set=["ecc.correctable=1"])
    for bits, one in report.items():
        wear, ecc = one["wear"], one["wear"]["ecc"]
        assert (ecc["correctable"], ecc["rated_correctable"]) == (bits, 1)
        assert [life["rated"] for life in wear["lifetimes"]] == [100_000, 1_000_000]
        for life in wear["lifetimes"]:
            assert life["endurance"] == round(life["rated"] * ecc["endurance_gain"])
        lasts.append(wear["lifetimes"][0]["first_block_years"])
    # The paper: beyond 5,000,000 cycles. The same wear, so life grows alike.
    assert lasts[1] == pytest.approx(
        lasts[0] * report[4]["wear"]["ecc"]["endurance_gain"], rel=1e-5
    )
    assert report[4]["wear"]["lifetimes"][0]["endurance"] > 5_000_000
    # 4,148 bits, eight in a cycle of 10 ns, and twice four cycles: each flash page takes longer.
    assert report[4]["wear"]["ecc"]["decode_us"] == pytest.approx(5.27)
    times = [report[bits]["levels"]["flash"]["latency_us"]["min"] for bits in (1, 4)]
    assert times[1] - times[0] == pytest.approx(2 * 5.27, abs=0.2)
    assert report[4]["power_down"]["flash_read_w"] > report[1]["power_down"]["flash_read_w"]
    assert report[4]["misses"] == report[1]["misses"]
    ran = run("cache", "replay", web, *sizes, "--ecc", "10")
    assert (ran.status, "--ecc 9, or less" in ran.err) == (1, True), ran.err


def test_bad_input_is_one_clear_error(web: str, run: Run, tmp_path: Path) -> None:
    two = ("--policy", "flashcache")
    sizes = ("--dram", "4MiB", "--flash", "8MiB")
    for args, what, hint in [
        (("--dram", "1MiB", "--flash", "1GiB"), "--policy flashcache", "flash"),
        ((*two, "--dram", "4MiB", "--flash", "3MiB"), "sets of 16 logical blocks", "2MiB, or"),
        ((*two, "--dram", "1MiB", "--flash", "8MiB"), "holds no page", "more DRAM"),
        ((*two, *sizes, "--dram-policy", "lur"), "none called `lur`", "lru"),
        ((*two, *sizes, "--set", "cache.wais=8"), "cache.wais", "ways"),
        ((*two, *sizes, "--set", "cache.ways"), "not KEY=VALUE", "cache.ways=8"),
        ((*two, *sizes, "--set", "cache.page=8KiB"), "pages of 4KiB", "4KiB"),
        ((*two, *sizes, "--preset", "none"), "no flashcache preset", "cases-2006"),
        ((*two, *sizes, "--think", "1ms"), "closed loop", "--outstanding"),
        ((*two, *sizes, "--rate", "-1"), "not above zero", "1"),
        ((*two, *sizes, "--rate", "1", "--speed", "2"), "exclude", "one of"),
        (("--dram", "4MiB", "--set", "cache.ways=8"), "--set applies to two", "flashcache"),
        (("--dram", "4MiB", "--dram-policy", "lru"), "--dram-policy applies to two", "flashcache"),
    ]:
        ran = run("cache", "replay", web, *args)
        assert (ran.status, ran.out) == (1, ""), args
        error, _, tried = ran.err.partition("\n  try: ")
        assert (what in error) or (what in tried), ran.err
        assert hint in ran.err, ran.err
    with raises("unknown-name", "`speeed`"):
        replay(web, "4MiB", "8MiB", speeed=2)


def test_designs_are_files(web: str, run: Run, tmp_path: Path) -> None:
    assert flashcache.names() == ["cases-2006"]
    assert "cases-2006" in run("cache", "presets").out
    shown = run("cache", "show", "cases-2006").out
    own = tmp_path / "own.toml"
    own.write_text(shown.replace('access = { value = "3.3ms"', 'access = { value = "9ms"'))
    report = replay(web, "4MiB", "8MiB", preset=own)
    assert report["levels"]["backend"]["latency_us"]["p50"] > 9000
    assert "no flashcache preset" in run("cache", "show", "x").err


def test_a_sweep_is_each_of_its_points(web: str) -> None:
    swept: Any = cache.sweep(web, policies="lru,sieve", dram="2MiB,4MiB", flash="0,4MiB..8MiB")
    points = swept["points"]
    sizes = [(dram << 20, flash << 20) for dram in (2, 4) for flash in (0, 4, 8)]
    assert [(point["dram_bytes"], point["flash_bytes"]) for point in points] == sizes * 2
    for point in points:
        dram, flash = f"{point['dram_bytes']}B", f"{point['flash_bytes']}B"
        assert point == replay(web, dram, flash, dram_policy=point["dram_policy"])


def test_servers_of_a_sweep_are_those_of_the_model(web: str) -> None:
    points: Any = cache.sweep(web, dram="2MiB,4MiB", flash="0,8MiB", cores=[4, 8], objects=True)[
        "points"
    ]
    assert [[one["cores"] for one in point["servers"]] for point in points] == [[4, 8]] * 4
    cycles = {one["cycles_per_request"] for point in points for one in point["servers"]}
    (fit,) = cycles
    for point in points:
        dram = point["levels"]["dram"]
        missing = 20_000 - dram["requests"]
        found = server.Found(
            bytes=4096,
            dram_misses=missing / 20_000,
            dram_byte_misses=missing / 20_000,
            flash_misses=point["misses"] / missing,
            flash_byte_misses=point["misses"] / missing,
        )
        # Two flash pages of 2 KiB, each 25 us.
        flash = server.Level(name="flash", latency_s=50e-6, bytes_per_s=50e6)
        second = flash if point["flash_bytes"] else None
        backend = point["backend"]
        each = backend["busy_s"] / (backend["reads"] + backend["writes"])
        assert each < 3.4e-3
        disk = server.Level(name="disk", latency_s=each)
        for one in point["servers"]:
            machine = server.Server(cores=one["cores"], cycles_per_request=fit)
            expected = server.serve(machine, found, second, disk)
            assert one["bandwidth_bit_s"] == pytest.approx(expected["bandwidth_bit_s"])
    # Flash spares the disk.
    bandwidth = [point["servers"][1]["bandwidth_bit_s"] for point in points]
    assert bandwidth[1] > 1.5 * bandwidth[0]
    assert bandwidth[3] > 1.5 * bandwidth[2]


def test_requests_for_files_are_cached_by_pages(tmp_path: Path) -> None:
    """Files of 256 KiB, larger than a logical block: flash holds them by pages."""
    rows = [(i * 60_000_000, i % 20 * 512, 512, 1) for i in range(400)]
    trace = mqsim(tmp_path / "files", *rows)
    sizes: Any = {"dram": "2MiB", "flash": "0,16MiB", "cores": [8], "rate": 10.0}
    swept: Any = cache.sweep(trace, **sizes)
    alone, both = swept["points"]
    for point in (alone, both):
        assert (point["unit"], point["requests"]) == ("page", 400 * 64)
        assert point["whole"]["requests"] == 400
        # Ten files a second, not ten pages.
        assert 39 < point["simulated_s"] < 50
    # Each file is read from the disk once, and from flash thereafter.
    assert both["whole"] == {"requests": 400, "dram_misses": 400, "misses": 20}
    (server_alone,), (server_both,) = alone["servers"], both["servers"]
    # 256 KiB at 50 MB/s and 128 flash pages of 25 us are 8.4 ms of the chip.
    flash = 2**18 / 50e6 + 128 * 25e-6
    assert server_both["requests_per_s"] == pytest.approx(1 / (380 / 400 * flash), rel=1e-3)
    assert server_both["utilization"]["flash"] > 0.999
    assert server_both["second_accesses_per_s"] == pytest.approx(
        server_both["requests_per_s"] * 380 / 400
    )
    # As objects they are cut into pieces of a logical block: the same misses.
    swept = cache.sweep(trace, **sizes, objects=True)
    _, objects = swept["points"]
    assert objects["flash"]["too_large"] == 0
    assert (objects["requests"], objects["misses"]) == (400, 20)
    assert objects["byte_miss_ratio"] == both["byte_miss_ratio"] == 20 / 400
    assert objects["table"]["lookups"] == 2 * 400
    (server_objects,) = objects["servers"]
    assert server_objects["requests_per_s"] == pytest.approx(
        server_both["requests_per_s"], rel=0.01
    )
    assert server_alone["requests_per_s"] > 0


def test_bandwidth_by_latency_through_the_command(web: str, run: Run, tmp_path: Path) -> None:
    """Figure 3 of the paper."""
    out = tmp_path / "report.json"
    args = ("--dram", "4MiB", "--cores", "4,12", "--latencies", "0us,500us,50ms")
    ran = run("cache", "latency", web, *args, "--json", str(out))
    assert ran.status == 0, ran.err
    report = json.loads(out.read_text())
    replayed = replay(web, "4MiB", "0")
    assert report["requests"] == 20_000
    assert report["dram_misses"] == replayed["miss_ratio"]
    points = {(point["latency_us"], point["cores"]): point for point in report["points"]}
    assert list(points) == [(us, cores) for us in (0, 500, 50_000) for cores in (4, 12)]
    found = server.Found(
        bytes=4096,
        dram_misses=report["dram_misses"],
        dram_byte_misses=report["dram_byte_misses"],
        flash_misses=0,
        flash_byte_misses=0,
    )
    for (us, cores), point in points.items():
        one = server.Server(cores=cores, cycles_per_request=report["cycles_per_request"])
        expected = server.serve(one, found, server.slow_memory(us * 1e-6))
        assert point["bandwidth_bit_s"] == pytest.approx(expected["bandwidth_bit_s"])
        assert point["loss"] == pytest.approx(
            1 - point["bandwidth_bit_s"] / points[0, cores]["bandwidth_bit_s"]
        )
        assert f"{point['bandwidth_bit_s'] / 1e6:,.0f}" in ran.out
    assert points[500, 4]["loss"] < 0.01 < 0.5 < points[50_000, 12]["loss"]
    for bad, message in (("x", "x"), ("1", "1")):
        ran = run("cache", "latency", web, "--latencies", bad)
        assert (ran.status, ran.out) == (1, ""), ran.err
        assert message in ran.err
    assert run("cache", "latency", web, "--cores", "four").status == 2


def test_an_option_of_caches_with_sets_names_their_command(run: Run) -> None:
    for option in ("--layout=log-sets", "--set-saving=100", "--sets=0.7"):
        ran = run("cache", "replay", "x", "--policy", "flashcache", option)
        assert (ran.status, ran.out) == (2, "")
        assert option.partition("=")[0] in ran.err
        assert "gordon cache tiered" in ran.err
    ran = run("cache", "replay", "x", "--policy", "flashcache", "--lay=1")
    assert ran.status == 2
    assert "tiered" not in ran.err


def test_a_sweep_through_the_command(web: str, run: Run, tmp_path: Path) -> None:
    out, report = tmp_path / "report.json", tmp_path / "cache.html"
    sizes = ("--dram", "2MiB,4MiB", "--flash", "0,8MiB", "--cores", "4,8", "--objects")
    ran = run("cache", "sweep", web, *sizes, "--json", str(out), "--report", str(report))
    assert ran.status == 0, ran.err
    result = json.loads(out.read_text())
    assert result == cache.sweep(web, dram="2MiB,4MiB", flash="0,8MiB", cores=[4, 8], objects=True)
    for point in result["points"]:
        assert f"{point['servers'][1]['bandwidth_bit_s'] / 1e6:,.0f}" in ran.out
    html = report.read_text()
    titles = (
        "Network bandwidth, 8 cores",
        "Die area",
        "Memory power, DRAM ready",
        "Lifetime at 1,",
    )
    for title in (*titles, "Standard deviation of evictions over blocks", "Miss ratio of requests"):
        assert f"<h2>{title}" in html
    data = result_of(html)
    assert data["points"] == result["points"]
    figures = data["figures"]
    assert figures["lifetime"]["data"][0]["x"] == ["8 MiB"]
    assert [line["name"] for line in figures["bandwidth-4"]["data"]] == [
        "no flash",
        "8 MiB of flash",
    ]
    dram = [f"{size} MiB of DRAM" for size in (2, 2, 4, 4)]
    assert figures["area"]["data"][0]["x"] == [dram, ["0 B", "8 MiB"] * 2]


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (["--speed", "2"], 1, "--speed applies to two"),
        (["--flash", "0..1GiB"], 1, "--flash 0..1GiB: a range"),
        (["--cores", "four"], 2, "whole numbers from 1 on"),
        (["--cores", "0"], 2, "whole numbers from 1 on"),
        (["--flash", "1GiB", "--rate", "0"], 1, "not above zero"),
    ],
)
def test_invalid_sweeps_are_errors(
    web: str, run: Run, args: list[str], status: int, message: str
) -> None:
    ran = run("cache", "sweep", web, "--dram", "4MiB", *args)
    assert ran.status == status
    assert message in ran.err
