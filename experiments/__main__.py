"""The `difsim` command: one subcommand a study."""

import os
import sys

# Before jax starts: each core of the CPU as a device, since batches are shared out over devices; and an adaptive
# solve as one compiled function. XLA by itself runs it as hundreds of calls a step, five times slower: it compiles
# a loop whole only where a turn touches less than 1 kB (ours: some 100 kB) and has no library's matrix product.
os.environ.setdefault(
    "XLA_FLAGS",
    f"--xla_force_host_platform_device_count={os.cpu_count() or 1} "
    "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=32000000 "
    "--xla_disable_hlo_passes=dot-library-rewriter",
)
# Before anything is made: an array that a module makes as it is imported would be one of float32.
os.environ.setdefault("JAX_ENABLE_X64", "1")
# Failures are statuses here. Equinox's own run-time checks would be callbacks to the host, and a program with
# callbacks is never kept in the compilation cache: every run would compile for two minutes again.
os.environ.setdefault("EQX_ON_ERROR", "off")

import jax
import tyro

import experiments
from experiments.cache import CACHE
from experiments.harness import find_studies


def main() -> None:
    """Read the command line, set the compilation cache, run."""
    options = tyro.extras.subcommand_cli_from_dict(find_studies(experiments), prog="difsim")
    jax.config.update("jax_compilation_cache_dir", str(CACHE / "compiled"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    try:
        options.run()
    except (ValueError, OSError) as error:  # OSError: a file that is not there, a download that did not come
        sys.exit(f"difsim: {error}")


if __name__ == "__main__":
    main()
