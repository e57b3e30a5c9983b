"""Models the time and energy of a sort on other systems: those of the JouleSort paper, or your own.

`docs/design/joulesort-systems.md` describes the model and compares its results with measurements.
"""

from gordon.sort.systems.run import extrapolate

__all__ = ["extrapolate"]
