"""The file system that a folder is on: with discards or without, and what it no longer uses."""

import fcntl
import os
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gordon._core import GordonError

#: ioctl of linux/fs.h: _IOWR('X', 121, struct fstrim_range).
FITRIM = 0xC0185879


def point(folder: Path) -> Path:
    """Where it is mounted."""
    here = folder.resolve()
    while not here.is_mount():
        here = here.parent
    return here


def options(where: Path) -> list[str]:
    """Of a mount, as the kernel tells them: of the mount and of the file system."""
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        mount, system = line.split(" - ")
        if mount.split()[4] == str(where):
            return mount.split()[5].split(",") + system.split()[2].split(",")
    raise GordonError(f"{where}: no such mount")


def trim(where: Path) -> int:
    """Tells the device all that is not in use; bytes."""
    folder = os.open(where, os.O_RDONLY | os.O_DIRECTORY)
    try:
        everything = struct.pack("QQQ", 0, 2**64 - 1, 0)
        told = fcntl.ioctl(folder, FITRIM, everything)
    except OSError as error:
        raise GordonError(f"{where}: no trim: {error.strerror}", "a device with discards") from None
    finally:
        os.close(folder)
    return int(struct.unpack("QQQ", told)[1])


def discards(where: Path, on: bool) -> None:
    """Whether the file system tells the device what it deletes."""
    word = "discard" if on else "nodiscard"
    ran = subprocess.run(  # noqa: S603 no word of a user's
        ["mount", "-o", f"remount,{word}", str(where)],  # noqa: S607 the system's own
        capture_output=True,
        text=True,
    )
    if ran.returncode:
        raise GordonError(f"{where}: no remount with {word}: {ran.stderr.strip()}", "ext4, as root")


@contextmanager
def as_it_was(where: Path) -> Iterator[None]:
    """Mounted as before, afterwards."""
    before = "discard" in options(where)
    try:
        yield
    finally:
        discards(where, before)
