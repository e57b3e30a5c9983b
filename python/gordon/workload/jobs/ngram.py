"""N-Gram: counts the phrases of N consecutive words of a line and writes the frequent ones.

A line of the output is a count, a tab and a phrase; the most frequent comes first, and phrases of
equal counts are in the order of their bytes. What a word is: `gordon.workload.text.WORD`, in lower
case.
"""

from typing import Any

from gordon.run.report import Parameters
from gordon.workload import spark, text


def run(session: Any, inputs: list[str], output: str, parameters: Parameters) -> dict[str, int]:
    """Writes the phrases that occur `minimum` times or more."""
    f = spark.functions()
    counted = counts(phrases(text.lines(session, inputs), parameters["n"]))
    frequent = counted.filter(f.col("count") >= parameters["minimum"])
    ordered = frequent.orderBy(f.col("count").desc(), "phrase")
    text.write_lines(ordered.select(f.concat_ws("\t", f.col("count"), "phrase")), output)
    return {}


def phrases(lines: Any, n: int) -> Any:
    """Each occurrence of a phrase, as a DataFrame with the column `phrase`."""
    f = spark.functions()
    found = lines.select(text.words(f.col("value")).alias("words"))
    if n == 1:
        return found.select(f.explode("words").alias("phrase"))
    # A filter by size would be moved below the column `words` and compute it a second time.
    last = f.size("words") - (n - 1)
    starts = f.when(last > 0, f.sequence(f.lit(1), last))
    at = f.transform(starts, lambda start: f.array_join(f.slice("words", start, n), " "))
    return found.select(f.explode(at).alias("phrase"))


def counts(occurrences: Any) -> Any:
    """The number of occurrences of each phrase, in the column `count`."""
    return occurrences.groupBy("phrase").count()
