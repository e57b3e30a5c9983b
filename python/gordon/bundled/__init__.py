"""The traces that come with Gordon: the seven jobs of the Gordon paper's Table 2.

Each job ran twice, with different input, at an eighth of the paper's size on four nodes of 2 GiB
(`scripts/bundle.py`). A folder of a job holds its two runs, each as `gordon workload run` makes it,
without the event log and the logs of Spark.
"""

from pathlib import Path

#: Folder with a folder for each job.
FOLDER = Path(__file__).parent
#: How the paper surveys its jobs.
NODES, MODEL, SPACE = 32, "paper", "gordon-2009"
