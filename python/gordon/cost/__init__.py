"""Costs and abilities of installations: a petabyte of storage, a rack, a queue of jobs.

    import gordon.cost
    gordon.cost.petabyte()["media"][0]["total_cost"]
    gordon.cost.replicas("job.trace")["payback"]
    gordon.cost.rack("MaxE")["rack"]["active_w"]
    gordon.cost.tco("sort.trace", "framework-desktop", runs_per_day=40)["per_year"]
    gordon.cost.plan("MaxE", link="2Gb", data="10TB")["jobs"][0]["end_s"]

`petabyte` is the cost model of section 6.2 of the Gordon paper, `replicas` keeps copies on sleeping
disks as its section 6.1 proposes, `rack` is the node, enclosure and rack of its section 3 for any
node, `tco` a job on machines that are bought or rented, `plan` a queue of jobs on the virtualised
array of its section 6.3. Each result that the paper prints is next to the computed one.
`gordon.grids` has the carbon of electricity, `gordon.cost.prices` prices of memory and storage by
year. A failure raises `gordon.GordonError`.
"""

from gordon.cost.petabyte import PetabyteResult, petabyte
from gordon.cost.plan import PlanResult, plan
from gordon.cost.rack import RackResult, rack
from gordon.cost.replicas import ReplicasResult, replicas
from gordon.cost.tco import TcoResult, tco

__all__ = [
    "PetabyteResult",
    "PlanResult",
    "RackResult",
    "ReplicasResult",
    "TcoResult",
    "petabyte",
    "plan",
    "rack",
    "replicas",
    "tco",
]


def __dir__() -> list[str]:
    return __all__
