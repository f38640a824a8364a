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

from experiments.agilkia.run import Agilkia
from experiments.agilkia.run import run as run_agilkia
from experiments.benchmarks.run import Benchmark
from experiments.benchmarks.run import run as run_benchmark
from experiments.cache import CACHE
from experiments.cliff.run import CliffStudy
from experiments.cliff.run import run as run_cliff
from experiments.cobbles.run import Cobbles
from experiments.cobbles.run import run as run_cobbles
from experiments.column.run import ColumnStudy
from experiments.column.run import run as run_column
from experiments.foot.run import FootStudy
from experiments.foot.run import run as run_foot
from experiments.hopper.run import Hopper
from experiments.hopper.run import run as run_hopper
from experiments.intruder.run import IntruderStudy
from experiments.intruder.run import run as run_intruder
from experiments.sampling.run import Sampling
from experiments.sampling.run import run as run_sampling


def main() -> None:
    """Read the command line, set the compilation cache, run."""
    studies = {
        "agilkia": (Agilkia, run_agilkia),
        "hopper": (Hopper, run_hopper),
        "cobbles": (Cobbles, run_cobbles),
        "cliff": (CliffStudy, run_cliff),
        "sampling": (Sampling, run_sampling),
        "column": (ColumnStudy, run_column),
        "foot": (FootStudy, run_foot),
        "intruder": (IntruderStudy, run_intruder),
        "benchmark": (Benchmark, run_benchmark),
    }
    runs = dict(studies.values())
    options = tyro.extras.subcommand_cli_from_dict({k: v[0] for k, v in studies.items()}, prog="difsim")
    jax.config.update("jax_compilation_cache_dir", str(CACHE / "compiled"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    try:
        runs[type(options)](options)
    except (ValueError, OSError) as error:  # OSError: a file that is not there, a download that did not come
        sys.exit(f"difsim: {error}")


if __name__ == "__main__":
    main()
