"""Checks whether the records/J of a printed row follow from its time and power."""

from gordon.sort.systems.report import RowCheck
from gordon.sort.systems.schema import Measured


def check(row: Measured, records: float) -> RowCheck:
    """The score that the columns give, and what rounding and five runs leave open. Empty if the row
    has no power or no score.

    The printed score may be the mean of the runs' own scores: that is above the score of the means
    by the squares of the relative deviations, and by their product if both move together.
    """
    printed, time, power = row.records_per_j, row.time, row.power
    if printed is None or power is None:
        return {}
    if time is None:
        # What the other two columns say the time was.
        return {
            "printed_records_per_j": printed.value,
            "implied_time_s": records / (printed.value * power.value),
        }
    spread_t, spread_p = time.deviation / time.value, power.deviation / power.value
    means = 1 + spread_t**2 + spread_p**2 + spread_t * spread_p
    score = records / (time.value * power.value)
    low = records / ((time.value + time.half) * (power.value + power.half))
    high = records / ((time.value - time.half) * (power.value - power.half)) * means
    follows = low - printed.half <= printed.value <= high + printed.half
    return {
        "printed_records_per_j": printed.value,
        "records_per_j": score,
        "lowest": low,
        "highest": high,
        "printed_over": printed.value / score - 1,
        "follows": follows,
    }
