"""The benchmark's files: where they lie, whether they changed, what of them is in memory."""

import ctypes
import mmap
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from gordon.errors import GordonError
from gordon.files import forget
from gordon.locks import hold

#: Exists and is locked while a benchmark uses a folder.
LOCK = "joulesort.lock"

#: Places of the input that are looked at, and the part of them that may be in memory.
PLACES, MOST_CACHED = 256, 0.01
#: Attempts to drop a page from the cache; a page that is in use is not dropped.
TRIES = 20
#: File systems without storage below.
IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")


@contextmanager
def claimed(folder: Path, names: Sequence[str]) -> Iterator[list[str]]:
    """A folder for one benchmark; yields the files that a killed benchmark left there, which are
    removed. Files without its lock file are not its own: they are an error, and are left alone."""
    if not folder.is_dir():
        raise GordonError(f"there is no folder {folder}", f"mkdir -p {folder}", "missing-folder")
    lock = folder / LOCK
    was_there = lock.exists()
    with lock.open("a") as file:
        try:
            hold(file)
        except OSError:
            raise GordonError(
                f"{folder}: another gordon joulesort is running in this folder",
                "another --dir",
                kind="in-use",
            ) from None
        try:
            found = [name for name in names if (folder / name).exists()]
            if found and not was_there:
                raise GordonError(
                    f"{folder}: {' and '.join(found)} exists, but was not left by a killed "
                    "benchmark",
                    "another --dir, or remove it if it was kept with --keep",
                    kind="exists",
                )
            for name in found:
                (folder / name).unlink()
            yield found
        finally:
            lock.unlink(missing_ok=True)


def prepare(source: Path, target: Path) -> float | None:
    """Prepares a run: no output, and no input in memory. Returns the fraction still in memory."""
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


def cached(path: Path) -> float | None:
    """The fraction of sampled pages of a file that are in the page cache; None if the system does
    not report it. mincore(2) does not start a read, while a read with RWF_NOWAIT starts
    read-ahead and then finds its own pages."""
    size, resident = path.stat().st_size, 0
    starts = [size * place // PLACES // mmap.PAGESIZE * mmap.PAGESIZE for place in range(PLACES)]
    with path.open("rb") as file:
        for start in starts:
            held = _in_memory(file.fileno(), start, min(mmap.PAGESIZE, size - start))
            if held is None:
                return None
            resident += held
    return resident / PLACES


def _in_memory(file: int, start: int, length: int) -> bool | None:
    """Whether the page at `start` is in the page cache."""
    state = (ctypes.c_ubyte * 1)()
    try:
        view = mmap.mmap(file, length, access=mmap.ACCESS_COPY, offset=start)
    except (OSError, ValueError):
        return None
    with view:
        first = ctypes.c_char.from_buffer(view)
        address = ctypes.c_void_p(ctypes.addressof(first))
        failed = ctypes.CDLL(None).mincore(address, ctypes.c_size_t(length), state)
        del first
    return None if failed else bool(state[0] & 1)


def stamp(path: Path) -> tuple[int, int, int]:
    """Inode, size and time of change of a file, to detect that it was changed."""
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def durable_place(folder: Path) -> str | None:
    """The file system of a folder; None if it is a file system in memory."""
    here = folder.resolve()
    best, kind = "", ""
    for line in Path("/proc/mounts").read_text(errors="replace").splitlines():
        device, at, what = line.split()[:3]
        at = at.replace("\\040", " ")
        if (here == Path(at) or here.is_relative_to(at)) and len(at) >= len(best):
            best, kind = at, f"{what} on {device}"
    return None if kind.split(" ")[0] in IN_MEMORY else kind
