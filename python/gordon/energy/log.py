"""The log of samples: CSV, a row a sample of a meter.

    time_s,unix_s,phase,meter,how,watts,joules

`time_s` counts from the beginning of the log on a clock that is never set; `unix_s` is the same
moment as the date has it, for logs of other machines. Watts of a counter are those since the row
before. `joules` count from the meter's first sample, and are empty where it tells power alone.
"""

import csv
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Any

from gordon._core import GordonError
from gordon.energy.meter import drawn

FIELDS = ("time_s", "unix_s", "phase", "meter", "how", "watts", "joules")


def text(rows: list[dict[str, Any]]) -> str:
    """The whole log."""
    out = StringIO()
    writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: _cell(row[key]) for key in FIELDS})
    return out.getvalue()


def _cell(value: Any) -> Any:
    return "" if value is None else f"{value:.6f}" if isinstance(value, float) else value


def power(path: Path, meter: str = "") -> tuple[list[float], list[float | None]]:
    """Times and watts of one meter, the log's first unless named. A row without watts after the
    first sample is a gap, whose watts are None."""
    times: list[float] = []
    watts: list[float | None] = []
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if not {"time_s", "watts"} <= set(reader.fieldnames or ()):
            raise GordonError(
                f"{path}: no columns time_s and watts", "a log of `gordon meter record`"
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
            except ValueError:
                raise GordonError(f"{where}: time_s or watts is not a number") from None
            if not isfinite(times[-1]):
                raise GordonError(f"{where}: time_s `{row['time_s']}` is not a finite number")
            if len(times) > 1 and times[-1] <= times[-2]:
                raise GordonError(f"{where}: time_s is not greater than in the row before")
    if not times:
        raise GordonError(f"{path}: there are no samples" + (f" of {meter}" if meter else ""))
    return times, watts
