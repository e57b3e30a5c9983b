"""What a sort takes on other systems, in time and joules: the JouleSort paper's, and one's own.

`docs/design/joulesort-systems.md` has the model and what it comes to beside what was measured.
"""

from gordon.sort.systems.run import extrapolate

__all__ = ["extrapolate"]
