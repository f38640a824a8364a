"""The strict session: float64, no silent rank promotion, warnings are errors (pyproject.toml)."""

import gc
import os
from pathlib import Path

# Tests spend their time on compiling, not on running: LLVM without optimisation and XLA's older emitter of fused
# loops compile three times faster, and results differ in rounding only. Set before jax starts; the workers of
# xdist inherit it. XLA_FLAGS from outside, even empty ones, go before: `make test-full` compiles as users do.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false")

import jax
import pytest
from hypothesis import settings

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")

# The same examples each time; no deadline, since the first call of a function compiles it.
settings.register_profile("difsim", derandomize=True, deadline=None, max_examples=25, database=None)
settings.load_profile("difsim")


def pytest_collection_finish():
    """Rarer collection of garbage: tracing makes millions of objects that live, and a quarter of it was the search."""
    gc.collect()
    gc.freeze()  # what the imports made stays
    gc.set_threshold(100_000, 50, 100)


MAPS = 30_000  # of the 65 530 that Linux grants a process: XLA takes some for each program, and crashes past that


@pytest.fixture(autouse=True, scope="module")
def room_for_programs():
    """Forgets compiled programs after a module where there are too many: some GB of memory, too."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > MAPS:
        jax.clear_caches()


@pytest.fixture
def key() -> jax.Array:
    return jax.random.PRNGKey(0)
