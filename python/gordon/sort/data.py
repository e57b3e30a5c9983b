"""Generates and checks records to sort; `docs/design/sort-data.md` describes their bytes."""

import json
import re
import time
from collections.abc import Sequence
from os import fspath
from typing import ClassVar, NotRequired, TypedDict

from gordon import __version__, _core, fields
from gordon.errors import GordonError
from gordon.options import Path, Progress, Size, in_bytes, several
from gordon.reports.sort import Generated, Validated


class FromVersion(TypedDict):
    """The program that made a result."""

    version: str


class GeneratedFile(Generated):
    """Generated records."""

    #: The file, or the files that they are striped over.
    output: str | list[str]
    stripe: str | None
    start: int
    ascii: bool
    skewed: bool
    time_s: float
    provenance: FromVersion


class Part(Validated):
    """A file of sorted records."""

    #: Parts of summaries have none.
    path: NotRequired[str]


class Checked(Validated):
    """Consecutive files of sorted records."""

    in_order: bool
    expected_checksum: str | None
    #: Whether no record is missing, duplicated or changed; None without a checksum.
    all_there: bool | None
    parts: list[Part]
    time_s: float
    provenance: FromVersion


class GenerateResult(fields.GenerateResult):
    """Generated records."""

    SAYS: ClassVar = ("output", "records", "checksum")


class ValidateResult(fields.ValidateResult):
    """The check of sorted files."""

    ROWS: ClassVar = "parts"
    SAYS: ClassVar = ("records", "in_order", "all_there", "duplicates")


def generate(
    output: Path | Sequence[Path],
    *,
    records: int,
    start: int = 0,
    ascii: bool = False,
    skewed: bool = False,
    stripe: Size | None = None,
    progress: Progress | None = None,
) -> GenerateResult:
    """Generates records of 100 bytes, the same as those of gensort; returns checksum and size.

    `output` is a file, which appears when it is complete; a block device, which is overwritten from
    its start on; a named pipe; or `-` for stdout. With `stripe`, a size (`64KiB`), the
    records are striped over several outputs: unit n is in output n modulo their number. `start` is
    the number of the first record. `progress` is called with the bytes (done, total). Raises
    GordonError.
    """
    for name, value, least, bits in (("records", records, 1, 64), ("start", start, 0, 128)):
        if not least <= value < 1 << bits:
            raise GordonError(
                f"{name}: {value} is out of range",
                f"a number from {least} to 2^{bits} - 1",
                kind="out-of-range",
            )
    began = time.monotonic()
    outputs = [fspath(one) for one in several(output)]
    unit = None if stripe is None else _core.parse_bytes(in_bytes(stripe))
    made: Generated = json.loads(
        _core.sort_generate(outputs, records, start, ascii, skewed, unit, progress)
    )
    time_s = time.monotonic() - began
    return GenerateResult(
        {
            "output": outputs[0] if len(outputs) == 1 else outputs,
            "stripe": in_bytes(stripe),
            **made,
            "start": start,
            "ascii": ascii,
            "skewed": skewed,
            "time_s": time_s,
            "provenance": {"version": __version__},
        }
    )


def validate(
    *files: Path,
    records: int | None = None,
    checksum: str | None = None,
    summaries: bool = False,
    summary: Path | None = None,
    progress: Progress | None = None,
) -> ValidateResult:
    """Checks consecutive files of sorted records, as valsort does: order, duplicate keys, checksum.

    With the `checksum` of the unsorted records, as hexadecimal text, `all_there` in the result says
    whether no record is missing, duplicated or changed. With `records`, only that many records of
    each file are read, from its start on, for block devices that hold more. `summary` is a path
    to write a summary to, as valsort -o does; with `summaries` the files hold such summaries.
    `progress` is called with the bytes (done, total). Raises GordonError; records out of order are
    a result, not an error.
    """
    expected = None if checksum is None else _sum(checksum)
    if not files:
        raise GordonError("there are no files to check", "name the files in order", kind="no-files")
    if summaries and records is not None:
        raise GordonError(
            "--records and --summaries exclude each other: summaries have no records",
            "give only one of them",
            kind="exclusive-options",
        )
    if records is not None and not 0 < records < 1 << 64:
        raise GordonError(
            f"records: {records} is out of range",
            "a number from 1 to the number of records of a file",
            kind="out-of-range",
        )
    named = [fspath(file) for file in files]
    began = time.monotonic()
    to = None if summary is None else fspath(summary)
    checked = _core.sort_validate(named, records, summaries, to, progress)
    time_s = time.monotonic() - began
    parts: list[Part]
    whole: Validated
    parts, whole = json.loads(checked)
    if not summaries:
        parts = [{"path": path, **part} for path, part in zip(named, parts, strict=True)]
    return ValidateResult(
        {
            **whole,
            "in_order": whole["unordered"] == 0,
            "expected_checksum": None if expected is None else f"{expected:x}",
            "all_there": None if expected is None else int(whole["checksum"], 16) == expected,
            "parts": parts,
            "time_s": time_s,
            "provenance": {"version": __version__},
        }
    )


def _sum(text: str) -> int:
    """A checksum as gensort, valsort and we print it."""
    if not re.fullmatch(r"(0x)?[0-9a-fA-F]{1,32}", text):
        raise GordonError(
            f"`{text}` is not a checksum",
            "the hexadecimal number printed by `gordon sort generate` or gensort -c",
            kind="bad-checksum",
        )
    return int(text, 16)
