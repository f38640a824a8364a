"""The share of the energy of which a solution has lost track."""

import jax.numpy as jnp
import pytest

from difsim.stepping.energy import allowed_error, energy_error
from tests.helpers import approx

F64, F32 = jnp.dtype(jnp.float64), jnp.dtype(jnp.float32)


def error(dtype=F64, **parts) -> float:
    return float(energy_error({name: jnp.asarray(part, dtype) for name, part in parts.items()}, dtype))


@pytest.mark.parametrize("level", [0.0, -0.333, 1e3])
def test_the_zero_of_a_potential_counts_for_nothing(level):
    """A hop of 1 cm/s in 67P's field, which loses three fifths of its energy to nobody."""
    assert error(kinetic=[5e-5, 2e-5], potential=[level, level]) == approx(0.6, rel=1e-6)
    assert error(kinetic=[5e-5, 2e-5, 5e-5], potential=[level, level + 3e-5, level]) == approx(0.0, abs=1e-6)


def test_what_is_lost_to_an_account_is_there():
    assert error(kinetic=[2.0, 0.5], impacts=[0.0, 1.5]) == 0
    assert error(kinetic=[2.0, 0.5], impacts=[0.0, 1.4]) == approx(0.1 / 2.0)
    assert error() == 0 and error(kinetic=[0.0, 0.0]) == 0


def test_roundings_of_large_parts_are_no_drift():
    """In float32 a potential of 0.333 J is known to some 1e-8 J."""
    assert error(F32, kinetic=[5e-5, 5e-5], potential=[-0.333, -0.333 + 3e-7]) == 0
    assert error(F64, kinetic=[5e-5, 5e-5], potential=[-0.333, -0.333 + 3e-7]) == approx(6e-3, rel=0.01)


def test_what_is_allowed_follows_tolerance_and_precision():
    assert float(allowed_error(1e-8, F64)) == approx(1e-4)
    assert float(allowed_error(1e-4, F64)) == approx(1e-2)
    assert float(allowed_error(1e-8, F32)) == approx(1.2e-3, rel=0.01)
