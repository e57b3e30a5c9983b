"""A cache of DRAM and flash in front of a real site, over HTTP.

    from gordon.cache import live
    live.serve(root="/srv/www", dram="128MiB", listen=["127.0.0.1:8080"], socket="cache.sock")

and, while it runs, from another process:

    live.stat("cache.sock")["hit_ratio"]
    live.purge("cache.sock", "/news/", prefix=True)

`docs/design/serving.md` describes the server. A failure raises `gordon.GordonError`.
"""

import json
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict

from gordon import _core
from gordon.cache import flashcache
from gordon.cache.admission import admission as parsed
from gordon.cache.objects import ENDURANCE
from gordon.errors import GordonError
from gordon.options import Device, check_bytes, several
from gordon.reports.objects import ObjectCacheChecked, ServeStats, Warmed
from gordon.untyped import Config

__all__ = ["check", "purge", "serve", "stat", "warm"]

#: Default number of clients of the core (`Limits` in crates/serve/src/server/mod.rs).
_CLIENTS = 4096


class Listening(TypedDict):
    """The addresses of a server, and its control socket."""

    urls: list[str]
    socket: str | None


class Purged(TypedDict):
    """The number of objects that were removed; by a prefix, from memory."""

    purged: int


def serve(
    *,
    dram: str,
    root: str | None = None,
    follow_symlinks: bool = False,
    origin: str | None = None,
    origin_ca: str | None = None,
    origin_timeout: float = 30.0,
    flash: str | None = None,
    flash_size: str | None = None,
    sets: float | None = None,
    lifetime: str | None = None,
    endurance: int = ENDURANCE,
    admission: str = "all",
    preset: Device = flashcache.DEFAULT,
    seed: int = 1,
    listen: Sequence[str] = ("127.0.0.1:8080",),
    socket: str | None = None,
    tls_certificate: str | None = None,
    tls_key: str | None = None,
    access_log: str | None = None,
    trace: str | None = None,
    threads: int = 1,
    clients: int | None = None,
    client_memory: str | None = None,
    ready: Callable[[Listening], None] = lambda _: None,
    reloaded: Callable[[str | None], None] = lambda _: None,
) -> ServeStats:
    """Serves the files of `root` or the responses of `origin` until a signal handler raises;
    returns the last statistics.

    `ready` is called with the addresses once clients can connect. SIGHUP opens the access log and
    reads the certificate again, then `reloaded` is called with an error or None. Raises
    GordonError.
    """
    policy = parsed(admission)
    _check_flash(
        {
            "--flash": flash,
            "--flash-size": flash_size,
            "--sets": None if sets is None else str(sets),
            "--lifetime": lifetime,
            "--admission": None if policy == "all" else admission,
        }
    )
    if isinstance(policy, dict) and "years" in policy:
        raise GordonError(
            f"--admission {admission}: a number of years is the lifetime",
            "--lifetime 5y",
            kind="bad-admission",
        )
    memory = check_bytes(dram, "--dram")
    if memory == 0:
        raise GordonError(
            f"--dram {dram}: a cache needs memory", "a size, such as 128MiB", kind="bad-size"
        )
    config = {
        "root": root,
        "follow_links": follow_symlinks,
        "origin": origin,
        "origin_ca": origin_ca,
        "origin_timeout_s": origin_timeout,
        "cache": {
            "dram": dram,
            "flash": flash,
            "flash_size": flash_size,
            "admission": policy,
            "lifetime": None if lifetime is None else (_years(lifetime), endurance),
            "reinsert": False,
            "sets": sets,
            "seed": seed,
            "trace": trace,
            "segment": None,
            "block": None,
        },
        "listen": several(listen),
        "certificate": tls_certificate,
        "key": tls_key,
        "socket": socket,
        "access_log": access_log,
        "threads": threads,
        "clients": clients,
        "client_memory": client_memory,
        "power": _power(flashcache.load(preset), memory, _flash_bytes(flash, flash_size)),
    }
    if (root is None) == (origin is None):
        raise GordonError(
            "exactly one of a root and an origin is needed",
            "--root DIR for files, --origin URL for another server",
            kind="exclusive-options",
        )
    announce = lambda where: ready(json.loads(where))  # noqa: E731
    _allow_descriptors(clients)
    with _hangups() as asked:
        stats: ServeStats = json.loads(
            _core.cache_serve(json.dumps(config), announce, asked, reloaded)
        )
    return stats


def _allow_descriptors(clients: int | None) -> None:
    """Raises the limit of open files as far as the system allows and clients need."""
    import resource  # which Windows does not have

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # A client needs a socket, and a file or a connection to the origin.
    needed = 2 * (clients or _CLIENTS) + 256
    wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _check_flash(given: dict[str, str | None]) -> None:
    """Raises GordonError for options of flash without flash, and for flash without a size."""
    flash = given["--flash"]
    # A file may be a NAND image, which has a size.
    if flash is not None and (given["--flash-size"] is not None or Path(flash).is_file()):
        return
    extra = [option for option, value in given.items() if value is not None]
    if extra:
        missing = "--flash" if flash is None else "--flash-size"
        raise GordonError(
            f"{extra[0]} needs {missing}", "--flash DIR --flash-size 1GiB", kind="incomplete-flash"
        )


def _flash_bytes(flash: str | None, size: str | None) -> int:
    """The size of the flash; of a NAND image without one, that of its file."""
    if size is not None:
        return _core.parse_bytes(size)
    return 0 if flash is None else Path(flash).stat().st_size


def _years(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*y?", text)
    if found is None or float(found[1]) == 0:
        raise GordonError(
            f"--lifetime {text}: not a number of years", "--lifetime 5y", kind="bad-lifetime"
        )
    return float(found[1])


def _power(design: Config, dram: int, flash: int) -> dict[str, float]:
    """Watts and joules of the memories of a design, scaled to the sizes of this cache."""
    memory, chip = design["dram"], design["flash"]
    gbits = 8 * dram / 2**30
    rank = min(8 * _core.parse_bytes(_value(memory["rank"])) / 2**30, gbits)
    flash_gbits = 8 * flash / 2**30
    die = min(8 * _core.parse_bytes(_value(chip["chip"])) / 2**30, flash_gbits)
    page = _core.parse_bytes(_value(chip["page"]))
    moved_s = page / _core.parse_rate(_value(chip["rate_per_s"]))
    cache = design["cache"]
    block = _core.parse_bytes(_value(cache["logical_block"])) / int(_value(cache["erase_blocks"]))
    active_w = _watts(chip["active_per_gbit"]) * die
    seconds = {name: _core.parse_ns(_value(chip[name])) / 1e9 for name in ("read", "program")}
    erase_s = _core.parse_ns(_value(chip["erase"])) / 1e9
    return {
        "dram_idle_w": _watts(memory["idle_per_gbit"]) * gbits,
        "dram_j_per_byte": _watts(memory["read_per_gbit"])
        * rank
        / _core.parse_rate(_value(memory["rate_per_s"])),
        "flash_idle_w": _watts(chip["idle_per_gbit"]) * flash_gbits,
        "flash_read_j_per_byte": active_w * (seconds["read"] + moved_s) / page,
        "flash_write_j_per_byte": active_w
        * ((seconds["program"] + moved_s) / page + erase_s / block),
    }


def _value(sourced: Any) -> str:
    """The text of a value with its source."""
    return str(sourced["value"] if isinstance(sourced, dict) else sourced)


def _watts(sourced: Any) -> float:
    return _core.parse_watts(_value(sourced))


@contextmanager
def _hangups() -> Iterator[Callable[[], bool]]:
    """Whether SIGHUP arrived since the last call."""
    asked = threading.Event()

    def was_asked() -> bool:
        found = asked.is_set()
        asked.clear()
        return found

    if threading.current_thread() is not threading.main_thread():
        yield was_asked  # only the main thread may take signals
        return
    before = signal.signal(signal.SIGHUP, lambda *_: asked.set())
    try:
        yield was_asked
    finally:
        signal.signal(signal.SIGHUP, before)


def _asked(socket: str, method: str, target: str, body: Mapping[str, object] | None = None) -> Any:
    # Not imported by a server, whose memory it would add to.
    from gordon.cache import control

    return control.request(socket, method, target, body)


def stat(socket: str) -> ServeStats:
    """The statistics of a server that runs. Keys are in snake_case and carry their units. Raises
    GordonError if none answers."""
    found: ServeStats = _asked(socket, "GET", "/stats")
    return found


def purge(socket: str, path: str, *, prefix: bool = False) -> Purged:
    """Removes a path, with all its variants, or every path that begins with it.

    It stays removed after a crash. Returns `purged`, the number of objects; with `prefix` only of
    those in memory. Raises GordonError.
    """
    done: Purged = _asked(socket, "POST", "/purge", {"path": path, "prefix": prefix})
    return done


def check(socket: str) -> ObjectCacheChecked:
    """Verifies every object in flash; returns `objects`, `bytes` and `damaged`. Damaged objects are
    removed. Raises GordonError."""
    found: ObjectCacheChecked = _asked(socket, "POST", "/check", {})
    return found


def warm(socket: str, paths: Sequence[str]) -> Warmed:
    """Requests paths so that they are in the cache; returns `requested`, `stored`, `failed` and
    `bytes`. Raises GordonError."""
    done: Warmed = _asked(socket, "POST", "/warm", {"paths": several(paths)})
    return done
