"""A table of Parquet that is written, read, sorted and written again."""

import sys
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession, functions  # type: ignore[import-not-found, unused-ignore]


def main() -> None:
    rows = int(sys.argv[1])
    spark = SparkSession.builder.appName("parquet").getOrCreate()
    number = functions.col("id")
    table = spark.range(0, rows, 1, 10).select(
        "id",
        functions.sha2(number.cast("string"), 256).alias("text"),
        functions.rand(1).alias("draw"),
        (number % 50).alias("group"),
    )
    with TemporaryDirectory() as folder:
        table.write.parquet(f"{folder}/first")
        read = spark.read.parquet(f"{folder}/first")
        read.repartition(10, "group").sortWithinPartitions("draw").write.parquet(f"{folder}/second")
        print(spark.read.parquet(f"{folder}/second").agg(functions.sum("draw")).collect())
        spark.stop()


main()
