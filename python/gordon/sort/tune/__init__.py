"""Searches the best settings of a sort on your own devices, or on a simulated one.

    from gordon.sort import tune
    found = tune.tune("tuned.toml", budget_s=600, temp=["/ssd1", "/ssd2"])
    found["gain"], found.to_polars(), found.save("tuned.html")
    tune.steer("start.toml", "nvme-tlc-1tb", set={"capacity": "32GiB"})

`docs/design/sort-tuning.md` describes the method.
"""

from gordon.sort.tune.steer import SteerResult, steer
from gordon.sort.tune.tune import TuneResult, tune

__all__ = ["SteerResult", "TuneResult", "steer", "tune"]


def __dir__() -> list[str]:
    return __all__
