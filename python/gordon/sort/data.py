"""Records to sort, and whether they are sorted: `docs/design/sort-data.md` has their bytes.

The core makes and checks (`crates/sort`). Errors are `gordon.GordonError`, whose args are (what,
what to try).
"""

import json
import re
import time
from collections.abc import Sequence
from os import fspath
from typing import Any

from gordon import __version__, _core
from gordon.options import Path, Progress, several


def generate(
    output: Path | Sequence[Path],
    *,
    records: int,
    start: int = 0,
    ascii: bool = False,
    skewed: bool = False,
    stripe: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Writes so many records of 100 bytes, the same as gensort's, and says what they come to.

    `output` is a file, which is there when it is whole; a block device, from its start on, whose
    content is lost; a named pipe; or `-`, stdout; with `stripe`, a size, files over which the
    records are striped in units of that: unit n is in file n mod their count. `start` is the
    number of the first record. `progress` is called with (done, total) bytes.
    """
    for name, value, least, bits in (("records", records, 1, 64), ("start", start, 0, 128)):
        if not least <= value < 1 << bits:
            raise _core.GordonError(f"{name}: {value}", f"a number from {least} to 2^{bits} - 1")
    began = time.monotonic()
    outputs = [fspath(one) for one in several(output)]
    unit = None if stripe is None else _core.parse_bytes(stripe)
    told = _core.sort_generate(outputs, records, start, ascii, skewed, unit, progress)
    time_s = time.monotonic() - began
    return {
        "output": outputs[0] if len(outputs) == 1 else outputs,
        "stripe": stripe,
        **json.loads(told),
        "start": start,
        "ascii": ascii,
        "skewed": skewed,
        "time_s": time_s,
        "provenance": {"version": __version__},
    }


def validate(
    *files: Path,
    records: int | None = None,
    checksum: str | None = None,
    summaries: bool = False,
    summary: Path | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """What files come to that follow each other, as valsort says it: order, equal keys, a checksum.

    `checksum` is what was generated: the same sum says that no record is missing, doubled or
    changed. Of each file only the first `records` count, where that is said: a block device has
    more. With `summaries` the files hold summaries of partitions, as `summary`, a path that one is
    written to, and valsort's -o make them.
    """
    expected = None if checksum is None else _sum(checksum)
    if not files:
        raise _core.GordonError("no files to check", "their names, in order")
    if summaries and records is not None:
        raise _core.GordonError("--records is of files of records", "without --summaries")
    if records is not None and not 0 < records < 1 << 64:
        raise _core.GordonError(f"records: {records}", "from 1 on, as many as there are")
    named = [fspath(file) for file in files]
    began = time.monotonic()
    to = None if summary is None else fspath(summary)
    told = _core.sort_validate(named, records, summaries, to, progress)
    time_s = time.monotonic() - began
    parts, whole = json.loads(told)
    if not summaries:
        parts = [{"path": path, **part} for path, part in zip(named, parts, strict=True)]
    return {
        **whole,
        "in_order": whole["unordered"] == 0,
        "expected_checksum": None if expected is None else f"{expected:x}",
        "all_there": None if expected is None else int(whole["checksum"], 16) == expected,
        "parts": parts,
        "time_s": time_s,
        "provenance": {"version": __version__},
    }


def _sum(text: str) -> int:
    """A checksum as gensort, valsort and we print it."""
    if not re.fullmatch(r"(0x)?[0-9a-fA-F]{1,32}", text):
        raise _core.GordonError(
            f"`{text}` is no checksum", "the hexadecimal number that generate or gensort -c printed"
        )
    return int(text, 16)
