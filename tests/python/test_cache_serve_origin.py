"""`gordon cache serve` in front of an origin: RFC 9111, coalescing, and origins that fail."""

import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import IncompleteRead
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from cache_site import CacheServer, Got, Origin, Seen, answer, reply, rss, wait_for
from gordon.cache import live
from limits import PATIENCE_S
from serving import need

Respond = Callable[[BaseHTTPRequestHandler, Seen], None]


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Callable[..., tuple[CacheServer, Origin]]]:
    """A server in front of an origin that answers by a function."""
    origins: list[Origin] = []
    servers: list[CacheServer] = []

    def start(respond: Respond, *args: str, **options: str) -> tuple[CacheServer, Origin]:
        origins.append(Origin(respond))
        servers.append(CacheServer(tmp_path, "--origin", origins[-1].url, *args, **options))
        return servers[-1], origins[-1]

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()
    for origin in origins:
        origin.close()


Proxy = Callable[..., tuple[CacheServer, Origin]]


def fixed(body: bytes = b"body", **headers: str) -> Respond:
    """An origin that always answers the same; `_` in names of fields is `-`."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, seen: reply(handler, body, headers=fields)


def test_a_fresh_response_is_fetched_once(proxy: Proxy) -> None:
    server, origin = proxy(fixed(cache_control="max-age=100", x_a="1"))
    first, second = server.get("/a?b=1"), server.get("/a?b=1")
    assert (first.body, second.body) == (b"body", b"body")
    assert first.cache() == "fwd=uri-miss; fwd-status=200; stored"
    assert second.cache().startswith("hit; detail=dram; ttl=")
    assert "age" not in first.headers
    assert int(second.headers["age"]) < 100
    assert second.headers["x-a"] == "1"
    assert second.headers["via"] == "1.1 gordon"
    assert origin.count("/a?b=1") == 1
    server.get("/a?b=2")
    assert origin.count("/a?b=2") == 1
    sent = origin.seen[0].headers
    assert sent["via"] == "1.1 gordon"
    assert sent["forwarded"].startswith("for=127.0.0.1;host=")
    assert sent["host"] == origin.url.removeprefix("http://")


@pytest.mark.parametrize(
    ("request_fields", "response_fields", "is_stored"),
    [
        ({}, {"cache_control": "private, max-age=100"}, False),
        ({}, {"cache_control": "no-store, max-age=100"}, False),
        ({}, {"cache_control": "s-maxage=100, max-age=0"}, True),
        ({}, {"cache_control": 'Max-Age="100"'}, True),
        ({}, {"cache_control": "max-age=0"}, False),
        ({}, {}, False),
        ({}, {"expires": "Fri, 01 Jan 2100 00:00:00 GMT"}, True),
        ({}, {"expires": "0"}, False),
        ({}, {"last_modified": "Fri, 01 Jan 2010 00:00:00 GMT"}, True),
        ({}, {"cache_control": "max-age=100", "vary": "*"}, False),
        ({}, {"cache_control": "max-age=100", "age": "200"}, False),
        ({}, {"cache_control": "max-age=100", "set_cookie": "a=b"}, False),
        ({"Authorization": "x"}, {"cache_control": "max-age=100"}, False),
        ({"Authorization": "x"}, {"cache_control": "max-age=100, public"}, True),
        ({"Cache-Control": "no-store"}, {"cache_control": "max-age=100"}, False),
        ({"Cache-Control": "no-cache"}, {"cache_control": "max-age=100"}, False),
        ({"Cache-Control": "max-age=0"}, {"cache_control": "max-age=100", "age": "5"}, False),
        ({"Cookie": "a=b"}, {"cache_control": "max-age=100"}, True),
    ],
)
def test_what_is_used_again(
    proxy: Proxy,
    request_fields: dict[str, str],
    response_fields: dict[str, str],
    is_stored: bool,
) -> None:
    server, origin = proxy(fixed(b"body", **response_fields))
    for _ in range(2):
        assert server.get("/a", request_fields).body == b"body"
    assert origin.count("/a") == (1 if is_stored else 2)


def test_a_stale_response_is_validated(proxy: Proxy) -> None:
    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        if seen.headers.get("if-none-match") == '"v1"':
            reply(handler, status=304, headers={"ETag": '"v1"', "X-New": "2"})
        else:
            reply(handler, b"body", headers={"ETag": '"v1"', "Cache-Control": "no-cache"})

    server, origin = proxy(respond)
    server.get("/a")
    second = server.get("/a")
    assert (second.status, second.body, second.headers["x-new"]) == (200, b"body", "2")
    assert second.cache() == "fwd=stale; fwd-status=304"
    assert server.get("/a", {"If-None-Match": '"v1"'}).status == 304
    assert origin.count("/a") == 3
    # The client's conditions are evaluated here: the first fetch had none.
    assert "if-none-match" not in origin.seen[0].headers


def test_a_changed_response_replaces_the_stale_one(proxy: Proxy) -> None:
    version = iter("12345678")

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        now = next(version)
        headers = {"ETag": f'"{now}"', "Cache-Control": "no-cache"}
        reply(handler, now.encode(), headers=headers)

    server, _ = proxy(respond)
    assert [server.get("/a").body for _ in range(3)] == [b"1", b"2", b"3"]


def test_a_304_of_another_version_is_not_used(proxy: Proxy) -> None:
    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        if "if-none-match" in seen.headers:
            reply(handler, status=304, headers={"ETag": '"other"'})
        else:
            reply(handler, b"body", headers={"ETag": '"v1"', "Cache-Control": "no-cache"})

    server, origin = proxy(respond)
    assert [server.get("/a").body for _ in range(2)] == [b"body", b"body"]
    assert origin.count("/a") == 3


def test_variants_are_stored_apart(proxy: Proxy) -> None:
    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        language = seen.headers.get("accept-language", "none")
        headers = {"Vary": "Accept-Language", "Cache-Control": "max-age=100"}
        reply(handler, language.encode(), headers=headers)

    server, origin = proxy(respond)
    for _ in range(2):
        for language in ("de", "en", "de, en", "de,en"):
            got = server.get("/a", {"Accept-Language": language})
            assert got.body.replace(b" ", b"") == language.replace(" ", "").encode()
        assert server.get("/a").body == b"none"
    assert origin.count("/a") == 4
    assert server.command("purge", "/a") == {"purged": 1}
    server.get("/a")
    assert origin.count("/a") == 5


def test_memory_stays_near_its_limit_while_responses_replace_each_other(proxy: Proxy) -> None:
    body = random.Random(1).randbytes(16 << 10)

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        reply(handler, body, headers={"Cache-Control": "max-age=1000", "X-Path": seen.path})

    server, _ = proxy(respond, dram="16MiB")
    server.get("/0")
    before = rss(server.process.pid)
    draw = random.Random(2)
    paths = [f"/{draw.randrange(3000)}?{'x' * draw.randrange(100)}" for _ in range(6000)]
    with ThreadPoolExecutor(8) as clients:
        assert all(got.status == 200 for got in clients.map(server.get, paths))
    assert server.stats()["cache"]["dram_evictions"] > 3000
    assert rss(server.process.pid) - before < 1.1 * (16 << 20) + (2 << 20)


@pytest.mark.parametrize("sets", [(), ("--sets", "0.8")])
def test_an_unsafe_method_removes_all_variants_without_a_search(
    proxy: Proxy, tmp_path: Path, sets: tuple[str, ...]
) -> None:
    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        headers = {"Vary": "Accept-Language", "Cache-Control": "max-age=1000"}
        reply(handler, seen.headers.get("accept-language", "").encode() * 100, headers=headers)

    def start() -> tuple[CacheServer, Origin]:
        return proxy(respond, "--flash", "flash", "--flash-size", "8MiB", *sets, dram="64KiB")

    def ask(path: str) -> None:
        for language in ("de", "en"):
            got = server.get(path, {"Accept-Language": language})
            assert got.body == language.encode() * 100

    (tmp_path / "flash").mkdir()
    server, origin = start()
    for number in range(300):
        ask(f"/{number}")
    for path in ("/0", "/299"):
        ask(path)
        assert origin.count(path) == 2
        read = server.stats()["cache"]["read_bytes"]
        assert server.get(path, method="POST", body=b"new").status == 200
        # A few pages, not all segments and sets.
        assert server.stats()["cache"]["read_bytes"] - read < 256 << 10
        ask(path)
        assert origin.count(path) == 5
    server.stop()
    server, origin = start()
    ask("/1")
    assert origin.count("/1") == 0
    assert server.get("/1", method="POST", body=b"new").status == 200
    server.stop(signal.SIGKILL)
    server, origin = start()
    ask("/1")
    assert origin.count("/1") == 2


def test_stale_while_revalidate(proxy: Proxy) -> None:
    version = iter("12345678")
    control = "max-age=1, stale-while-revalidate=100"

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        reply(handler, next(version).encode(), headers={"Cache-Control": control})

    server, origin = proxy(respond)
    assert server.get("/a").body == b"1"
    time.sleep(1.1)
    stale = server.get("/a")
    assert stale.body == b"1"
    assert stale.cache().startswith("hit; detail=stale; ttl=")
    wait_for(lambda: server.get("/a").body == b"2")
    assert origin.count("/a") == 2


def test_stale_if_error(proxy: Proxy, tmp_path: Path) -> None:
    fails: list[str] = []

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        if "status" in fails:
            reply(handler, b"sorry", status=503)
        elif "close" in fails:
            handler.close_connection = True
        else:
            control = "max-age=0, stale-if-error=100"
            if seen.path == "/must":
                control += ", must-revalidate"
            reply(handler, b"good", headers={"Cache-Control": control, "ETag": '"a"'})

    server, _ = proxy(respond)
    for path in ("/a", "/must"):
        assert server.get(path).body == b"good"
    for failure, status in (("status", 503), ("close", 502)):
        fails[:] = [failure]
        got = server.get("/a")
        assert (got.status, got.body) == (200, b"good")
        assert got.cache().startswith("hit; detail=stale")
        assert server.get("/must").status == status
        assert server.get("/new").status == status
    fails.clear()
    assert server.get("/must").body == b"good"


def test_head_is_answered_from_get(proxy: Proxy) -> None:
    server, origin = proxy(fixed(cache_control="max-age=100"))
    head = server.get("/a", method="HEAD")
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", "4")
    server.get("/a")
    head = server.get("/a", method="HEAD")
    assert head.cache().startswith("hit")
    assert head.headers["content-length"] == "4"
    assert [seen.method for seen in origin.seen] == ["HEAD", "GET"]


def test_ranges_of_an_origin(proxy: Proxy) -> None:
    body = random.Random(3).randbytes(1_000_000)

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        headers = {"Cache-Control": "max-age=100", "ETag": '"a"'}
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", seen.headers.get("range", ""))
        if asked:
            first, last = int(asked[1]), int(asked[2])
            headers["Content-Range"] = f"bytes {first}-{last}/{len(body)}"
            reply(handler, body[first : last + 1], 206, headers)
        else:
            reply(handler, body, headers=headers)

    server, origin = proxy(respond)
    part = {"Range": "bytes=500000-500009"}
    for _ in range(2):  # parts are not stored
        got = server.get("/a", part)
        assert (got.status, got.body) == (206, body[500_000:500_010])
    assert len(origin.seen) == 2
    # From the first byte on is the whole, which is stored.
    got = server.get("/a", {"Range": "bytes=0-"})
    assert got.status in (200, 206)
    assert got.body == body
    got = server.get("/a", part)
    assert (got.status, got.body) == (206, body[500_000:500_010])
    assert got.headers["content-range"] == "bytes 500000-500009/1000000"
    assert got.cache().startswith("hit")
    assert len(origin.seen) == 3


def test_options_of_this_server_do_not_reach_the_origin(proxy: Proxy) -> None:
    server, origin = proxy(fixed(b"body", allow="GET"))
    for target, fields in (("*", {}), ("/a", {"Max-Forwards": "0"})):
        got = server.get(target, fields, method="OPTIONS")
        assert (got.status, got.body, "allow" in got.headers) == (204, b"", False)
    assert server.get("*").status == 400
    assert not origin.seen
    got = server.get("/a", {"Max-Forwards": "2"}, method="OPTIONS")
    assert (got.status, got.headers["allow"]) == (200, "GET")
    assert [(seen.path, seen.headers["max-forwards"]) for seen in origin.seen] == [("/a", "1")]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_unsafe_methods_pass_through_and_invalidate(proxy: Proxy, method: str) -> None:
    bodies: list[bytes] = []

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        if seen.method != "GET":
            bodies.append(seen.headers.get("content-length", "").encode())
            status = 500 if seen.path == "/fails" else 201
            headers = {"Location": "/other", "Content-Location": "http://elsewhere/third"}
            reply(handler, b"done", status, headers)
        else:
            reply(handler, b"x", headers={"Cache-Control": "max-age=100"})

    server, origin = proxy(respond)
    paths = ("/a", "/other", "/third", "/fails")
    for path in paths:
        server.get(path)
    assert server.get("/a", method=method, body=b"12345").status == 201
    assert server.get("/fails", method=method, body=b"12345").status == 500
    for path in paths:
        server.get(path)
    assert [origin.count(path) for path in paths] == [3, 2, 1, 2]
    assert bodies == [b"5", b"5"]


def test_one_fetch_for_all_clients_that_wait(proxy: Proxy) -> None:
    may_answer = threading.Event()
    body = random.Random(4).randbytes(300_000)

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        may_answer.wait(PATIENCE_S)
        reply(handler, body, headers={"Cache-Control": "max-age=100"})

    server, origin = proxy(respond)
    results: list[Got] = []
    threads = [threading.Thread(target=lambda: results.append(server.get("/a"))) for _ in range(20)]
    # The client that causes the fetch leaves before its end.
    with socket.create_connection((server.host, server.port)) as first:
        first.sendall(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_for(lambda: origin.count("/a") == 1)
        for thread in threads:
            thread.start()
        wait_for(lambda: server.stats()["connections"] > 20)
    may_answer.set()
    for thread in threads:
        thread.join()
    assert [got.body == body for got in results] == [True] * 20
    assert origin.count("/a") == 1
    assert sum("collapsed" in got.cache() for got in results) >= 19


@pytest.mark.parametrize(
    "fields",
    [
        {"Cache-Control": "private, max-age=100"},
        # Stored, and validated for each client.
        {"Cache-Control": "no-cache", "ETag": '"a"'},
        {"ETag": '"a"'},
        {"Cache-Control": "max-age=100", "ETag": '"a"', "Set-Cookie": "a=b"},
    ],
)
def test_responses_for_one_client_are_not_shared_with_clients_that_wait(
    proxy: Proxy, fields: dict[str, str]
) -> None:
    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        time.sleep(0.05)
        body = seen.headers["cookie"].encode()
        reply(handler, body, headers=fields)

    server, _ = proxy(respond)
    results: dict[int, bytes] = {}

    def client(number: int) -> None:
        results[number] = server.get("/a", {"Cookie": f"n={number}"}).body

    threads = [threading.Thread(target=client, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: f"n={number}".encode() for number in range(20)}


def test_a_client_takes_no_response_stale_that_must_be_validated(proxy: Proxy) -> None:
    server, origin = proxy(fixed(cache_control="no-cache", etag='"a"', set_cookie="sid=1"))
    server.get("/a")
    server.get("/a", {"Cache-Control": "max-stale"})
    assert origin.count("/a") == 2


def test_an_object_that_lost_a_block_is_fetched_again(proxy: Proxy) -> None:
    draw = random.Random(5)
    video, other = draw.randbytes(1_000_000), draw.randbytes(200_000)

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        body = video if seen.path == "/video" else other
        # Parts of a response with a weak tag may be of different versions.
        reply(handler, body, headers={"Cache-Control": "max-age=1000", "ETag": 'W/"1"'})

    server, origin = proxy(respond, dram="2MiB")
    server.get("/video")
    for number in range(60):
        # The start of the video stays in the cache, and its other blocks leave.
        server.get("/video", {"Range": "bytes=0-9"})
        server.get(f"/{number}")
    failures = 0
    for _ in range(3):
        try:
            got = server.get("/video")
        except IncompleteRead:
            failures += 1
            continue
        assert got.body == video
    assert failures <= 1
    assert origin.count("/video") >= 2


def test_an_unsafe_method_removes_a_response_also_if_its_client_leaves(proxy: Proxy) -> None:
    has_come, may_answer = threading.Event(), threading.Event()

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        if seen.method == "POST":
            has_come.set()
            may_answer.wait(PATIENCE_S)
        reply(handler, b"body", headers={"Cache-Control": "max-age=100"})

    server, origin = proxy(respond)
    server.get("/a")
    # A server notices that a client of HTTP/2 leaves.
    need("curl")
    url = f"http://{server.host}:{server.port}/a"
    client = subprocess.Popen(["curl", "-s", "--http2-prior-knowledge", "-X", "POST", url])
    assert has_come.wait(PATIENCE_S)
    client.kill()
    client.wait()
    # That of the question itself.
    wait_for(lambda: server.stats()["connections"] == 1)
    may_answer.set()

    def is_fetched_again() -> bool:
        server.get("/a")
        return origin.count("/a") == 3

    wait_for(is_fetched_again)


def test_hop_by_hop_fields_do_not_pass(proxy: Proxy) -> None:
    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        headers = {
            "Connection": "X-Hop",
            "X-Hop": "1",
            "Keep-Alive": "5",
            "Cache-Control": "max-age=9",
            "X-Kept": "2",
        }
        reply(handler, b"x", headers=headers)

    server, origin = proxy(respond)
    sent = {"Connection": "close, X-Mine", "X-Mine": "1", "TE": "trailers", "X-Theirs": "2"}
    for _ in range(2):
        got = server.get("/a", sent)
        assert "x-hop" not in got.headers
        assert "keep-alive" not in got.headers
        assert got.headers["x-kept"] == "2"
    seen = origin.seen[0].headers
    assert "x-mine" not in seen
    assert "te" not in seen
    assert seen["x-theirs"] == "2"


def _raw_origin(answer: bytes, close: bool = True) -> Respond:
    """Sends these bytes, then closes the connection or hangs."""

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        handler.wfile.write(answer)
        handler.wfile.flush()
        if close:
            handler.close_connection = True
        else:
            time.sleep(PATIENCE_S)

    return respond


FRESH = b"HTTP/1.1 200 OK\r\nCache-Control: max-age=100\r\n"


@pytest.mark.parametrize(
    ("response", "close"),
    [
        (FRESH + b"Content-Length: 100000\r\n\r\n" + b"x" * 50_000, True),
        (FRESH + b"Content-Length: 100000\r\n\r\n" + b"x" * 50_000, False),
        (FRESH + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", True),
        (FRESH + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n", True),
        (FRESH + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel", False),
    ],
    ids=["dies", "hangs", "no last chunk", "broken chunk", "hangs in a chunk"],
)
def test_an_incomplete_body_is_never_complete_and_never_stored(
    proxy: Proxy, response: bytes, close: bool
) -> None:
    server, origin = proxy(_raw_origin(response, close), "--origin-timeout", "0.5")
    for _ in range(2):
        with pytest.raises((IncompleteRead, OSError, ValueError)):
            server.get("/a")
    assert origin.count("/a") == 2
    stats = server.stats()
    assert stats["cache"]["dram_objects"] == 0
    assert stats["requests"]["aborted"] == 2


def test_a_body_that_ends_with_its_connection_is_not_stored(proxy: Proxy) -> None:
    for version in (b"1.0", b"1.1"):
        head = FRESH.replace(b"1.1", version) + b"\r\n"
        server, origin = proxy(_raw_origin(head + b"all of it?"))
        assert [server.get("/a").body for _ in range(2)] == [b"all of it?"] * 2
        assert origin.count("/a") == 2
        server.stop()


def test_bytes_beyond_the_declared_length_are_not_part_of_a_response(proxy: Proxy) -> None:
    response = FRESH + b"Content-Length: 4\r\n\r\nbodyHTTP/1.1 200 OK\r\n\r\nsmuggled"
    server, _ = proxy(_raw_origin(response))
    for path in ("/a", "/a", "/b"):
        assert server.get(path).body == b"body"


@pytest.mark.parametrize(
    ("response", "status"),
    [
        (b"", 502),
        (b"nonsense\r\n\r\n", 502),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", 502),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n", 502),
    ],
    ids=["closes", "nonsense", "two lengths", "long head"],
)
def test_an_origin_that_does_not_speak_http(proxy: Proxy, response: bytes, status: int) -> None:
    server, _ = proxy(_raw_origin(response))
    assert server.get("/a").status == status


def test_an_origin_that_hangs_or_is_gone(proxy: Proxy) -> None:
    server, origin = proxy(_raw_origin(b"", close=False), "--origin-timeout", "0.3")
    assert server.get("/a").status == 504
    assert server.stats()["requests"]["origin_failures"] == 1
    origin.close()
    assert server.get("/b").status == 502
    # What the server itself answers does not depend on the origin.
    assert server.get("/-/stats").status == 200
    assert server.get("/c", {"Cache-Control": "only-if-cached"}).status == 504


def test_a_purge_during_a_fetch_keeps_the_old_response_out(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = threading.Event()

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        handler.send_response(200)
        handler.send_header("Cache-Control", "max-age=100")
        handler.send_header("Content-Length", "8")
        handler.end_headers()
        handler.wfile.write(b"half")
        handler.wfile.flush()
        may_end.wait(PATIENCE_S)
        handler.wfile.write(b"half")

    server, origin = proxy(respond)
    results: list[bytes] = []
    thread = threading.Thread(target=lambda: results.append(server.get("/a").body))
    thread.start()
    wait_for(lambda: origin.count("/a") == 1)
    # Not by a command: its start may take longer than the server waits for the rest of a body.
    monkeypatch.chdir(server.folder)
    assert live.purge("c", "/", prefix=True) == {"purged": 0}
    may_end.set()
    thread.join()
    assert results == [b"halfhalf"]
    server.get("/a")
    assert origin.count("/a") == 2


def test_a_slow_client_does_not_hold_up_others(proxy: Proxy) -> None:
    body = random.Random(5).randbytes(8_000_000)
    server, origin = proxy(
        lambda handler, seen: reply(handler, body, headers={"Cache-Control": "max-age=100"}),
        dram="32MiB",
    )
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect((server.host, server.port))
        slow.sendall(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        slow.recv(100)
        for _ in range(3):
            assert server.get("/a").body == body
        assert server.get("/b").body == body
    assert origin.count("/a") <= 4


def test_every_byte_is_the_origins_under_load(proxy: Proxy) -> None:
    def content(path: str) -> bytes:
        return random.Random(path).randbytes(1 + hash_of(path) % 60_000)

    def hash_of(path: str) -> int:
        return int(path.strip("/")) * 7919

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        number = int(seen.path.strip("/"))
        control = ["max-age=1", "no-cache", "max-age=100", "private"][number % 4]
        tag = f'"{number}"'
        if seen.headers.get("if-none-match") == tag:
            reply(handler, status=304, headers={"ETag": tag, "Cache-Control": control})
        else:
            headers = {"ETag": tag, "Cache-Control": control}
            reply(handler, content(seen.path), headers=headers)

    server, _ = proxy(respond, "--threads", "2", dram="2MiB")
    wrong: list[str] = []

    def client(seed: int) -> None:
        draw = random.Random(seed)
        connection = server.connect()
        for _ in range(300):
            path = f"/{min(int(draw.expovariate(0.02)), 299)}"
            expected = content(path)
            first = draw.randrange(len(expected))
            is_part = draw.random() < 0.2
            headers = {"Range": f"bytes={first}-"} if is_part and first else {}
            connection.request("GET", path, headers=headers)
            got = answer(connection)
            if got.status == 206:
                expected = expected[first:]
            if got.body != expected:
                wrong.append(path)

    threads = [threading.Thread(target=client, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert server.stats()["cache"]["dram_evictions"] > 0


def test_nginx_as_origin(tmp_path: Path) -> None:
    need("nginx")
    root = tmp_path / "www"
    root.mkdir()
    contents = {f"{n}.html": random.Random(n).randbytes(n * 1000) for n in range(1, 40)}
    for name, content in contents.items():
        (root / name).write_bytes(content)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    user = "user root;" if shutil.which("id") else ""
    (tmp_path / "nginx.conf").write_text(
        f"{user} daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error;\n"
        "events {}\n"
        f"http {{ access_log off; types {{ text/html html; }} server {{ listen 127.0.0.1:{port};"
        f" root {root}; expires 1s; }} }}\n"
    )
    origin = subprocess.Popen(
        ["nginx", "-c", str(tmp_path / "nginx.conf"), "-e", str(tmp_path / "error")]
    )
    try:

        def is_up() -> bool:
            with socket.socket() as client:
                return client.connect_ex(("127.0.0.1", port)) == 0

        wait_for(is_up)
        server = CacheServer(tmp_path, "--origin", f"http://127.0.0.1:{port}")
        for pause in (0, 0, 1.2):
            time.sleep(pause)
            for name, content in contents.items():
                got = server.get(f"/{name}")
                assert got.body == content, name
                if pause:
                    assert got.cache() == "fwd=stale; fwd-status=304"
        server.stop()
    finally:
        origin.send_signal(signal.SIGTERM)
        origin.wait()


@pytest.mark.parametrize("mixed", [False, True])
def test_memory_is_that_of_the_content_after_many_evictions(proxy: Proxy, mixed: bool) -> None:
    draw = random.Random(1)
    sizes = [draw.randrange(200, 60_000) if mixed else 16_384 for _ in range(1000)]

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        size = sizes[int(seen.path.rpartition("/")[2]) % len(sizes)]
        reply(handler, bytes(size), headers={"Cache-Control": "max-age=1000"})

    server, origin = proxy(respond, dram="16MiB")
    before = rss(server.process.pid)
    connection = server.connect()
    for number in range(3000):
        # New ones, and some that are found or were evicted.
        path = draw.randrange(number) if number > 500 and draw.random() < 0.3 else number
        connection.request("GET", f"/{path}")
        got = answer(connection)
        assert (got.status, len(got.body)) == (200, sizes[path % len(sizes)])
    connection.close()
    cache = server.stats()["cache"]
    assert len(origin.seen) > 2000
    assert 15 << 20 < cache["dram_bytes"] <= 16 << 20
    assert rss(server.process.pid) - before < 1.15 * cache["dram_bytes"] + (6 << 20)


def test_a_server_does_not_load_the_client_of_its_socket() -> None:
    program = "import sys, gordon.cache.live; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert not {"ssl", "http.client", "gordon.disk"} & set(ran.stdout.split())
