"""`gordon cache serve` with small objects in sets: bytes and purges under evictions and kills."""

import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

from cache_site import CacheServer, Got, answer
from serving import kill_running

from conftest import gordon

Serve = Callable[..., CacheServer]
#: Kills of the server; `make torture` has 200. All files are compared after each of them.
KILLS = int(os.environ.get("CACHE_KILLS", "8"))
#: Files that are never purged, and files that are: `/f/0` and so on, `/p/0` and so on.
KEPT, PURGED = 2500, 300
#: Numbers that start with 1, and so the paths that `/p/1` is a prefix of.
ONES = [number for number in range(PURGED) if f"{number}".startswith("1")]


@cache
def content(path: str) -> bytes:
    """The bytes of a file: most go to a set, the largest stay in the log."""
    draw = random.Random(path)
    return draw.randbytes(draw.randint(100, 2000))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Serve]:
    """A server with 384 KiB of DRAM and 4 MiB of flash, most of it sets, in front of 3 MB of small
    files."""
    (tmp_path / "flash").mkdir()
    for folder, count in (("f", KEPT), ("p", PURGED)):
        (tmp_path / "www" / folder).mkdir(parents=True)
        for number in range(count):
            path = f"/{folder}/{number}"
            (tmp_path / "www" / path[1:]).write_bytes(content(path))
    # A file that changed just now is not stored.
    time.sleep(0.2)
    servers: list[CacheServer] = []

    def start(*args: str) -> CacheServer:
        (tmp_path / "c").unlink(missing_ok=True)
        flash = ("--flash", "flash", "--flash-size", "4MiB", "--sets", "0.7")
        servers.append(CacheServer(tmp_path, "--root", "www", *flash, *args, dram="384KiB"))
        return servers[-1]

    yield start
    kill_running(server.process for server in servers)


class Client:
    """One connection, which compares every byte with the files."""

    def __init__(self, server: CacheServer, wrong: list[str]) -> None:
        self.connection: HTTPConnection = server.connect()
        self.wrong = wrong

    def get(self, path: str) -> Got:
        self.connection.request("GET", path)
        got = answer(self.connection)
        if got.status != 200 or got.body != content(path):
            self.wrong.append(f"{path}: {got.status}, {len(got.body)} bytes")
        return got


class Load:
    """Clients that request files until the server is gone, and one that purges some of them."""

    def __init__(self, server: CacheServer, purged: set[int], seed: int) -> None:
        self.server = server
        #: Numbers of the files whose purge was confirmed, and which were not requested since.
        self.purged = purged
        self.wrong: list[str] = []
        steps = [self.purge, *[self.request] * 3]
        self.threads = [
            threading.Thread(target=self.run, args=(step, random.Random(f"{seed} {client}")))
            for client, step in enumerate(steps)
        ]
        for thread in self.threads:
            thread.start()

    def run(self, step: Callable[[Client, random.Random], None], draw: random.Random) -> None:
        client = Client(self.server, self.wrong)
        try:
            while True:
                step(client, draw)
        except (OSError, HTTPException):
            return  # it was killed
        except AssertionError as error:
            self.wrong.append(f"{error}")

    def request(self, client: Client, draw: random.Random) -> None:
        client.get(f"/f/{min(int(draw.expovariate(0.001)), KEPT - 1)}")

    def purge(self, client: Client, draw: random.Random) -> None:
        """Purges a file, or all with a prefix, or requests one."""
        number = draw.randrange(PURGED)
        path = f"/p/{number}"
        if draw.random() < 0.01:
            self.server.purge("/p/1", prefix=True)
            self.purged.update(ONES)
        elif draw.random() < 0.3:
            self.server.purge(path)
            self.purged.add(number)
        else:
            was_purged = number in self.purged
            self.purged.discard(number)
            if client.get(path).cache().startswith("hit") and was_purged:
                self.wrong.append(f"{path} came back")

    def end(self) -> list[str]:
        for thread in self.threads:
            thread.join()
        return self.wrong


def differences(server: CacheServer, purged: set[int]) -> list[str]:
    """Requests all files once after a restart. Returns those that are wrong."""
    wrong: list[str] = []
    client = Client(server, wrong)
    for number in sorted(purged):
        if client.get(f"/p/{number}").cache().startswith("hit"):
            wrong.append(f"/p/{number} came back")
    purged.clear()
    paths = [f"/f/{number}" for number in range(KEPT)]
    paths += [f"/p/{number}" for number in range(PURGED)]
    for path in paths:
        client.get(path)
    return wrong


def test_kills_while_small_objects_move_to_sets_and_are_purged(site: Serve) -> None:
    draw = random.Random(47)
    purged: set[int] = set()
    checked = hits = 0
    for kill in range(KILLS):
        server = site()
        checked += len(purged)
        assert differences(server, purged) == [], f"after {kill} kills"
        load = Load(server, purged, kill)
        time.sleep(draw.random() * 0.6)
        hits += server.stats()["requests"]["results"]["flash"]
        server.stop(signal.SIGKILL)
        assert load.end() == []
    server = site()
    assert differences(server, purged) == []
    assert server.stats()["cache"]["set_objects"] > 200
    assert hits > 500 * KILLS
    assert checked > 10 * KILLS


def test_the_simulator_predicts_a_server_with_sets(site: Serve, tmp_path: Path) -> None:
    server = site("--trace", "requests.trace")
    wrong: list[str] = []
    client = Client(server, wrong)
    draw = random.Random(1)
    for _ in range(12_000):
        client.get(f"/f/{min(int(draw.expovariate(0.0012)), KEPT - 1)}")
    assert wrong == []
    cache = server.stats()["cache"]
    server.stop()
    words = ["cache", "tiered", "requests.trace", "--format", "oracleGeneral"]
    words += ["--layout", "log-sets", "--no-reinsert", "--dram", "384KiB"]
    words += ["--pages-per-block", "16"]
    words += ["--flash", f"{cache['flash_capacity']}"]
    words += ["--segment", f"{cache['log_capacity'] // cache['segments']}"]
    words += ["--log-share", f"{cache['log_capacity'] / cache['flash_capacity']}"]
    # As docs/design/object-cache.md says for keys of up to 8 bytes: /f/0 to /f/2499.
    words += ["--set-largest", f"{1056 + 8}", "--set-saving", f"{111 + 8}"]
    words += ["--journal", f"{cache['journal_capacity']}"]
    words += ["--journal-batch", f"{cache['journal_recorded'] / cache['journal_writes']}"]
    ran = gordon(tmp_path, *words, "--json", "-")
    assert ran.status == 0, ran.err
    simulated = json.loads(ran.out)
    levels = {level["level"]: level["hits"] for level in simulated["levels"]}
    for tier in ("dram", "flash"):
        measured = cache[f"{tier}_hits"] / cache["requests"]
        assert measured > 0.15, tier
        assert levels[tier] / simulated["requests"] == pytest.approx(measured, abs=0.01), tier
    assert simulated["written_bytes"] == pytest.approx(cache["written_bytes"], rel=0.02)
    assert simulated["journal_bytes"] > 0.1 * simulated["written_bytes"]
