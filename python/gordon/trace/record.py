"""Records the machine while a command runs."""

import json
from collections.abc import Sequence
from os import fspath

from gordon import _core
from gordon.errors import GordonError
from gordon.options import Path, Size, in_bytes, words
from gordon.options.traces import Recording
from gordon.trace.result import RecordResult

#: Bytes without which no command runs.
LEAST_MEMORY = 1 << 20


def record(
    command: Sequence[str],
    out: Path,
    *,
    interval_ns: int = Recording.interval_ns,
    memory: Size | None = None,
) -> RecordResult:
    """Runs a command, a list of words, and records the machine's use of processor, memory, network
    and disks into the new folder `out`, with every block I/O.

    A sample is taken each `interval_ns`, at least 0.1 s. `memory` limits the memory of the command,
    page cache included. `exit_status` of the result is that of the command. Raises GordonError.
    """
    argv = words(command)
    limit = None if memory is None else _core.parse_bytes(in_bytes(memory))
    if limit is not None and limit < LEAST_MEMORY:
        raise GordonError(
            f"memory: {memory} is too little", "no command runs in less than 1MiB", "out-of-range"
        )
    return RecordResult(json.loads(_core.trace_record(fspath(out), interval_ns, argv, limit)))
