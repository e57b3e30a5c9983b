"""Nodes on this machine: what each has of its own, its limits, and what is left of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gordon.run import control_groups, local, quotas
from gordon.run.control_groups import ControlGroup
from gordon.run.local import LocalNodes, Sizes
from serving import eventually, need_nodes

from conftest import raises

MIB = 1 << 20
SIZES = Sizes(count=2, memory=128 * MIB, disk=64 * MIB)


@pytest.fixture
def isolated() -> None:
    need_nodes()


@pytest.fixture
def nodes(tmp_path: Path, isolated: None) -> Iterator[LocalNodes]:
    with LocalNodes(tmp_path, SIZES) as made:
        yield made


V1 = """\
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw
32 31 0:29 / {root}/cpu rw - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / {root}/memory rw - cgroup cgroup rw,memory
36 31 0:33 / {root}/devices rw - cgroup cgroup rw,devices
41 31 0:38 / {root}/unified rw - cgroup2 cgroup2 rw
"""
PERF = "42 31 0:39 / {root}/perf_event rw - cgroup cgroup rw,perf_event\n"


@pytest.mark.parametrize(
    ("mounts", "names"),
    [(V1, ["cpu", "memory"]), (V1 + PERF, ["cpu", "memory", "perf_event"])],
)
def test_a_group_is_in_the_hierarchy_of_hardware_counters_if_it_is_mounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mounts: str, names: list[str]
) -> None:
    listed = tmp_path / "mountinfo"
    listed.write_text(mounts.format(root=tmp_path))
    for name in (*names, "unified", "devices"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(control_groups, "MOUNTS", listed)
    group = ControlGroup("/nodes/node-1")
    group.create(None, None)
    made = sorted(path.parents[1].name for path in tmp_path.glob("*/nodes/node-1"))
    assert made == names
    assert [path.parents[2].name for path in group.members] == names
    group.remove()
    assert list(tmp_path.glob("*/nodes/node-1")) == []


def said(node: local.Node, script: str, *bound: Path) -> str:
    process = node.start(["sh", "-c", script], bound, stdout=subprocess.PIPE)
    return process.communicate(timeout=60)[0].decode()


def test_a_node_has_a_network_and_a_disk_of_its_own(nodes: LocalNodes) -> None:
    out = nodes.folder / "out"
    out.mkdir()
    for node in nodes.nodes:
        (node.disk / "out").mkdir()
        assert node.address in said(node, "ip -4 -o addr show dev eth0")
        said(node, f"echo {node.name} > {out}/which", out)
    assert list(out.iterdir()) == []
    found = [(node.disk / "out" / "which").read_text().strip() for node in nodes.nodes]
    assert found == ["node-1", "node-2"]
    assert all(os.path.ismount(node.disk) for node in nodes.nodes)


def test_nodes_reach_each_other_and_this_machine(nodes: LocalNodes) -> None:
    one, two = nodes.nodes
    listen = (
        "import socket; s = socket.create_server(('', 7000)); print(flush=True); c, a = s.accept()"
        "; print(a[0])"
    )
    server = two.start([sys.executable, "-c", listen], stdout=subprocess.PIPE)
    assert server.stdout is not None
    server.stdout.readline()
    call = f"import socket; socket.create_connection(({two.address!r}, 7000), 10)"
    one.start([sys.executable, "-c", call]).wait(60)
    assert server.communicate(timeout=60)[0].decode().strip() == one.address


def test_a_node_cannot_use_more_memory_than_its_limit(nodes: LocalNodes) -> None:
    program = "len(bytearray(256 << 20)); print('it has it')"
    assert "it has it" not in said(nodes.nodes[0], f'{sys.executable} -c "{program}"')


def test_a_node_has_its_share_of_the_cores(nodes: LocalNodes) -> None:
    node = nodes.nodes[0]
    assert node.cores == 0.8 * (os.cpu_count() or 1) / 2
    assert node.group is not None
    folder = node.group.folders["cpu"]
    if (folder / "cpu.max").exists():
        quota, period = map(int, (folder / "cpu.max").read_text().split())
    else:
        quota = int((folder / "cpu.cfs_quota_us").read_text())
        period = int((folder / "cpu.cfs_period_us").read_text())
    assert quota / period == node.cores


def test_a_driver_has_a_network_and_a_disk_and_no_limits(nodes: LocalNodes) -> None:
    driver = nodes.driver
    assert driver.name not in [node.name for node in nodes.nodes]
    assert driver.cores is None
    assert os.path.ismount(driver.disk)
    assert driver.address in said(driver, "ip -4 -o addr show dev eth0")
    assert driver.group is not None
    quota = driver.group.folders["cpu"]
    limits = [quota / name for name in ("cpu.max", "cpu.cfs_quota_us")]
    (text,) = [path.read_text() for path in limits if path.exists()]
    assert text.split()[0] in ("max", "-1")


def test_nodes_have_the_cores_and_the_rate_of_the_disk_that_they_are_given(
    tmp_path: Path, isolated: None
) -> None:
    rate = 20 * MIB
    sizes = Sizes(count=1, memory=128 * MIB, disk=96 * MIB, cores=0.5, disk_rate=rate)
    with LocalNodes(tmp_path, sizes) as nodes:
        (node,) = nodes.nodes
        assert nodes.limits() == {
            "cores": 0.5,
            "memory_bytes": 128 * MIB,
            "network": None,
            "disk_bytes": 96 * MIB,
            "disk_bytes_per_s": rate,
        }
        device = f"/dev/{node.loop}"
        began = time.monotonic()
        said(node, f"dd if=/dev/zero of={node.disk}/file bs=1M count=32 conv=fsync 2>&1")
        # The kernel allows a part of the first second at once.
        assert time.monotonic() - began > 0.7 * 32 * MIB / rate
    left = [
        path for path in quotas._throttle_files() if quotas._numbers(device) in path.read_text()
    ]
    assert left == []


def test_more_cores_than_the_machine_has_are_refused_before_a_node_is_made(
    tmp_path: Path, isolated: None
) -> None:
    cores = float(os.cpu_count() or 1)
    with (
        raises("out-of-range", "2 x"),
        LocalNodes(tmp_path, Sizes(count=2, memory=MIB, disk=MIB, cores=cores)),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_processes_of_a_node_end_with_it(tmp_path: Path, isolated: None) -> None:
    with LocalNodes(tmp_path, SIZES) as nodes:
        # A child that ignores the request to end, in a session of its own.
        script = "trap '' TERM; setsid sh -c \"trap '' TERM; sleep 1000\" & wait"
        nodes.nodes[0].start(["sh", "-c", script])
        group = nodes.nodes[0].group
        assert group is not None
        eventually(lambda: len(group.processes) >= 3)
        folder = nodes.folder
    assert group.processes == []
    assert not folder.exists()
    assert local._run("ip", "netns", "list").count(str(os.getpid())) == 0


def test_nodes_of_a_killed_process_are_removed_by_the_next(tmp_path: Path, isolated: None) -> None:
    program = (
        "import os, sys; from pathlib import Path; from gordon.run.local import LocalNodes, Sizes\n"
        "with LocalNodes(Path(sys.argv[1]), Sizes(count=1, memory=1 << 27, disk=1 << 26)) as all:\n"
        "    all.nodes[0].start(['sleep', '1000'])\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    left = [path.name for path in tmp_path.iterdir()]
    assert len(left) == 1
    assert left[0] in local._run("losetup", "--list")
    with LocalNodes(tmp_path, SIZES) as nodes:
        assert [path.name for path in tmp_path.iterdir()] == [nodes.folder.name]
        assert left[0] not in local._run("ip", "netns", "list")
        assert left[0] not in Path("/proc/self/mountinfo").read_text()


def test_without_the_tools_nodes_are_plain_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "TOOLS", ("no-such-tool",))
    with LocalNodes(tmp_path, SIZES) as nodes:
        assert not nodes.is_isolated
        assert len(nodes.warnings) == 1
        assert "no-such-tool" in nodes.warnings[0]
        process = nodes.nodes[1].start(["sleep", "1000"])
    assert process.returncode == -signal.SIGTERM
    assert list(tmp_path.iterdir()) == []
