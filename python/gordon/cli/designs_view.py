"""The table of machines, clusters or designs of a service on the screen."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gordon import human
from gordon.cli.terminal import Column, of_entries
from gordon.report.entries import COUNT, Entry, Row, known
from gordon.survey.results import ResultOfMachines

#: The cores of all nodes.
ALL_CORES: Entry[Any] = Entry("all_cores", "cores", lambda row: row["cores"] * row["nodes"], COUNT)


#: The meaning of `interval`, behind the legend of a table.
RANGE = "low - high: the 80% range. Names, front and verdict go by its upper end"
#: Of designs whose times differ by less, one is printed.
NEAR = 0.05


def interval(model: str) -> Entry[Any]:
    """The range of the time by a model."""

    def ends(row: Mapping[str, Any]) -> str:
        return human.interval(row[model]["time_s_low"], row[model]["time_s_high"])

    return Entry("interval", "low - high", ends, COUNT)


def table(
    title: str,
    rows: Sequence[Row],
    entries: list[Entry[Row]],
    spare: Mapping[str, int],
    remarks: Callable[[Row], list[str]],
    enough: int | None = None,
) -> list[Column]:
    """The names of designs, those of the front with a mark; the entries that are keys of `spare`
    and known, in its order; and the remarks, with at least `enough` cells on one line."""
    by_key = {entry.key: entry for entry in entries}
    return [
        Column(f"  {title}", [("* " if row["pareto"] else "  ") + row["id"] for row in rows]),
        *of_entries(known([by_key[key] for key in spare], rows), rows, spare=spare),
        Column("", [", ".join(remarks(row)) for row in rows], wraps=True, enough=enough),
    ]


def spread(front: Sequence[Row], time: Callable[[Row], float]) -> list[Row]:
    """Of designs of a front in the order of their times, those that differ: of those within NEAR of
    the first one's time the last, which is on the front for what it saves, then the same again."""
    found: list[Row] = []
    first = 0.0
    for row in front:
        if found and time(row) <= first * (1 + NEAR):
            found[-1] = row
        else:
            found.append(row)
            first = time(row)
    return found


def legend(result: ResultOfMachines, compared: str, has_front: bool, shown: int) -> str:
    """The meaning of the mark of the front, how the designs that are not shown are printed, and
    how many of all designs the result has."""
    rows, total = len(result["designs"]), result["designs_total"]
    left_out = rows - shown
    text = f"* on the Pareto front of {compared}" if has_front else "no design is on the front"
    if left_out:
        how = f"also prints {left_out:,} more" if has_front else f"prints {left_out:,} that are not"
        text += f"; --all {how}"
    if rows < total:
        text += f"; the result has {rows:,} of {total:,} designs (--rows {total} for all)"
    return text
