"""Forwards the signals that this process gets while it runs a command to the command."""

import os
import select
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType


class Forwarding:
    """Sends signals to a process. Those that come before it exists are sent as soon as it does."""

    def __init__(self) -> None:
        self._pid: int | None = None
        self._waiting: list[int] = []
        self._sent = False

    def take(self, number: int, _: FrameType | None) -> None:
        """Handles a signal."""
        if self._pid is None:
            self._waiting.append(number)
        else:
            self._send(self._pid, number)

    def follow(self, pid: int) -> None:
        """Sends a child process the signals that came, and those that come until it has ended. The
        caller collects its status."""
        self._pid = pid
        for number in self._waiting:
            self._send(pid, number)
        _await(pid)

    def _send(self, pid: int, number: int) -> None:
        """The second one kills a command that ignores the first."""
        number, self._sent = signal.SIGKILL if self._sent else number, True
        # The process has just ended, or runs as another user, as with sudo: only the terminal's
        # signals reach it.
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


@contextmanager
def forwarded() -> Iterator[Forwarding]:
    """Handles signals for a command that is started within. The terminal sends SIGINT and SIGQUIT
    to both processes; SIGTERM and SIGHUP are forwarded. Ignored signals stay ignored. Only the main
    thread may handle signals: other threads forward none."""
    forwarding = Forwarding()
    if threading.current_thread() is not threading.main_thread():
        yield forwarding
        return
    handlers = {
        signal.SIGINT: lambda *_: None,
        signal.SIGQUIT: lambda *_: None,
        signal.SIGTERM: forwarding.take,
        signal.SIGHUP: forwarding.take,
    }
    before = {
        number: signal.signal(number, handler)
        for number, handler in handlers.items()
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield forwarding
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _await(pid: int) -> None:
    """Waits until a process has ended, a second at a time: a signal that comes just before a wait
    is handled only after it."""
    if not hasattr(os, "pidfd_open"):
        return
    try:
        end = os.pidfd_open(pid)
    except OSError:
        # An older kernel, or a sandbox that denies it.
        return
    try:
        waiting = select.poll()
        waiting.register(end, select.POLLIN)
        while not waiting.poll(1000):
            pass
    finally:
        os.close(end)
