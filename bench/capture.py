"""The cost of a capture of eight nodes for the job that runs there: wall and processor time.

    python bench/capture.py [PAIRS]   # 10 unless given; about 30 s each, as root

Eight nodes of this machine (control group, network namespace, disk) each compress and write the
same data, a fixed amount of work, with a capture at 1 s by an agent and without one, in turns. The
median of the pairs counts: of a machine that others use a single pair says little.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from gordon.run import folder
from gordon.run.agents import LOCAL
from gordon.run.capture import Host, NodeCapture
from gordon.run.local import LocalNodes, Node, Sizes
from gordon.run.report import CaptureScope

NODES = 8
#: Compresses 320 MB of text and writes 256 MiB.
WORK = (
    "yes 'a line of text that compresses' | head -c 320000000 | gzip -9 > z; "
    "dd if=/dev/zero of=f bs=64k count=4096 conv=fsync status=none"
)


def timed(nodes: LocalNodes) -> float:
    """Seconds that the work takes on all nodes."""
    started = time.monotonic()
    running = [node.start(["sh", "-c", f"cd {node.disk} && {WORK}"]) for node in nodes.nodes]
    for process in running:
        if process.wait():
            raise SystemExit("error: the work of a node failed")
    seconds = time.monotonic() - started
    for node in nodes.nodes:
        node.processes.clear()
    return seconds


def scope(node: Node) -> CaptureScope:
    if node.group is None:
        raise SystemExit("error: nodes of their own need root")
    return {
        "kind": "node",
        "name": node.name,
        "cgroup": node.group.path,
        "netns": node.namespace,
        "devices": [] if node.loop is None else [node.loop],
        "cores": node.cores,
    }


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    ratios, shares = [], []
    print("pair  without  with     ratio  capture, of all cores", flush=True)
    with tempfile.TemporaryDirectory(dir=".") as work:
        place = Path(work)
        sizes = Sizes(count=NODES, memory=256 << 20, disk=1 << 30)
        with LocalNodes(place.resolve(), sizes) as nodes:
            timed(nodes)
            for number in range(1, pairs + 1):
                # The order alternates, so that a drift of the machine cancels out.
                plain = timed(nodes) if number % 2 else 0.0
                out = place / f"run-{number}"
                scopes = [scope(node) for node in nodes.nodes]
                with folder.created(out) as made, NodeCapture(made, [Host(LOCAL, scopes)], ["w"]):
                    captured = timed(nodes)
                plain = plain or timed(nodes)
                manifests = [
                    json.loads((out / node.name / "manifest.json").read_text())
                    for node in nodes.nodes
                ]
                cost = sum(float(m["capture_cpu"].removesuffix("ns")) for m in manifests) / 1e9
                ratios.append(captured / plain)
                shares.append(cost / captured / (os.cpu_count() or 1))
                print(
                    f"{number:4}  {plain:6.2f} s  {captured:6.2f} s {ratios[-1]:6.3f}  "
                    f"{shares[-1]:.2%}",
                    flush=True,
                )
    print(
        f"median of {pairs} pairs: {statistics.median(ratios):.3f} times the wall time, "
        f"{statistics.median(shares):.2%} of all cores"
    )


if __name__ == "__main__":
    main()
