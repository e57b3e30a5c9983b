"""Closed queueing networks against closed forms and mean value analysis; the web server's model."""

from dataclasses import replace
from math import comb, factorial, isclose

import pytest

from gordon.cache.network import Solution, Station, solve
from gordon.cache.server import FLASH, Found, Server, fitted, loss, serve


@pytest.mark.parametrize(
    ("machines", "run", "repair"), [(1, 3.0, 1.0), (5, 10.0, 2.0), (24, 1.0, 7.0)]
)
def test_machine_repairman(machines: int, run: float, repair: float) -> None:
    """M/M/1//N: the chance that the repairman idles is 1 / sum of N!/(N-k)! (s/z)^k."""
    found = solve([Station("runs", run, None), Station("repair", repair)], machines)
    ratio = repair / run
    terms = (factorial(machines) // factorial(machines - k) * ratio**k for k in range(machines + 1))
    idle = 1 / sum(terms)
    assert isclose(found.utilization["repair"], 1 - idle, rel_tol=1e-12)
    assert isclose(found.throughput_per_s, (1 - idle) / repair, rel_tol=1e-12)
    assert isclose(found.round_s, machines * repair / (1 - idle), rel_tol=1e-12)


@pytest.mark.parametrize(("machines", "repairmen"), [(6, 2), (24, 8)])
def test_several_repairmen(machines: int, repairmen: int) -> None:
    """M/M/c//N, from its birth and death rates."""
    run, repair = 5.0, 2.0
    weights = [1.0]
    for broken in range(1, machines + 1):
        up = (machines - broken + 1) / run
        down = min(broken, repairmen) / repair
        weights.append(weights[-1] * up / down)
    whole = sum(weights)
    rate = sum(min(k, repairmen) / repair * w for k, w in enumerate(weights)) / whole
    broken_on_average = sum(k * w for k, w in enumerate(weights)) / whole
    found = solve([Station("runs", run, None), Station("repair", repair, repairmen)], machines)
    assert isclose(found.throughput_per_s, rate, rel_tol=1e-12)
    assert isclose(found.customers["repair"], broken_on_average, rel_tol=1e-12)
    assert isclose(found.utilization["repair"], rate * repair / repairmen, rel_tol=1e-12)


@pytest.mark.parametrize("stations", [1, 2, 7])
@pytest.mark.parametrize("customers", [1, 3, 24])
def test_balanced_networks(stations: int, customers: int) -> None:
    """K equal stations: throughput N / (N + K - 1) / D."""
    found = solve([Station(str(i), 0.5) for i in range(stations)], customers)
    expected = customers / (customers + stations - 1) / 0.5
    assert isclose(found.throughput_per_s, expected, rel_tol=1e-12)
    assert all(isclose(n, customers / stations) for n in found.customers.values())
    # And from how many states there are.
    states = [comb(n + stations - 1, stations - 1) for n in (customers - 1, customers)]
    assert isclose(found.throughput_per_s, states[0] / states[1] / 0.5, rel_tol=1e-12)


def mean_values(stations: list[Station], customers: int) -> Solution:
    """The result by mean value analysis (Reiser and Lavenberg, JACM 1980), load dependent."""
    chances = {s.name: [1.0] + [0.0] * customers for s in stations}
    rate, times = 0.0, dict[str, float]()
    for n in range(1, customers + 1):
        times = {}
        for s in stations:
            at = [j if s.servers is None else min(j, s.servers) for j in range(n + 1)]
            p = chances[s.name]
            times[s.name] = s.demand_s * sum(j / at[j] * p[j - 1] for j in range(1, n + 1))
        rate = n / sum(times.values())
        for s in stations:
            p = chances[s.name]
            at = [j if s.servers is None else min(j, s.servers) for j in range(n + 1)]
            new = [0.0] + [rate * s.demand_s / at[j] * p[j - 1] for j in range(1, n + 1)]
            new[0] = 1 - sum(new)
            chances[s.name] = new + [0.0] * (customers - n)
    counts = {name: rate * time for name, time in times.items()}
    return Solution(rate, customers / rate, counts, {})


def test_mean_value_analysis_gives_the_same() -> None:
    stations = [
        Station("cores", 0.8, 3),
        Station("cards", 0.3, 2),
        Station("disk", 0.25),
        Station("away", 1.5, None),
    ]
    for customers in (1, 2, 5, 10):
        ours, theirs = solve(stations, customers), mean_values(stations, customers)
        assert isclose(ours.throughput_per_s, theirs.throughput_per_s, rel_tol=1e-9)
        for name, count in theirs.customers.items():
            assert isclose(ours.customers[name], count, rel_tol=1e-9)
        assert isclose(sum(ours.customers.values()), customers, rel_tol=1e-12)


def test_unsolvable_networks_are_errors() -> None:
    for stations, customers in (([Station("one", 1.0)], 0), ([Station("one", 0.0)], 3)):
        with pytest.raises(ValueError, match="at least one customer"):
            solve(stations, customers)


#: A load like SURGE's: whole files in 128 MiB, and in 1 GiB of flash without the largest ones.
FOUND = Found(
    bytes=13_000,
    dram_misses=0.101,
    dram_byte_misses=0.261,
    flash_misses=0.113,
    flash_byte_misses=0.297,
)


def test_a_server_without_misses_is_bound_by_its_cores_or_cards() -> None:
    hits = replace(FOUND, dram_misses=0.0, dram_byte_misses=0.0)
    server = Server(cores=4, cycles_per_request=400_000)
    report = serve(server, hits)
    # 24 requests keep four cores busy: 504,000 cycles each.
    assert isclose(report["requests_per_s"], 4e9 / 504_000, rel_tol=1e-3)
    assert report["utilization"]["cores"] > 0.999
    assert report["second_accesses_per_s"] == report["disk_accesses_per_s"] == 0
    # Cores that need next to nothing: the cards' wires are full, and carry no more either way.
    fast = serve(replace(server, cycles_per_request=0, cycles_per_byte=0.1), hits)
    assert fast["utilization"]["nics"] > 0.99
    assert 2e9 < fast["bandwidth_bit_s"] < 2 * 2e9


def test_dram_misses_are_served_by_flash_or_the_disk() -> None:
    server = Server(cores=8, cycles_per_request=300_000)
    report = serve(server, FOUND, None)
    assert report["utilization"]["disk"] > 0.9
    assert isclose(report["disk_accesses_per_s"], report["requests_per_s"] * 0.101)
    both = serve(server, FOUND)
    assert both["requests_per_s"] > 3 * report["requests_per_s"]
    in_flash = both["requests_per_s"] * 0.101 * (1 - 0.113)
    assert isclose(both["second_accesses_per_s"], in_flash)
    assert isclose(both["disk_accesses_per_s"], both["requests_per_s"] * 0.101 * 0.113)
    moved = both["requests_per_s"] * 13_000 * 0.261 * (1 - 0.297)
    assert isclose(both["utilization"]["flash"], in_flash * FLASH.latency_s + moved / 50e6)
    # Several accesses a request: as many latencies, and the same bytes.
    pages = serve(server, replace(FOUND, accesses=3.4))
    rate = pages["requests_per_s"]
    busy = rate * (
        3.4 * 0.101 * (1 - 0.113) * FLASH.latency_s + moved / both["requests_per_s"] / 50e6
    )
    assert isclose(pages["utilization"]["flash"], busy)


def test_a_fitted_server_sustains_the_load_of_the_paper() -> None:
    eight = fitted(FOUND)
    whole = replace(FOUND, flash_misses=0.0, flash_byte_misses=0.0)
    at_most = serve(eight, whole, replace(FLASH, latency_s=0, bytes_per_s=None, servers=None))
    assert isclose(at_most["second_accesses_per_s"], 2000, rel_tol=1e-5)
    assert 100_000 < eight.cycles_per_request < 1_000_000
    # Figure 3: hundreds of microseconds cost nothing, whatever the cores; more cores bear less.
    servers = {cores: replace(eight, cores=cores) for cores in (4, 8, 12)}
    assert all(loss(server, FOUND, 500e-6) < 0.01 for server in servers.values())
    lost = [loss(servers[cores], FOUND, 10e-3) for cores in (4, 8, 12)]
    assert lost == sorted(lost)
    assert lost[1] > 0.1
    # Figure 5: 128 MB and flash serve about what 1 GB of DRAM does; without flash, next to nothing.
    dram = replace(FOUND, dram_misses=0.0114, dram_byte_misses=0.0774)
    for cores, lowest in ((4, 0.99), (8, 0.9), (12, 0.75)):
        with_flash = serve(servers[cores], FOUND)["bandwidth_bit_s"]
        without = serve(servers[cores], dram, None)["bandwidth_bit_s"]
        assert lowest < with_flash / without < 1.001
        assert serve(servers[cores], FOUND, None)["bandwidth_bit_s"] < 0.35 * without


def test_a_load_that_hardly_needs_flash_fits_any_server() -> None:
    assert fitted(replace(FOUND, dram_misses=1e-4)).cycles_per_request == 0


def test_unservable_loads_are_errors() -> None:
    for found in (replace(FOUND, dram_misses=1.5), replace(FOUND, bytes=0)):
        with pytest.raises(ValueError, match="no request"):
            serve(Server(), found)
    with pytest.raises(ValueError, match="no server"):
        serve(Server(cores=0), FOUND)
    with pytest.raises(ValueError, match="no server of 8 cores"):
        fitted(replace(FOUND, accesses=1e9))
