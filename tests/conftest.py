"""The strict session: float64, no silent rank promotion, warnings are errors (pyproject.toml)."""

import jax
import pytest
from hypothesis import settings

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")

# The same examples each time; no deadline, since the first call of a function compiles it.
settings.register_profile("difsim", derandomize=True, deadline=None, max_examples=25, database=None)
settings.load_profile("difsim")


@pytest.fixture
def key() -> jax.Array:
    return jax.random.PRNGKey(0)
