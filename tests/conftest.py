"""The strict session: float64, no silent rank promotion, warnings are errors (pyproject.toml)."""

import ctypes
import gc
import os
import shutil
from importlib.metadata import version
from pathlib import Path

# Tests spend their time on compiling, not on running. LLVM without optimisation and XLA's older emitter of fused loops
# compile three times faster. Three passes over loops, which XLA repeats until nothing changes, take a quarter of what
# is left of an adaptive solve. Parts for several threads gain nothing where each core has a worker. Results differ in
# rounding only. Set before jax starts; the workers of xdist inherit it. XLA_FLAGS from outside go before:
# `make test-full` compiles as users do, since its studies run for minutes.
# jaxlib 0.11 has no older emitter, and ends at a flag that it does not know.
os.environ.setdefault(
    "XLA_FLAGS",
    ("--xla_cpu_use_fusion_emitters=false " if version("jaxlib").startswith("0.10.") else "")
    + "--xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1 --xla_disable_hlo_passes="
    "simplify-while-loops,while-loop-invariant-code-motion,while-loop-constant-sinking",
)

import jax
import pytest
from hypothesis import settings

from experiments.memory import forget_programs, maps_are_many
from tests import lazily  # which jaxtyping finds by its name

# Rarer collection of garbage: imports and tracing make millions of objects, and a quarter of it was the search.
gc.set_threshold(100_000, 20, 10)

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
# Each operation would carry up to 100 frames of the stack, most of them pytest's own. XLA copies them whenever it
# inlines a call, and a twelfth to a fifth of its time was that.
jax.config.update("jax_traceback_in_locations_limit", 0)

# Compiled programs are kept in files: for the other worker, for a worker that has forgotten its own, and for the next
# run. Small ones too, of which there are thousands. Beyond so many bytes all are thrown away.
PROGRAMS, MOST = Path(__file__).parents[1] / ".pytest_cache" / "programs", 2e9
jax.config.update("jax_compilation_cache_dir", str(PROGRAMS))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def pytest_sessionstart(session):
    if hasattr(session.config, "workerinput") or not PROGRAMS.exists():
        return
    if sum(entry.stat().st_size for entry in os.scandir(PROGRAMS)) > MOST:
        shutil.rmtree(PROGRAMS)


# The same examples each time; no deadline, since the first call of a function compiles it.
settings.register_profile("difsim", derandomize=True, deadline=None, max_examples=25, database=None)
settings.load_profile("difsim")


# The longest files first: the last file decides when a run of two workers ends, so the others are at hand for the end.
# (`--no-loadscope-reorder` in the Makefile: pytest-xdist would begin with the files of many tests.)
LONG = (
    # of tests/core
    "scenes", "stepping", "pair", "clump", "legged", "leastsq", "sph_elements", "hopper", "gravity", "validity",
    "touchdown", "surface_contact", "grains",
    # of tests/more
    "posterior", "site", "posteriors_of_studies", "sliding", "modes", "peaks", "posterior_failures", "soak",
    "intruder", "grains_touchdown", "cliff", "calibration", "tracks", "foot", "agilkia", "flight_study", "branch",
    "readme", "hopper_study", "cobbles_impact", "estimation", "executors", "sweeps", "harness",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    order = {f"test_{name}": i for i, name in enumerate(LONG)}
    items.sort(key=lambda item: order.get(item.path.stem, len(LONG)))


def pytest_collection_finish():
    """What the imports made stays, and is not searched again."""
    gc.collect()
    gc.freeze()


# Bytes of a process. A module adds up to 0.7 GB; a worker keeps below 3. Forgotten programs leave 1.2 GB behind, and
# to forget them and to trace the small ones again, of single operations, takes seconds: so not sooner than that.
ROOM = 2.3e9


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """Begins to count calls anew in each file; forgets compiled programs where there are too many."""
    ends = nextitem is None or nextitem.path != item.path
    if ends:
        lazily.calls.clear()
    if not (Path("/proc/self/maps").exists() and (ends or item.path.parent.name == "full")):
        return
    if resident() > ROOM:
        trim()
    if resident() > ROOM or maps_are_many():
        forget_programs()
        trim()


def resident() -> int:
    """Bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def trim() -> None:
    """Gives free memory back to the system, which glibc by itself keeps: of a compiler more than its programs."""
    if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)


@pytest.fixture
def key() -> jax.Array:
    return jax.random.PRNGKey(0)
