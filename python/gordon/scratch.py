"""Temporary folders that are removed afterwards, even those of a process that was killed."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gordon.locks import hold

#: Locked while its folder is in use.
LOCK = "lock"


@contextmanager
def scratch(folder: str | os.PathLike[str], prefix: str) -> Iterator[Path]:
    """A new folder in `folder`, removed afterwards. Folders of this prefix that a killed process
    left are removed first: those with a lock file that nobody holds."""
    for left in Path(folder).glob(f"{prefix}*"):
        if _is_left(left):
            shutil.rmtree(left, ignore_errors=True)
    place = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
    try:
        # The file has its name once it is locked: another process sees a held lock, or none.
        # Windows renames no open file; there a process that looks at this moment sees a free lock.
        draft = place / (f"{LOCK}.part" if sys.platform != "win32" else LOCK)
        with draft.open("w") as file:
            hold(file)
            if draft.name != LOCK:
                draft.rename(place / LOCK)
            yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _is_left(place: Path) -> bool:
    with suppress(OSError), (place / LOCK).open() as file:
        hold(file)
        return True
    return False
