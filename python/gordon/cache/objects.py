"""A cache of objects in DRAM and flash: bytes by key, on a file, a block device or a NAND image.

    from gordon.cache import ObjectCache
    with ObjectCache(dram="64MiB", flash="/mnt/ssd", flash_size="1GiB", lifetime=5) as cache:
        cache.put(b"/logo.png", body, meta=b"image/png")
        cache.get(b"/logo.png"), cache.stats()["flash_hits"]

`docs/design/object-cache.md` describes the format and what a crash loses.
"""

import json
import os
import pathlib
from types import TracebackType
from typing import NamedTuple, Self

from gordon import _core
from gordon.cache.admission import admission as parsed
from gordon.errors import GordonError
from gordon.options import Path, Size, in_bytes
from gordon.reports.objects import ObjectCacheChecked, ObjectCacheRecovery, ObjectCacheStats

#: Rated erases of a block of TLC flash, as `gordon cache tiered` assumes.
ENDURANCE = 3000


class CachedObject(NamedTuple):
    """An object that was found."""

    meta: bytes
    body: bytes


class ObjectCache:
    """A cache of objects. Threads may share it; a file is used by one process at a time."""

    def __init__(
        self,
        *,
        dram: Size,
        flash: Path | None = None,
        flash_size: Size | None = None,
        segment: Size | None = None,
        block: Size | None = None,
        admission: str = "all",
        lifetime: float | None = None,
        endurance: int = ENDURANCE,
        reinsert: bool = False,
        sets: float | None = None,
        seed: int = 1,
        trace: Path | None = None,
    ) -> None:
        """Opens or creates a cache.

        `dram` is the memory for objects and for the index of flash (`64MiB`). `flash` is a file, a
        folder in which the file `cache.flash` is used, or a block device, of `flash_size`; or a
        NAND image of `gordon block create`, by default all of it, which is used without a
        translation layer. Without flash the cache is in DRAM only. A `segment` is the unit of
        writes and eviction, by default 256 KiB to 1 MiB, and at least an erase block of a NAND
        image. Larger objects than a `block` [256KiB] are kept in blocks.

        `admission` is a policy of `gordon cache tiered` (`all`, `random:0.5`, `hits:2`,
        `ghost:64MiB`). With `lifetime`, the flash lasts this number of years at `endurance` rated
        erases; the cache then chooses what it admits. With `reinsert`, objects that were requested
        are written again when their segment is evicted. With `sets`, this fraction of the flash is
        for sets of objects of at most 1 KiB, which then take far less DRAM; not with a NAND image
        or a lifetime. `trace` is a file for a trace of the requests.
        """
        # A file may be a NAND image, which has a size.
        is_sized = flash_size is not None or (flash is not None and pathlib.Path(flash).is_file())
        if (flash is not None) != is_sized:
            raise GordonError("flash and its size go together", "flash=FOLDER, flash_size='1GiB'")
        policy = parsed(admission)
        if isinstance(policy, dict) and "years" in policy:
            raise GordonError("admission: `years` is the lifetime", "lifetime=5")
        options = {
            "dram": in_bytes(dram, "dram"),
            "flash": None if flash is None else os.fspath(flash),
            "flash_size": in_bytes(flash_size, "flash_size"),
            "segment": in_bytes(segment, "segment"),
            "block": in_bytes(block, "block"),
            "admission": policy,
            "lifetime": None if lifetime is None else (lifetime, endurance),
            "reinsert": reinsert,
            "sets": sets,
            "seed": seed,
            "trace": None if trace is None else os.fspath(trace),
        }
        self._opened: _core.ObjectCache | None = _core.ObjectCache(json.dumps(options))

    @property
    def _cache(self) -> _core.ObjectCache:
        if self._opened is None:
            raise GordonError("the cache is closed", "open it again", kind="closed")
        return self._opened

    def recovery(self) -> ObjectCacheRecovery:
        """The state that was found when the cache was opened."""
        found: ObjectCacheRecovery = json.loads(self._cache.recovery())
        return found

    def get(self, key: bytes) -> CachedObject | None:
        """Finds an object. One that is damaged in flash is not found, and removed."""
        found = self._cache.get(key)
        return None if found is None else CachedObject(*found)

    def put(self, key: bytes, body: bytes, *, meta: bytes = b"") -> str:
        """Stores an object instead of an older one, which never comes back, also after a crash.

        Returns `stored`, or `too-large` if the object is larger than the cache takes.
        """
        return self._cache.put(key, meta, body)

    def update_meta(self, key: bytes, meta: bytes) -> bool:
        """Replaces the metadata of an object. Returns whether there was one."""
        return self._cache.update_meta(key, meta)

    def delete(self, key: bytes) -> bool:
        """Deletes an object, durably. Returns whether there was one."""
        return self._cache.delete(key)

    def purge(self, prefix: bytes) -> int:
        """Deletes all objects whose keys start with `prefix`, durably. Returns the number of those
        in memory: objects in flash are not found any more, and are not counted."""
        return self._cache.purge(prefix)

    def stats(self) -> ObjectCacheStats:
        """The counters: hits by tier, bytes written, budget, expected life."""
        found: ObjectCacheStats = json.loads(self._cache.stats())
        return found

    def check(self) -> ObjectCacheChecked:
        """Verifies every object in flash. Damaged ones are removed and counted."""
        found: ObjectCacheChecked = json.loads(self._cache.check())
        return found

    def close(self) -> None:
        """Writes what DRAM holds to flash, so that a restart is warm, and releases the file. Any
        later use raises GordonError."""
        if self._opened is not None:
            opened, self._opened = self._opened, None
            opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
