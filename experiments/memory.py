"""The memory of a process that compiles many programs."""

import gc
from pathlib import Path

import jax

MAPS = 30_000  # of the 65 530 that Linux grants a process: XLA takes some for each program, and crashes past that


def maps_are_many() -> bool:
    """Whether the compiled programs take nearly half of the memory maps of this process (False where unknown)."""
    maps = Path("/proc/self/maps")
    return maps.exists() and maps.read_bytes().count(b"\n") > MAPS


def forget_programs() -> None:
    """Forget all compiled programs; those that are called again come from the cache of files, or are made anew."""
    jax.clear_caches()
    gc.collect()
