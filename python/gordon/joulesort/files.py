"""The benchmark's files: where they lie, whether they changed, what of them is in memory."""

import os
import time
from contextlib import suppress
from pathlib import Path

#: Places of the input that are looked at, and the part of them that may be in memory.
PLACES, MOST_CACHED = 256, 0.01
#: A page that something still holds is not dropped: it is asked so often.
TRIES = 20
#: File systems without storage below.
IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")


def prepare(source: Path, target: Path) -> float | None:
    """Every run finds the same: no output, and no input in memory; how much of it is there yet."""
    with suppress(FileNotFoundError):
        target.unlink()
    share = None
    for _ in range(TRIES):
        forget(source)
        share = cached(source)
        if share is None or share <= MOST_CACHED:
            break
        time.sleep(0.05)
    return share


def forget(path: Path) -> None:
    """Leaves nothing of a file in the page cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cached(path: Path) -> float | None:
    """The part of some places of a file that can be read without waiting for a device; None where
    the file system cannot tell."""
    size, there, page = path.stat().st_size, 0, bytearray(1)
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for place in range(PLACES):
            try:
                at = size * place // PLACES
                there += os.preadv(file.fileno(), [page], at, os.RWF_NOWAIT)
            except BlockingIOError:
                continue
            except OSError:
                return None
    return there / PLACES


def stamp(path: Path) -> tuple[int, int, int]:
    """What changes when a file does."""
    told = path.stat()
    return told.st_ino, told.st_size, told.st_mtime_ns


def durable_place(folder: Path) -> str | None:
    """The file system of a folder, where storage lies below it."""
    here = folder.resolve()
    best, kind = "", ""
    for line in Path("/proc/mounts").read_text(errors="replace").splitlines():
        device, at, what = line.split()[:3]
        at = at.replace("\\040", " ")
        if (here == Path(at) or here.is_relative_to(at)) and len(at) >= len(best):
            best, kind = at, f"{what} on {device}"
    return None if kind.split(" ")[0] in IN_MEMORY else kind
