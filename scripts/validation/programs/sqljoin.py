"""A join and an aggregation of SQL, with adaptive execution."""

import sys

from pyspark.sql import SparkSession, functions  # type: ignore[import-not-found, unused-ignore]

KEYS = 200_003


def main() -> None:
    rows = int(sys.argv[1])
    spark = SparkSession.builder.appName("sqljoin").getOrCreate()
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    number = functions.col("id")
    key, text = (number % KEYS).alias("key"), number.cast("string")
    left = spark.range(0, rows, 1, 12).select(key, functions.sha2(text, 256).alias("left"))
    right = spark.range(0, rows // 4, 1, 6).select(key, functions.md5(text).alias("right"))
    groups = left.join(right, "key").groupBy((functions.col("key") % 1000).alias("group"))
    counted = groups.agg(
        functions.count("*").alias("rows"), functions.max("left"), functions.max("right")
    )
    print(counted.orderBy(functions.desc("rows")).limit(5).collect())
    spark.stop()


main()
