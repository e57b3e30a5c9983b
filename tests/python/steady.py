"""Meters whose samples do not depend on how fast or busy this machine is.

A session waits for samples of each meter when it begins, in each pause, and before and after each
run. It also waits for requested samples, and until an input has left the page cache. The file
`reads` has the number of readings, so that a command can wait for samples in its run (`AWAIT`).

As a program it runs `gordon` so, in the working folder: steady.py ARGS...
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gordon.energy import sampler, session
from gordon.energy.sampler import Sampler
from gordon.energy.session import Session
from gordon.joulesort import files
from limits import PATIENCE_S

Patch = Callable[[Any, str, Any], None]

#: For sh: `await N` waits for N samples that begin from now on.
AWAIT = "await() { n=$(cat reads); while [ $(cat reads) -le $((n + $1)) ]; do sleep 0.01; done; }; "


class Reads:
    """Counts, in a file, all of it at once."""

    def __init__(self, path: Path) -> None:
        self.path, self.count, self.lock = path.absolute(), 0, threading.Lock()
        self.write()

    def write(self) -> None:
        part = self.path.with_suffix(".part")
        part.write_text(f"{self.count}\n")
        part.replace(self.path)

    def more(self) -> None:
        with self.lock:
            self.count += 1
            self.write()


def install(patch: Patch, folder: Path) -> None:
    reads, calls = Reads(folder / "reads"), dict[Sampler, int]()
    current: list[Session] = []
    sample, enter, run = Sampler._sample, Session.__enter__, Session.run

    def counted(self: Sampler) -> None:
        sample(self)
        calls[self] = calls.get(self, 0) + 1
        reads.more()

    def settle(samples: int = 2) -> None:
        """Waits for a sample that began after this call; quick meters take one at once."""
        samplers = [one for one in current[-1].samplers if one.error is None]
        for one in samplers:
            for _ in range(samples):
                one.mark()
        samplers = [one for one in samplers if not (one.meter.quick and one.meter.paced)]
        least = {one: calls.get(one, 0) + samples for one in samplers}
        end = time.monotonic() + PATIENCE_S
        while any(one.error is None and calls.get(one, 0) < least[one] for one in samplers):
            assert time.monotonic() < end, "no sample of a meter"
            time.sleep(0.002)

    def entered(self: Session) -> Session:
        current.append(enter(self))
        settle()
        return self

    def ran(self: Session, work: Any) -> Any:
        settle()
        used = run(self, work)
        settle()
        return used

    def sleep(seconds: float) -> None:
        time.sleep(seconds)
        settle(3)

    # A busy system may hold pages of the input for long.
    patch(files, "TRIES", 20 * PATIENCE_S)
    patch(sampler, "MARK_S", PATIENCE_S)
    patch(Sampler, "_sample", counted)
    patch(Session, "__enter__", entered)
    patch(Session, "run", ran)
    clock = SimpleNamespace(monotonic=time.monotonic, time=time.time, sleep=sleep)
    patch(session, "time", clock)


if __name__ == "__main__":
    from gordon.cli import main

    install(setattr, Path(os.curdir))
    main()
