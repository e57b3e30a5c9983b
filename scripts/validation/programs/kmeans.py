"""Iterations over cached points: k-means of points in four dimensions."""

import random
import sys
from collections.abc import Iterator
from functools import partial

from pyspark import Broadcast  # type: ignore[import-not-found, unused-ignore]
from pyspark.sql import SparkSession  # type: ignore[import-not-found, unused-ignore]

CLUSTERS, PARTS, ROUNDS = 8, 16, 6
Point = tuple[float, ...]
Members = tuple[Point, int]


def points(part: int, count: int) -> Iterator[Point]:
    drawn = random.Random(part)
    for _ in range(count):
        yield tuple(drawn.gauss(drawn.randrange(CLUSTERS), 1) for _ in range(4))


def distance(one: Point, other: Point) -> float:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


def nearest(centres: Broadcast[list[Point]], point: Point) -> tuple[int, Members]:
    at = min(range(CLUSTERS), key=lambda at: distance(point, centres.value[at]))
    return at, (point, 1)


def joined(one: Members, other: Members) -> Members:
    return tuple(a + b for a, b in zip(one[0], other[0], strict=True)), one[1] + other[1]


def main() -> None:
    count = int(sys.argv[1])
    spark = SparkSession.builder.appName("kmeans").getOrCreate()
    context = spark.sparkContext
    parts = context.range(0, PARTS, 1, PARTS)
    found = parts.mapPartitionsWithIndex(lambda part, _: points(part, count // PARTS)).cache()
    centres = found.takeSample(False, CLUSTERS, 1)
    for _ in range(ROUNDS):
        assigned = found.map(partial(nearest, context.broadcast(centres)))
        for at, (sums, members) in assigned.reduceByKey(joined, 8).collect():
            centres[at] = tuple(value / members for value in sums)
    print(centres)
    spark.stop()


main()
