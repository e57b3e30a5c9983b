"""The file system of a folder: discards on or off, and trimming its free space."""

import fcntl
import os
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gordon.errors import GordonError

#: File systems without a storage device.
IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")
#: ioctl of linux/fs.h: _IOWR('X', 121, struct fstrim_range).
FITRIM = 0xC0185879


def point(folder: Path) -> Path:
    """The mount point of a folder."""
    here = folder.resolve()
    while not here.is_mount():
        here = here.parent
    return here


def options(where: Path) -> list[str]:
    """Options of a mount and of its file system, as the kernel lists them."""
    mount, system = _entry(where)
    return mount[5].split(",") + system[2].split(",")


def in_memory(folder: Path) -> bool:
    """Whether the file system of a folder has no storage device."""
    _, system = _entry(point(folder))
    return system[0] in IN_MEMORY


def _entry(where: Path) -> tuple[list[str], list[str]]:
    """The fields of the mount that is on top at a mount point, and those of its file system."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    for line in reversed(lines):
        mount, system = line.split(" - ")
        fields = mount.split()
        if fields[4].replace("\\040", " ") == str(where):
            return fields, system.split()
    raise GordonError(f"{where}: not a mount point", kind="no-mount")


def trim(where: Path) -> int:
    """Trims all free space of a file system; returns the bytes trimmed."""
    folder = os.open(where, os.O_RDONLY | os.O_DIRECTORY)
    try:
        everything = struct.pack("QQQ", 0, 2**64 - 1, 0)
        answer = fcntl.ioctl(folder, FITRIM, everything)
    except OSError as error:
        raise GordonError(
            f"{where}: cannot trim the file system: {error.strerror}",
            "a device that supports discards",
            kind="no-trim",
        ) from None
    finally:
        os.close(folder)
    return int(struct.unpack("QQQ", answer)[1])


def discards(where: Path, on: bool) -> None:
    """Switches discards of deleted files on or off."""
    word = "discard" if on else "nodiscard"
    ran = subprocess.run(  # noqa: S603 no word of a user's
        ["mount", "-o", f"remount,{word}", str(where)],  # noqa: S607 the system's own
        capture_output=True,
        text=True,
    )
    if ran.returncode:
        raise GordonError(
            f"{where}: cannot remount with the option {word}: {ran.stderr.strip()}",
            "an ext4 file system, and run as root",
            kind="no-remount",
        )


@contextmanager
def as_it_was(where: Path) -> Iterator[None]:
    """Restores the mount option for discards afterwards."""
    before = "discard" in options(where)
    try:
        yield
    finally:
        discards(where, before)
