"""Groups of very different sizes: one key has a third of all rows."""

import sys
from collections.abc import Iterable

from pyspark.sql import SparkSession  # type: ignore[import-not-found, unused-ignore]


def digest(group: tuple[int, Iterable[int]]) -> tuple[int, int]:
    key, values = group
    found = 0
    for value in values:
        for turn in range(30):
            found = (found * 31 + value + turn) % 1_000_003
    return key, found


def main() -> None:
    rows = int(sys.argv[1])
    spark = SparkSession.builder.appName("skew").getOrCreate()
    numbers = spark.sparkContext.range(0, rows, 1, 12)
    keyed = numbers.map(lambda number: (0 if number % 3 == 0 else number % 64, number))
    print(len(keyed.groupByKey(12).map(digest).collect()))
    spark.stop()


main()
