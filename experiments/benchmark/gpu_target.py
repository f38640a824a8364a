"""Programs compiled for an H100, on any machine: JAX's CUDA plugin needs the card to run a program, not to compile it.

pip install --no-deps jax-cuda12-plugin==0.10.2 jax-cuda12-pjrt==0.10.2 nvidia-cuda-nvcc-cu12
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec

# The card's numbers, in XLA's words: the maker's, and those that its driver states.
H100 = """
platform_name: "CUDA"
device_description_str: "NVIDIA H100 80GB HBM3"
dnn_version_info { major: 9 minor: 10 patch: 0 }
gpu_device_info {
  name: "NVIDIA H100 80GB HBM3"
  cuda_compute_capability { major: 9 }
  core_count: 132
  fpus_per_core: 128
  clock_rate_ghz: 1.98
  memory_bandwidth: 3352320000000
  device_memory_size: 84942979072
  l2_cache_size: 52428800
  threads_per_warp: 32
  threads_per_block_limit: 1024
  threads_per_core_limit: 2048
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  shared_memory_per_core: 233472
  shared_memory_per_block: 49152
  shared_memory_per_block_optin: 232448
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  runtime_version: "12.8.0"
  driver_version: "12.8.0"
  compile_time_toolkit_version: "12.8.0"
  dnn_version: "9.10.0"
}
"""
# Autotuning would measure kernels, on a card.
OPTIONS = {"xla_gpu_autotune_level": 0}


def compile_for_h100(
    function: Callable, *arguments: Any, options: dict[str, Any] | None = None
) -> jax.stages.Compiled:
    """A function compiled for one H100.

    **Arguments:** `function` of pytrees of arrays; `arguments`, of which shapes and dtypes are used; `options` of the
    compiler, beside those that a card would not need. **Returns:** the compiled program, which cannot be run.
    **Raises:** ValueError where the plugin is not installed.
    """
    sharding = NamedSharding(Mesh(_device(), ("one",)), PartitionSpec())

    def shape(x):
        return jax.ShapeDtypeStruct(jnp.shape(x), jnp.asarray(x).dtype, sharding=sharding)

    lowered = jax.jit(function).lower(*jax.tree.map(shape, arguments))
    options = OPTIONS | (options or {})
    try:
        return lowered.compile(compiler_options=options)
    except jax.errors.JaxRuntimeError:
        # For some products with a 3 x 3 matrix its own kernels have no tiles: it takes the library's.
        return lowered.compile(compiler_options=options | {"xla_gpu_enable_triton_gemm": False})


def _device() -> Any:
    jax.devices()  # JAX registers its plugins when it starts
    try:
        topology = topologies.get_topology_desc(
            platform="cuda", topology_name="", target_config=H100, topology="1x1x1"
        )
    except Exception as error:
        raise ValueError(
            "benchmark gpu compiles with JAX's CUDA plugin: pip install --no-deps "
            f"jax-cuda12-plugin=={jax.__version__} jax-cuda12-pjrt=={jax.__version__} nvidia-cuda-nvcc-cu12 ({error})"
        ) from error
    return topology.devices
