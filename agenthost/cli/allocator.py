"""Settings of the C library's allocator: large blocks go back to the system when they are freed."""

from __future__ import annotations

import os

# Of <malloc.h>.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
# Bytes from which a block is memory of its own, and that are kept free at the end of a heap.
_LARGE, _KEPT = 1024 * 1024, 8 * 1024 * 1024


def return_large_blocks() -> None:
    """Have large blocks go back at once; nothing happens where the C library is not glibc.

    By itself glibc takes each large block that is freed for a sign that more will follow, and from
    then on keeps blocks of that size, up to 32 MB and in every thread: after some large messages a
    host would hold a hundred megabytes for nothing.
    """
    if any(name.startswith("MALLOC_") for name in os.environ):
        # Somebody knows better.
        return
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(_M_TRIM_THRESHOLD, _KEPT)
    mallopt(_M_MMAP_THRESHOLD, _LARGE)
