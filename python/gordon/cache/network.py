"""Closed queueing networks of one class, solved exactly.

A fixed number of customers circulates between stations. Each station has a demand, which is the
service time of a customer per round, and a number of servers. If a station has no number of
servers, it serves every customer immediately. Such a network has a product form (Baskett, Chandy,
Muntz and Palacios, JACM 1975) if service times are exponential or a station is shared in turn. Its
sums over all states are computed by Buzen's convolution (CACM 1973), which only adds and multiplies
positive numbers. Mean value analysis of stations with several servers gives the same result, but it
subtracts, and loses precision if a station is hardly ever idle.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

#: A value for each number of customers at a station.
Table = list[float]


@dataclass(frozen=True)
class Station:
    """Where customers are served."""

    name: str
    demand_s: float
    """Service time of one customer on one round, all visits together."""
    servers: int | None = 1
    """How many are served at once; none: all."""

    def weights(self, customers: int) -> Table:
        """The product of demand over rate of service, for 0 to `customers` customers here."""
        table = [1.0]
        for here in range(1, customers + 1):
            rate = here if self.servers is None else min(here, self.servers)
            table.append(table[-1] * (self.demand_s / rate))
        return table


@dataclass(frozen=True)
class Solution:
    """The result of a network."""

    throughput_per_s: float
    """Rounds of all customers."""
    round_s: float
    """Time of a customer for a round, waiting included."""
    customers: dict[str, float]
    """Mean number of customers at each station."""
    utilization: dict[str, float]
    """The part of each station's servers that is busy; where all are served at once, customers."""

    def wait_s(self, station: Station) -> float:
        """Time at it on one round, beyond its demand."""
        return self.customers[station.name] / self.throughput_per_s - station.demand_s


def solve(stations: Sequence[Station], customers: int) -> Solution:
    """Returns the exact averages for this number of customers."""
    if customers < 1 or not any(station.demand_s > 0 for station in stations):
        raise ValueError("a network has at least one customer and something to do")
    # In units of the mean demand, so that products neither vanish nor overflow.
    unit = sum(station.demand_s for station in stations) / len(stations)
    tables = [Station(s.name, s.demand_s / unit, s.servers).weights(customers) for s in stations]
    whole = _convolved(tables)
    throughput = whole[customers - 1] / whole[customers] / unit
    counts, busy = {}, {}
    for i, (station, table) in enumerate(zip(stations, tables, strict=True)):
        others = _convolved([*tables[:i], *tables[i + 1 :]], customers)
        chances = [
            weight * other / whole[customers]
            for weight, other in zip(table, reversed(others), strict=True)
        ]
        counts[station.name] = math.fsum(here * chance for here, chance in enumerate(chances))
        busy[station.name] = throughput * station.demand_s / (station.servers or 1)
    return Solution(throughput, customers / throughput, counts, busy)


def _convolved(tables: Sequence[Table], customers: int = 0) -> Table:
    size = len(tables[0]) if tables else customers + 1
    whole = [1.0] + [0.0] * (size - 1)
    for table in tables:
        sums = [0.0] * size
        for here, weight in enumerate(table):
            for there in range(size - here):
                sums[here + there] += weight * whole[there]
        whole = sums
    return whole
