"""The results of the papers on which Gordon is based, next to Gordon's own.

    import gordon.reproduce
    rows = gordon.reproduce.rows()
    rows[0].nearest, rows[0].ours, rows[0].ratio, rows[0].agrees, rows[0].reason

Names of this package are about the Gordon paper and traces of its jobs: `docs/design/paper-jobs.md`
has all figures from the bundled traces. `gordon.reproduce.joulesort` is about the JouleSort paper,
`gordon.reproduce.rewriting` about its Figure 10. Only the commands of `gordon reproduce` use this
package. A failure raises `gordon.GordonError`.
"""

from gordon.reproduce.row import MEAN, Row, as_result
from gordon.reproduce.suite import Agreement, agreement, jobs, rows

__all__ = ["MEAN", "Agreement", "Row", "agreement", "as_result", "jobs", "rows"]


def __dir__() -> list[str]:
    return __all__
