"""One call that sets a session up: float64, a compilation cache, and how XLA compiles on a CPU."""

import os
import warnings
from pathlib import Path

import jax
from jax._src import xla_bridge  # nothing public says whether JAX has chosen its devices

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "difsim"
# An adaptive solve as one compiled function. XLA by itself runs it as hundreds of calls a step, five times slower: it
# compiles a loop whole only where a turn touches less than 1 kB (ours: some 100 kB) and has no library's matrix
# product.
FLAGS = {
    "xla_backend_extra_options": "xla_cpu_small_while_loop_byte_threshold=32000000",
    "xla_disable_hlo_passes": "dot-library-rewriter",
}
# For `jax.jit(..., compiler_options=COMPILE_SOONER)`: XLA's older emitter of fused loops compiles in two thirds of the
# time. An adaptive solve runs as fast with it; steps of thousands of particles take a quarter longer. jaxlib 0.11 has
# no such emitter, and refuses the option on every platform.
COMPILE_SOONER = {"xla_cpu_use_fusion_emitters": False} if jax.__version_info__ < (0, 11) else {}

# The other way round: for programs that are long matrix products, those of a library are twice as fast.
MATRIX_LIBRARY = {"xla_disable_hlo_passes": ""}


def configure(*, devices: int | None = None, cache: str | Path | None = CACHE / "compiled") -> None:
    """Set this process up for difsim; call it before the first array is made.

    It enables float64; keeps compiled programs in a folder, so that the next process does not compile them again; sets
    the flags of XLA that serve adaptive solves on a CPU, unless the environment has XLA_FLAGS. A second call changes
    nothing.

    **Arguments:** `devices`, into how many devices JAX divides the CPU: batches (`inversion.map_batched`) are shared by
    devices; by default the number of cores that this process may use. `cache`, the folder; None: no cache. One that
    JAX was given before, by JAX_COMPILATION_CACHE_DIR or its configuration, stays.
    **Raises:** ValueError for a number of devices that is none.
    **Warns:** where JAX has started, so that flags come too late.
    """
    if devices is not None and not (type(devices) is int and devices >= 1):
        raise ValueError(f"configure: devices = {devices!r}: give an integer, 1 or more")
    jax.config.update("jax_enable_x64", True)
    if cache is not None and jax.config.jax_compilation_cache_dir is None:
        jax.config.update("jax_compilation_cache_dir", str(cache))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    if "XLA_FLAGS" in os.environ:
        return
    if xla_bridge.backends_are_initialized():
        warnings.warn(
            "configure: JAX made an array before this call, so the flags of XLA come too late, and long solves take "
            "several times as long: call configure() first",
            stacklevel=2,
        )
        return
    flags = {"xla_force_host_platform_device_count": devices or _cores()} | FLAGS
    os.environ["XLA_FLAGS"] = " ".join(f"--{name}={value}" for name, value in flags.items())


def _cores() -> int:
    """The cores that this process may use: a job on a cluster has a part of its machine."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
