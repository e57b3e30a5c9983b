"""The results of the JouleSort paper next to those of the model and to published machines.

    from gordon.reproduce import joulesort
    joulesort.report()["claims"]["statements"], joulesort.published()

`docs/design/joulesort-systems.md` has all of them. A failure raises `gordon.GordonError`.
"""

from gordon.reproduce.joulesort.machines import published
from gordon.reproduce.joulesort.study import report

__all__ = ["published", "report"]
