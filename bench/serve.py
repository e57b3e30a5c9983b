"""The speed of `gordon cache serve` next to nginx, varnish and Traffic Server, in the same run.

    make build
    python bench/serve.py [--folder DIR] [--files 20000] [--seconds 3] [--rounds 3]

20,000 files of 16 KiB, requests by Zipf's law with exponent 0.9, one worker of each server and one
thread of wrk, with 1 and 16 connections. Servers: nginx with the files, nginx as a caching proxy,
varnish, Traffic Server, and gordon with the files and as a caching proxy; the origin of the proxies
is one nginx. In `misses` rows that share of the requests is for a URL that was never requested
before, which each proxy fetches and stores in place of another. In `flash` rows the DRAM holds a
tenth of the files, so that most hits are read from flash.

A second table has what is promised of gordon's cache, from its statistics: bytes written to flash
for each byte admitted, resident memory compared with the DRAM budget, and a restart. For the
restart a cache of --restart MiB is filled with 16 KiB objects and with as many URLs as fit, then
the server is stopped and started: the time from the start of the process to a hit from flash, and
the part of it in which the cache was opened.

Rounds of the servers alternate, and the median is printed: requests a second, processor time of the
server (not of the client and not of the origin) for a request, and resident memory. A server that
is not installed is left out by name. With --json PATH all rounds are written.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from bisect import bisect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Any

SIZE = 16 << 10
EXPONENT = 0.9
#: Requests in the list that wrk repeats.
LISTED = 200_000
MISSES = (0.12, 0.24, 0.32)
CONNECTIONS = (1, 16)
TICKS = os.sysconf("SC_CLK_TCK")

#: Requests of the list in turn; a share of them with a query that makes the URL new.
SCRIPT = """
local paths, at, fresh = {}, 0, 0
local share = tonumber(os.getenv("MISSES"))
function init()
  for line in io.lines(os.getenv("PATHS")) do paths[#paths + 1] = line end
  math.randomseed(os.time())
  fresh = math.random(1, 1e9) * 1000
  at = math.random(1, #paths)
end
function request()
  at = at % #paths + 1
  local path = paths[at]
  if share > 0 and math.random() < share then
    fresh = fresh + 1
    path = path .. "?" .. string.format("%d", fresh)
  end
  return wrk.format("GET", path)
end
"""


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    name: str
    url: str
    processes: Callable[[], list[int]]


@dataclass(frozen=True)
class Window:
    """One measurement."""

    rate: float
    cpu_us: float
    memory: int


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_up(port: int, process: subprocess.Popen[str]) -> None:
    while process.poll() is None:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError(f"{process.args!r} has ended")


def family(process: int) -> list[int]:
    """A process and all its descendants."""
    found = [process]
    for at in found:
        for task in Path(f"/proc/{at}/task").glob("*/children"):
            found += [int(child) for child in task.read_text().split()]
    return found


def cpu_s(processes: list[int]) -> float:
    spent = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        spent += int(fields[11]) + int(fields[12])
    return spent / TICKS


def memory(processes: list[int]) -> int:
    pages = (int(Path(f"/proc/{process}/statm").read_text().split()[1]) for process in processes)
    return sum(pages) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def running(command: list[str | Path], **options: Any) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([*map(str, command)], text=True, **options)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def nginx(name: str, folder: Path, server: str, more: str = "") -> Iterator[Served]:
    """nginx with one worker; `server` is what its only server does."""
    port = free_port()
    place = folder / name.replace(" ", "-")
    place.mkdir(exist_ok=True)
    temporary = "".join(
        f"{kind}_temp_path {place}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if os.geteuid() == 0 else ""
    (place / "conf").write_text(
        f"{user} daemon off; worker_processes 1; pid {place}/pid; error_log {place}/error;\n"
        "events { worker_connections 1024; }\n"
        f"http {{ access_log off; sendfile on; keepalive_requests 1000000000; {temporary} {more}\n"
        f"server {{ listen 127.0.0.1:{port}; {server} }} }}\n"
    )
    with running(["nginx", "-c", place / "conf", "-e", place / "error"]) as process:
        wait_until_up(port, process)
        yield Served(name, f"http://127.0.0.1:{port}", lambda: family(process.pid))


@contextmanager
def proxy_cache(folder: Path, origin: str, size: str) -> Iterator[Served]:
    store = folder / "nginx-cache"
    server = (
        "location / { proxy_pass http://origin; proxy_http_version 1.1;"
        ' proxy_set_header Connection ""; proxy_cache c; proxy_cache_valid 200 1h; }'
    )
    more = (
        f"proxy_cache_path {store} levels=1:2 keys_zone=c:64m max_size={size} inactive=1h"
        f" use_temp_path=off; upstream origin {{ server {origin.removeprefix('http://')};"
        " keepalive 32; }"
    )
    with nginx("nginx proxy_cache", folder, server, more) as served:
        yield served


@contextmanager
def varnish(folder: Path, origin: str, size: str) -> Iterator[Served]:
    port = free_port()
    host, _, origin_port = origin.removeprefix("http://").partition(":")
    (folder / "vcl").write_text(
        f'vcl 4.0; backend default {{ .host = "{host}"; .port = "{origin_port}"; }}\n'
        "sub vcl_backend_response { set beresp.ttl = 1h; }\n"
    )
    command: list[str | Path] = ["varnishd", "-F", "-n", folder / "varnish", "-j", "none"]
    command += ["-a", f"127.0.0.1:{port}", "-f", folder / "vcl", "-s", f"malloc,{size}"]
    with running(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_until_up(port, process)
        yield Served("varnish", f"http://127.0.0.1:{port}", lambda: family(process.pid))


@contextmanager
def traffic_server(folder: Path, origin: str, size: int) -> Iterator[Served]:
    """Traffic Server with one thread, all objects in its RAM cache."""
    port = free_port()
    place = folder / "traffic-server"
    for part in ("etc", "run", "log", "cache"):
        (place / part).mkdir(parents=True)
    folders = {"bindir": "/usr/bin", "sbindir": "/usr/sbin", "includedir": "/usr/include"}
    folders |= {"libdir": "/usr/lib/trafficserver", "libexecdir": "/usr/lib/trafficserver/modules"}
    folders |= {"prefix": str(place), "exec_prefix": str(place), "sysconfdir": f"{place}/etc"}
    folders |= dict.fromkeys(("localstatedir", "runtimedir"), f"{place}/run")
    folders |= dict.fromkeys(("datadir", "cachedir"), f"{place}/cache")
    folders |= {"logdir": f"{place}/log"}
    layout = place / "runroot.yaml"
    layout.write_text("".join(f"{name}: {path}\n" for name, path in folders.items()))
    records = {
        "http.server_ports": f"STRING {port}:ip-in=127.0.0.1",
        "exec_thread.autoconfig": "INT 0",
        "exec_thread.limit": "INT 1",
        "accept_threads": "INT 0",
        "admin.user_id": "STRING #-1",
        "log.logging_enabled": "INT 0",
        "http.cache.required_headers": "INT 0",
        "http.keep_alive_no_activity_timeout_in": "INT 600",
        "cache.ram_cache.size": f"INT {size}",
    }
    lines = (f"CONFIG proxy.config.{name} {value}\n" for name, value in records.items())
    (place / "etc/records.config").write_text("".join(lines))
    # It refuses small ones.
    (place / "etc/storage.config").write_text(f"{place}/cache {max(size >> 20, 256)}M\n")
    (place / "etc/remap.config").write_text(f"map / {origin}/\n")
    shutil.copy("/etc/trafficserver/ip_allow.yaml", place / "etc")
    command: list[str | Path] = ["traffic_server", f"--run-root={layout}"]
    with running(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_until_up(port, process)
        served = Served("traffic server", f"http://127.0.0.1:{port}", lambda: family(process.pid))
        # Its cache is ready later than its socket.
        end = time.monotonic() + 30
        while not is_cached(served):
            if time.monotonic() > end:
                raise RuntimeError("Traffic Server does not cache")
            time.sleep(0.1)
        yield served


def get(served: Served, path: str) -> tuple[http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection(served.url.removeprefix("http://"))
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.headers, body


def is_cached(served: Served) -> bool:
    """Whether a proxy answers a URL from its cache."""
    headers, _ = get(served, "/0.html")
    return int(headers.get("Age", "0")) > 0


@contextmanager
def gordon(name: str, *options: str | Path) -> Iterator[Served]:
    port = free_port()
    command: list[str | Path] = [sys.executable, "-m", "gordon", "cache", "serve"]
    command += ["--listen", f"127.0.0.1:{port}", *options]
    with running(command, stderr=subprocess.DEVNULL) as process:
        wait_until_up(port, process)
        yield Served(name, f"http://127.0.0.1:{port}", lambda: family(process.pid))


def wrk(
    url: str, connections: int, seconds: float, paths: Path, misses: float
) -> tuple[int, float]:
    """Requests, and the seconds that they took."""
    script = paths.with_suffix(".lua")
    script.write_text(SCRIPT)
    ran = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "-s", script, url],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PATHS": str(paths), "MISSES": str(misses)},
    )
    if "Non-2xx" in ran.stdout or "Socket errors" in ran.stdout:
        raise RuntimeError(f"{url}: {ran.stdout}")
    found = re.search(r"(\d+) requests in ([\d.]+)s", ran.stdout)
    if found is None:
        raise RuntimeError(ran.stdout)
    return int(found[1]), float(found[2])


def measure(served: Served, connections: int, seconds: float, paths: Path, misses: float) -> Window:
    processes = served.processes()
    before = cpu_s(processes)
    requests, took = wrk(served.url, connections, seconds, paths, misses)
    spent = cpu_s(processes) - before
    return Window(requests / took, spent * 1e6 / requests, memory(processes))


def zipf(files: int, count: int) -> list[int]:
    """Numbers of files by Zipf's law; neighbours in rank are not neighbours in name."""
    draw = random.Random(1)
    names = list(range(files))
    draw.shuffle(names)
    sums = list(accumulate((rank + 1) ** -EXPONENT for rank in range(files)))
    return [names[bisect(sums, draw.random() * sums[-1])] for _ in range(count)]


def make(folder: Path, files: int) -> Path:
    root = folder / "www"
    root.mkdir()
    draw = random.Random(2)
    for number in range(files):
        (root / f"{number}.html").write_bytes(draw.randbytes(SIZE))
    paths = folder / "paths"
    paths.write_text("".join(f"/{number}.html\n" for number in zipf(files, LISTED)))
    everything = folder / "everything"
    everything.write_text("".join(f"/{number}.html\n" for number in range(files)))
    return root


def touch(served: Served, everything: Path) -> None:
    """Requests every path once."""
    connection = http.client.HTTPConnection(served.url.removeprefix("http://"))
    for path in everything.read_text().split():
        connection.request("GET", path)
        connection.getresponse().read()


def stats(served: Served) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(get(served, "/-/stats")[1])
    return found


def written(served: Served) -> tuple[str, str, float]:
    cache = stats(served)["cache"]
    return (
        "bytes written for each admitted",
        "1.1",
        cache["written_bytes"] / cache["admitted_bytes"],
    )


def resident(served: Served) -> tuple[str, str, float]:
    """Resident memory, with that of the program, compared with what the cache may take."""
    cache = stats(served)["cache"]
    dram = max(cache["dram_capacity"], cache["dram_bytes"] + cache["index_bytes"])
    what = f"resident memory / {dram >> 20:,} MiB of DRAM and index"
    return (what, "1.1", memory(served.processes()) / dram)


def restart(folder: Path, origin: str, size: int) -> list[tuple[str, str, float]]:
    """Fills a cache, stops its server, and starts it again."""
    flash = folder / "restart"
    flash.mkdir()
    options = ("--dram", f"{size >> 24}MiB", "--flash", flash, "--flash-size", f"{size >> 20}MiB")
    every = folder / "many"
    count = size // (SIZE + 512)
    every.write_text("".join(f"/0.html?{number}\n" for number in range(count)))
    with gordon("filled", "--origin", origin, *options) as served:
        touch(served, every)
    started = time.perf_counter()
    with gordon("restarted", "--origin", origin, *options) as served:
        hit = False
        for number in range(count // 2, count):
            headers, _ = get(served, f"/0.html?{number}")
            hit = "detail=flash" in headers["Cache-Status"]
            if hit:
                break
        took = time.perf_counter() - started
        recovery = stats(served)["recovery"]
    if not hit:
        raise RuntimeError("the restarted cache has no object")
    objects = f"{recovery['objects']:,} objects, {recovery['bytes'] >> 20:,} MiB"
    return [
        (f"s to open {objects}", "0.5", recovery["seconds"]),
        ("s from the start of the process to a hit", "-", took),
    ]


def row(name: str, what: str, windows: list[Window]) -> str:
    rate, cpu = median(w.rate for w in windows), median(w.cpu_us for w in windows)
    resident = max(w.memory for w in windows) / 2**20
    return f"| {name} | {what} | {rate:,.0f} | {cpu:.0f} | {resident:,.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--restart", type=int, default=1024, help="MiB; 0: no restart")
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--only", default="", help="words of the servers to measure, with commas")
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is not installed: apt-get install wrk")
    has_nginx = shutil.which("nginx") is not None
    if not has_nginx:
        raise SystemExit("nginx, the origin, is not installed: apt-get install nginx-light")
    has_varnish = shutil.which("varnishd") is not None
    if not has_varnish:
        print("not installed, left out: varnish")
    has_traffic = shutil.which("traffic_server") is not None
    if not has_traffic:
        print("not installed, left out: trafficserver")
    size = given.files * SIZE
    # All files, with what each object costs; the URLs of the misses are evicted again.
    cache_size = f"{5 * size // 4 >> 20}M"
    ours = f"{5 * size // 4 >> 20}MiB"
    found: dict[tuple[str, str], list[Window]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=given.folder)))
        folder.chmod(0o755)
        root = make(folder, given.files)
        static = stack.enter_context(nginx("nginx files", folder, f"root {root}; expires 1h;"))
        servers = [static]
        origin = stack.enter_context(nginx("origin", folder, f"root {root}; expires 1h;"))
        proxy = stack.enter_context(gordon("gordon proxy", "--origin", origin.url, "--dram", ours))
        program = memory(proxy.processes()) / 2**20
        proxies = [stack.enter_context(proxy_cache(folder, origin.url, cache_size)), proxy]
        if has_varnish:
            proxies.append(stack.enter_context(varnish(folder, origin.url, cache_size)))
        if has_traffic:
            proxies.append(stack.enter_context(traffic_server(folder, origin.url, 5 * size // 4)))
        servers.append(stack.enter_context(gordon("gordon files", "--root", root, "--dram", ours)))
        flash = ["--dram", f"{size // 10 >> 20}MiB", "--flash", str(folder / "flash")]
        flash += ["--flash-size", f"{2 * size >> 20}MiB"]
        (folder / "flash").mkdir()
        flashed = []
        try:
            flashed.append(
                stack.enter_context(gordon("gordon flash", "--origin", origin.url, *flash))
            )
        except RuntimeError as error:
            print(f"left out: {error}")

        def wanted(served: Served) -> bool:
            words = [word for word in given.only.split(",") if word]
            return not words or any(word in served.name for word in words)

        chosen = [served for served in (*servers, *proxies, *flashed) if wanted(served)]
        for served in chosen:
            touch(served, folder / "everything")
        paths = folder / "paths"
        for _ in range(given.rounds):
            for connections in CONNECTIONS:
                for served in chosen:
                    window = measure(served, connections, given.seconds, paths, 0)
                    found.setdefault((served.name, f"hits, {connections}"), []).append(window)
            for misses in MISSES:
                for served in [one for one in proxies if wanted(one)]:
                    window = measure(served, 16, given.seconds, paths, misses)
                    what = f"{misses:.0%} misses, 16"
                    found.setdefault((served.name, what), []).append(window)
        promised = [written(served) for served in flashed if wanted(served)]
        if wanted(proxy):
            promised += [resident(proxy), ("MiB of it before the first request", "-", program)]
        if given.restart > 0:
            promised += restart(folder, origin.url, given.restart << 20)
    print("| server | load, connections | requests/s | CPU us a request | resident MiB |")
    print("|---|---|---|---|---|")
    for (name, what), windows in sorted(found.items(), key=lambda item: item[0][1]):
        print(row(name, what, windows))
    print("| cache in flash | at most | measured |")
    print("|---|---|---|")
    for what, most, value in promised:
        print(f"| {what} | {most} | {value:.3f} |")
    if given.json is not None:
        rows = [
            {"server": name, "load": what, "windows": [vars(window) for window in windows]}
            for (name, what), windows in found.items()
        ]
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
