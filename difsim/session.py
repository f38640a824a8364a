"""The settings of a session: precision, cache, the default device, and the options of XLA."""

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import equinox as eqx
import jax

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "difsim"
# An adaptive solve as one compiled function. XLA by itself runs it as hundreds of calls a step, five times slower: it
# compiles a loop whole only where a turn touches less than 1 kB (ours: some 100 kB) and has no library's matrix
# product.
FLAGS = {
    "xla_backend_extra_options": "xla_cpu_small_while_loop_byte_threshold=32000000",
    "xla_disable_hlo_passes": "dot-library-rewriter",
}
# XLA's older emitter of fused loops. jaxlib 0.11 has none, and refuses the option on every platform.
OLDER_EMITTER = {"xla_cpu_use_fusion_emitters": False} if jax.__version_info__ < (0, 11) else {}


def compile_sooner(function: Callable) -> Callable:
    """`eqx.filter_jit` for programs that are compiled in two thirds of the time.

    An adaptive solve runs as fast; steps of thousands of particles take a quarter longer on a CPU. A GPU's program is
    the same.
    """
    # The overloads of `filter_jit` lack the options of `jit`.
    return eqx.filter_jit(function, compiler_options=OLDER_EMITTER)  # pyright: ignore[reportCallIssue]


def compile_with_matrix_library(function: Callable) -> Callable:
    """`eqx.filter_jit` for programs that are long matrix products: those of a library are twice as fast on a CPU."""
    options = {"xla_disable_hlo_passes": ""}
    return eqx.filter_jit(function, compiler_options=options)  # pyright: ignore[reportCallIssue]  # as above


def configure(
    *,
    device: Literal["cpu", "gpu"] | None = None,
    cores: int | None = None,
    cache: str | Path | None = CACHE / "compiled",
) -> None:
    """Set this process up for difsim; call it before the first array is made.

    It enables float64; keeps compiled programs in a folder, so that the next process does not compile them again; sets
    the flags of XLA that serve adaptive solves on a CPU, unless the environment has XLA_FLAGS. A second call changes
    nothing.

    On a machine with a GPU the CPU becomes the default device, and work that is wide enough goes to the GPU by itself
    (`difsim.wide`): an adaptive run is a chain of small operations, which a core does sooner. What JAX was set to
    before about devices, by JAX_PLATFORMS or its configuration, stays.

    **Arguments:** `device`: "cpu": nothing goes to a GPU; "gpu": all goes there. `cores` of the CPU that this process
    uses: for batches (`inversion.map_batched`), threads, and XLA; by default as many as it may. `cache`, the folder;
    None: no cache. One that JAX was given before, by JAX_COMPILATION_CACHE_DIR or its configuration, stays.
    **Raises:** ValueError for another device, a GPU that JAX does not find, and a number of cores that is none.
    **Warns:** where JAX has started, so that flags come too late.
    """
    if device not in (None, "cpu", "gpu"):
        raise ValueError(f'configure: device = {device!r}: give "cpu", "gpu" or None')
    if cores is not None and not (type(cores) is int and cores >= 1):
        raise ValueError(f"configure: cores = {cores!r}: give an integer, 1 or more")
    jax.config.update("jax_enable_x64", True)
    if cache is not None and jax.config.values["jax_compilation_cache_dir"] is None:
        jax.config.update("jax_compilation_cache_dir", str(cache))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    if cores is not None:
        # XLA starts as many threads as the machine has cores. Those of several processes make each other wait.
        os.environ["NPROC"] = str(cores)
    if "XLA_FLAGS" not in os.environ:
        _set_flags(count_cores())
    if device == "cpu":
        jax.config.update("jax_platforms", "cpu")
    elif device == "gpu":
        _require_gpu()
        jax.config.update("jax_default_device", "gpu")
    elif not (jax.config.values["jax_platforms"] or jax.config.values["jax_default_device"]):
        jax.config.update("jax_default_device", "cpu")


def _set_flags(cores: int) -> None:
    try:
        jax.config.update("jax_num_cpu_devices", cores)
    except RuntimeError:
        warnings.warn(
            "configure: JAX made an array before this call, so the flags of XLA come too late, and long solves take "
            "several times as long: call configure() first",
            stacklevel=3,
        )
        return
    os.environ["XLA_FLAGS"] = " ".join(f"--{name}={value}" for name, value in FLAGS.items())


def _require_gpu() -> None:
    try:
        jax.devices("gpu")
    except RuntimeError as error:
        raise ValueError(
            f'configure: device = "gpu": JAX finds none ({error}): look at `nvidia-smi`, and pip install '
            '"difsim[cuda13]", or [cuda12] for an older driver'
        ) from error


def count_cores() -> int:
    """The cores that this process uses, by NPROC, as XLA does, or all that it may: a job has a part of its machine."""
    if "NPROC" in os.environ:
        return int(os.environ["NPROC"])
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
