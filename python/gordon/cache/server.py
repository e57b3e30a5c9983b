"""The network bandwidth of a web server, by the levels of storage that serve its requests.

The model follows section 5 of the FlashCache paper (Kgil and Mudge, CASES 2006): 4, 8 or 12 cores
of 1 GHz with 2, 4 or 6 network cards, and 24 outstanding requests. A request occupies a core, reads
from the level that has its data, and occupies a network card; then the client sends the next
request at once. Cores and network cards are stations with several servers. Levels are stations with
one server or any number of servers (`gordon.cache.network`). `docs/design/web-workloads.md`
describes the parts of the paper's simulation that the model keeps and drops.

    from gordon.cache import server
    found = server.Found(bytes=13_000, dram_misses=0.1, dram_byte_misses=0.26,
                         flash_misses=0.1, flash_byte_misses=0.3)
    server.serve(server.fitted(found), found)["bandwidth_bit_s"]
"""

from dataclasses import dataclass, replace

from gordon.cache.network import Station, solve
from gordon.cache.results import ServedLoad

__all__ = [
    "DISK",
    "FLASH",
    "Found",
    "Level",
    "Server",
    "fitted",
    "loss",
    "serve",
    "slow_memory",
]

# Ethernet, IPv4 and TCP with time stamps: a full segment, and what a frame adds on the wire
# (preamble 8, header 14, check 4, gap 12, IP 20, TCP 32). A client acknowledges every second
# segment, and its request fits in a frame.
SEGMENT = 1448
AROUND = 90
REQUEST = 400

# Flash accesses a second: section 6.3 of the paper.
MOST_ACCESSES = 2_000.0


@dataclass(frozen=True, kw_only=True)
class Server:
    """Cores, network cards and clients: Table 3 of the paper."""

    cores: int = 8
    nics: int | None = None
    """Number of network cards. Default: one for two cores."""
    clients: int = 24
    clock_hz: float = 1e9
    nic_bit_s: float = 1e9
    cycles_per_request: float = 0.0
    """Cycles of a core for a request, without those for its bytes. `fitted` computes them."""
    cycles_per_byte: float = 8.0
    """Cycles of a core for each byte. The default is a hertz for each bit a second, a rule of thumb
    for TCP (Foong and others, ISPASS 2003)."""

    @property
    def cards(self) -> int:
        """Number of network cards."""
        return max(1, self.cores // 2) if self.nics is None else self.nics


@dataclass(frozen=True, kw_only=True)
class Level:
    """A level of storage and its access times."""

    name: str
    latency_s: float
    bytes_per_s: float | None = None
    """Transfer rate after the latency. None: a transfer takes no time."""
    servers: int | None = 1
    """Number of parallel accesses. None: any number."""


FLASH = Level(name="flash", latency_s=25e-6, bytes_per_s=50e6)
"""The paper's NAND flash, Table 3."""
DISK = Level(name="disk", latency_s=3.3e-3, bytes_per_s=300e6)
"""The paper's disk, Table 3."""


def slow_memory(latency_s: float) -> Level:
    """Returns the second level of Figure 3: a memory with this latency, for any number of parallel
    accesses."""
    return Level(name="memory", latency_s=latency_s, servers=None)


@dataclass(frozen=True, kw_only=True)
class Found:
    """The mean request and the miss ratios of the levels, as a replay of a trace counts them."""

    bytes: float
    """Mean size of a reply."""
    accesses: float = 1.0
    """Accesses of a request: one for its whole file, or one for each page."""
    dram_misses: float
    """Fraction of the accesses that miss DRAM."""
    dram_byte_misses: float
    """Fraction of the bytes that miss DRAM."""
    flash_misses: float = 1.0
    """Fraction of the accesses missing DRAM that also miss flash."""
    flash_byte_misses: float = 1.0
    """Fraction of the bytes missing DRAM that also miss flash."""


def serve(
    server: Server, found: Found, second: Level | None = FLASH, disk: Level = DISK
) -> ServedLoad:
    """Computes the bandwidth of a server, and the utilization of its stations.

    Without `second`, the disk serves all misses of DRAM, and the flash ratios of `found` are
    ignored.
    """
    _check(server, found)
    below, bytes_below = found.flash_misses, found.flash_byte_misses
    if second is None:
        below = bytes_below = 1.0
    missing = found.accesses * found.dram_misses
    missing_bytes = found.bytes * found.dram_byte_misses
    cycles = server.cycles_per_request + server.cycles_per_byte * found.bytes
    sent, received = _wire(found.bytes)
    stations = [
        Station("cores", cycles / server.clock_hz, server.cores),
        # Cards send and receive at once, and send more.
        Station("nics", sent * 8 / server.nic_bit_s, server.cards),
        _level(disk, missing * below, missing_bytes * bytes_below),
    ]
    if second is not None:
        stations.append(_level(second, missing * (1 - below), missing_bytes * (1 - bytes_below)))
    solution = solve(stations, server.clients)
    rate = solution.throughput_per_s
    return {
        "requests_per_s": rate,
        "bandwidth_bit_s": rate * (sent + received) * 8,
        "response_s": solution.round_s,
        "second_accesses_per_s": rate * missing * (1 - below),
        "disk_accesses_per_s": rate * missing * below,
        "utilization": solution.utilization,
    }


def _check(server: Server, found: Found) -> None:
    ratios = (
        found.dram_misses,
        found.dram_byte_misses,
        found.flash_misses,
        found.flash_byte_misses,
    )
    if not all(0 <= ratio <= 1 for ratio in ratios) or found.bytes <= 0 or found.accesses <= 0:
        raise ValueError(f"no request is like this: {found}")
    if min(server.cores, server.cards, server.clients) < 1 or server.clock_hz <= 0:
        raise ValueError(f"no server is like this: {server}")


def _wire(payload: float) -> tuple[float, float]:
    """Returns the bytes on the wire for a reply of `payload` bytes, sent and received."""
    segments = max(1.0, payload / SEGMENT)
    return payload + segments * AROUND, REQUEST + segments / 2 * AROUND


def _level(level: Level, accesses: float, moved: float) -> Station:
    times = 0.0 if level.bytes_per_s is None else moved / level.bytes_per_s
    return Station(level.name, accesses * level.latency_s + times, level.servers)


def loss(server: Server, found: Found, latency_s: float) -> float:
    """Returns the fraction of the bandwidth that a second level of this latency costs if it serves
    all misses of DRAM: Figure 3."""
    whole = replace(found, flash_misses=0.0, flash_byte_misses=0.0)
    fast, slow = (serve(server, whole, slow_memory(at)) for at in (0.0, latency_s))
    return 1 - float(slow["requests_per_s"] / fast["requests_per_s"])


def fitted(found: Found, *, cores: int = 8) -> Server:
    """Returns the fastest server with `cores` cores that agrees with the paper's text.

    The fitted parameter is the number of cycles of a request without those for its bytes. `found`
    has the miss ratios of 128 MB of DRAM on the load. The text says that a server of 8 cores with
    128 MB of DRAM accesses flash less than 2,000 times a second. The text's statement on Figure 3,
    that the second level "can tolerate access latencies of hundreds of microseconds while providing
    equal network bandwidth", follows from it: with 0.5 ms, 2,000/s * 0.5 ms = 1 of the 24 requests
    waits, and the other 23 keep 8 cores busy.
    """
    whole = replace(found, flash_misses=0.0, flash_byte_misses=0.0)

    def accesses(cycles: float) -> float:
        server = Server(cores=cores, cycles_per_request=cycles)
        return float(serve(server, whole, slow_memory(0.0))["second_accesses_per_s"])

    low, high = 0.0, 1e9
    if accesses(high) > MOST_ACCESSES:
        raise ValueError(f"no server of {cores} cores accesses flash so seldom with {found}")
    while accesses(low) > MOST_ACCESSES and high - low > 1:
        middle = (low + high) / 2
        low, high = (middle, high) if accesses(middle) > MOST_ACCESSES else (low, middle)
    return Server(cores=cores, cycles_per_request=high if low > 0 else low)
