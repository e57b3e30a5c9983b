"""The log of samples: CSV, one row per sample of a meter.

    time_s,unix_s,phase,meter,how,watts,joules

`time_s` counts from the beginning of the log on a monotonic clock; `unix_s` is the same moment in
Unix time, to match logs of other machines. The watts of a counter are the mean since the previous
row. `joules` count from the meter's first sample, and are empty for a meter of power.
"""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from math import isfinite
from pathlib import Path

from gordon.energy.meter import drawn
from gordon.energy.session import Row
from gordon.errors import GordonError

FIELDS = ("time_s", "unix_s", "phase", "meter", "how", "watts", "joules")


def text(rows: list[Row]) -> str:
    """The rows of a log as CSV."""
    out = StringIO()
    writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: _cell(value) for key, value in row.items()})
    return out.getvalue()


def _cell(value: object) -> object:
    return "" if value is None else f"{value:.6f}" if isinstance(value, float) else value


@contextmanager
def _blamed(path: Path) -> Iterator[None]:
    """Errors of the reading of a file that is not a log."""
    try:
        yield
    except GordonError:
        raise
    except (ValueError, csv.Error) as error:
        raise GordonError(
            f"{path}: not CSV in UTF-8: {error}", "a log of `gordon meter record`", kind="bad-log"
        ) from None


def power(path: Path, meter: str = "") -> tuple[list[float], list[float | None]]:
    """Times and watts of one meter, the log's first unless named. A row without watts after the
    first sample is a gap, whose watts are None."""
    times: list[float] = []
    watts: list[float | None] = []
    with path.open(encoding="utf-8", newline="") as file, _blamed(path):
        reader = csv.DictReader(file)
        if not {"time_s", "watts"} <= set(reader.fieldnames or ()):
            raise GordonError(
                f"{path}: the columns time_s and watts are missing",
                "a log of `gordon meter record`",
                kind="bad-log",
            )
        for row in reader:
            where, name = f"{path}:{reader.line_num}", row.get("meter") or ""
            meter = meter or name
            if name != meter or not (row["watts"] or watts):
                continue
            try:
                times.append(float(row["time_s"]))
                text = row["watts"]
                watts.append(drawn(float(text), f"{where}: `{text}`") if text else None)
            except GordonError:
                raise
            except (ValueError, TypeError):
                raise GordonError(
                    f"{where}: time_s or watts is not a number", kind="bad-log"
                ) from None
            if not isfinite(times[-1]):
                raise GordonError(
                    f"{where}: time_s `{row['time_s']}` is not a finite number", kind="bad-log"
                )
            if len(times) > 1 and times[-1] <= times[-2]:
                raise GordonError(
                    f"{where}: time_s is not greater than in the row before", kind="bad-log"
                )
    if not times:
        whose = f" of the meter {meter}" if meter else ""
        raise GordonError(f"{path}: the log has no samples{whose}", kind="bad-log")
    return times, watts
