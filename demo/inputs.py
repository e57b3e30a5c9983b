"""The demo's inputs: sort records made from a seed, and a text corpus that others wrote.

Both are kept between runs; a half-made one never has the final name.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
from pathlib import Path

RECORD = 100
#: Records made at once: 50 MB of them.
BATCH = 500_000
#: The printable characters a key is made of (95, as in sort benchmarks' ASCII records).
PRINTABLE = bytes(32 + value % 95 for value in range(256))

#: 30 MB of HTML each, in six scripts.
PACKAGES = [
    f"libreoffice-help-{language}"
    for language in ("en-us", "de", "fr", "es", "it", "pt", "ru", "el", "hi", "ja")
]


def make_records(path: Path, count: int, seed: int) -> None:
    """Writes `count` records of 100 bytes: 10 random printable characters, the record's number in
    hexadecimal, filler, CR LF. The same seed gives the same bytes."""
    if path.exists() and path.stat().st_size == count * RECORD:
        return
    partial = path.with_suffix(".partial")
    stream = random.Random(seed)
    with partial.open("wb") as file:
        for start in range(0, count, BATCH):
            size = min(BATCH, count - start)
            batch = bytearray((b" " * 12 + b"%032X" + b"-" * 54 + b"\r\n") % 0 * size)
            keys = stream.randbytes(10 * size).translate(PRINTABLE)
            for column in range(10):
                batch[column::RECORD] = keys[column::10]
            numbers = b"".join(b"%032X" % number for number in range(start, start + size))
            for column in range(32):
                batch[12 + column :: RECORD] = numbers[column::32]
            file.write(batch)
        os.fsync(file.fileno())
    partial.rename(path)


def make_corpus(folder: Path) -> str:
    """Fills `folder` with text; returns where it comes from.

    Debian packages are downloaded and unpacked, not installed, so that no rights are needed. Where
    there is no apt, the sources of the crates that the build fetched are the text."""
    label = folder.with_suffix(".source")
    if folder.exists() and label.exists():
        return label.read_text()
    with tempfile.TemporaryDirectory(dir=folder.parent.resolve()) as temporary:
        unpacked = Path(temporary) / "corpus"
        source = _debian(Path(temporary), unpacked) or _crates(unpacked)
        if folder.exists():
            shutil.rmtree(folder)
        unpacked.rename(folder)
    label.write_text(source)
    return source


def _debian(temporary: Path, unpacked: Path) -> str | None:
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return None
    state = temporary / "apt"
    debs = temporary / "debs"
    for path in (state / "lists/partial", state / "cache/archives/partial", debs, unpacked):
        path.mkdir(parents=True)
    (state / "status").touch()
    apt = ["apt-get", "-qq", "-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User="]
    for key, value in {
        "Dir::State": state,
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
        "Dir::Cache": state / "cache",
    }.items():
        apt += ["-o", f"{key}={value}"]
    try:
        subprocess.run([*apt, "update"], check=True, stdout=subprocess.DEVNULL)
        # apt grumbles on stderr when it may not clean the system's own cache.
        subprocess.run(
            [*apt, "download", *PACKAGES], check=True, cwd=debs, stderr=subprocess.DEVNULL
        )
        for deb in sorted(debs.glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", deb, unpacked], check=True)
    except subprocess.CalledProcessError as error:
        print(f"  no Debian corpus: {error}")
        shutil.rmtree(unpacked)
        return None
    return f"{len(PACKAGES)} libreoffice-help packages of Debian"


def _crates(unpacked: Path) -> str:
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    sources = home / "registry/src"
    if not sources.is_dir():
        raise SystemExit(
            f"error: no text corpus: neither apt-get nor crate sources in {sources}\n"
            "  try: build first (make build), which fetches them"
        )
    shutil.copytree(sources, unpacked)
    return "sources of the crates that the build fetched"


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def evict(folder: Path) -> str:
    """Drops cached file data; returns how."""
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3")
        return "page cache dropped"
    except OSError:
        for file in folder.rglob("*"):
            if file.is_file():
                with file.open("rb") as handle:
                    os.posix_fadvise(handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return "inputs evicted from the page cache"
