"""`gordon cache serve` with flash: bytes under evictions, restarts and kills, purges that last, and
damaged flash."""

import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from http.client import HTTPException
from pathlib import Path

import pytest

from cache_site import CacheServer, answer, create_image, wait_for
from serving import kill_running

from conftest import gordon

FILES = 300
#: Kills of a server for each medium; `make torture` has 200.
KILLS = int(os.environ.get("CACHE_KILLS", "25"))
Serve = Callable[..., CacheServer]
FLASH = ("--flash", "flash", "--flash-size", "32MiB")


@cache
def content(name: str) -> bytes:
    """The bytes of a file; some are large."""
    draw = random.Random(name)
    return draw.randbytes(draw.choice([1, 500, 5_000, 20_000, 60_000, 400_000]))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Serve]:
    """A server with 2 MiB of DRAM and 32 MiB of flash in front of files of 25 MB."""
    (tmp_path / "flash").mkdir()
    root = tmp_path / "www"
    root.mkdir()
    for number in range(FILES):
        (root / f"{number}").write_bytes(content(f"{number}"))
    time.sleep(0.2)
    servers: list[CacheServer] = []

    def start(*args: str, dram: str = "2MiB") -> CacheServer:
        (tmp_path / "c").unlink(missing_ok=True)
        servers.append(CacheServer(tmp_path, "--root", "www", *FLASH, *args, dram=dram))
        return servers[-1]

    yield start
    kill_running(server.process for server in servers)


def load(server: CacheServer, seed: int, count: int, wrong: list[str]) -> None:
    """Requests of one client, until the server is gone; some are for parts."""
    draw = random.Random(seed)
    connection = server.connect()
    for _ in range(count):
        name = f"{min(int(draw.expovariate(0.01)), FILES - 1)}"
        expected = content(name)
        headers = {}
        first = draw.randrange(len(expected))
        if draw.random() < 0.2:
            headers["Range"] = f"bytes={first}-{first + 999}"
            expected = expected[first : first + 1000]
        try:
            connection.request("GET", f"/{name}", headers=headers)
            got = answer(connection)
        except (OSError, HTTPException):
            return
        if got.status not in (200, 206) or got.body != expected:
            wrong.append(name)


class Load:
    """Requests of several clients at once."""

    def __init__(self, server: CacheServer, count: int, clients: int = 4) -> None:
        self.wrong: list[str] = []
        self.threads = [
            threading.Thread(target=load, args=(server, seed, count, self.wrong))
            for seed in range(clients)
        ]
        for thread in self.threads:
            thread.start()

    def end(self) -> list[str]:
        """The paths with wrong bytes."""
        for thread in self.threads:
            thread.join()
        return self.wrong


def test_objects_that_dram_evicts_are_served_from_flash(site: Serve) -> None:
    server = site()
    assert Load(server, 500).end() == []
    stats = server.stats()
    assert stats["requests"]["results"]["flash"] > 100
    cache = stats["cache"]
    assert cache["damaged"] == 0
    assert cache["flash_capacity"] <= 32 << 20
    assert stats["energy"]["flash_write_j"] >= 0
    assert server.command("check")["damaged"] == 0


def hits(server: CacheServer) -> int:
    """Requests every file once. Returns how many the cache had."""
    found = 0
    for number in range(FILES):
        got = server.get(f"/{number}")
        assert got.body == content(f"{number}")
        found += got.cache().startswith("hit")
    return found


def test_a_restart_is_warm(site: Serve) -> None:
    server = site()
    # A server drops what it cannot write in time, as on a busy machine.
    wait_for(lambda: hits(server) > FILES * 0.7)
    server.stop()
    server = site()
    found = hits(server)
    assert found > FILES * 0.6
    assert server.stats()["requests"]["origin_requests"] == FILES - found


def test_what_was_purged_stays_purged_after_a_kill(site: Serve) -> None:
    server = site()
    for number in range(FILES):
        server.get(f"/{number}")
    server.command("purge", "/7")
    server.command("purge", "/1", "--prefix")
    server.stop(signal.SIGKILL)
    server = site()
    for number in range(FILES):
        name = f"{number}"
        got = server.get(f"/{name}")
        assert got.body == content(name)
        if name == "7" or name.startswith("1"):
            assert not got.cache().startswith("hit"), name


@pytest.mark.parametrize("medium", ["file", "nand"])
def test_kills_in_the_middle_of_responses(site: Serve, tmp_path: Path, medium: str) -> None:
    if medium == "nand":
        # In place of the file of the cache.
        create_image(tmp_path / "flash", "cache.flash", blocks=576)
    draw = random.Random(medium)
    for _ in range(KILLS):
        server = site()
        clients = Load(server, 10_000)
        time.sleep(draw.random() * 0.4)
        server.stop(signal.SIGKILL)
        assert clients.end() == []
    server = site()
    assert server.command("check", codes=(0, 1))["objects"] >= 0
    assert Load(server, 200).end() == []
    assert server.stats()["cache"]["damaged"] == 0


def test_flipped_bits_in_flash_are_misses(site: Serve, tmp_path: Path) -> None:
    server = site()
    for number in range(FILES):
        server.get(f"/{number}")
    server.stop()
    file = next(path for path in (tmp_path / "flash").iterdir() if path.is_file())
    draw = random.Random(11)
    with file.open("r+b") as flash:
        size = file.stat().st_size
        for _ in range(400):
            at = draw.randrange(1 << 20, size)
            flash.seek(at)
            byte = flash.read(1)
            flash.seek(at)
            flash.write(bytes([(byte[0] if byte else 0) ^ 1 << draw.randrange(8)]))
    server = site()
    for _ in range(2):
        for number in range(FILES):
            assert server.get(f"/{number}").body == content(f"{number}")
    assert server.stats()["cache"]["damaged"] > 0


def test_the_trace_of_a_server_is_one_for_the_simulator(site: Serve, tmp_path: Path) -> None:
    server = site("--trace", "requests.trace")
    assert Load(server, 300).end() == []
    server.stop()
    words = ["cache", "tiered", "requests.trace", "--format", "oracleGeneral", "--layout", "log"]
    ran = gordon(tmp_path, *words, "--dram", "2MiB", "--flash", "32MiB", "--json", "-")
    assert ran.status == 0, ran.err
    assert json.loads(ran.out)["requests"] > 300
