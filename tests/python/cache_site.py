"""`gordon cache serve` in a process of its own, and origins that tests control."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from limits import PATIENCE_S

from conftest import gordon

Json = dict[str, Any]
#: Methods that an origin takes.
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")


def create_image(folder: Path, name: str, *, blocks: int = 128) -> Path:
    """A NAND image with erase blocks of 64 KiB, each of 16 pages."""
    shape = {
        "geometry.buses": 1,
        "geometry.packages_per_bus": 1,
        "geometry.dies_per_package": 1,
        "geometry.planes_per_die": 1,
        "geometry.pages_per_block": 16,
        "geometry.page": "4KiB",
        "geometry.blocks_per_plane": blocks,
        "super_page.size": "4KiB",
    }
    options = [word for key, value in shape.items() for word in ("--set", f"{key}={value}")]
    ran = gordon(folder, "block", "create", name, "--capacity", "2MiB", *options)
    assert ran.status == 0, ran.err
    return folder / name


class Got(NamedTuple):
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes

    def cache(self) -> str:
        """How it was served, by the field of this server, the last one."""
        return self.headers.get("cache-status", "").rpartition("gordon; ")[2]


class CacheServer:
    """A server, killed at the end if it still runs."""

    def __init__(self, folder: Path, *args: str, dram: str = "16MiB") -> None:
        # Relative to the folder: a path of a socket has at most 107 bytes.
        self.folder = folder
        command = [sys.executable, "-m", "gordon", "cache", "serve", "--dram", dram]
        command += ["--listen", "127.0.0.1:0", "--socket", "c", *args]
        self.process = subprocess.Popen(
            command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        assert self.process.stderr is not None
        line = ""
        while "://" not in line or "dashboard" not in line:
            line = self.process.stderr.readline()
            if not line:
                raise AssertionError(f"it does not serve: {self.process.wait()}")
        self.url = line.split()[0].rstrip("/")
        parts = urlsplit(self.url)
        self.host, self.port = str(parts.hostname), int(parts.port or 0)

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE_S)

    def get(
        self,
        path: str,
        headers: dict[str, str] | None = None,
        method: str = "GET",
        body: bytes | None = None,
    ) -> Got:
        connection = self.connect()
        try:
            connection.request(method, path, body, headers or {})
            return answer(connection)
        finally:
            connection.close()

    def raw(self, request: bytes) -> bytes:
        """All bytes that the server answers before it closes the connection."""
        with socket.create_connection((self.host, self.port), timeout=PATIENCE_S) as client:
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
            received = b""
            while part := client.recv(1 << 16):
                received += part
            return received

    def stats(self) -> Json:
        found: Json = json.loads(self.get("/-/stats").body)
        return found

    def command(self, *words: str, codes: tuple[int, ...] = (0,)) -> Json:
        """`gordon cache WORDS... --socket`, as JSON."""
        ran = subprocess.run(
            [sys.executable, "-m", "gordon", "cache", *words, "--socket", "c", "--json", "-"],
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        assert ran.returncode in codes, ran.stderr
        found: Json = json.loads(ran.stdout)
        return found

    def purge(self, path: str, prefix: bool = False) -> None:
        """Purges over the control socket, without a process of its own. The connection ends early
        if the server is killed."""
        connection = _UnixConnection(self.folder / "c")
        try:
            body = json.dumps({"path": path, "prefix": prefix})
            connection.request("POST", "/purge", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            found = response.read()
            assert response.status == 200, found
        finally:
            connection.close()

    def wait_for(self, words: str) -> None:
        """Reads messages until one has the words."""
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        while words not in line:
            assert line, f"it ended without a message: {words}"
            line = self.process.stderr.readline()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> str:
        self.process.send_signal(how)
        errors = self.process.communicate(timeout=PATIENCE_S)[1]
        assert self.process.returncode == (-how if how == signal.SIGKILL else 0), errors
        return errors


class _UnixConnection(http.client.HTTPConnection):
    """A connection to a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=PATIENCE_S)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(PATIENCE_S)
        # A path of a socket has at most 107 bytes; that of the folder may have more.
        folder = os.open(self.path.parent, os.O_PATH)
        try:
            self.sock.connect(f"/proc/self/fd/{folder}/{self.path.name}")
        finally:
            os.close(folder)


def answer(connection: http.client.HTTPConnection) -> Got:
    response = connection.getresponse()
    fields: dict[str, str] = {}
    for name, value in response.getheaders():
        name = name.lower()
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return Got(response.status, fields, response.read())


class Seen(NamedTuple):
    """A request that an origin got."""

    method: str
    path: str
    headers: dict[str, str]


class Origin:
    """An HTTP/1.1 server that answers by `respond`, a function of the handler and the request."""

    def __init__(self, respond: Callable[[BaseHTTPRequestHandler, Seen], None]) -> None:
        self.seen: list[Seen] = []
        lock = threading.Lock()
        origin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body are two writes: the second would wait for an acknowledgement.
            disable_nagle_algorithm = True

            def do(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                seen = Seen(self.command, self.path, headers)
                with lock:
                    origin.seen.append(seen)
                length = int(headers.get("content-length", 0))
                if length:
                    self.rfile.read(length)
                respond(self, seen)

            def log_message(self, *_: object) -> None:
                pass

        for method in METHODS:
            setattr(Handler, f"do_{method}", Handler.do)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def count(self, path: str) -> int:
        return sum(seen.path == path for seen in self.seen)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def reply(
    handler: BaseHTTPRequestHandler,
    body: bytes = b"",
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> None:
    """A response of a known length."""
    handler.send_response(status)
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    if status != 304:
        handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    if handler.command != "HEAD" and status != 304:
        handler.wfile.write(body)


def wait_for(what: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, "waited for too long"
        time.sleep(0.01)


def rss(process: int) -> int:
    """Resident memory in bytes."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
