"""The strict session: float64, no silent rank promotion, warnings are errors (pyproject.toml)."""

import jax
import pytest

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.fixture
def key() -> jax.Array:
    return jax.random.PRNGKey(0)
