"""Nodes of a cluster on this machine: each with a share of the cores, a limit of memory, a network
of its own and a disk of its own, so that a trace of a node is exactly the node's.

| a node has | by |
|---|---|
| a share of the cores | a CPU quota (`gordon.run.quotas`) |
| memory | a limit of its control group, which includes its page cache |
| a network interface | a network namespace, with a veth pair to a bridge; `tc` may cap its rate |
| a disk | a loop device with ext4, mounted at `Node.disk`; its image is a sparse file |
| a rate of its disk | a limit of block I/O, if requested (`gordon.run.quotas`) |

`LocalNodes.driver` is one more node, for the program that drives the others. It has a control group
and a network of its own, so that its work is in a trace of its own, a disk if the nodes have disks,
and no limits.

All of this needs root, and `ip`, `losetup` and `mkfs.ext4`. Without them nodes are plain processes
that share the machine (`LocalNodes.is_isolated`), and traces of them are estimated in part.

Processes of a node see the disks of all nodes at the same paths. A folder that is `shared` by name
is the node's own: it is bound to a folder on the node's disk.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from gordon.errors import GordonError
from gordon.human import short
from gordon.run import quotas
from gordon.run.control_groups import MOUNTS, ControlGroup, hierarchies
from gordon.run.report import Limits

TOOLS = ("ip", "losetup", "mkfs.ext4", "mount", "umount")
#: Start of the names of all that is created, followed by the process that owns it.
PREFIX = "gordon-nodes-"
#: Name of the node of the driver.
DRIVER = "driver"
#: Bytes of its disk, for broadcast values and what it keeps of results; the image is sparse.
DRIVER_DISK = 1 << 30
#: Seconds between asking the processes of a node to end and killing them.
GRACE_S = 3.0


def missing() -> list[str]:
    """The programs and rights that this machine lacks for nodes with limits of their own."""
    lacking = [f"there is no program {tool}" for tool in TOOLS if shutil.which(tool) is None]
    if os.geteuid() != 0:
        lacking.append("only root can create nodes with limits of their own")
    elif not {"cpu", "memory"} <= set(hierarchies()):
        lacking.append("this machine has no control groups for CPU time and memory")
    return lacking


@dataclass(frozen=True)
class Sizes:
    """The share of each node."""

    count: int
    memory: int
    """Bytes of memory, page cache included."""
    disk: int | None
    """Bytes of the disk. None: no disk of its own, but a folder on the machine's."""
    rate: str | None = None
    """Limit of the network in each direction, as `tc` takes it (`1gbit`). Default: none."""
    cores: float | None = None
    """Cores of each node. Default: an equal share of 80 % of the machine's."""
    disk_rate: int | None = None
    """Limit of the disk in bytes a second, of reads and of writes each. Default: none."""


@dataclass
class Node:
    """A node. Addresses and paths are of the machine."""

    name: str
    address: str
    disk: Path
    """Folder on the node's disk."""
    cores: float | None
    group: ControlGroup | None = None
    namespace: str | None = None
    loop: str | None = None
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(
        self, argv: Sequence[str], bound: Sequence[Path] = (), **options: object
    ) -> subprocess.Popen[bytes]:
        """Starts a program in the node. `bound` are folders that are the node's own: on its disk,
        with the same name. `options` are those of `subprocess.Popen`."""
        command = list(argv)
        if self.group is not None and self.namespace is not None:
            enter = [f"echo 0 > {shlex.quote(str(member))}" for member in self.group.members]
            binds = [
                shlex.join(["mount", "--bind", str(self.disk / p.name), str(p)]) for p in bound
            ]
            # `ip netns exec` makes the namespace of mounts in which the folders are bound.
            inner = " && ".join([*binds, 'exec "$@"'])
            outer = " && ".join([*enter, f'exec ip netns exec {self.namespace} sh -c "$0" sh "$@"'])
            command = ["sh", "-c", outer, inner, *argv]
        process: subprocess.Popen[bytes] = subprocess.Popen(  # type: ignore[call-overload]  # noqa: S603
            command, start_new_session=True, **options
        )
        self.processes.append(process)
        return process

    def stop(self) -> None:
        """Ends all processes of the node."""
        if self.group is None:
            _end(lambda: [p.pid for p in self.processes if p.poll() is None], is_session=True)
        else:
            _end(lambda: self.group.processes if self.group else [], is_session=False)
        for process in self.processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_S)
        self.processes.clear()


class LocalNodes:
    """A context manager with the nodes; all that it created is removed at the end, and what killed
    processes left is removed at the start."""

    def __init__(self, work: Path, sizes: Sizes) -> None:
        """The images of the disks, and the points at which they are mounted, are in a new folder
        in `work`."""
        self.folder = work / f"{PREFIX}{os.getpid()}"
        self.sizes = sizes
        self.nodes: list[Node] = []
        self.driver: Node
        self.warnings: list[str] = []
        self.is_isolated = False
        #: Cores of each node.
        self.cores = 0.0
        self.address = "127.0.0.1"
        self._undo = ExitStack()

    def __enter__(self) -> "LocalNodes":
        if os.geteuid() == 0:
            _remove_left()
        with self._undo:
            lacking = missing()
            check_space(self.folder.parent, self.sizes)
            self.cores, found = quotas.cores_of(self.sizes.count, self.sizes.cores)
            self.folder.mkdir()
            self._undo.callback(shutil.rmtree, self.folder, ignore_errors=True)
            self.is_isolated = not lacking
            if self.is_isolated:
                self.warnings += found
                self._create()
            else:
                self.warnings.append(
                    "nodes are plain processes that share this machine, without limits of cores, "
                    f"memory, network and disk: {'; '.join(lacking)}"
                )
                self.nodes = [self._plain(name) for name in self._names()]
                self.driver = self._plain(DRIVER)
            # What was created stays until the end, unless an error came before this line.
            self._undo = self._undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def limits(self) -> Limits:
        """The limits of each node, for `run.json`; None without a limit."""
        own = self.is_isolated
        return {
            "cores": self.cores if own else None,
            "memory_bytes": self.sizes.memory if own else None,
            "network": self.sizes.rate if own else None,
            "disk_bytes": self.sizes.disk if own else None,
            "disk_bytes_per_s": self.sizes.disk_rate if own else None,
        }

    def _names(self) -> list[str]:
        return [f"node-{number}" for number in range(1, self.sizes.count + 1)]

    def _plain(self, name: str) -> Node:
        disk = self.folder / name
        disk.mkdir()
        node = Node(name=name, address="127.0.0.1", disk=disk, cores=None)
        self._undo.callback(node.stop)
        return node

    def _create(self) -> None:
        tag = f"{os.getpid()}"
        bridge = f"gordon{tag}"[:15]
        net = _free_network()
        self.address = f"{net}.1"
        self._made(["ip", "link", "add", bridge, "type", "bridge"], ["ip", "link", "del", bridge])
        _run("ip", "addr", "add", f"{self.address}/24", "dev", bridge)
        _run("ip", "link", "set", bridge, "up")
        above = ControlGroup(f"/{PREFIX}{tag}")
        self._undo.callback(above.remove)
        for number, name in enumerate(self._names(), 1):
            node = self._isolated(name, number, bridge, net, self.cores, self.sizes.memory)
            self.nodes.append(node)
            if self.sizes.disk is not None:
                node.loop = self._disk(node, self.sizes.disk, self.sizes.disk_rate)
        self.driver = self._isolated(DRIVER, self.sizes.count + 1, bridge, net, None, None)
        if self.sizes.disk is not None:
            self.driver.loop = self._disk(self.driver, DRIVER_DISK, None)

    def _isolated(
        self,
        name: str,
        number: int,
        bridge: str,
        net: str,
        cores: float | None,
        memory: int | None,
    ) -> Node:
        """A node with limits and a network of its own; its folder is on the machine's disk."""
        tag = f"{os.getpid()}"
        namespace, link = f"{PREFIX}{tag}-{number}", f"g{tag}n{number}"[:15]
        group = ControlGroup(f"/{PREFIX}{tag}/{name}")
        group.create(cores, memory)
        self._undo.callback(group.remove)
        self._made(["ip", "netns", "add", namespace], ["ip", "netns", "del", namespace])
        # A namespace is removed some time after its deletion, and the link with it.
        peer = ["type", "veth", "peer", "name", "eth0", "netns", namespace]
        self._made(["ip", "link", "add", link, *peer], ["ip", "link", "del", link])
        _run("ip", "link", "set", link, "master", bridge, "up")
        within = ("ip", "-n", namespace)
        address = f"{net}.{number + 1}"
        _run(*within, "addr", "add", f"{address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _run(*within, "link", "set", device, "up")
        if self.sizes.rate is not None and name != DRIVER:
            for place in (("-n", namespace, "dev", "eth0"), ("dev", link)):
                self._cap(place)
        disk = self.folder / name
        disk.mkdir()
        node = Node(
            name=name,
            address=address,
            disk=disk,
            cores=cores,
            group=group,
            namespace=namespace,
        )
        self._undo.callback(node.stop)
        return node

    def _cap(self, place: tuple[str, ...]) -> None:
        """Limits what is sent at one end of a node's link; both ends make both directions."""
        *options, _, device = place
        rate = str(self.sizes.rate)
        _run("tc", *options, "qdisc", "add", "dev", device, "root", "tbf", "rate", rate, "burst",
             "256kb", "latency", "50ms")  # fmt: skip

    def _disk(self, node: Node, size: int, rate: int | None) -> str:
        """A loop device with ext4, mounted at the folder of a node; returns its name."""
        image, mount = self.folder / f"{node.name}.image", node.disk
        with image.open("wb") as file:
            file.truncate(size)
        self._undo.callback(image.unlink)
        device = _run("losetup", "--find", "--show", "--direct-io=on", str(image)).strip()
        self._undo.callback(_quietly, "losetup", "-d", device)
        # No initialisation in the background: it would be in the traces.
        _run("mkfs.ext4", "-q", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
        if rate is not None and node.group is not None:
            limit = quotas.DiskLimit(device, node.group, rate)
            self._undo.callback(limit.remove)
        self._made(["mount", device, str(mount)], ["umount", "--lazy", str(mount)])
        # Its processes keep the file system busy, and end first.
        self._undo.callback(node.stop)
        return Path(device).name

    def _made(self, make: list[str], undo: list[str]) -> None:
        _run(*make)
        self._undo.callback(_quietly, *undo)


def check_space(place: Path, sizes: Sizes) -> None:
    """Raises GordonError if the disks of nodes might not fit. Their images are sparse, and a write
    to one fails when the disk of the machine is full."""
    needed = sizes.count * (sizes.disk or 0)
    free = shutil.disk_usage(place).free
    if free < needed:
        raise GordonError(
            f"{place} has {short(free, 'B')} free, and the disks of {sizes.count} nodes may take "
            f"{short(needed, 'B')}",
            "a smaller --size, or a folder on another disk",
            kind="disk-full",
        )


def _run(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        why = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise GordonError(
            f"cannot create a node: {' '.join(argv)}: {why}",
            "nodes need free space, loop devices, and a kernel with veth and network namespaces",
            kind="no-node",
        )
    return done.stdout


def _quietly(*argv: str) -> None:
    subprocess.run(argv, capture_output=True, check=False)  # noqa: S603


def _end(running: Callable[[], list[int]], *, is_session: bool) -> None:
    """Ends processes: those that do not end by themselves are killed."""
    for ask in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + GRACE_S
        asked: set[int] = set()
        while (pids := running()) and time.monotonic() < deadline:
            for pid in set(pids) - asked:
                with suppress(ProcessLookupError, PermissionError):
                    (os.killpg if is_session else os.kill)(pid, ask)
            asked |= set(pids)
            time.sleep(0.02)


def _free_network() -> str:
    """The first three numbers of a network that no interface of this machine has."""
    used = _run("ip", "-o", "-4", "addr", "show")
    for third in range(1, 255):
        net = f"10.213.{third}"
        if f" {net}." not in used:
            return net
    raise GordonError("no network 10.213.*.0/24 is free for nodes", kind="no-node")


def _unescaped(path: str) -> str:
    """A path of mountinfo, which has blanks as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), path)


def _remove_left() -> None:
    """Removes what killed processes left: namespaces, groups, mounts, loop devices and bridges."""
    if any(shutil.which(tool) is None for tool in TOOLS):
        return
    names = [line.split()[0] for line in _run("ip", "netns", "list").splitlines() if line.strip()]
    mounts = [_unescaped(line.split()[4]) for line in MOUNTS.read_text().splitlines()]
    loops = json.loads(_run("losetup", "--json", "--list") or "{}").get("loopdevices", [])
    images = {loop["name"]: loop["back-file"] or "" for loop in loops}
    owner = re.compile(rf"{PREFIX}(\d+)")
    known = [*names, *mounts, *images.values()]
    tags = {found[1] for text in known if (found := owner.search(text))}
    for tag in tags:
        if Path(f"/proc/{tag}").exists():
            continue
        mine = re.compile(rf"{PREFIX}{tag}\b")
        _remove_groups(tag)
        for name in filter(mine.match, names):
            _quietly("ip", "netns", "del", name)
        _quietly("ip", "link", "del", f"gordon{tag}"[:15])
        for mount in filter(mine.search, mounts):
            _quietly("umount", "--lazy", mount)
        for device, image in images.items():
            if mine.search(image):
                quotas.remove_limit(device)
                _quietly("losetup", "-d", device)
                folder = Path(image.removesuffix(" (deleted)")).parent
                shutil.rmtree(folder, ignore_errors=True)


def _remove_groups(tag: str) -> None:
    parent = ControlGroup(f"/{PREFIX}{tag}")
    for folder in set(parent.folders.values()):
        for child in folder.glob("*/"):
            group = ControlGroup(f"{parent.path}/{child.name}")
            for pid in group.processes:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            group.remove()
    parent.remove()
