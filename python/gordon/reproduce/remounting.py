"""Discards of a file system: switched on or off, and trimming its free space. All need root."""

import fcntl
import os
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gordon.errors import GordonError
from gordon.sort.tune import mounted

#: ioctl of linux/fs.h: _IOWR('X', 121, struct fstrim_range).
FITRIM = 0xC0185879


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
    before = "discard" in mounted.options(where)
    try:
        yield
    finally:
        discards(where, before)
