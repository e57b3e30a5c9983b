"""Searches the best settings of a sort on your own devices, or on a simulated one.

    from gordon.sort import tune
    report = tune.tune("tuned.toml", budget_s=600, temp=["/ssd1", "/ssd2"])
    report["gain"], report["trials"]

`docs/design/sort-tuning.md` describes the method.
"""

from gordon.sort.tune.tune import tune

__all__ = ["tune"]
