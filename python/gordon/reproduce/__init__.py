"""The results of the Gordon paper next to those from traces of its jobs.

    import gordon.reproduce
    rows = gordon.reproduce.rows()
    rows[0].paper, rows[0].ours, rows[0].ratio, rows[0].agrees, rows[0].reason

`docs/design/paper-jobs.md` has all figures from the bundled traces. A failure raises
`gordon.GordonError`, whose args are (message, hint).
"""

from gordon.reproduce.row import MEAN, Row
from gordon.reproduce.suite import jobs, rows

__all__ = ["MEAN", "Row", "jobs", "rows"]
