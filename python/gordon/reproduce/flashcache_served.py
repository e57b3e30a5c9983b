"""The experiment of the FlashCache paper with a real server: a large DRAM alone, and a small DRAM
with flash, serve the same requests of SURGE.

Files, memories and rate are a quarter of the paper's. Both servers are `gordon cache serve` in
front of one origin, which answers as the paper's disk does: one request at a time. The power is
that of the paper's memories at the accesses that the servers counted.
"""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle, islice
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from gordon import _core, cache, trace
from gordon.cache import flashcache, live, web
from gordon.errors import GordonError
from gordon.options import Progress
from gordon.reports.objects import ServeStats
from gordon.reproduce.flashcache import BOTH, DRAM_ALONE, MODES, RATE, Size, row
from gordon.reproduce.row import Row
from gordon.untyped import Config

#: The size of the files in MB.
FILES_MB = 1500
#: Clients of the paper, each with one request at a time.
CLIENTS = 24

#: The tables of the comparisons.
BANDWIDTH, MEMORY = "section 6.1, figure 5", "section 6.2, figure 6"
TABLES = {BANDWIDTH, MEMORY}
#: Steps of `measure`.
STEPS = 3
#: The job of the comparisons.
JOB = "surge, served"


class File(NamedTuple):
    """A file of the load."""

    path: str
    size: int


@dataclass(frozen=True)
class Plan:
    """The size of the experiment."""

    scale: int = 4
    """The paper's sizes and rate are divided by this."""
    paced_s: float = 20.0
    """Seconds at the rate of the paper."""
    loop_s: float = 5.0
    """Seconds of a window in which each client sends a request as soon as it has an answer."""
    rounds: int = 3
    """Such windows of each configuration."""
    requests: int = 400_000
    """Requests of the load. The first half fills the caches of the replay, and an eighth those of
    the servers, in which each file was requested once before."""

    @property
    def rate(self) -> float:
        return RATE / self.scale

    def mib(self, size: Size) -> Size:
        """The memories of a configuration."""
        dram, flash = size
        return dram // self.scale, flash // self.scale


@dataclass(frozen=True)
class Window:
    """The traffic of a server in a measurement, and its costs."""

    requests: int
    bytes: int
    seconds: float
    median_ms: float
    p99_ms: float
    disk_busy_s: float
    cpu_s: float
    """Processor time of the server."""
    counts: Mapping[str, Any]
    """The differences of its statistics."""

    @property
    def bandwidth_bit_s(self) -> float:
        return 8 * self.bytes / self.seconds

    def share(self, *levels: str) -> float:
        """The part of the requests that these levels served."""
        results = self.counts["requests"]["results"]
        return float(sum(results[level] for level in levels) / self.requests)


@dataclass(frozen=True)
class Served:
    """A configuration: at the rate of the paper, and in a closed loop."""

    dram_mib: int
    flash_mib: int
    paced: Window
    loops: tuple[Window, ...]
    """Windows of both configurations took turns."""
    resident_bytes: int
    """Resident memory of the server at the end."""
    replay: Mapping[str, Any]
    """The powers of a replay of the load at the rate of the paper, on its memories."""

    @property
    def loop(self) -> Window:
        """The window with the median bandwidth."""
        return sorted(self.loops, key=lambda window: window.bandwidth_bit_s)[len(self.loops) // 2]


@dataclass(frozen=True)
class Measured:
    """The experiment."""

    plan: Plan
    files: int
    files_bytes: int
    both: Served
    alone: Served


@dataclass(frozen=True)
class Power:
    """Mean power of the memories in watts."""

    dram_idle_w: float
    dram_active_w: float
    flash_w: float
    controller_w: float

    @property
    def total_w(self) -> float:
        return self.dram_idle_w + self.dram_active_w + self.flash_w + self.controller_w


def power(served: Served, *, is_powered_down: bool) -> Power:
    """The power of the memories of a configuration while it served at the rate of the paper. Idle
    DRAM is powered down, or always ready."""
    design = flashcache.load(flashcache.DEFAULT)
    dram, flash, controller = (design[part] for part in ("dram", "flash", "controller"))
    energy, seconds = served.paced.counts["energy"], served.paced.counts["uptime_s"]
    idle_w = energy["dram_idle_j"] / seconds
    if is_powered_down:
        idle_w *= _watts(dram["power_down_per_gbit"]) / _watts(dram["idle_per_gbit"])
    active_j = energy["flash_read_j"] + energy["flash_write_j"]
    controller_w = 0.0
    if served.flash_mib:
        die_bytes = min(_core.parse_bytes(flash["chip"]["value"]), served.flash_mib << 20)
        busy = active_j / (_watts(flash["active_per_gbit"]) * 8 * die_bytes / 2**30) / seconds
        parts = {"active": min(busy, 1.0), "idle": max(1 - busy, 0.0)}
        controller_w = sum(_watts(controller[name]) * part for name, part in parts.items())
    return Power(
        dram_idle_w=idle_w,
        dram_active_w=energy["dram_active_j"] / seconds,
        flash_w=(active_j + energy["flash_idle_j"]) / seconds,
        controller_w=controller_w,
    )


def _watts(sourced: Config) -> float:
    return _core.parse_watts(str(sourced["value"]))


def cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def is_possible() -> bool:
    """Whether this system can serve."""
    return hasattr(_core, "cache_serve")


def rows(measured: Measured) -> list[Row]:
    """The comparisons with the paper."""
    both, alone, rate = measured.both, measured.alone, measured.plan.rate
    sizes = (
        f"{both.dram_mib} MiB and {both.flash_mib} MiB of flash",
        f"{alone.dram_mib} MiB of DRAM",
    )
    made = [
        row(
            BANDWIDTH,
            f"bandwidth of {sizes[0]}, of {sizes[1]}: {CLIENTS} clients in a closed loop",
            median(
                with_flash.bandwidth_bit_s / without.bandwidth_bit_s
                for with_flash, without in zip(both.loops, alone.loops, strict=True)
            ),
            "bandwidth",
            job=JOB,
            reason=f"requests for the disk: {both.loop.share('miss'):.1%} and "
            f"{alone.loop.share('miss'):.1%}; a hit in flash costs the server more processor time: "
            f"{_cpu_us(both.loop):.0f} and {_cpu_us(alone.loop):.0f} us a request",
        )
    ]
    for mode, name in MODES.items():
        found = [power(one, is_powered_down=mode == "power_down") for one in (alone, both)]
        replayed = alone.replay[mode]["total_w"] / both.replay[mode]["total_w"]
        made.append(
            row(
                MEMORY,
                f"memory power of {sizes[1]} over that of {sizes[0]}, DRAM {name}, as counted at "
                f"{rate:g} requests/s",
                found[0].total_w / found[1].total_w,
                "power_ratio",
                job=JOB,
                reason=f"a replay of this load has {replayed:.2f}",
            )
        )
    return made


def _cpu_us(window: Window) -> float:
    return 1e6 * window.cpu_s / window.requests


def measure(plan: Plan | None = None, progress: Progress | None = None) -> Measured:
    """Serves the load with both configurations. `progress` is called with the
    steps (done, total). Raises GordonError."""
    plan = plan or Plan()
    with TemporaryDirectory(prefix="gordon-flashcache-") as folder:
        path = Path(folder, "surge.parquet")
        files = f"{FILES_MB * 1000 // plan.scale}kB"
        web.generate("surge", path, requests=plan.requests, files=files)
        columns = json.loads(trace.read(path).json())
        found = zip(columns["offset_bytes"], columns["bytes"], strict=True)
        load = [File(f"/{offset}/{size}", size) for offset, size in found]
        largest = max(file.size for file in load)
        with ExitStack() as stack:
            made = []
            for done, size in enumerate((DRAM_ALONE, BOTH)):
                if progress is not None:
                    progress(done, STEPS)
                place = Path(folder, str(done))
                place.mkdir()
                disk = stack.enter_context(_disk(largest))
                server = stack.enter_context(_server(place, disk.url, *plan.mib(size)))
                made.append(_Configuration(plan, size, server, disk, load))
            if progress is not None:
                progress(2, STEPS)
            # In turns: other work of the machine slows both down.
            for _ in range(plan.rounds):
                for one in made:
                    one.loop()
            alone, both = (one.served(path) for one in made)
    each = set(load)
    return Measured(plan, len(each), sum(file.size for file in each), both=both, alone=alone)


class _Configuration:
    """A server with warm caches, after the measurement at the rate of the paper."""

    def __init__(
        self, plan: Plan, size: Size, server: "_Server", disk: "_Disk", load: Sequence[File]
    ) -> None:
        self.plan, self.server, self.disk = plan, server, disk
        self.dram, self.flash = plan.mib(size)
        # As after a long time: the files that are requested most were requested last.
        each = [file for file, _ in Counter(load).most_common()][::-1]
        half = len(load) // 2
        # A fast machine serves the second half of the load more than once.
        self.later = cycle(load[half:])
        _run(server, iter(each))
        _run(server, islice(self.later, half // 4))
        disk.is_slow = True
        count = round(plan.rate * plan.paced_s)
        self.paced = _measure(server, disk, islice(self.later, count), rate=plan.rate)
        self.loops: list[Window] = []

    def loop(self) -> None:
        """Serves the next requests of the load in a closed loop."""
        until = time.monotonic() + self.plan.loop_s
        self.loops.append(_measure(self.server, self.disk, self.later, until=until))

    def served(self, path: Path) -> Served:
        """The results, with those of a replay."""
        replay = cache.replay(
            path,
            policy="flashcache",
            dram=f"{self.dram}MiB",
            flash=f"{self.flash}MiB",
            objects=True,
            rate=self.plan.rate,
            warmup="50%",
        )
        return Served(
            dram_mib=self.dram,
            flash_mib=self.flash,
            paced=self.paced,
            loops=tuple(self.loops),
            resident_bytes=self.server.resident(),
            replay={key: replay[key] for key in ("power_down", "power_active")},
        )


class _Server:
    """A running `gordon cache serve`."""

    def __init__(self, process: "subprocess.Popen[str]", url: str, control: str) -> None:
        found = urlsplit(url)
        self.control = control
        self.address = (str(found.hostname), int(found.port or 80))
        self.proc = Path(f"/proc/{process.pid}")

    def stat(self) -> ServeStats:
        return live.stat(self.control)

    def cpu_s(self) -> float:
        """Processor time of all threads."""
        threads = self.proc.glob("task/*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    def resident(self) -> int:
        lines = (self.proc / "status").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS:"))


@contextmanager
def _server(folder: Path, origin: str, dram: int, flash: int) -> Iterator[_Server]:
    control = str(folder / "control")
    command = [sys.executable, "-m", "gordon", "cache", "serve", "--origin", origin]
    command += ["--dram", f"{dram}MiB", "--listen", "127.0.0.1:0", "--socket", control]
    if flash:
        command += ["--flash", str(folder), "--flash-size", f"{flash}MiB"]
    process = subprocess.Popen(  # noqa: S603 no word of a user's
        command, stderr=subprocess.PIPE, text=True
    )
    try:
        said: list[str] = []
        while not said or "/-/cache" not in said[-1]:
            line = process.stderr.readline() if process.stderr else ""
            if not line:
                raise GordonError(f"no server: {''.join(said).strip()}", kind="not-served")
            said.append(line)
        yield _Server(process, said[-1].split()[0], control)
    finally:
        process.terminate()
        process.communicate()


class _Disk(ThreadingHTTPServer):
    """An origin of files. It takes as long as the paper's disk if `is_slow`."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, largest: int) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        design = flashcache.load(flashcache.DEFAULT)["disk"]
        self.access_s = _core.parse_ns(str(design["access"]["value"])) / 1e9
        self.bytes_per_s = _core.parse_rate(str(design["rate_per_s"]["value"]))
        self.content = bytes(largest)
        self.one_at_a_time = threading.Lock()
        self.is_slow = False
        self.busy_s = 0.0
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def read(self, size: int) -> None:
        """Waits as the disk does."""
        if self.is_slow:
            takes = self.access_s + size / self.bytes_per_s
            with self.one_at_a_time:
                time.sleep(takes)
                self.busy_s += takes


class _Answer(BaseHTTPRequestHandler):
    """Answers requests for `/FILE/SIZE`, or for a range of it."""

    protocol_version = "HTTP/1.1"
    # Head and body are two writes: the second would wait for an acknowledgement.
    disable_nagle_algorithm = True
    server: _Disk

    def do_GET(self) -> None:
        size = int(self.path.rpartition("/")[2])
        start, end = 0, size
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked is not None:
            start, end = int(asked[1]), min(int(asked[2]) + 1, size)
        self.server.read(end - start)
        self.send_response(200 if asked is None else 206)
        if asked is not None:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        self.send_header("Content-Length", str(end - start))
        self.send_header("Cache-Control", "max-age=86400")
        self.send_header("ETag", f'"{size}"')
        self.end_headers()
        self.wfile.write(memoryview(self.server.content)[start:end])

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


@contextmanager
def _disk(largest: int) -> Iterator[_Disk]:
    disk = _Disk(largest)
    thread = threading.Thread(target=disk.serve_forever, daemon=True)
    thread.start()
    try:
        yield disk
    finally:
        disk.shutdown()
        disk.server_close()
        thread.join()


class _Client(threading.Thread):
    """Requests files until there are none, or until a time. With a rate, the requests of all
    clients are started that many a second."""

    def __init__(self, address: tuple[str, int], files: "_Queue") -> None:
        super().__init__(daemon=True)
        self.address, self.files = address, files
        self.bytes = 0
        self.took_s: list[float] = []
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            with socket.create_connection(self.address) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                buffer = bytearray(1 << 16)
                for file, start in iter(self.files.next, None):
                    buffer = self._fetch(connection, file, buffer)
                    self.took_s.append(time.monotonic() - start)
                    self.bytes += file.size
        except Exception as error:  # reported by the caller
            self.error = error

    def _fetch(self, connection: socket.socket, file: File, buffer: bytearray) -> bytearray:
        connection.sendall(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % file.path.encode())
        got, end = 0, -1
        while end < 0:
            got += _receive(connection, memoryview(buffer)[got:])
            end = buffer.find(b"\r\n\r\n", 0, got)
        if not buffer.startswith(b"HTTP/1.1 200 "):
            raise OSError(f"{file.path}: {buffer[:end].decode(errors='replace')}")
        left = end + 4 + file.size - got
        while left > 0:
            left -= _receive(connection, memoryview(buffer)[:left])
        return buffer


def _receive(connection: socket.socket, into: memoryview) -> int:
    got = connection.recv_into(into)
    if got == 0:
        raise OSError("the server ended a response early")
    return got


class _Queue:
    """The files that clients request next."""

    def __init__(self, files: Iterator[File], rate: float | None, until: float | None) -> None:
        self.files, self.until = files, until
        self.interval = None if rate is None else 1 / rate
        self.due = time.monotonic()
        self.lock = threading.Lock()

    def next(self) -> tuple[File, float] | None:
        """The next file and the time at which its request is due, after waiting for that."""
        with self.lock:
            file = next(self.files, None)
            due = self.due
            self.due += self.interval or 0
        if file is None or (self.until is not None and time.monotonic() >= self.until):
            return None
        if self.interval is None:
            return file, time.monotonic()
        time.sleep(max(due - time.monotonic(), 0))
        return file, due


def _run(
    server: _Server,
    files: Iterator[File],
    rate: float | None = None,
    until: float | None = None,
) -> list[_Client]:
    """Requests files with all clients."""
    queue = _Queue(files, rate, until)
    clients = [_Client(server.address, queue) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    for client in clients:
        if client.error is not None:
            raise GordonError(f"a request failed: {client.error}", kind="not-served")
    return clients


def _measure(server: _Server, disk: _Disk, files: Iterator[File], **pace: float) -> Window:
    before, busy_s, cpu_s, start = server.stat(), disk.busy_s, server.cpu_s(), time.monotonic()
    clients = _run(server, files, **pace)
    seconds, cpu_s = time.monotonic() - start, server.cpu_s() - cpu_s
    took_ms = [1e3 * took for client in clients for took in client.took_s]
    parts = quantiles(took_ms, n=100)
    return Window(
        requests=len(took_ms),
        bytes=sum(client.bytes for client in clients),
        seconds=seconds,
        median_ms=parts[49],
        p99_ms=parts[98],
        disk_busy_s=disk.busy_s - busy_s,
        cpu_s=cpu_s,
        counts=_less(server.stat(), before),
    )


def _less(after: Any, before: Any) -> Any:
    """The differences of all numbers of a report to an earlier one."""
    made = {}
    for key, value in after.items():
        if isinstance(value, dict):
            made[key] = _less(value, before[key])
        elif isinstance(value, int | float):
            made[key] = value - before[key]
    return made
