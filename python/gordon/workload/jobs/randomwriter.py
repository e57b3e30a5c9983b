"""RandomWriter: writes random records, as Hadoop's example of this name.

A record is a line of 100 bytes: a key of 10 bytes and 89 more, all hexadecimal digits, and the line
feed. It depends on the seed and on its number only, so that the verification can compute it again.
"""

from typing import Any

from gordon.run.report import Parameters
from gordon.workload import spark, text

RECORD_BYTES = 100
KEY_BYTES = 10

#: Hashes of 64 bits in a record. The first gives the key; the digits of the others are 7 more than
#: needed, since leading zeros are not written.
HASHES = 7


def run(session: Any, inputs: list[str], output: str, parameters: Parameters) -> dict[str, int]:
    """Writes `size` bytes, rounded down to whole records."""
    text.write_lines(records(session, parameters), output)
    count = parameters["size"] // RECORD_BYTES
    return {"records": count, "bytes": count * RECORD_BYTES}


def records(session: Any, parameters: Parameters) -> Any:
    """The records as a DataFrame with the column `value`."""
    f = spark.functions()
    count = parameters["size"] // RECORD_BYTES
    numbers = session.range(0, count, 1, parameters["partitions"])
    seed = f.lit(parameters["seed"])
    first, *others = [f.hex(f.xxhash64(f.col("id"), seed, f.lit(n))) for n in range(HASHES)]
    # The last digits of a hash are uniformly distributed; its first digit is never 0.
    key = f.substring(first, -KEY_BYTES, KEY_BYTES)
    # Pads in the unlikely case of many leading zeros, and cuts otherwise.
    return numbers.select(f.rpad(f.concat(key, *others), RECORD_BYTES - 1, "0").alias("value"))
