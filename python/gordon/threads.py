"""Starts threads, and explains failures to start threads and processes."""

import errno
import threading

from gordon.errors import GordonError

HINT = "raise the limit of processes (ulimit -u), or run fewer programs at the same time"


def start(thread: threading.Thread) -> None:
    try:
        thread.start()
    except RuntimeError as error:
        raise GordonError(
            f"the operating system cannot start a thread: {error}", HINT, kind="no-thread"
        ) from None


def refused(error: OSError) -> str:
    """The hint after an error in starting a program, if anything helps."""
    return HINT if error.errno == errno.EAGAIN else ""
