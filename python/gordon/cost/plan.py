"""A virtualised array: slices, the loading of data over their links, and a queue of jobs.

The core simulates the queue (`crates/plan`); this module takes the node from a space, as racks do,
and the jobs from a TOML file.
"""

import json
from os import fspath
from typing import ClassVar

from gordon import __version__, _core, fields
from gordon.cost import nodes as found_nodes
from gordon.cost import statements
from gordon.cost.nodes import Node, NodeRow
from gordon.cost.paper import Item
from gordon.errors import GordonError
from gordon.files import read_text
from gordon.human import counted, duration
from gordon.options import Path, Size, in_bytes
from gordon.options.costs import PlanOptions
from gordon.options.explicit import explicit
from gordon.quantity import positive
from gordon.reports.plan import PlanReport
from gordon.survey import table6
from gordon.untyped import Config

#: The plan of section 6.3 of the paper.
PAPER = {"node": "MaxE", "nodes": 1024, "slices": 16, "link": 250e6, "data": 10**13}
#: The job of a plan without a file of jobs.
ONE = "job"


class Planned(PlanReport):
    """A plan, and figures of the paper next to it if it is the paper's."""

    version: str
    node: NodeRow
    items: list[Item]


class PlanResult(fields.PlanResult):
    """A queue of jobs on an array of slices."""

    ROWS: ClassVar = "jobs"

    def says(self) -> str:
        late = f", {self['late']} late" if self["late"] else ""
        jobs = counted(len(self["jobs"]), "job")
        return f"{jobs} on {counted(self['slices'], 'slice')} in {duration(self['span_s'])}{late}"


@explicit(PlanOptions)
def plan(
    node: str,
    *,
    link: str,
    space: str | None = None,
    data: Size | None = None,
    jobs: Path | Config | None = None,
    nodes: int = PlanOptions.nodes,
    slices: int = PlanOptions.slices,
    overlap: bool = PlanOptions.overlap,
) -> PlanResult:
    """Simulates a queue of jobs on an array of slices, each with a link to a warehouse.

    `node` is a machine or a design of a space (`gordon.cost.nodes.find`), `link` a rate such as
    `2Gb`, `jobs` a TOML file or its content. Times of the result are in seconds after the start of
    the plan; a job that misses its deadline has `late_s` above zero, and `remedies` has the changes
    with which all deadlines are met. Raises GordonError for a plan that is not possible.
    """
    data = in_bytes(data)
    found_nodes.check_count("--nodes", nodes, PlanOptions.nodes)
    found_nodes.check_count("--slices", slices, PlanOptions.slices)
    positive("--link", link, _core.parse_rate, "--link 2Gb")
    if data is not None:
        positive("--data", data, _core.parse_bytes, "--data 10TB")
    if data is None and jobs is None:
        raise GordonError(
            "there is nothing to plan",
            "--data 10TB for one job, or --jobs FILE",
            kind="no-jobs",
        )
    queue = {"jobs": [{"name": ONE}]} if jobs is None else _jobs(jobs)
    chosen = found_nodes.find(node, space)
    config = {
        "node": _node(chosen),
        "nodes": nodes,
        "slices": slices,
        "link": link,
        "overlap": overlap,
        "data": data,
        "jobs": queue["jobs"],
    }
    report: PlanReport = json.loads(_core.plan(json.dumps(config)))
    given = {
        "node": node,
        "nodes": nodes,
        "slices": slices,
        "link": _core.parse_rate(link),
        "data": None if data is None else _core.parse_bytes(data),
    }
    is_paper = given == PAPER and jobs is None and chosen.space == table6.SPACE
    return PlanResult(
        {
            "version": __version__,
            "node": chosen.row(),
            **report,
            "items": statements.of_plans() if is_paper else [],
        }
    )


def _jobs(jobs: Path | Config) -> Config:
    """The content of a file of jobs, checked by the core."""
    if isinstance(jobs, dict):
        return jobs
    path = fspath(jobs)
    hint = "a TOML file with a table [[jobs]] for each job (`gordon schema jobs`)"
    content = read_text(path, "the jobs", hint)
    found: Config = json.loads(_core.load_toml("jobs", content, path))
    return found


def _node(node: Node) -> dict[str, str]:
    """The node as the core takes it. Raises GordonError for a node without a known capacity or
    bandwidth, which no plan can do without."""
    needed = {
        "capacity": node.capacity_bytes,
        "read bandwidth": node.read_bytes_per_s,
        "write bandwidth": node.write_bytes_per_s,
    }
    for what, value in needed.items():
        if value is None:
            raise GordonError(
                f"node {node.id}: its {what} is unknown: {node.unknown[what]}",
                "a node whose storage is a part of the catalogue, such as MaxE",
                kind="unknown-storage",
            )
    found = {
        "capacity": f"{round(node.capacity_bytes or 0)}B",
        "read": f"{node.read_bytes_per_s:.3f}B",
        "write": f"{node.write_bytes_per_s:.3f}B",
    }
    if node.network_bytes_per_s is not None:
        found["network"] = f"{node.network_bytes_per_s:.3f}B"
    return found
