"""Jobs of data-intensive clusters, their input data, and the nodes that they run on.

    import gordon.workload
    made = gordon.workload.generate("text", "corpus", size="2GB")
    report = gordon.workload.run("sort", "runs/sort", size="1GB", nodes=4)
    app = gordon.workload.App("my_job.py", ["2024", "out"])
    report = gordon.workload.run_app(app, "runs/my_job", nodes=2)

`docs/design/corpora.md` describes the data, `docs/design/workload.md` the runs. A failure raises
`gordon.GordonError`.
"""

from gordon.run.report import RunResult
from gordon.workload.app import App, run_app
from gordon.workload.data import KINDS, CorpusResult, generate
from gordon.workload.jobs import JOBS
from gordon.workload.run import Cluster, run
from gordon.workload.suite import plan, run_planned

__all__ = [
    "JOBS",
    "KINDS",
    "App",
    "Cluster",
    "CorpusResult",
    "RunResult",
    "generate",
    "plan",
    "run",
    "run_app",
    "run_planned",
]


def __dir__() -> list[str]:
    return __all__
