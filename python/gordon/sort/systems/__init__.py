"""Models the time and energy of a sort on other systems: those of the JouleSort paper, or your own.

    from gordon.sort import systems
    found = systems.extrapolate(set=["system.3B.cpu=core2-duo"])
    found["systems"][0]["modelled"], found.to_polars()

`docs/design/joulesort-systems.md` describes the model and compares its results with measurements.
"""

from gordon.sort.systems.run import ExtrapolateResult, extrapolate

__all__ = ["ExtrapolateResult", "extrapolate"]


def __dir__() -> list[str]:
    return __all__
