"""Descent, bounce and the chain from surface parameters to the second contact."""

import jax.numpy as jnp
import pytest

from difsim import units
from experiments.agilkia import descent, worlds

GM = units.GM_67P


def test_the_analogue_has_the_place_of_the_comet():
    """Mass and size of 67P, and a touchdown site that is off its surface by what the docs say."""
    field, surface = worlds.analogue()
    assert float(field.potential(jnp.array([1e7, 0.0, 0.0]))) * 1e7 == pytest.approx(GM, rel=1e-5)
    assert float(surface.distance(descent.AGILKIA.touchdown.position)) == pytest.approx(-20.5, abs=0.5)


def test_scenarios_need_a_duration():
    with pytest.raises(ValueError, match=r"duration = -1\.0 s"):
        descent.Scenario(descent.AGILKIA.start, descent.AGILKIA.end, -1.0)
