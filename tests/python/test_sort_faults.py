"""`gordon sort` where something fails: full and failing devices, cut files, kills, limits. Each
ends in one clear error; the input and the old output are as they were, and nothing is left."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from gordon import GordonError, sort
from limits import PATIENCE_S, few_tasks
from serving import need, quietly, sh

#: More than what a method takes with `--memory 8MB`: two passes, and many buckets or runs.
RECORDS = 300_000
#: Sorts of each kind that takes two passes or one; each thread takes memory, so with two anywhere.
METHODS = {
    "one-pass": ("--method", "one-pass", "--memory", "128MB", "--threads", "2"),
    "distribute": ("--method", "distribute", "--memory", "8MB", "--threads", "2"),
    "merge": ("--method", "merge", "--memory", "8MB", "--threads", "2"),
}
WAYS = {
    f"{cache}, {io}": (*option, "--io", io)
    for cache, option in (("direct", ()), ("buffered", ("--buffered",)))
    for io in ("threads", "uring")
}


def command(*args: object) -> list[str]:
    return [sys.executable, "-m", "gordon", "sort", *map(str, args)]


def failing(*args: object, before: Callable[[], None] | None = None) -> str:
    """The one error of a sort that fails."""
    ran = subprocess.run(
        command(*args), capture_output=True, text=True, timeout=PATIENCE_S, preexec_fn=before
    )
    assert ran.returncode == 1, ran
    assert ran.stdout == "", ran.stderr
    assert ran.stderr.count("error: ") == 1, ran.stderr
    assert "defect" not in ran.stderr, ran.stderr
    assert "panicked" not in ran.stderr, ran.stderr
    return ran.stderr


@pytest.fixture(autouse=True)
def _allowed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Not every system lets us use io_uring."""
    params = getattr(request.node, "callspec", None)
    if params is None or "uring" not in str(params.params.get("way", params.params.get("io"))):
        return
    folder = tmp_path_factory.mktemp("allowed")
    sort.generate(folder / "in", records=1)
    try:
        sort.run(folder / "in", folder / "out", io="uring")
    except GordonError as error:
        pytest.skip(f"not on this machine: {error.args[0]}")


def names(folder: Path = Path()) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "in"
    sort.generate(path, records=RECORDS)
    return path


class Place:
    """A folder with an input and an old output."""

    def __init__(self, folder: Path, made: Path) -> None:
        self.folder, self.made = folder, made
        self.input, self.output = folder / "in", folder / "out"
        shutil.copyfile(made, self.input)
        self.output.write_bytes(b"the old one")

    def is_whole(self, *others: str) -> None:
        """As before, and nothing is left."""
        assert self.input.read_bytes() == self.made.read_bytes()
        assert self.output.read_bytes() == b"the old one"
        assert names(self.folder) == sorted(["in", "out", *others])


@pytest.fixture
def place(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    folder = tmp_path / "place"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    return Place(folder, made)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """File systems in memory, of a size."""
    need("mount", "umount")
    if os.geteuid() != 0:
        pytest.skip("not on this machine: root")
    mounted: list[Path] = []

    def mount(*args: object, name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        ran = subprocess.run(
            ["mount", *map(str, args), folder], capture_output=True, text=True, check=False
        )
        if ran.returncode:
            pytest.skip(f"not on this machine: mount: {ran.stderr.strip()}")
        mounted.append(folder)
        return folder

    yield mount
    for folder in reversed(mounted):
        quietly("umount", "-l", str(folder))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", ["distribute", "merge"])
def test_temporary_device_full(
    place: Place, small: Callable[..., Path], method: str, way: str
) -> None:
    """In the middle of the first pass."""
    temp = small("-t", "tmpfs", "-o", "size=12m", "none", name="temp")
    args = (place.input, place.output, *METHODS[method], *WAYS[way], "--temp", temp)
    message = failing(*args)
    assert f"{temp}/.gordon-sort-" in message, message
    assert "the device has no room" in message, message
    assert "try: another device (--temp" in message
    place.is_whole()
    assert names(temp) == []


def ext4(small: Callable[..., Path], folder: Path, size: str, name: str) -> Path:
    need("mkfs.ext4", "losetup")
    disk = folder / f"{name}.disk"
    sh("truncate", "-s", size, disk)
    sh("mkfs.ext4", "-q", "-m", "0", disk)
    return small("-o", "loop", disk, name=name)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", METHODS)
def test_output_device_full(
    place: Place, tmp_path: Path, small: Callable[..., Path], method: str, way: str
) -> None:
    """The error comes before anything is read."""
    disk = ext4(small, tmp_path, "24m", "disk")
    (disk / "out").write_bytes(b"the old one")
    message = failing(
        place.input, disk / "out", *METHODS[method], *WAYS[way], "--temp", place.folder
    )
    assert "the device has no room for 30MB" in message, message
    assert (disk / "out").read_bytes() == b"the old one"
    assert names(disk) == ["lost+found", "out"]
    place.is_whole()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", METHODS)
def test_failing_output_device(
    place: Place, tmp_path: Path, small: Callable[..., Path], method: str, way: str
) -> None:
    """Its file system has place, the device below cannot take it: writes fail."""
    below = small("-t", "tmpfs", "-o", "size=16m", "none", name="below")
    disk = ext4(small, below, "64m", "disk")
    message = failing(
        place.input, disk / "out", *METHODS[method], *WAYS[way], "--temp", place.folder
    )
    messages = ("cannot write", "cannot make it durable", "the device has no room")
    assert any(words in message for words in messages), message
    place.is_whole()


def test_failing_writes_where_threads_wait_for_buffers(
    place: Place, tmp_path: Path, small: Callable[..., Path]
) -> None:
    """Eight threads share two buffers; each that fails leaves them to the others."""
    below = small("-t", "tmpfs", "-o", "size=12m", "none", name="below")
    disk = ext4(small, below, "64m", "disk")
    few = ("--memory", "80MB", "--output-transfer", "8MB", "--threads", "8")
    message = failing(place.input, disk / "out", "--method", "one-pass", *few)
    assert "cannot write" in message or "the device has no room" in message, message
    place.is_whole()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", METHODS)
def test_failing_input_device(place: Place, tmp_path: Path, method: str, way: str) -> None:
    """The end of the device cannot be read: the file that it is kept in was cut."""
    need("losetup")
    if os.geteuid() != 0:
        pytest.skip("not on this machine: root")
    disk = tmp_path / "disk"
    shutil.copyfile(place.made, disk)
    sh("truncate", "-s", RECORDS * 100 // 51_200 * 51_200, disk)
    ran = subprocess.run(["losetup", "-f", "--show", disk], capture_output=True, text=True)
    if ran.returncode:
        pytest.skip(f"not on this machine: losetup: {ran.stderr.strip()}")
    device = ran.stdout.strip()
    try:
        os.truncate(disk, 20 << 20)
        message = failing(
            device, place.output, *METHODS[method], *WAYS[way], "--partial-last", "drop"
        )
        assert f"{device}: cannot read at byte " in message, message
        assert "try: dmesg" in message, message
        place.is_whole()
    finally:
        quietly("losetup", "-d", device)


@pytest.mark.parametrize("io", ["threads", "uring"])
@pytest.mark.parametrize("method", METHODS)
def test_limit_of_file_sizes(place: Place, method: str, io: str) -> None:
    """A signal that would end the process without a word becomes an error."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20 << 20, 20 << 20))

    message = failing(place.input, place.output, *METHODS[method], "--io", io, before=limit)
    assert "File too large" in message, message
    assert "try: a higher limit (ulimit -f)" in message, message
    place.is_whole()


def test_limit_of_open_files(place: Place) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    message = failing(*[place.input] * 80, place.output, before=limit)
    assert "Too many open files" in message, message
    assert "try: fewer files at a time" in message, message
    place.is_whole()


def test_limit_of_threads(place: Place, tmp_path: Path) -> None:
    words = ("--threads", "1000", "--memory", "40MB")
    with few_tasks(50, ["sort", str(place.input), str(place.output), *words], tmp_path) as process:
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert errors.count("error: ") == 1, errors
    assert "threads: the system refuses more" in errors, errors
    assert "try: fewer (--threads)" in errors, errors
    place.is_whole()


@contextmanager
def stopped(args: list[str], moved: int, how: str = "") -> Iterator[subprocess.Popen[str]]:
    """A sort that has stopped itself after it moved this number of bytes, and goes on at the end.
    With `,interrupt` it then waits for an interrupt (crates/sort/src/stop.rs)."""
    process = subprocess.Popen(
        args,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "GORDON_SORT_STOP": f"{moved}{how}"},
    )
    watchdog = Timer(PATIENCE_S, process.kill)
    watchdog.start()
    try:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), f"the sort ended with {status} before it moved {moved} bytes"
        yield process
    finally:
        watchdog.cancel()
        process.send_signal(signal.SIGCONT)


def ended(process: subprocess.Popen[str]) -> str:
    """The errors of a sort that is no longer stopped."""
    _, errors = process.communicate(timeout=PATIENCE_S)
    return errors


def moved(share: float, passes: int = 2) -> int:
    """This share of the bytes that a sort reads and writes."""
    return int(share * 2 * passes * RECORDS * 100)


def held(pid: int) -> list[Path]:
    """The files that a process holds."""
    return list(Path(f"/proc/{pid}/fd").iterdir())


def scratch(pid: int) -> list[Path]:
    """Temporary files that a process holds and nobody else sees."""
    found = []
    for link in held(pid):
        try:
            name = str(link.readlink())
        except OSError:
            continue
        if "/.gordon-sort-" in name and name.endswith(" (deleted)"):
            found.append(link)
    return found


@pytest.mark.parametrize("io", ["threads", "uring"])
@pytest.mark.parametrize("cut_to", [0, 5_000_000])
@pytest.mark.parametrize("method", ["distribute", "merge"])
def test_temporary_file_that_is_cut(place: Place, method: str, cut_to: int, io: str) -> None:
    """In the first pass, which writes behind the hole, at its end, or in the second."""
    args = command(place.input, "sorted", *METHODS[method], "--io", io, "--temp", place.folder)
    for share in (0.3, 0.5, 0.6):
        with stopped(args, moved(share)) as process:
            assert names(place.folder) == ["in", "out"]
            found = scratch(process.pid)
            assert found, [str(link.readlink()) for link in held(process.pid)]
            temporary = found[0]
            assert temporary.stat().st_size > cut_to
            os.truncate(temporary, cut_to)
        errors = ended(process)
        assert process.returncode == 1, errors
        assert errors.count("error: ") == 1, errors
        assert "while it was read" in errors or "do not hold what was written" in errors, errors
        assert "try: leave the files of a sort alone" in errors
        assert not Path("sorted").exists()
        place.is_whole()


@pytest.mark.parametrize("io", ["threads", "uring"])
@pytest.mark.parametrize("method", METHODS)
def test_input_that_is_cut_while_it_is_read(place: Place, method: str, io: str) -> None:
    """Its end goes as soon as the place of the output is taken."""
    args = command(place.input, "sorted", *METHODS[method], "--buffered", "--io", io)
    with stopped(args, 0) as process:
        assert Path(f"sorted.partial-{process.pid}").exists()
        os.truncate(place.input, 1_000_000)
    errors = ended(process)
    assert process.returncode == 1
    assert f"{place.input}: was cut to" in errors, errors
    assert "while it was read" in errors, errors
    assert names() == ["place"]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("io", ["threads", "uring"])
@pytest.mark.parametrize("method", METHODS)
def test_kill_at_any_time(place: Place, method: str, io: str) -> None:
    how = (*METHODS[method], "--io", io)
    args = command(place.input, place.output, *how)
    subprocess.run(command(place.input, "whole", *how), check=True)
    rng = random.Random(method)
    longest, sorts = 1.0, 0
    killed: set[str] = set()
    while len(killed) < 8:
        sorts += 1
        assert sorts < 1000, killed
        process = subprocess.Popen(args, stdout=subprocess.DEVNULL)
        partial = place.folder / f"out.partial-{process.pid}"
        # From when its output has a place up to the last moments.
        wait = longest * rng.random()
        while process.poll() is None and not partial.exists():
            time.sleep(0.0005)
        time.sleep(wait)
        process.kill()
        process.wait()
        if place.output.stat().st_size > 100:
            # It had its name already.
            longest = wait
            assert place.output.read_bytes() == Path("whole").read_bytes()
            place.output.write_bytes(b"the old one")
            continue
        killed.add(partial.name)
        assert place.output.read_bytes() == b"the old one"
        left = set(names(place.folder)) - {"in", "out"}
        assert left <= killed, left
    assert place.input.read_bytes() == place.made.read_bytes()
    subprocess.run(args, check=True)
    assert place.output.read_bytes() == Path("whole").read_bytes()
    assert names(place.folder) == ["in", "out"]


@pytest.mark.parametrize("io", ["threads", "uring"])
@pytest.mark.parametrize("method", METHODS)
def test_interrupt_in_any_pass(place: Place, method: str, io: str) -> None:
    """Before anything is read, and in each pass while records are left to write."""
    args = command(place.input, place.output, *METHODS[method], "--io", io)
    passes = 1 if method == "one-pass" else 2
    for share in (0, 0.3, 0.6, 0.8):
        with stopped(args, moved(share, passes), ",interrupt") as process:
            assert (place.folder / f"out.partial-{process.pid}").exists()
            process.send_signal(signal.SIGINT)
        errors = ended(process)
        assert process.returncode == 130, errors
        assert "Traceback" not in errors, errors
        assert "defect" not in errors, errors
        place.is_whole()


class Filter(ctypes.Structure):
    """`struct sock_fprog`, linux/filter.h."""

    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def refuse_io_uring() -> None:
    """As the rules of many containers do: `io_uring_setup` is not permitted (seccomp)."""
    refuse, allow = 0x0005_0000 | errno.EPERM, 0x7FFF_0000
    # Load the number of the call; is it that one? (its number is 425 on all but alpha)
    rules = ((0x20, 0, 0, 0), (0x15, 0, 1, 425), (0x06, 0, 0, refuse), (0x06, 0, 0, allow))
    code = b"".join(struct.pack("HBBI", *rule) for rule in rules)
    libc = ctypes.CDLL(None, use_errno=True)
    program = Filter(len(rules), code)
    assert libc.prctl(38, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS"
    assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0, "PR_SET_SECCOMP"


@pytest.mark.parametrize("method", METHODS)
def test_a_system_that_refuses_io_uring(place: Place, method: str) -> None:
    """Threads do the I/O, and the report says so; with --io uring it is an error."""
    try:
        subprocess.run(["true"], check=True, preexec_fn=refuse_io_uring)
    except subprocess.SubprocessError:
        pytest.skip("not on this machine: seccomp")
    message = failing(
        place.input, place.output, *METHODS[method], "--io", "uring", before=refuse_io_uring
    )
    assert "--io uring: the system does not let us use io_uring" in message, message
    assert "try: --io auto" in message, message
    place.is_whole()
    ran = subprocess.run(
        command(place.input, place.output, *METHODS[method], "--json", "-"),
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=refuse_io_uring,
    )
    assert json.loads(ran.stdout)["io"] == "threads"
    assert sort.validate(place.output)["checksum"] == sort.validate(place.made)["checksum"]


def test_files_of_a_killed_sort_are_removed(place: Place) -> None:
    """Temporary files too, in each folder of them; what others hold stays."""
    temp = Path("temp")
    temp.mkdir()
    left = [place.folder / "out.partial-4194305", temp / ".gordon-sort-4194305-0"]
    kept = [place.folder / f"out.partial-{os.getpid()}", temp / f".gordon-sort-{os.getpid()}-1"]
    for path in left + kept:
        path.write_bytes(b"left")
    args = command(place.input, place.output, *METHODS["merge"], "--temp", temp)
    subprocess.run(args, check=True, stdout=subprocess.DEVNULL)
    assert not any(path.exists() for path in left)
    assert all(path.exists() for path in kept)


def test_a_reused_process_id_is_not_the_killed_sort(place: Place) -> None:
    """As in a container, where each start has it: what nobody holds is removed."""
    partial = place.folder / f"out.partial-{os.getpid()}"
    partial.write_bytes(b"left")
    sort.run(place.input, place.output)
    assert names(place.folder) == ["in", "out"]
    assert sort.validate(place.output)["in_order"]


@pytest.mark.parametrize("method", METHODS)
def test_the_input_as_output(place: Place, method: str) -> None:
    """A kill leaves the old one, whole; without one it is sorted."""
    args = command(place.input, place.input, *METHODS[method])
    with stopped(args, moved(0.5, passes=1)) as process:
        process.kill()
    ended(process)
    assert process.returncode == -signal.SIGKILL
    assert (place.folder / f"in.partial-{process.pid}").exists()
    assert place.input.read_bytes() == place.made.read_bytes()
    subprocess.run(args, check=True, stdout=subprocess.DEVNULL)
    report = sort.validate(place.input)
    assert report["in_order"]
    assert report["checksum"] == sort.validate(place.made)["checksum"]
    assert names(place.folder) == ["in", "out"]


def test_invalid_options_are_errors(place: Place, small: Callable[..., Path]) -> None:
    fixed = small("-t", "tmpfs", "-o", "ro", "none", name="fixed")
    Path("nowhere").symlink_to("none/at/all")
    two = ("--memory", "8MB")
    for args, expected in [
        ((place.input, "none/out"), ("none: there is no such folder", "try: make it")),
        ((place.input, "nowhere"), ("nowhere: a link that leads nowhere", "try: ")),
        ((place.input, fixed / "out"), ("Read-only file system", "try: another place")),
        ((place.input, place.output, *two, "--temp", "none"), ("none: there is no such folder",)),
        ((place.input, place.output, *two, "--temp", fixed), ("Read-only", "try: another place")),
        (("none", place.output), ("none: cannot open it: No such file", "try: check the name")),
    ]:
        message = failing(*args)
        assert all(words in message for words in expected), message
        place.is_whole()


def test_no_permission(place: Place) -> None:
    """Root may do all: so without that."""
    place.folder.chmod(0o555)
    words = command(place.input, place.output)
    if os.geteuid() == 0:
        need("setpriv")
        without = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
        if subprocess.run([*without, "true"], capture_output=True).returncode != 0:
            pytest.skip("not on this machine: root that may give up capabilities")
        words = [*without, *words]
    ran = subprocess.run(words, capture_output=True, text=True)
    place.folder.chmod(0o755)
    assert ran.returncode == 1, ran
    assert "Permission denied" in ran.stderr, ran
    assert "try: a place of your own" in ran.stderr
    place.is_whole()


def test_a_link_stays_a_link(place: Place) -> None:
    Path("link").symlink_to(place.output)
    subprocess.run(command(place.input, "link"), check=True, stdout=subprocess.DEVNULL)
    assert Path("link").is_symlink()
    assert sort.validate(place.output)["in_order"]
    assert names(place.folder) == ["in", "out"]
    assert not [name for name in names() if "partial" in name]


def test_a_partial_record_is_an_error(place: Place) -> None:
    with place.input.open("ab") as file:
        file.write(b"odd")
    message = failing(place.input, "sorted")
    assert f"3 bytes left over at byte {RECORDS * 100}" in message
    assert "--partial-last keep" in message
    sums = {}
    for choice in ("keep", "drop"):
        args = command(place.input, "sorted", "--partial-last", choice)
        subprocess.run(args, check=True, stdout=subprocess.DEVNULL)
        sums[choice] = Path("sorted").read_bytes()
    assert sums["keep"] == sums["drop"] + b"odd"
    assert sort.validate("sorted")["checksum"] == sort.validate(place.made)["checksum"]
