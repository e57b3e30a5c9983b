"""Threads and processes, and what to do if the system refuses one."""

import errno
import threading

from gordon._core import GordonError

HINT = "a higher limit of processes (ulimit -u), or fewer programs at once"


def start(thread: threading.Thread) -> None:
    try:
        thread.start()
    except RuntimeError as error:
        raise GordonError(f"the system refuses a thread: {error}", HINT) from None


def refused(error: OSError) -> str:
    """What to try after an error in starting a program, if anything helps."""
    return HINT if error.errno == errno.EAGAIN else ""
