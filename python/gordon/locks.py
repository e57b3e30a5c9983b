"""Locks of open files: one process at a time has one, and a killed process has none."""

import sys
from typing import IO, Any

if sys.platform == "win32":
    import msvcrt

    def hold(file: IO[Any]) -> None:
        """Locks an open file until it is closed. Raises OSError if another process has it."""
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def hold(file: IO[Any]) -> None:
        """Locks an open file until it is closed. Raises OSError if another process has it."""
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
