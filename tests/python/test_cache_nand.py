"""Caches of objects on NAND images, without a translation layer: from Python, from the command, and
images that cannot be used."""

import json
import signal
from pathlib import Path

import pytest

from cache_site import CacheServer, create_image
from gordon.cache import ObjectCache

from conftest import gordon, raises


def test_a_cache_on_an_image_measures_its_wear(tmp_path: Path) -> None:
    image = create_image(tmp_path, "flash.img")
    bodies = {f"/{number}".encode(): bytes([number % 256]) * 3000 for number in range(4000)}
    with ObjectCache(dram="512KiB", flash=image, segment="64KiB") as cache:
        assert cache.recovery()["created"]
        for key, body in bodies.items():
            assert cache.put(key, body) == "stored"
        nand = cache.stats()["nand"]
        assert nand is not None
        assert nand["good_blocks"] == 128
        assert nand["block_erases"] > 50
        assert nand["write_amplification"] == pytest.approx(1, abs=0.05)
        # In units of blocks of 64 KiB.
        assert nand["programmed_bytes"] / 65536 > nand["block_erases"]
        assert cache.stats()["erases"] == pytest.approx(nand["block_erases"] / 128)
        erases = nand["block_erases"]
    with ObjectCache(dram="512KiB", flash=image) as cache:
        assert cache.recovery()["clean"]
        found = [key for key in bodies if cache.get(key)]
        assert len(found) > 1000
        for key in found[::10]:
            item = cache.get(key)
            assert item is None or item.body == bodies[key]
        assert cache.check()["damaged"] == 0
        nand = cache.stats()["nand"]
        assert nand is not None
        assert nand["block_erases"] >= erases
    ran = gordon(tmp_path, "block", "wear", image.name, "--json", "-")
    assert json.loads(ran.out)["erases"] >= erases


def test_a_server_on_an_image_is_warm_after_a_restart(tmp_path: Path) -> None:
    image = create_image(tmp_path, "flash.img")
    root = tmp_path / "www"
    root.mkdir()
    for number in range(200):
        (root / f"{number}").write_bytes(bytes([number]) * 10_000)
    for how in (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM):
        server = CacheServer(tmp_path, "--root", "www", "--flash", image.name, dram="1MiB")
        for number in range(200):
            assert server.get(f"/{number}").body == bytes([number]) * 10_000
        assert server.command("check")["damaged"] == 0
        stats = server.stats()["cache"]
        assert stats["access"].startswith("NAND image, 128 erase blocks")
        assert stats["nand"]["bad_blocks"] == 0
        ran = gordon(tmp_path, "cache", "stat", "--socket", "c")
        assert "NAND: " in ran.out
        server.stop(how)
        (tmp_path / "c").unlink(missing_ok=True)
    server = CacheServer(tmp_path, "--root", "www", "--flash", image.name, dram="1MiB")
    hits = sum(server.get(f"/{n}").cache().startswith("hit") for n in range(200))
    assert hits > 100
    server.stop()


def test_images_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    image = create_image(tmp_path, "flash.img")
    with raises("config", "segment", "64KiB"):
        ObjectCache(dram="1MiB", flash=image, segment="80KiB")
    with raises("device-too-small", "flash.img", "1GiB"):
        ObjectCache(dram="1MiB", flash=image, flash_size="1GiB")
    text = tmp_path / "text"
    text.write_text("of another program")
    with raises("config", "a size"):
        ObjectCache(dram="1MiB", flash=text)
    with raises("", "size"):
        ObjectCache(dram="1MiB", flash=tmp_path)
    with ObjectCache(dram="1MiB", flash=image), raises("in-use", "flash.img"):
        ObjectCache(dram="1MiB", flash=image)
    # The image is a cache's from now on.
    for words in (["block", "check"], ["block", "serve", "--socket", "s"]):
        ran = gordon(tmp_path, *words, image.name)
        assert ran.status == 1
        assert "holds a cache of objects" in ran.err
    serve = ("cache", "serve", "--root", ".", "--dram", "1MiB", "--listen", "127.0.0.1:0")
    ran = gordon(tmp_path, *serve, "--flash", "nothing")
    assert ran.status == 1
    assert "--flash-size" in ran.err
    with image.open("r+b") as file:
        for copy in (0, 4096):
            file.seek(copy + 8)
            file.write(bytes([9]))
    with raises("image", "version 9"):
        ObjectCache(dram="1MiB", flash=image)
