"""Damaged images through the command, and images of the version before.

The images in `data/image-v2-*.img.xz` have version 2 of the format: one was closed in order, and
the server of the other was killed after a flush. Each byte of `.units` is what all bytes of that
unit are.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from serving import Serve, clean, need

from conftest import Run

DATA = Path(__file__).parent / "data"
UNIT = 4096


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(params=["closed", "killed"])
def old_image(request: pytest.FixtureRequest) -> bytes:
    """Unpacks an image of version 2 to `flash.img`; returns what it holds."""
    name = f"image-v2-{request.param}"
    Path("flash.img").write_bytes(lzma.decompress((DATA / f"{name}.img.xz").read_bytes()))
    units = (DATA / f"{name}.units").read_bytes()
    return b"".join(bytes([unit]) * UNIT for unit in units)


def version() -> int:
    return int.from_bytes(Path("flash.img").read_bytes()[8:12], "little")


def exported(run: Run) -> bytes:
    ran = run("block", "export", "flash.img", "out.raw")
    assert ran.status == 0, ran.err
    raw = Path("out.raw").read_bytes()
    for made in (Path("out.raw"), Path("out.raw.map")):
        made.unlink()
    return raw


def flip(at: int) -> None:
    with Path("flash.img").open("r+b") as image:
        image.seek(at)
        byte = image.read(1)[0]
        image.seek(at)
        image.write(bytes([byte ^ 1]))


def entries(kind: int) -> list[int]:
    """Where the out-of-band entries of pages of that kind are (docs/SPEC.md)."""
    image = Path("flash.img").read_bytes()
    starts = [at for at in range(0, len(image), 64) if image[at : at + 4] == b"GOOB"]
    return [at for at in starts if image[at + 4] == kind]


def test_an_image_of_the_previous_version_is_upgraded(
    run: Run, old_image: bytes, serve: Serve
) -> None:
    assert version() == 2
    report = clean(run)
    assert not report["closed_in_order"]
    assert exported(run) == old_image
    assert version() == 2, "an export changes nothing"
    server = serve()
    server.stop()
    assert version() == 3
    assert clean(run)["closed_in_order"]
    assert exported(run) == old_image


def test_a_damaged_image_is_refused_salvaged_and_repaired(
    run: Run, old_image: bytes, serve: Serve
) -> None:
    serve().stop()
    sound = Path("flash.img").read_bytes()
    served, refused = 0, 0
    for at in entries(1):
        Path("flash.img").write_bytes(sound)
        flip(at + 33)
        report = json.loads(run("block", "check", "flash.img", "--json", "-").out)
        raw = exported(run)
        missing = [
            at
            for at in range(0, len(raw), UNIT)
            if raw[at : at + UNIT] != old_image[at : at + UNIT]
        ]
        assert all(raw[at : at + UNIT] == bytes(UNIT) for at in missing)
        if report["servable"]:
            served += 1
            continue
        refused += 1
        assert not report["clean"]
        ran = run("block", "serve", "flash.img", "--socket", "s")
        assert ran.status == 1
        assert "its out-of-band entry is damaged" in ran.err
        for way in ("block export", "--salvage", "--repair"):
            assert way in ran.err
        assert missing, "the unit on that page cannot be proved"
        Path("damaged.img").write_bytes(Path("flash.img").read_bytes())
    assert served
    assert refused
    Path("damaged.img").rename("flash.img")
    ran = run("block", "check", "flash.img", "--repair", "--json", "repaired.json")
    made = json.loads(Path("repaired.json").read_text())
    assert ran.status == 0, ran.err
    assert made["clean"]
    assert made["repair"]["unproven_ranges"]
    clean(run)
    serve().stop()


def test_an_export_maps_what_is_missing(run: Run, old_image: bytes, serve: Serve) -> None:
    serve().stop()
    # The data of a page, which have a checksum of their own.
    report = clean(run)
    at = old_image.index(max(old_image))
    data = Path("flash.img").read_bytes()
    needle = old_image[at // UNIT * UNIT :][:UNIT]
    for found in range(0, len(data), UNIT):
        if data[found : found + UNIT] == needle:
            flip(found)
    ran = run("block", "check", "flash.img", "--json", "-")
    assert ran.status == 1
    damaged = json.loads(ran.out)
    assert damaged["servable"]
    assert damaged["logical_pages"] == report["logical_pages"]
    ran = run("block", "export", "flash.img", "out.raw", "--json", "-")
    assert ran.status == 0, ran.err
    made = json.loads(ran.out)
    assert made["bad_ranges"] == damaged["unreadable_ranges"]
    assert made["bad_bytes"] == sum(part["end"] - part["start"] for part in made["bad_ranges"])
    lines = Path(made["map"]).read_text().splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")][1:]
    assert sum(int(size, 16) for _, size, _ in rows) == made["bytes"] == len(old_image)
    bad = [int(start, 16) for start, _, status in rows if status == "-"]
    assert bad == [part["start"] for part in made["bad_ranges"]]
    again = run("block", "export", "flash.img", "out.raw")
    assert again.status == 1
    assert "exists" in again.err


def test_a_salvaged_image_is_read_only(run: Run, old_image: bytes, serve: Serve) -> None:
    need("nbdsh")
    serve().stop()
    before = Path("flash.img").read_bytes()
    server = serve("--salvage")
    output = server.shell(
        "assert h.is_read_only()\n"
        f"assert h.pread({len(old_image)}, 0) == open('want', 'rb').read()\n"
        if Path("want").write_bytes(old_image)
        else ""
    )
    assert output == ""
    server.stop()
    assert Path("flash.img").read_bytes() == before
