"""Traces the hosts of a run while any command runs here, which starts a job on them."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from gordon import signals
from gordon.errors import GordonError
from gordon.options import Path as GivenPath
from gordon.run import folder
from gordon.run.capture import Host, NodeCapture, hosts_of
from gordon.run.report import RunReport


def record(
    out: GivenPath,
    hosts: GivenPath,
    command: Sequence[str],
    via: str | None,
    interval_ns: int = 1_000_000_000,
) -> RunReport:
    """Runs `command` here, with a trace of each host of the file `hosts` in the new folder `out`.

    `via` is a command template that runs a program on a host: `ssh {host}`. Returns the contents of
    `run.json`, in which `exit_status` is that of the command, or 128 plus the signal that ended it.
    Raises GordonError if a host cannot be reached or the command cannot be started.
    """
    if via is None:
        raise GordonError(
            "--nodes needs a command that reaches the hosts", "--via 'ssh {host}'", kind="bad-via"
        )
    nodes = [Host(host, [{"kind": "machine", "name": host}]) for host in hosts_of(Path(hosts))]
    with folder.created(out) as made:
        with NodeCapture(made, nodes, command, via, interval_ns):
            status = _run(command)
        made.report["exit_status"] = status
    return made.report


def _run(command: Sequence[str]) -> int:
    """Runs a command to its end."""
    with signals.forwarded() as forwarding:
        try:
            process = subprocess.Popen(command)  # noqa: S603 - the person's own
        except OSError as error:
            raise GordonError(
                f"cannot run {command[0]}: {error.strerror}",
                "-- COMMAND ARGUMENTS",
                kind="cannot-run",
            ) from None
        forwarding.follow(process.pid)
        status = process.wait()
    return status if status >= 0 else 128 - status
