"""`gordon cache serve` with files of a folder: bytes, paths, conditions, ranges, protocols."""

import email.utils
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import IncompleteRead
from pathlib import Path

import pytest

from cache_site import CacheServer, answer, rss, wait_for
from limits import PATIENCE_S
from serving import kill_running, need

from conftest import Run

Serve = Callable[..., CacheServer]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Serve]:
    servers: list[CacheServer] = []

    def start(*args: str, **options: str) -> CacheServer:
        servers.append(CacheServer(tmp_path, *args, **options))
        return servers[-1]

    yield start
    kill_running(server.process for server in servers)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small site whose files have settled."""
    folder = tmp_path / "www"
    (folder / "sub").mkdir(parents=True)
    (folder / "index.html").write_bytes(b"<h1>home</h1>")
    (folder / "sub/index.html").write_bytes(b"sub")
    (folder / "a b.txt").write_bytes(b"spaces")
    (folder / "empty").write_bytes(b"")
    (folder / "data.bin").write_bytes(random.Random(1).randbytes(100_000))
    (folder / "large.bin").write_bytes(random.Random(2).randbytes(3_000_000))
    time.sleep(0.2)
    return folder


def test_files_are_served_once_from_the_folder_and_then_from_dram(site: Serve, root: Path) -> None:
    server = site("--root", "www")
    for path, file in (
        ("/", "index.html"),
        ("/index.html", "index.html"),
        ("/sub/", "sub/index.html"),
        ("/a%20b.txt", "a b.txt"),
        ("/data.bin", "data.bin"),
        ("/large.bin", "large.bin"),
    ):
        expected = (root / file).read_bytes()
        first, second = server.get(path), server.get(path)
        assert (first.status, first.body) == (200, expected), path
        assert (second.status, second.body) == (200, expected), path
        assert second.cache() == "hit; detail=dram", path
        assert second.headers["etag"] == first.headers["etag"]
        assert second.headers["content-length"] == str(len(expected))
    assert server.get("/").headers["content-type"] == "text/html"
    assert server.get("/a%20b.txt").headers["content-type"] == "text/plain"
    assert server.get("/empty").body == b""
    head = server.get("/data.bin", method="HEAD")
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", "100000")
    stats = server.stats()
    assert stats["requests"]["results"]["dram"] >= 6
    assert stats["hit_ratio"] > 0.4
    assert "the cache is closed" in server.stop()


def test_a_changed_file_is_never_served_from_the_old_object(site: Serve, root: Path) -> None:
    server = site("--root", "www")
    file = root / "data.bin"
    for round_ in range(20):
        # The same size, so that only times differ; sometimes in place, sometimes by a rename.
        content = bytes([round_]) * 1000
        if round_ % 2:
            file.write_bytes(content)
        else:
            new = root / "new"
            new.write_bytes(content)
            os.utime(new, ns=(10**18, 10**18))
            new.rename(file)
        for _ in range(3):
            assert server.get("/data.bin").body == content
    file.unlink()
    assert server.get("/data.bin").status == 404


def test_paths_stay_below_the_root(site: Serve, root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (root / "out").symlink_to("../secret")
    (root / "absolute").symlink_to(tmp_path / "secret")
    (root / "within").symlink_to("data.bin")
    (root / "folder").symlink_to("..")
    os.mkfifo(root / "pipe")
    server = site("--root", "www")
    for path in (
        "/../secret",
        "/sub/../../secret",
        "/%2e%2e/secret",
        "/%2e%2e%2fsecret",
        "/..%2fsecret",
        "/.%2e/secret",
        "/sub/..%2f..%2fsecret",
        "/out",
        "/absolute",
        "/folder/secret",
        "/a%00b",
        "/pipe",
        "/nothing",
        "/data.bin/",
        "/data.bin/x",
        "/" + "a" * 300,
        "/" + "a/" * 3000,
        "/%252e%252e/secret",
        "//secret",
    ):
        raw = server.raw(b"GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % path.encode())
        assert raw.split()[1] in (b"400", b"403", b"404"), (path, raw[:100])
        assert b"secret" not in raw, path
    assert server.get("/within").body == (root / "data.bin").read_bytes()
    moved = server.get("/sub")
    assert (moved.status, moved.headers["location"]) == (301, "/sub/")
    assert server.get("//sub").headers["location"] == "/sub/"
    # An absolute URL in the request line names a path of this site too.
    raw = server.raw(b"GET http://other/data.bin HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert raw.startswith(b"HTTP/1.1 200 ")
    server.stop()
    server = site("--root", "www", "--follow-symlinks")
    assert server.get("/out").body == b"secret"
    assert server.get("/folder/secret").body == b"secret"
    assert server.get("/../secret").status == 400


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_may_not_be_read_is_forbidden(site: Serve, root: Path) -> None:
    (root / "data.bin").chmod(0)
    assert site("--root", "www").get("/data.bin").status == 403


def test_methods(site: Serve, root: Path) -> None:
    server = site("--root", "www")
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        got = server.get("/data.bin", method=method, body=b"x")
        assert (got.status, got.headers["allow"]) == (405, "GET, HEAD"), method


def test_options_of_the_server_as_a_whole(site: Serve, root: Path) -> None:
    server = site("--root", "www")
    got = server.get("*", method="OPTIONS")
    assert (got.status, got.body) == (204, b"")
    assert server.get("*").status == 400


@pytest.mark.parametrize("file", ["data.bin", "large.bin"])
def test_ranges(site: Serve, root: Path, file: str) -> None:
    server = site("--root", "www")
    data = (root / file).read_bytes()
    size = len(data)
    middle = size // 2
    for _ in range(2):  # not in the cache, and in it
        for text, expected in (
            ("bytes=0-0", data[:1]),
            ("bytes=1-", data[1:]),
            ("bytes=-5", data[-5:]),
            (f"bytes={middle}-{middle + 70_000}", data[middle : middle + 70_001]),
            (f"bytes={size - 1}-{size + 5}", data[-1:]),
        ):
            got = server.get(f"/{file}", {"Range": text})
            assert (got.status, got.body) == (206, expected), text
            start = data.find(expected)
            last = start + len(expected) - 1
            if len(expected) > 100:
                assert got.headers["content-range"] == f"bytes {start}-{last}/{size}"
        beyond = server.get(f"/{file}", {"Range": f"bytes={size}-"})
        assert (beyond.status, beyond.headers["content-range"]) == (416, f"bytes */{size}")
        for text in ("bytes=5-1", "bytes=a-b", "bytes=0-1,5-6", "lines=1-2"):
            assert server.get(f"/{file}", {"Range": text}).body == data, text
        tag = server.get(f"/{file}").headers["etag"]
        part = {"Range": "bytes=0-1"}
        assert server.get(f"/{file}", {**part, "If-Range": tag}).status == 206
        assert server.get(f"/{file}", {**part, "If-Range": '"x"'}).status == 200


def test_conditional_requests(site: Serve, root: Path) -> None:
    server = site("--root", "www")
    first = server.get("/data.bin")
    tag, modified = first.headers["etag"], first.headers["last-modified"]
    older = email.utils.format_datetime(
        email.utils.parsedate_to_datetime(modified).replace(year=2001), usegmt=True
    )
    for headers, status in (
        ({"If-None-Match": tag}, 304),
        ({"If-None-Match": f'"x", W/{tag}'}, 304),
        ({"If-None-Match": "*"}, 304),
        ({"If-None-Match": '"x"'}, 200),
        ({"If-Modified-Since": modified}, 304),
        ({"If-Modified-Since": older}, 200),
        ({"If-None-Match": '"x"', "If-Modified-Since": modified}, 200),
        ({"If-Match": '"x"'}, 412),
        ({"If-Match": tag}, 200),
        ({"If-Unmodified-Since": older}, 412),
    ):
        got = server.get("/data.bin", headers)
        assert got.status == status, headers
        if status == 304:
            assert got.body == b""
            assert got.headers["etag"] == tag


def test_every_byte_is_right_under_load_with_evictions_and_changes(
    site: Serve, tmp_path: Path
) -> None:
    root = tmp_path / "many"
    root.mkdir()
    names = [f"{number}" for number in range(400)]
    contents = {
        name: random.Random(name).randbytes(1 + 97 * number % 40_000)
        for number, name in enumerate(names)
    }
    for name, content in contents.items():
        (root / name).write_bytes(content)
    time.sleep(0.2)
    server = site("--root", "many", "--threads", "2", dram="1MiB")
    wrong: list[str] = []

    def client(seed: int) -> None:
        draw = random.Random(seed)
        connection = server.connect()
        for _ in range(600):
            name = names[min(int(draw.expovariate(0.02)), len(names) - 1)]
            connection.request("GET", f"/{name}")
            got = answer(connection)
            if got.status != 200 or got.body != contents[name]:
                wrong.append(name)

    threads = [threading.Thread(target=client, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    cache = server.stats()["cache"]
    assert cache["dram_evictions"] > 0
    assert cache["dram_bytes"] <= cache["dram_capacity"]


def test_purge_and_warm_over_the_control_socket(site: Serve, root: Path) -> None:
    server = site("--root", "www")
    done = server.command("warm", "/data.bin", "/sub/", "/nothing", "no-path")
    assert done == {"requested": 4, "stored": 2, "failed": 2, "bytes": 100_003}
    assert server.get("/data.bin").cache().startswith("hit")
    assert server.command("purge", "/data.bin") == {"purged": 1}
    assert server.command("purge", "/data.bin") == {"purged": 0}
    assert server.get("/data.bin").cache().startswith("fwd=uri-miss")
    assert server.command("purge", "/", "--prefix") == {"purged": 2}
    assert server.command("check")["damaged"] == 0
    stat = server.command("stat")
    assert stat["kind"] == "serve-stats"
    assert stat["source"] == "www"
    server.stop()
    assert not (server.folder / "c").exists()


def test_metrics_and_stats_are_for_this_machine(site: Serve, root: Path) -> None:
    server = site("--root", "www")
    server.get("/data.bin")
    text = server.get("/-/metrics").body.decode()
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(values["gordon_cache_requests_requests"]) >= 1
    assert all(float(value) >= 0 for value in values.values())
    assert server.get("/-/stats", method="POST").status == 405
    assert server.get("/-/nothing").status == 404


def test_the_access_log_has_the_combined_format_and_is_opened_again(
    site: Serve, root: Path, tmp_path: Path
) -> None:
    log = tmp_path / "access.log"
    server = site("--root", "www", "--access-log", "access.log")
    server.get("/data.bin?q=1", {"User-Agent": 'a"b', "Referer": "http://x/"})
    wait_for(lambda: log.read_text() != "")
    line = log.read_text()
    assert line.startswith("127.0.0.1 - - [")
    assert line.endswith('"GET /data.bin?q=1 HTTP/1.1" 200 100000 "http://x/" "a\\x22b"\n')
    log.rename(tmp_path / "access.log.1")
    server.process.send_signal(signal.SIGHUP)
    wait_for(log.exists)
    server.get("/nothing")
    server.stop()
    assert '"GET /nothing HTTP/1.1" 404' in log.read_text()
    shown = subprocess.run(
        [
            *(sys.executable, "-m", "gordon", "trace", "convert"),
            *("access.log.1", "t.parquet", "--json", "-"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert json.loads(shown.stdout)["requests"] == 1, shown.stderr


def test_http_2_with_and_without_tls(site: Serve, root: Path, tmp_path: Path) -> None:
    need("curl", "openssl")

    def curl(*words: str) -> str:
        done = subprocess.run(
            ["curl", "-sS", *words, "-o", "got", "-w", "%{http_version} %{http_code}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "got").read_bytes() == (root / "large.bin").read_bytes()
        return done.stdout

    server = site("--root", "www")
    assert curl("--http2-prior-knowledge", f"{server.url}/large.bin") == "2 200"
    assert curl("--http1.1", f"{server.url}/large.bin") == "1.1 200"
    assert curl("--http1.0", f"{server.url}/large.bin") in ("1 200", "1.0 200", "1.1 200")
    server.stop()
    _certificate(tmp_path, "one")
    server = site("--root", "www", "--tls-certificate", "cert.pem", "--tls-key", "key.pem")
    assert server.url.startswith("https://")
    trusted = ["--cacert", "cert.pem"]
    assert curl("--http2", *trusted, f"{server.url}/large.bin") == "2 200"
    assert curl("--http1.1", *trusted, f"{server.url}/large.bin") == "1.1 200"
    # The certificate is read again, and clients connect with the new one.
    shutil.copy(tmp_path / "cert.pem", tmp_path / "old.pem")
    _certificate(tmp_path, "two")
    server.process.send_signal(signal.SIGHUP)
    while True:
        done = subprocess.run(
            ["curl", "-sS", *trusted, "-o", "got", f"{server.url}/large.bin"],
            cwd=tmp_path,
            capture_output=True,
        )
        if done.returncode == 0:
            break
        time.sleep(0.05)
    # A key that does not belong to the certificate leaves the old one in use.
    (tmp_path / "key.pem").write_text("no key")
    server.process.send_signal(signal.SIGHUP)
    server.wait_for("not reloaded")
    assert curl(*trusted, f"{server.url}/large.bin") == "2 200"
    server.stop()


def _certificate(folder: Path, name: str) -> None:
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2"),
            *("-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"),
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )


def test_header_bombs_and_nonsense_are_refused(site: Serve, root: Path) -> None:
    server = site("--root", "www")
    for request in (
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(200)),
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 200_000,
        b"GET /" + b"a" * 200_000,
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"\0" * 1000,
        b"",
    ):
        try:
            raw = server.raw(request + b"\r\n")
        except OSError:
            raw = b""  # the server closed the connection while we sent
        assert raw == b"" or raw.split()[1][:1] in (b"4", b"5"), (request[:40], raw[:80])
    assert server.get("/data.bin").status == 200


def test_a_thousand_idle_connections_do_not_keep_others_out(site: Serve, root: Path) -> None:
    server = site("--root", "www")
    idle = [socket.create_connection((server.host, server.port)) for _ in range(900)]
    half = idle[:300]
    for client in half:
        client.sendall(b"GET /data.bin HT")
    assert server.get("/data.bin").status == 200
    wait_for(lambda: server.stats()["connections"] > 900)
    assert rss(server.process.pid) < 400 << 20
    for client in half:
        client.sendall(b"TP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    for client in half[:20]:
        received = 0
        while part := client.recv(1 << 16):
            received += len(part)
        assert received > 100_000
    for client in idle:
        client.close()
    server.stop()


def test_connections_beyond_the_limit_are_closed(site: Serve, root: Path) -> None:
    server = site("--root", "www", "--clients", "3")
    kept = [socket.create_connection((server.host, server.port)) for _ in range(3)]
    for client in kept:
        client.sendall(b"GET /data.bin HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(12) == b"HTTP/1.1 200"
    refused = socket.create_connection((server.host, server.port))
    with refused, suppress(ConnectionResetError):
        assert refused.recv(1) == b""
    kept[0].close()

    def is_served() -> bool:
        try:
            return server.get("/data.bin").status == 200
        except OSError:
            return False

    wait_for(is_served)


def test_clients_that_do_not_receive_hold_bounded_memory(site: Serve, root: Path) -> None:
    server = site("--root", "www", "--client-memory", "4MiB", dram="1MiB")
    server.get("/data.bin")
    before = rss(server.process.pid)
    slow = []
    for _ in range(300):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect((server.host, server.port))
        client.sendall(b"GET /large.bin HTTP/1.1\r\nHost: x\r\n\r\n")
        slow.append(client)
    wait_for(lambda: server.stats()["requests"]["requests"] > 300)
    stats = server.stats()
    assert stats["client_memory"] <= stats["client_memory_limit"] + (256 << 10)
    assert rss(server.process.pid) - before < (4 << 20) + 300 * (64 << 10) + (8 << 20)
    for client in slow:
        client.close()
    wait_for(lambda: server.get("/data.bin").status == 200)


def test_a_stop_finishes_requests_in_flight(site: Serve, root: Path) -> None:
    server = site("--root", "www")
    expected = (root / "large.bin").read_bytes()
    client = socket.create_connection((server.host, server.port))
    client.settimeout(PATIENCE_S)
    client.sendall(b"GET /large.bin HTTP/1.1\r\nHost: x\r\n\r\n")
    received = client.recv(1000)
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    while part := client.recv(1 << 16):
        received += part
    assert received.partition(b"\r\n\r\n")[2] == expected
    assert server.process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("tries", [20])
def test_a_kill_in_the_middle_of_responses_never_completes_one_wrongly(
    site: Serve, root: Path, tries: int
) -> None:
    expected = (root / "large.bin").read_bytes()
    draw = random.Random(7)
    for _ in range(tries):
        server = site("--root", "www")
        results: list[bytes | None] = []

        def client(server: CacheServer = server, results: list[bytes | None] = results) -> None:
            try:
                results.append(server.get("/large.bin").body)
            except (OSError, IncompleteRead, ValueError):
                results.append(None)
            except Exception as error:
                results.append(repr(error).encode())

        threads = [threading.Thread(target=client) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(draw.random() * 0.01)
        server.stop(signal.SIGKILL)
        for thread in threads:
            thread.join()
        assert all(body is None or body == expected for body in results)
        (server.folder / "c").unlink()


def test_bad_input_is_one_error(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "www").mkdir()
    (tmp_path / "file").write_text("x")
    ok = ("cache", "serve", "--dram", "16MiB", "--listen", "127.0.0.1:0")
    run(*ok, "--root", "none").refused("root", "none")
    run(*ok, "--root", "file").refused("root", "file")
    for url in ("ftp://x", "localhost:80", "http://", "http://u:p@x", "http://x/?q", "x y"):
        run(*ok, "--origin", url).refused("origin", url)
    run(*ok).refused("", "--root", status=2)
    run(*ok, "--root", "www", "--origin", "http://x").refused("", "--root", status=2)
    run(*ok, "--root", "www", "--tls-key", "file").refused("", "--tls-key", status=2)
    run(*ok, "--root", "www", "--socket", "file").refused("exists", "file")
    run(*ok, "--root", "www", "--access-log", "no/log").refused("log", "no/log")
    tls = ("--tls-certificate", "file", "--tls-key", "file")
    run(*ok, "--root", "www", *tls).refused("tls", "file")
    run(*ok, "--root", "www", "--lifetime", "5y").refused("incomplete-flash", "--lifetime")
    run(*ok, "--root", "www", "--sets", "0.9").refused("incomplete-flash", "--sets")
    flash = ("--flash", "f", "--flash-size", "64MiB")
    run(*ok, "--root", "www", *flash, "--lifetime", "x").refused("bad-lifetime", "x")
    run(*ok, "--root", "www", *flash, "--admission", "x").refused("", "x")
    serve = ("cache", "serve", "--root", "www")
    for place in ("nowhere", "127.0.0.1", "127.0.0.1:99999", ":0:"):
        run(*serve, "--dram", "1MiB", "--listen", place).refused("", place)
    run(*serve, "--dram", "0", "--listen", "127.0.0.1:0").refused("bad-size", "--dram")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        run(*serve, "--dram", "1MiB", "--listen", place).refused("listen", place)
    run("cache", "stat", "--socket", "none").refused("not-served", "none: there is no such socket")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("c")
        run("cache", "stat", "--socket", "c").refused("not-served", "c: its server has ended")
        server.listen()
        closing = threading.Thread(target=lambda: server.accept()[0].close())
        closing.start()
        run("cache", "stat", "--socket", "c").refused("not-served", "c: the server stopped")
        closing.join()
