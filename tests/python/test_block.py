"""`gordon block`: images, what is served of them to real clients, what survives, what is wrong."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import gordon
from serving import ENV, MIB, Serve, clean, need

from conftest import Run, raises


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def image(run: Run) -> str:
    ran = run("block", "create", "flash.img", "--capacity", "64MiB")
    assert ran.status == 0, ran.err
    return "flash.img"


def test_a_new_image_takes_little_room(run: Run, tmp_path: Path) -> None:
    ran = run("block", "create", "flash.img", "--json", "made.json")
    assert ran.status == 0, ran.err
    made = json.loads((tmp_path / "made.json").read_text())
    assert made["capacity"] >= 256 * 10**9
    found = (tmp_path / "flash.img").stat()
    assert found.st_size > made["raw"] >= 2**38
    assert found.st_blocks * 512 < 64 * MIB
    assert "256 GB" in ran.out
    assert clean(run)["erased_blocks"] == made["blocks"]


def test_what_a_client_writes_another_reads(run: Run, image: str, serve: Serve) -> None:
    need("nbdcopy", "nbdinfo", "qemu-img")
    server = serve()
    data = random.Random(1).randbytes(48 * MIB)
    (server.folder / "in").write_bytes(data)
    server.client("nbdcopy", "--flush", "in", server.uri)
    served = json.loads(server.client("nbdinfo", "--json", server.uri))["exports"][0]
    assert served["export-size"] == 64 * MIB
    assert all(served[f"can_{what}"] for what in ("flush", "fua", "trim", "zero", "multi_conn"))
    stat = json.loads(run("block", "stat", "--socket", "s", "--json", "-").out)
    assert stat["host_bytes_written"] >= 48 * MIB
    assert stat["flushes"] >= 1
    assert 1 <= stat["write_amplification"] < 1.2
    assert sum(lane["programs"] for lane in stat["lanes"]) * 65536 >= 48 * MIB
    assert (stat["mapped_pages"], stat["exported_pages"]) == (48 * MIB // 4096, 64 * MIB // 4096)
    output = server.stop()
    assert "the image is closed cleanly" in output
    report = clean(run)
    assert report["closed_in_order"]
    assert report["logical_pages"] >= 48 * MIB // 4096
    # Another server, another client.
    server = serve()
    server.client("qemu-img", "convert", "-f", "raw", "-O", "raw", server.uri, "out")
    assert (server.folder / "out").read_bytes()[: len(data)] == data
    server.stop()


def test_every_command_of_the_protocol(run: Run, image: str, serve: Serve) -> None:
    need("nbdsh")
    server = serve()
    server.shell(
        """
h.pwrite(b"a" * 65536, 0)
h.pwrite(b"b" * 1000 + b"c" * 24, 4096 * 3 + 512, nbd.CMD_FLAG_FUA)
assert h.pread(1024, 4096 * 3 + 512) == b"b" * 1000 + b"c" * 24
assert h.pread(512, 4096 * 3) == b"a" * 512
h.trim(8192, 16384)
assert h.pread(8192, 16384) == bytes(8192)
assert h.pread(4096, 24576) == b"a" * 4096
# Parts of units too: who punches a hole through nbdfuse expects zeros.
h.pwrite(b"d" * 16384, 1 << 20)
h.trim(8192, (1 << 20) + 512)
assert h.pread(16384, 1 << 20) == b"d" * 512 + bytes(8192) + b"d" * 7680
h.trim(16384, 1 << 20)
h.zero(5000 // 512 * 512, 32768 + 512, nbd.CMD_FLAG_FUA)
assert h.pread(65536, 0).count(b"a") == 65536 - 8192 - 4608 - 1024
h.zero(4096, 0, nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_NO_HOLE)
h.flush()
h.cache(65536, 0)
try:
    h.pread(512, h.get_size())
except nbd.Error as error:
    assert error.errnum
else:
    raise SystemExit("a read past the end")
"""
    )
    # Holes are reported: ranges never written, and trimmed ranges.
    report = server.client("nbdinfo", "--map", server.uri)
    rows = [line.split() for line in report.splitlines()]
    assert {row[2] for row in rows} == {"0", "3"}
    assert sum(int(row[1]) for row in rows) == 64 * MIB
    data = sum(int(row[1]) for row in rows if row[2] == "0")
    server.shell("h.flush()")
    stat = json.loads(run("block", "stat", "--socket", "s", "--json", "-").out)
    assert stat["mapped_pages"] * 4096 == data < 65536
    assert f"mapped: {data // 4096} of 16,384 pages" in run("block", "stat", "--socket", "s").out
    server.stop()


def test_what_is_flushed_survives_a_kill(run: Run, image: str, serve: Serve) -> None:
    need("nbdsh")
    seeds = random.Random(7)
    known: dict[int, bytes] = {}
    for _ in range(4):
        server = serve()
        # What was flushed before the last kill is there.
        for place, value in sorted(known.items()):
            server.shell(
                f"assert h.pread(4096, {place * 4096}) == bytes.fromhex('{value.hex()}') * 4"
            )
        writes = {seeds.randrange(16384): seeds.randbytes(1024) for _ in range(60)}
        lines = "\n".join(
            f"h.pwrite(bytes.fromhex('{value.hex()}') * 4, {place * 4096})"
            for place, value in writes.items()
        )
        server.shell(f"{lines}\nh.flush()")
        known = writes
        # More of it, not flushed, under way when the server is killed.
        other = subprocess.Popen(
            [
                "nbdsh",
                "-u",
                server.uri,
                "-c",
                "while True: h.pwrite(b'x' * 1048576, 67108864 - 1048576)",
            ],
            env=ENV,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(0.2)
        server.stop(signal.SIGKILL)
        other.wait()
        known = {place: value for place, value in known.items() if place < 16384 - 256}
        assert not clean(run)["closed_in_order"]


def test_an_export_may_be_read_only(image: str, serve: Serve) -> None:
    need("nbdsh")
    server = serve("--read-only", "--export", "flash")
    uri = server.uri.replace(":///", ":///flash")
    report = json.loads(server.client("nbdinfo", "--json", uri))["exports"][0]
    assert (report["is_read_only"], report["export-name"]) == (True, "flash")
    server.stop()


def test_fio_verifies_what_it_wrote(run: Run, image: str, serve: Serve) -> None:
    need("fio")
    server = serve()
    server.client(
        *("fio", "--name=v", "--ioengine=nbd", f"--uri={server.uri}", "--rw=randwrite", "--bs=4k"),
        *("--size=60m", "--iodepth=16", "--verify=crc32c", "--verify_fatal=1", "--fsync=64"),
    )
    server.stop()
    clean(run)


def test_qemu_reads_back_its_patterns(run: Run, image: str, serve: Serve) -> None:
    need("qemu-io")
    server = serve()
    steps = [
        *("write -P 0x11 0 1M", "write -f -P 0x22 64k 3k", "aio_write -P 0x33 2M 256k"),
        *("aio_flush", "flush", "write -z -u 512k 128k", "discard 2M 64k"),
        *("read -P 0x11 0 64k", "read -P 0x22 64k 3k", "read -P 0x11 67k 445k"),
        *("read -P 0 512k 128k", "read -P 0x33 2112k 192k"),
    ]
    commands = [word for step in steps for word in ("-c", step)]
    output = server.client("qemu-io", "-f", "raw", *commands, server.uri)
    assert "Pattern verification failed" not in output, output
    # It says so where a pattern is another.
    other = ("qemu-io", "-f", "raw", "-c", "read -P 0x12 0 4k", server.uri)
    assert "Pattern verification failed" in server.client(*other, check=False)
    server.stop()
    clean(run)


def test_answers_take_the_time_of_the_flash(run: Run, image: str, serve: Serve) -> None:
    need("nbdsh")
    server = serve("--timing", "real", "--set", "timing.read=20ms")
    # Read in 20 ms each, one after the other. (The write is answered from the buffer.)
    took = server.shell(
        "import time\nh.pwrite(bytes(range(256)) * 4096, 0); h.flush()\n"
        "t = time.monotonic()\n"
        "for at in range(0, 655360, 65536): assert h.pread(4096, at) == bytes(range(256)) * 16\n"
        "print(time.monotonic() - t)"
    )
    assert float(took) >= 0.2
    late = json.loads(run("block", "stat", "--socket", "s", "--json", "-").out)["emulation"]
    assert late["requests"] >= 12
    assert late["got_mean_us"] >= late["asked_mean_us"] > 0
    missed = late["got_mean_us"] - late["asked_mean_us"]
    assert late["late_mean_us"] == pytest.approx(missed, rel=0.01, abs=0.01)
    assert "lateness mean" in server.stop()


def test_metrics_are_what_prometheus_reads(run: Run, image: str, serve: Serve) -> None:
    server = serve("--metrics", "127.0.0.1:0")
    url = server.place("http://")
    text = urllib.request.urlopen(f"{url}/metrics").read().decode()  # noqa: S310
    kinds = dict(row.split()[2:4] for row in text.splitlines() if row.startswith("# TYPE"))
    assert kinds["gordon_block_requests_total"] == "counter"
    for row in text.splitlines():
        if not row.startswith("#"):
            name, value = row.rsplit(" ", 1)
            float(value)
            assert name.split("{")[0] in kinds
    assert 'gordon_block_blocks{state="good"}' in text
    assert 'gordon_block_pages{state="exported"} 16384' in text
    ran = run("block", "stat", "--url", url)
    assert "write amplification -" in ran.out
    server.stop()


def test_wear_is_reported_and_drawn(run: Run, image: str, serve: Serve, tmp_path: Path) -> None:
    need("nbdsh")
    server = serve()
    server.shell(
        "for n in range(4):\n"
        "  for at in range(0, 64, 4): h.pwrite(bytes([n]) * 4194304, at << 20)\n"
        "  h.flush()"
    )
    server.stop()
    ran = run("block", "wear", "flash.img", "--json", "wear.json", "--plot", "wear.png")
    assert ran.status == 0, ran.err
    report = json.loads((tmp_path / "wear.json").read_text())
    assert report["erases"] == sum(block["erases"] for block in report["blocks"]) > 0
    assert report["budget_left"] is not None
    assert (tmp_path / "wear.png").read_bytes().startswith(b"\x89PNG")


def test_direct_io_bypasses_the_page_cache(run: Run, image: str, serve: Serve) -> None:
    need("nbdsh")
    try:
        os.close(os.open(image, os.O_RDWR | os.O_DIRECT))
    except OSError as error:
        pytest.skip(f"not on this machine: O_DIRECT: {error}")
    write, read = "", ""
    for at, length in ((0, MIB), (5 * MIB + 512, 1536), (9 * MIB, 4096), (9 * MIB + 2048, 512)):
        data = f"random.Random({at}).randbytes({length})"
        write += f"h.pwrite({data}, {at})\n"
        read += f"assert h.pread({min(length, 2048)}, {at}) == {data}[:2048], {at}\n"
    random_reads = "".join(
        f"assert h.pread(4096, {at}) == random.Random(0).randbytes(MIB)[{at}:{at + 4096}]\n"
        for at in range(0, MIB, 65536)
    )
    read = f"import random; MIB = {MIB}\n{read}{random_reads}"
    server = serve("--backend", "direct")
    server.shell(f"import random\n{write}h.flush()\n{read}")
    server.stop()
    clean(run)
    # Either way it is the same image.
    for backend in ("direct", "file"):
        server = serve("--backend", backend)
        server.shell(read)
        server.stop()


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    """An authority, and a server and a client of its making, as GnuTLS clients look for them."""
    need("openssl")
    found = subprocess.run(["openssl", "version"], capture_output=True, text=True, env=ENV).stdout
    if not re.match(r"OpenSSL ([3-9]|\d\d)\.", found):
        pytest.skip(f"not on this machine: OpenSSL 3 or newer: {found.strip()}")
    folder = tmp_path / "certificates"
    folder.mkdir()
    made = ("openssl", "req", "-x509", "-days", "2", "-newkey", "ec", "-nodes", "-config")
    curve = ("-pkeyopt", "ec_paramgen_curve:prime256v1", "-addext")
    names = ("basicConstraints=CA:FALSE", "-addext", "subjectAltName=DNS:localhost")
    signed = (*names, "-CA", "ca-cert.pem", "-CAkey", "ca-key.pem")
    (folder / "none").write_text("[req]\ndistinguished_name = name\n[name]\n")
    for name, how in (
        ("ca", ("basicConstraints=CA:TRUE",)),
        ("server", signed),
        ("client", signed),
    ):
        files = ("-keyout", f"{name}-key.pem", "-out", f"{name}-cert.pem", "-subj", f"/CN={name}")
        ran = subprocess.run([*made, "none", *files, *curve, *how], cwd=folder, capture_output=True)
        assert ran.returncode == 0, ran.stderr
    return folder


def test_large_and_small_requests_in_flight_together(image: str, serve: Serve) -> None:
    """They have two threads; what was flushed outlives a kill."""
    need("nbdsh")
    server = serve()
    server.shell(
        "done = []\n"
        "def go(call, *args): done.append(call(*args))\n"
        "big = [nbd.Buffer.from_bytearray(bytearray([i] * (1 << 20))) for i in range(8)]\n"
        "for i, buffer in enumerate(big):\n"
        "    go(h.aio_pwrite, buffer, i << 20)\n"
        "    small = nbd.Buffer.from_bytearray(bytearray([100 + i] * 4096))\n"
        "    go(h.aio_pwrite, small, (16 << 20) + i * 4096)\n"
        "while h.aio_in_flight():\n"
        "    h.poll(-1)\n"
        "assert all(h.aio_command_completed(command) for command in done)\n"
        "h.flush()\n"
    )
    server.stop(signal.SIGKILL)
    server = serve()
    server.shell(
        "for i in range(8):\n"
        "    assert h.pread(1 << 20, i << 20) == bytes([i]) * (1 << 20), i\n"
        "    assert h.pread(4096, (16 << 20) + i * 4096) == bytes([100 + i]) * 4096, i\n"
    )
    server.stop()


def test_tls_beyond_this_machine(image: str, serve: Serve, certificates: Path) -> None:
    need("nbdsh")
    files = [str(certificates / name) for name in ("server-cert.pem", "server-key.pem")]
    tls = ("--tls-certificate", files[0], "--tls-key", files[1])
    server = serve(
        *tls, "--tls-clients", str(certificates / "ca-cert.pem"), "--listen", "0.0.0.0:0"
    )
    port = server.place("nbds://").rsplit(":", 1)[1].rstrip("/")
    secure = f"nbds://localhost:{port}/?tls-certificates={certificates}"
    secure = f"h.set_uri_allow_local_file(True); h.connect_uri('{secure}')"
    server.client("nbdsh", "-c", f"{secure}; h.pwrite(b'x' * 512, 0, nbd.CMD_FLAG_FUA)")
    server.client("nbdsh", "-c", f"{secure}; assert h.pread(1024, 0) == b'x' * 512 + bytes(512)")
    # Not in the clear, at neither place.
    for uri in (f"nbd://localhost:{port}", server.uri):
        output = server.client("nbdsh", "-u", uri, "-c", "h.pread(512, 0)", check=False)
        assert "requires TLS" in output
    # Not for whoever has no certificate of theirs.
    for kind in ("cert", "key"):
        (certificates / f"client-{kind}.pem").unlink()
    output = server.client("nbdsh", "-c", secure, check=False)
    assert "nbd_connect_uri" in output
    server.stop()


def test_insecure_serves_beyond_this_machine_without_tls(image: str, serve: Serve) -> None:
    need("nbdsh")
    server = serve("--listen", "0.0.0.0:0", "--insecure")
    port = server.place("nbd://").rsplit(":", 1)[1].rstrip("/")
    server.client("nbdsh", "-u", f"nbd://localhost:{port}", "-c", "h.pread(512, 0)")
    server.stop()


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (("create", "flash.img"), ("flash.img", "exists")),
        (("create", "no/flash.img"), ("no/flash.img",)),
        (("create", "b.img", "--capacity", "1GB", "--set", "super_page.unit=48KiB"), ("divide",)),
        (("create", "b.img", "--capacity", "100B"), ("100B", "the nearest is 512B")),
        (("create", "b.img", "--fault", "bits=1"), ("--fault bits=1", "bit_errors")),
        (("create", "b.img", "--fault", "bit_errors=2"), ("bit_errors", "probability")),
        (("create", "b.img", "--preset", "gordon-slc"), ("no flash preset",)),
        (
            ("serve", "none.img", "--socket", "s"),
            ("none.img", "No such file", "try: check the name"),
        ),
        (("serve", "foreign.img", "--socket", "s"), ("foreign.img", "not a NAND image")),
        (("serve", "cut.img", "--socket", "s"), ("cut.img",)),
        (("serve", "flash.img", "--socket", "taken"), ("taken", "exists already")),
        (("serve", "flash.img", "--listen", "0.0.0.0:0"), ("TLS",)),
        (("serve", "flash.img", "--listen", "nowhere"), ("nowhere is not an address",)),
        (("stat", "--socket", "none"), ("none", "gordon block serve")),
        (("stat", "--url", "http://127.0.0.1:1"), ("127.0.0.1:1", "gordon block serve")),
        (("check", "foreign.img"), ("foreign.img",)),
        (("wear", "flash.img", "--plot", "wear.txt"), ("wear.txt",)),
    ],
)
def test_bad_input_is_one_clear_error(
    run: Run, image: str, tmp_path: Path, args: tuple[str, ...], what: tuple[str, ...]
) -> None:
    (tmp_path / "foreign.img").write_bytes(b"not an image" * 1000)
    (tmp_path / "taken").write_text("a file")
    shutil.copyfile(tmp_path / image, tmp_path / "cut.img")
    os.truncate(tmp_path / "cut.img", 100_000)
    ran = run("block", *args)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("error: ")
    for text in what:
        assert text in ran.err
    assert not (tmp_path / "b.img").exists()


def test_an_image_is_served_once(run: Run, image: str, serve: Serve) -> None:
    server = serve()
    for command in ("check", "wear"):
        ran = run("block", command, "flash.img")
        assert ran.status == 1
        assert "in use" in ran.err
    server.stop()


@pytest.mark.parametrize(
    ("status", "body"), [(404, '{"detail": "not found"}'), (200, "[]"), (200, '{"a": 1}')]
)
def test_the_status_of_another_server_is_an_error(run: Run, status: int, body: str) -> None:
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        ran = run("block", "stat", "--url", f"http://127.0.0.1:{server.server_port}")
    ran.refused("not-served", "cannot read the status of a device")


def test_a_status_has_one_place() -> None:
    both: dict[str, Any] = {"socket": "s", "url": "u"}
    for places in ({}, both):
        with raises("exclusive-options"):
            gordon.block.stat(**places)


def test_usage(run: Run, image: str) -> None:
    for args in (
        ("serve", "flash.img"),
        ("serve", "flash.img", "--socket", "s", "--tls-key", "k"),
        ("stat",),
        ("stat", "--socket", "s", "--url", "u"),
    ):
        assert run("block", *args).status == 2
