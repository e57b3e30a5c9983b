"""Simulates a traced job on every design of a space: the fastest node, the node with least energy.

    from gordon import survey
    result = survey.run("sort.trace", nodes=32)
    result["named"]["MaxE"], result["front"]

The core replays the storage requests of the trace on each storage and scales CPU and network time
to each design. Time and energy of a run follow by two models, `sync` and `nosync`; the software
does not change with the design. A failure raises `gordon.GordonError`, whose args are (message,
hint).
"""

from gordon.survey.run import run

__all__ = ["run"]
