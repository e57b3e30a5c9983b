"""The HTTP server in front of the object cache, and the commands for one that runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from gordon.options import Device
from gordon.options.kinds import (
    COUNT,
    DIR,
    FILE,
    PATH,
    PRESET,
    SEED,
    SIZE,
    Each,
    Seconds,
    Share,
    Text,
)


@dataclass(frozen=True, kw_only=True)
class Content:
    """The source of a site: exactly one of a folder and an origin."""

    GROUP: ClassVar = "Site"
    root: Annotated[str | None, DIR] = None
    """Serve the files of this folder."""
    follow_symlinks: bool = False
    """With --root: serve files outside the folder to which symbolic links lead."""
    origin: Annotated[str | None, Text("URL")] = None
    """Cache the responses of this HTTP server: http://127.0.0.1:9000."""
    origin_ca: Annotated[str | None, FILE] = None
    """Accept only an origin with a certificate from these authorities (PEM). Default: the
    authorities that the system trusts."""
    origin_timeout: Annotated[float, Seconds(0.01)] = 30.0
    """Maximum time in which the origin connects, answers, or continues a body."""


@dataclass(frozen=True, kw_only=True)
class Memories:
    """The cache."""

    GROUP: ClassVar = "Cache"
    dram: Annotated[str, SIZE]
    """DRAM for objects and for the index of the flash: 128MiB."""
    flash: Annotated[str | None, PATH] = None
    """Flash: a file, a folder in which the file cache.flash is used, a block device, or a NAND
    image (`gordon block create`), whose blocks the cache erases itself."""
    flash_size: Annotated[str | None, SIZE] = None
    """Size of the flash; the cache never takes more. Default for a NAND image: all of it."""
    sets: Annotated[float | None, Share(is_checked=True)] = None
    """Fraction of the flash for sets of small objects (at most 1 KiB), which then take far less
    DRAM: 0.9. Not with a NAND image or --lifetime. Default: none, or as the cache was created."""
    lifetime: Annotated[str | None, Text("YEARS")] = None
    """How long the flash must last: 5y. Admission keeps the bytes written within the budget."""
    endurance: Annotated[int, COUNT] = 3000
    """Rated erases per block, for --lifetime."""
    admission: Annotated[str, Text("KIND")] = "all"
    """Admission policy of flash: all; random:0.5, a random fraction; hits:2, objects with that many
    requests in DRAM; ghost:64MiB, objects that were offered before, within that many bytes."""
    preset: Annotated[Device, PRESET] = "cases-2006"
    """Power of DRAM and flash for the modelled energy: a design (`gordon cache presets`) or a TOML
    file."""
    seed: Annotated[int, SEED] = 1
    """Random seed of admission."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """The server."""

    GROUP: ClassVar = "Server"
    listen: Annotated[Sequence[str], Each("HOST:PORT")] = ("127.0.0.1:8080",)
    """Listen at this address. Other machines can reach it only if it is not a loopback address."""
    socket: Annotated[str | None, PATH] = None
    """Unix socket for `gordon cache stat`, `purge`, `check` and `warm`."""
    tls_certificate: Annotated[str | None, FILE] = None
    """Serve TLS with this certificate (PEM)."""
    tls_key: Annotated[str | None, FILE] = None
    """Private key of --tls-certificate (PEM)."""
    access_log: Annotated[str | None, FILE] = None
    """Append a line for each request in the combined log format."""
    trace: Annotated[str | None, FILE] = None
    """Append the lookups of the cache to a trace (oracleGeneral) for `gordon cache tiered`, which
    predicts this cache, and `replay`, which compares others."""
    threads: Annotated[int, COUNT] = 1
    """Number of threads that serve clients."""
    clients: Annotated[int | None, COUNT] = None
    """Maximum number of connections. Default: 4096."""
    client_memory: Annotated[str | None, SIZE] = None
    """Memory for bodies on their way to all clients; requests beyond it are refused with 503.
    Default: 64MiB."""


@dataclass(frozen=True, kw_only=True)
class Control:
    """A server that runs."""

    socket: Annotated[str, PATH]
    """Socket of the server, as given to `gordon cache serve --socket`."""


@dataclass(frozen=True, kw_only=True)
class Purge:
    """The objects to be purged."""

    prefix: bool = False
    """Purge every path that begins with PATH."""
