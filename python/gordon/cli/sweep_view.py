"""The outcome of a sweep on a terminal: the best configurations, and what went wrong."""

from collections import Counter
from collections.abc import Iterable

from gordon.cli.terminal import Column, Output
from gordon.human import counted, in_words
from gordon.report.page import plain, sig
from gordon.sweep import words
from gordon.sweep.config import Objective
from gordon.sweep.result import SweepReport
from gordon.untyped import Row

#: Configurations in the table.
BEST = 5
#: Different errors and different warnings that are printed.
TEXTS = 3


def show(console: Output, result: SweepReport) -> None:
    rows = result["rows"]
    console.text(summary(result))
    objectives = [Objective(*one.rsplit(":", 1)) for one in result["objectives"]]
    names = [one.name for one in objectives]
    best = [row for row in _ranked(result) if row["error"] is None][:BEST]
    if best:
        several = len(names) > 1
        degree = "least" if objectives[0].way == "min" else "largest"
        console.text(f"by {words.of_result(names[0])[0]}, the {degree} first:")
        console.table(
            [
                *([Column("", ["*" if row.get("pareto") else "" for row in best])] * several),
                *(Column(key, [plain(row[key]) for row in best]) for key in result["ranges"]),
                *(
                    Column(words.column(name), [sig(row.get(name)) for row in best], right=True)
                    for name in names
                ),
            ]
        )
    if result["pareto"]:
        front = in_words([words.of_result(name)[0] for name in names])
        console.text(f"* on the Pareto front of {front}: {len(result['pareto'])}")
    _counts(console, "failed", (row["error"].splitlines()[0] for row in rows if row["error"]))
    texts = (row["warnings"] for row in rows if row.get("warnings"))
    _counts(console, "warning", (line for text in texts for line in text.splitlines()))


def _counts(console: Output, what: str, texts: Iterable[str]) -> None:
    """The most frequent texts, each with the number of its configurations."""
    counts = Counter(texts)
    for text, count in counts.most_common(TEXTS):
        console.text(f"{what} ({counted(count, 'configuration')}): {text}")
    if len(counts) > TEXTS:
        console.text(f"{what}: {len(counts) - TEXTS} others, in the rows")


def summary(result: SweepReport) -> str:
    """Counts of configurations, in one line."""
    count, product = len(result["rows"]), result["combinations"]
    sample = result["sample"]
    of = f", a sample of {product:,} with the seed {sample['seed']}" if sample else ""
    return (
        f"{counted(count, 'configuration')} of gordon {result['command']}{of}: "
        f"{counted(count - result['failed'], 'result')}, {result['failed']:,} failed; "
        "every value is modelled"
    )


def _ranked(result: SweepReport) -> list[Row]:
    """The rows by the first objective, the best first."""
    from gordon.sweep.rows import best

    return best(result["rows"], Objective(*result["objectives"][0].rsplit(":", 1)))
