"""The load of the machines of a run, and whether they had cores and memory left for its nodes.

A trace of a node is that of a machine of its own only if the node got the cores of its quota when
it wanted them. Nodes that share a machine lose time to the driver, to each other and to other
programs if all cores of the machine are busy. The trace alone cannot show it: a node that waits for
a core looks idle.
"""

from collections.abc import Collection, Sequence

from gordon.reports.trace import MachineUse, TraceSummary
from gordon.run.report import MachineLoad, NodeLoad

#: Share of the time of a run above which a machine without idle cores, and time that a hypervisor
#: or a quota took, are a warning. Assumed: the share by which `checks` lets a bound be exceeded.
MUCH = 0.05
#: Share of the time in which processes waited for memory above which it is a warning.
MEMORY_WAIT = 0.1
#: Share of the memory in use, without page cache, above which a machine is out of memory.
MEMORY_FULL = 0.95


def of_machine(host: str, use: MachineUse) -> MachineLoad:
    """The load of a machine, for `run.json`, from the reply of its agent."""
    return {
        "host": host,
        "cores": use["cores"],
        "memory_bytes": use["memory_bytes"],
        "memory_peak_bytes": use["memory_peak_bytes"],
        "span_s": _seconds(use["span_ns"]),
        "cpu_s": _seconds(use["cpu_ns"]),
        "steal_s": _seconds(use["steal_ns"]),
        "full_s": _seconds(use["full_ns"]),
        "throttled_s": _seconds(use["throttled_ns"]),
        "psi_cpu_some_s": _seconds(use["psi_cpu_some_ns"]),
        "psi_io_full_s": _seconds(use["psi_io_full_ns"]),
        "psi_memory_some_s": _seconds(use["psi_memory_some_ns"]),
    }


def of_node(summary: TraceSummary) -> NodeLoad:
    """Throttled time and pressure of a node, from the summary of its trace."""
    kinds, samples = summary["kinds"], summary["samples"]

    def known(column: str, values: list[float]) -> float | None:
        return None if kinds.get(column) == "missing" else sum(values)

    return {
        "throttled_s": known("throttled_ns", samples["throttled_s"]),
        "psi_cpu_some_s": known("psi_cpu_some_ns", samples["psi_cpu_some_s"]),
        "psi_io_full_s": known("psi_io_full_ns", samples["psi_io_full_s"]),
    }


def judge(machines: Sequence[MachineLoad], shared: Collection[str]) -> list[str]:
    """Warnings about machines that had nothing left. `shared` has the names of hosts whose nodes
    are parts of them: a machine that is a node of its own may use all of its cores."""
    found = []
    for machine in machines:
        span, host = machine["span_s"], machine["host"]
        if not span:
            continue
        where = "this machine" if host == "local" else host

        if host in shared and (time := _much(machine["full_s"], span)):
            found.append(
                f"all {machine['cores']} cores of {where} were busy for {time}: nodes waited for "
                "cores that others used, and their traces show it as idle time; end other "
                "programs, or give the nodes fewer cores together (--cores, --nodes)"
            )
        # Both are summed over the cores.
        of_cores = span * (machine["cores"] or 1)
        if time := _much(machine["steal_s"], of_cores):
            found.append(
                f"the hypervisor of {where} gave {time} of its cores' time to other machines: "
                "its nodes were slower than their cores"
            )
        if time := _much(machine["throttled_s"], of_cores):
            found.append(
                f"a CPU quota around {where} held its cores back for {time}: the quota has too few "
                "cores for the nodes"
            )
        found += _memory(machine, where)
    return found


def _much(seconds: float | None, whole: float) -> str | None:
    """A time and its share of `whole`, if the share is above the limit."""
    if seconds is None or seconds <= MUCH * whole:
        return None
    return f"{seconds:.3g} s of {whole:.3g} s ({seconds / whole:.0%})"


def _memory(machine: MachineLoad, where: str) -> list[str]:
    peak, memory = machine["memory_peak_bytes"], machine["memory_bytes"]
    if peak is not None and memory and peak > MEMORY_FULL * memory:
        return [
            f"{peak / memory:.0%} of the memory of {where} was in use: it had none left for the "
            "page cache of the job"
        ]
    waited, span = machine["psi_memory_some_s"], machine["span_s"]
    if waited is not None and span and waited > MEMORY_WAIT * span:
        return [
            f"processes of {where} waited for memory for {waited:.3g} s of {span:.3g} s "
            f"({waited / span:.0%}): the limit of a node, or the memory of the machine, is too "
            "small for the job"
        ]
    return []


def _seconds(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns / 1e9
