"""The results of the papers on which Gordon is based, next to Gordon's own.

    import gordon.reproduce
    found = gordon.reproduce.compare("gordon", figure="table 8")
    found["summary"]["agree"], found["items"][0]["ratio"], found.to_polars()
    found.pages("folder")

`compare` computes the tables and figures of a paper again; `rewrite` measures Figure 10 of the
JouleSort paper on a served device. `docs/design/paper-jobs.md` has all figures of the Gordon paper.
A failure raises `gordon.GordonError`.
"""

from gordon.reproduce.compared import PaperResult, compare
from gordon.reproduce.rewriting import RewriteResult, rewrite

__all__ = ["PaperResult", "RewriteResult", "compare", "rewrite"]


def __dir__() -> list[str]:
    return __all__
