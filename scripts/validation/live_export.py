"""A flash image or a plain file, served, with a file system on it, for scripts; needs root and
FUSE.

The chain has no kernel module for NBD: `gordon block serve`, nbdfuse, a loop device, ext4.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from mmap import mmap
from os import O_DIRECT, O_RDWR, close, fdatasync, fstatvfs, pwrite
from os import open as opened
from pathlib import Path

from gordon import block
from gordon.errors import GordonError

TOOLS = ("nbdfuse", "fusermount3", "losetup", "mkfs.ext4", "mount", "umount")
MIB = 1 << 20
BLOCK = 4096
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def sh(*command: object) -> str:
    words = [str(word) for word in command]
    ran = subprocess.run(words, capture_output=True, text=True)
    if ran.returncode:
        raise GordonError(f"{' '.join(words)}: {ran.stderr.strip()}")
    return ran.stdout.strip()


def wait(what: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not what():
        if time.monotonic() > end:
            raise GordonError("waited 30 s for nothing")
        time.sleep(0.02)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Defers signals that end a script: what was set up is known, and is taken down in full."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _unblock() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


class Export:
    """A chain whose mount points are made in `folder`; it is taken down on the way out."""

    def __init__(self, folder: Path, image: Path, format_options: Sequence[str] = ()) -> None:
        missing = [name for name in TOOLS if shutil.which(name) is None]
        if missing:
            raise GordonError(
                f"not on this machine: {', '.join(missing)}", "apt install libnbd-bin"
            )
        self.image, self.socket, self.errors = image, folder / "s", folder / "serve.err"
        self.fuse, self.files = folder / "fuse", folder / "files"
        self.fuse.mkdir()
        self.files.mkdir()
        self.format_options = format_options
        self.server: subprocess.Popen[bytes] | None = None
        self.nbdfuse: subprocess.Popen[bytes] | None = None
        self.loop, self.formatted = "", False

    @classmethod
    def flash(cls, folder: Path, preset: str, capacity: str, set: Sequence[str] = ()) -> Export:
        """The chain of a new flash image in `folder`."""
        export = cls(folder, folder / "flash.img")
        block.create(str(export.image), preset, capacity=capacity, set=set)
        return export

    def __enter__(self) -> Export:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, options: str, *serve: str, read_ahead: int | None = None) -> None:
        """Serves it, and mounts the file system, which is made first where there is none;
        `read_ahead` is in bytes, by default the kernel's."""
        command = [sys.executable, "-m", "gordon", "block", "serve", str(self.image)]
        command += ["--socket", str(self.socket), *serve]
        # In sessions of their own: Ctrl-C must not end the device below a mounted file system.
        with self.errors.open("wb") as errors, uninterrupted():
            self.server = subprocess.Popen(
                command, stderr=errors, start_new_session=True, preexec_fn=_unblock
            )
        wait(self._serves)
        uri = f"nbd+unix:///?socket={self.socket}"
        # 1.14 aborts where answers overtake its count: as many connections as requests.
        with uninterrupted():
            self.nbdfuse = subprocess.Popen(
                ["nbdfuse", "-C", "16", str(self.fuse), uri],
                start_new_session=True,
                preexec_fn=_unblock,
            )
        wait((self.fuse / "nbd").exists)
        with uninterrupted():
            self.loop = sh("losetup", "--direct-io=on", "--find", "--show", self.fuse / "nbd")
        if read_ahead is not None:
            queue = Path("/sys/block", Path(self.loop).name, "queue/read_ahead_kb")
            queue.write_text(str(read_ahead // 1024))
        if not self.formatted:
            sh("mkfs.ext4", "-q", "-m", 0, *self.format_options, self.loop)
            self.formatted = True
        sh("mount", "-o", options, self.loop, self.files)

    def _serves(self) -> bool:
        assert self.server is not None
        if self.server.poll() is not None:
            raise GordonError(f"the server ended: {self.errors.read_text().strip()}")
        return self.socket.exists() and Path(f"{self.socket}.stat").exists()

    def stop(self) -> None:
        """Takes down mount, loop device, nbdfuse and server, if there. A step that fails does not
        keep the next ones from their work, and neither does a signal."""
        with uninterrupted():
            self._stop()

    def _stop(self) -> None:
        if self.files.is_mount():
            try:
                sh("umount", self.files)
            except GordonError:
                subprocess.run(["umount", "-l", str(self.files)], capture_output=True)
        if self.loop:
            subprocess.run(["losetup", "-d", self.loop], capture_output=True)
            backed = Path("/sys/block", Path(self.loop).name, "loop")
            self.loop = ""
            wait(lambda: not backed.exists())
        if self.nbdfuse is not None:
            # It may not have mounted yet, in which case the first attempt does nothing.
            for _ in range(20):
                subprocess.run(["fusermount3", "-u", "-z", str(self.fuse)], capture_output=True)
                with suppress(subprocess.TimeoutExpired):
                    self.nbdfuse.wait(0.5)
                    break
            else:
                self.nbdfuse.kill()
                self.nbdfuse.wait()
            self.nbdfuse = None
        if self.server is not None:
            self.server.send_signal(signal.SIGTERM)
            self.server.wait()
            self.server = None

    def age(self, share: float, over: float, seed: int) -> float:
        """A file so that `share` of the file system is in use, written over at random `over` times;
        the share that is in use then."""
        path = self.files / "others"
        path.touch()
        file = opened(path, O_RDWR | O_DIRECT)
        try:
            state = fstatvfs(file)
            total, free = state.f_blocks * state.f_frsize, state.f_bavail * state.f_frsize
            size = int(share * total - (total - free)) // MIB * MIB
            piece = mmap(-1, MIB)
            dice = random.Random(seed)
            for at in range(0, size, MIB):
                piece[:] = dice.randbytes(MIB)
                pwrite(file, piece, at)
            page = mmap(-1, BLOCK)
            page[:] = dice.randbytes(BLOCK)
            for _ in range(int(over * size) // BLOCK):
                pwrite(file, page, dice.randrange(size // BLOCK) * BLOCK)
            fdatasync(file)
        finally:
            close(file)
        status = block.stat(str(self.socket))
        return float(status["mapped_pages"] / status["exported_pages"])
