"""Short jobs one after another, with work of the driver between them."""

import sys
from functools import partial

from pyspark.sql import SparkSession  # type: ignore[import-not-found, unused-ignore]


def residue(job: int, value: int) -> int:
    return value * job % 97


def main() -> None:
    jobs = int(sys.argv[1])
    spark = SparkSession.builder.appName("manyjobs").getOrCreate()
    data = spark.sparkContext.parallelize(range(20_000), 8).cache()
    total = data.count()
    for job in range(jobs):
        total += data.map(partial(residue, job)).sum()
        total += sum(value * value % 7 for value in range(400_000))
    print(total)
    spark.stop()


main()
