"""Images of flash, and files as disks, behind a block device."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from gordon.options import Device, Settings
from gordon.options.kinds import (
    COUNT,
    FILE,
    PATH,
    PRESET,
    SEED,
    SETTING,
    SIZE,
    Choice,
    Each,
    Named,
    Seconds,
    Text,
)

TIMINGS = ("full", "real")
BACKENDS = ("file", "direct")


@dataclass(frozen=True, kw_only=True)
class Image:
    """A new image."""

    capacity: Annotated[str | None, SIZE] = None
    """Capacity of the device: 8GB."""
    set: Annotated[Settings, SETTING] = ()
    """Override a value of the device."""
    super_page: Annotated[str | None, SIZE] = None
    """Size of a super-page: 64KiB."""
    write_points: Annotated[int | None, COUNT] = None
    """Number of write points, each with an open block."""
    faults: Annotated[Sequence[str], Named("--fault"), SETTING] = ()
    """Inject faults; keys: program_failures, erase_failures, bit_errors, bit_error_growth,
    codeword, correctable."""
    fill: Annotated[str | None, Choice(("metadata",))] = None
    """metadata: close every block with its summary and leave the data as holes, to time a mount."""
    seed: Annotated[int, SEED] = 1
    """Random seed of the faults."""


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """Where an export is served, and how."""

    GROUP: ClassVar = "Addresses"
    sockets: Annotated[Sequence[str], Named("--socket"), Each("PATH")] = ()
    """Listen on a Unix socket."""
    listen: Annotated[Sequence[str], Each("HOST:PORT")] = ()
    """Listen on a TCP address: 127.0.0.1:10809."""
    export: Annotated[str, Text("NAME")] = ""
    """Name of the export. Default: none."""
    read_only: bool = False
    """Refuse writes."""
    salvage: bool = False
    """Serve a damaged image, read-only: reading data that cannot be proved to be current is an I/O
    error."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """When requests are answered."""

    GROUP: ClassVar = "Timing"
    timing: Annotated[str, Choice(TIMINGS)] = "full"
    """full: answer as fast as possible; real: answer when the simulated flash or disk would."""
    preset: Annotated[Device | None, PRESET] = None
    """Device whose times to simulate: flash, or a disk (`gordon disk presets`) for a plain file.
    Default: the image's."""


@dataclass(frozen=True, kw_only=True)
class TimingValues:
    """Changes of the timing."""

    GROUP: ClassVar = "Timing"
    set: Annotated[Settings, SETTING] = ()
    """Override a value of the timing: timing.read=50us."""


@dataclass(frozen=True, kw_only=True)
class Serving:
    """The server."""

    GROUP: ClassVar = "Server"
    backend: Annotated[str, Choice(BACKENDS)] = "file"
    """file: use the page cache; direct: bypass it, with io_uring if the kernel supports it."""
    tls_certificate: Annotated[str | None, FILE] = None
    """Server certificate (PEM); requires clients to use TLS."""
    tls_key: Annotated[str | None, FILE] = None
    """Private key of the certificate (PEM)."""
    tls_clients: Annotated[str | None, FILE] = None
    """Accept only clients with a certificate from these authorities (PEM)."""
    insecure: bool = False
    """Allow listening on other than loopback addresses without TLS."""
    metrics: Annotated[Sequence[str], Each("HOST:PORT")] = ()
    """Serve /metrics (Prometheus) and /status over HTTP at this address. The Unix socket PATH.stat
    always serves both."""
    clients: Annotated[int | None, COUNT] = None
    """Maximum number of clients. Default: 128."""


@dataclass(frozen=True, kw_only=True)
class Served:
    """A device that is being served."""

    socket: Annotated[str | None, PATH] = None
    """Socket of the served device, as given to `gordon block serve --socket`."""
    url: Annotated[str | None, Text("URL")] = None
    """Address of a device served with --metrics: http://127.0.0.1:9100."""


@dataclass(frozen=True, kw_only=True)
class Following:
    """Statistics over time."""

    follow: bool = False
    """Print a line for each interval until interrupted."""
    interval: Annotated[float, Seconds(0.01)] = 1.0
    """Interval of --follow."""


@dataclass(frozen=True, kw_only=True)
class Repair:
    """Treatment of damage."""

    repair: bool = False
    """Make a damaged image servable again, and list the data lost by this. Run `gordon block
    export` first."""


@dataclass(frozen=True, kw_only=True)
class WearPlot:
    """A picture of the wear of an image."""

    GROUP: ClassVar = "Output"
    plot: Annotated[str | None, FILE] = None
    """Plot the distribution: .png, .svg or .pdf."""
