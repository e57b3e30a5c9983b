"""The traces that come with Gordon: the seven jobs of the Gordon paper's Table 2.

Each job ran twice, with different input, at an eighth of the paper's size on four nodes of 2 GiB
(`scripts/build/bundle.py`). A folder of a job holds its two runs, each as `gordon workload run`
makes it, without the event log and the logs of Spark.

The event log `spark-sort` is that of a sort of 100 MB on two nodes of one core, without names of
the machine (`scripts/build/bundle_log.py`).
"""

from pathlib import Path

__all__ = ["FILES", "FOLDER", "MODEL", "NODES", "SPACE"]

#: Folder with a folder for each job.
FOLDER = Path(__file__).parent
#: Files for examples, by the names that a survey and `gordon trace show` take in place of a path.
FILES = {"spark-sort": FOLDER / "spark-sort.gz"}
#: How the paper surveys its jobs.
NODES, MODEL, SPACE = 32, "paper", "gordon-2009"


def __dir__() -> list[str]:
    return __all__
