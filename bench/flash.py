"""How fast flash devices are simulated, compared with MQSim if its binary is given.

    python bench/flash.py                       # ours alone
    MQSIM=~/MQSim/MQSim python bench/flash.py   # both, and the ratios

MQSim (github.com/CMU-SAFARI/MQSim) runs the same loads on the same device: its default one, which
is our preset mqsim-mlc-512g, with an ideal map and queue depth 32. Rates are requests a second of
user time. Both have start-up costs, filling the map among them: a run of few requests has them
alone and is taken off; rates with start-up are printed too. (System time is left out: it is the
kernel's, for clearing 2 GB of MQSim's memory, and differs by seconds from run to run.) The goals
are 30 times MQSim's random rates, 15 times its sequential ones and 60 times its rate under garbage
collection, all on a quiet machine.

A sweep runs one device a core: what that gains is printed first.

What differs: MQSim answers a write from its cache, ours when it is programmed. With 32 blocks a
plane, which 8 GiB of the whole geometry have, MQSim refuses to be preconditioned ("not possible to
assign PPA to all LPAs"): its 8 GiB are one chip of 1024 blocks a plane. Under garbage collection it
writes more and more pages a request, and gets slower; its second million of requests counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

GORDON = Path(sys.executable).parent / "gordon"
PRESET = "mqsim-mlc-512g"
#: Requests of the run that shows the start-up cost. MQSim can crash with fewer.
FEW = 1000
#: Runs of each, the cheapest counts.
REPEAT = 2
#: MQSim's counts of program commands.
PROGRAMS = ("Issued_Flash_Program_CMD", "Issued_Flash_Multiplane_Program_CMD")
#: Seconds after which MQSim, which can run for ever, is given up.
PATIENCE = 600


@dataclass(frozen=True)
class Load:
    """One load, as each simulator spells it."""

    name: str
    pattern: str
    size: str
    requests: int
    #: Requests a CPU second.
    goal: int
    #: MQSim is slower: fewer of its requests take as long.
    mqsim_requests: int
    #: Its requests before those that count, where it comes to its own steady state by writing.
    mqsim_before: int = FEW
    options: tuple[str, ...] = ()
    mqsim_device: dict[str, str] = field(default_factory=dict)
    mqsim_load: dict[str, str] = field(default_factory=dict)


#: One chip that holds 8 GiB, four fifths of its pages mapped in a random order.
ONE_CHIP = {
    "Flash_Channel_Count": "1",
    "Chip_No_Per_Channel": "1",
    "Block_No_Per_Plane": "1024",
    "Enabled_Preconditioning": "true",
}
FOUR_FIFTHS = {
    "Channel_IDs": "0",
    "Chip_IDs": "0",
    "Initial_Occupancy_Percentage": "80",
    "Working_Set_Percentage": "80",
}
LOADS = [
    Load("random 4 KiB write", "random-write", "4KiB", 10_000_000, 3_240_000, 500_000),
    Load("random 4 KiB read", "random-read", "4KiB", 10_000_000, 5_100_000, 500_000),
    Load("sequential 128 KiB write", "sequential-write", "128KiB", 1_000_000, 570_000, 100_000),
    Load("sequential 128 KiB read", "sequential-read", "128KiB", 1_000_000, 570_000, 100_000),
    Load(
        "random 8 KiB write, 8 GiB, 80 % full, GC",
        "random-write",
        "8KiB",
        5_000_000,
        2_200_000,
        2_000_000,
        1_000_000,
        ("--set", "capacity=8GiB", "--precondition", "0.8"),
        ONE_CHIP,
        FOUR_FIFTHS,
    ),
]


@dataclass(frozen=True)
class Run:
    """The time and the work of one run."""

    cpu_s: float
    memory: int
    counts: dict[str, Any]


def measure(command: list[str | Path], folder: Path) -> tuple[float, int]:
    """User seconds and the most resident bytes of a command, of it alone."""
    with (folder / "out").open("wb") as out:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=folder
        )
        patience = threading.Timer(PATIENCE, child.kill)
        patience.start()
        _, status, used = os.wait4(child.pid, 0)
        patience.cancel()
    if status:
        tail = (folder / "out").read_text(errors="replace")[-500:]
        raise RuntimeError(f"{command[0]}: status {status}\n{tail}")
    # Linux counts in KiB.
    return used.ru_utime, used.ru_maxrss * 1024


def gordon(load: Load, requests: int, folder: Path) -> Run:
    """One run of ours."""
    answer = folder / "bench.json"
    cpu_s, memory = measure(
        [
            GORDON,
            *("flash", "bench", "--preset", PRESET, "--pattern", load.pattern),
            *("--size", load.size, "--requests", str(requests), *load.options),
            *("--json", answer),
        ],
        folder,
    )
    return Run(cpu_s, memory, json.loads(answer.read_text()))


#: MQSim's default device (its ssdconfig.xml), all of it, for it has other defaults inside; the map
#: is ideal.
DEVICE = {
    "Seed": "321",
    "Enabled_Preconditioning": "false",
    "Memory_Type": "FLASH",
    "HostInterface_Type": "NVME",
    "IO_Queue_Depth": "65535",
    "Queue_Fetch_Size": "512",
    "Caching_Mechanism": "ADVANCED",
    "Data_Cache_Sharing_Mode": "SHARED",
    "Data_Cache_Capacity": "268435456",
    "Data_Cache_DRAM_Row_Size": "8192",
    "Data_Cache_DRAM_Data_Rate": "100",
    "Data_Cache_DRAM_Data_Busrt_Size": "1",
    "Data_Cache_DRAM_tRCD": "13",
    "Data_Cache_DRAM_tCL": "13",
    "Data_Cache_DRAM_tRP": "13",
    "Address_Mapping": "PAGE_LEVEL",
    "Ideal_Mapping_Table": "true",
    "CMT_Capacity": "2097152",
    "CMT_Sharing_Mode": "SHARED",
    "Plane_Allocation_Scheme": "CWDP",
    "Transaction_Scheduling_Policy": "PRIORITY_OUT_OF_ORDER",
    "Overprovisioning_Ratio": "0.07",
    "GC_Exec_Threshold": "0.05000",
    "GC_Block_Selection_Policy": "RGA",
    "Use_Copyback_for_GC": "false",
    "Preemptible_GC_Enabled": "false",
    "GC_Hard_Threshold": "0.005000",
    "Dynamic_Wearleveling_Enabled": "true",
    "Static_Wearleveling_Enabled": "true",
    "Static_Wearleveling_Threshold": "100",
    "Preferred_suspend_erase_time_for_read": "700000",
    "Preferred_suspend_erase_time_for_write": "700000",
    "Preferred_suspend_write_time_for_read": "100000",
    "Flash_Channel_Count": "8",
    "Flash_Channel_Width": "1",
    "Channel_Transfer_Rate": "333",
    "Chip_No_Per_Channel": "4",
    "Flash_Comm_Protocol": "NVDDR2",
}
FLASH = {
    "Flash_Technology": "MLC",
    "CMD_Suspension_Support": "ERASE",
    "Page_Read_Latency_LSB": "75000",
    "Page_Read_Latency_CSB": "75000",
    "Page_Read_Latency_MSB": "75000",
    "Page_Program_Latency_LSB": "750000",
    "Page_Program_Latency_CSB": "750000",
    "Page_Program_Latency_MSB": "750000",
    "Block_Erase_Latency": "3800000",
    "Block_PE_Cycles_Limit": "10000",
    "Suspend_Erase_Time": "700000",
    "Suspend_Program_Time": "100000",
    "Die_No_Per_Chip": "2",
    "Plane_No_Per_Die": "2",
    "Block_No_Per_Plane": "2048",
    "Page_No_Per_Block": "256",
    "Page_Capacity": "8192",
    "Page_Metadat_Capacity": "448",
}
FLOW = {
    "Priority_Class": "HIGH",
    "Device_Level_Data_Caching_Mode": "WRITE_CACHE",
    "Channel_IDs": "0,1,2,3,4,5,6,7",
    "Chip_IDs": "0,1,2,3",
    "Die_IDs": "0,1",
    "Plane_IDs": "0,1",
    "Initial_Occupancy_Percentage": "50",
    "Working_Set_Percentage": "100",
    "Synthetic_Generator_Type": "QUEUE_DEPTH",
    "Percentage_of_Hot_Region": "0",
    "Generated_Aligned_Addresses": "true",
    "Request_Size_Distribution": "FIXED",
    "Variance_Request_Size": "0",
    "Seed": "798",
    "Average_No_of_Reqs_in_Queue": "32",
    "Intensity": "32768",
    "Stop_Time": "0",
}


def nest(path: list[str], *leaves: tuple[str, dict[str, str]]) -> ElementTree.Element:
    """Elements within each other, the innermost with groups of leaves."""
    root = inner = ElementTree.Element(path[0])
    for name in path[1:]:
        inner = ElementTree.SubElement(inner, name)
    for name, values in leaves:
        group = ElementTree.SubElement(inner, name) if name else inner
        for key, value in values.items():
            ElementTree.SubElement(group, key).text = value
    return root


def mqsim(binary: Path, load: Load, requests: int, folder: Path) -> Run:
    """One run of MQSim's."""
    device = {key: load.mqsim_device.get(key, value) for key, value in DEVICE.items()}
    flash = {key: load.mqsim_device.get(key, value) for key, value in FLASH.items()}
    host = {
        "PCIe_Lane_Bandwidth": "1.0",
        "PCIe_Lane_Count": "4",
        "Enable_ResponseTime_Logging": "false",
    }
    config = nest(["Execution_Parameter_Set"], ("Host_Parameter_Set", host))
    part = nest(["Device_Parameter_Set"], ("", device), ("Flash_Parameter_Set", flash))
    config.append(part)
    sectors = str(int(load.size.removesuffix("KiB")) * 2)
    flow = {
        **FLOW,
        "Read_Percentage": "100" if load.pattern.endswith("read") else "0",
        "Address_Distribution": "STREAMING"
        if load.pattern.startswith("sequential")
        else "RANDOM_UNIFORM",
        "Address_Alignment_Unit": sectors,
        "Average_Request_Size": sectors,
        "Total_Requests_To_Generate": str(requests),
        **load.mqsim_load,
    }
    scenario = ["MQSim_IO_Scenarios", "IO_Scenario"]
    work = nest(scenario, ("IO_Flow_Parameter_Set_Synthetic", flow))
    for name, root in (("ssd.xml", config), ("load.xml", work)):
        ElementTree.ElementTree(root).write(
            folder / name, encoding="us-ascii", xml_declaration=True
        )
    answer = folder / "load_scenario_1.xml"
    answer.unlink(missing_ok=True)
    cpu_s, memory = measure([binary, "-i", "ssd.xml", "-w", "load.xml"], folder)
    result = ElementTree.parse(answer).getroot()  # noqa: S314 -- of our own child
    ftl = result.find(".//SSDDevice.FTL")
    counts: dict[str, Any] = {} if ftl is None else dict(ftl.attrib)
    counts["requests"] = sum(int(node.text or 0) for node in result.iter("Request_Count"))
    return Run(cpu_s, memory, counts)


def cheapest(runs: list[Run]) -> Run:
    """The run that took the least, for machines are busy."""
    return min(runs, key=lambda run: run.cpu_s)


def rate(start: Run, run: Run) -> float:
    """Requests a CPU second, start-up taken off."""
    requests = run.counts["requests"] - start.counts["requests"]
    return float(requests / max(run.cpu_s - start.cpu_s, 1e-9))


def programs(start: Run, run: Run) -> float:
    """Program commands of MQSim a request."""
    issued, before = (
        sum(int(count) for key, count in each.counts.items() if key in PROGRAMS)
        for each in (run, start)
    )
    return float((issued - before) / (run.counts["requests"] - start.counts["requests"]))


def describe(who: str, start: Run, run: Run) -> str:
    """One line."""
    whole = run.counts["requests"] / run.cpu_s
    return (
        f"  {who}: {rate(start, run):>12,.0f} requests a CPU second"
        f" ({whole:,.0f} with the {start.cpu_s:.2f} s before), {run.memory / 1e9:.2f} GB"
    )


def sweep(folder: Path) -> str:
    """How much more is done in the same time with a device on each core."""
    cores = os.cpu_count() or 1
    preset = subprocess.run(
        [GORDON, "flash", "show", PRESET], check=True, capture_output=True, text=True
    ).stdout
    devices = []
    for number in range(max(cores, 2)):
        devices.append(folder / f"device{number}.toml")
        devices[-1].write_text(preset)
    pattern = ("--pattern", "random-write", "--size", "4KiB", "--span", "2GiB")
    load = (*pattern, "--requests", "4000000", "--json", "-")

    def seconds(*command: str | Path) -> float:
        start = time.monotonic()
        subprocess.run([GORDON, "flash", *command, *load], check=True, capture_output=True)
        return time.monotonic() - start

    one = min(seconds("bench", "--preset", devices[0]) for _ in range(REPEAT))
    all_ = min(seconds("compare", *devices) for _ in range(REPEAT))
    return (
        f"{len(devices)} devices on {cores} cores: {all_:.2f} s, one: {one:.2f} s;"
        f" {len(devices) * one / all_:.2f} times one core"
    )


def main() -> None:
    binary = os.environ.get("MQSIM")
    with tempfile.TemporaryDirectory() as name:
        print(sweep(Path(name)))
    for load in LOADS:
        print(load.name)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            start = cheapest([gordon(load, FEW, folder) for _ in range(REPEAT)])
            run = cheapest([gordon(load, load.requests, folder) for _ in range(REPEAT)])
            ours = rate(start, run)
            print(describe("gordon", start, run))
            pages = ", ".join(f"{value:,} {key}" for key, value in run.counts["pages"].items())
            events = run.counts.get("events")
            counted = "" if events is None else f"{events:,} events, "
            wa = run.counts["write_amplification"]
            amplified = "" if wa is None else f"; write amplification {wa:.3f}"
            print(f"    {counted}pages: {pages}; {run.counts['erases']:,} erases{amplified}")
            print(f"    goal {load.goal:,}: {ours / load.goal:.2f} of it")
            if binary is None:
                continue
            try:
                path = Path(binary).expanduser().resolve()
                start = cheapest(
                    [mqsim(path, load, load.mqsim_before, folder) for _ in range(REPEAT)]
                )
                run = cheapest([mqsim(path, load, load.mqsim_requests, folder)])
            except (RuntimeError, OSError, ElementTree.ParseError) as error:
                print(f"  MQSim failed: {error}")
                continue
            print(describe("MQSim ", start, run))
            print(f"    {programs(start, run):.2f} programs a request, of those that count")
            print(f"  ratio {ours / rate(start, run):.1f}")


if __name__ == "__main__":
    main()
