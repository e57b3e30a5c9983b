"""The replies of an agent; docs/design/capture.md has the protocol."""

from typing import TypedDict

from gordon.reports.trace import CapturedError, MachineUse, Scope


class Hello(TypedDict):
    """The host and the program of an agent."""

    version: str
    #: Identifier of the boot.
    host: str
    cores: int | None
    memory_bytes: int
    kernel: str
    is_root: bool
    pid: int
    monotonic_ns: int
    unix_ns: int


class ClockReply(TypedDict):
    """Times of a request and of its reply, in nanoseconds since 1970."""

    t1_ns: int
    t2_ns: int
    t3_ns: int


class Started(TypedDict):
    """A capture that has started."""

    ok: bool
    warnings: list[str]


class AgentFile(TypedDict):
    """A file of a trace."""

    file: str
    bytes: int


class AgentTrace(TypedDict):
    """The trace of a node or machine; None without a trace."""

    name: str
    folder: str
    files: list[AgentFile]
    scope: Scope | None
    duration_ns: int | None
    start_unix_ns: int | None
    error: CapturedError | None
    warnings: list[str]


class Stopped(TypedDict):
    """A capture that has ended."""

    traces: list[AgentTrace]
    machine: MachineUse
    capture_cpu_ns: int


class Fetched(TypedDict):
    """A part of a file."""

    base64: str
    end: bool


class Removed(TypedDict):
    """The temporary folders that were removed."""

    ok: bool
    removed: list[str]


class Failure(TypedDict):
    """An error."""

    kind: str
    message: str
    hint: str
