"""The memory allocator of a process that serves."""

import ctypes

#: `M_ARENA_MAX` of glibc's malloc.h.
_ARENA_MAX = -8


def share_arenas(count: int) -> None:
    """Lets all threads that start from now on allocate from `count` arenas, if the C library is
    glibc.

    Each thread would get an arena of its own, in parts of 64 MiB, which do not return what is free
    between objects. A server with 390 MiB of objects then held 54 MiB of free memory.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_ARENA_MAX, count)
