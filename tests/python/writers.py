"""Programs that write and are promised that it stays. Each says what is there for good:

writers.py files FOLDER FIRST
writers.py rows FOLDER FIRST
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
from pathlib import Path

FILES = 200


def say(*numbers: int) -> None:
    sys.stdout.write(" ".join(map(str, numbers)) + "\n")
    sys.stdout.flush()


def sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def put(path: Path, data: bytes) -> None:
    """A file that is there for good."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


def content(name: int, version: int) -> bytes:
    """Of a file; it begins with which it is."""
    data = random.Random(name << 32 | version).randbytes(1 + version * 7919 % 30_000)
    return b"%d %d\n" % (name, version) + data


def files(folder: Path, version: int) -> None:
    """Replaces files; a later one has a higher version."""
    seeds = random.Random(version)
    while True:
        version += 1
        name = seeds.randrange(FILES)
        put(folder / "new", content(name, version))
        (folder / "new").rename(folder / str(name))
        sync_folder(folder)
        say(name, version)


def body(row: int) -> bytes:
    """Of a row of the database."""
    return random.Random(row).randbytes(1 + row * 104_729 % 3000)


def rows(folder: Path, first: int) -> None:
    """Inserts rows, three at a time, and says the last."""
    database = sqlite3.connect(folder / "rows.db", isolation_level=None)
    # Little is kept out of the database, so that both are written.
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=50"):
        database.execute(f"PRAGMA {pragma}")
    database.execute("CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, body BLOB)")
    while True:
        database.execute("BEGIN")
        for row in range(first, first + 3):
            database.execute("INSERT INTO rows VALUES (?, ?)", (row, body(row)))
        database.execute("COMMIT")
        first += 3
        say(first - 1)


if __name__ == "__main__":
    {"files": files, "rows": rows}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
