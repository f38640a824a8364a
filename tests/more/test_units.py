import numpy as np
import pytest

from difsim import units


def test_phobos_spins_as_it_orbits():
    """A wrong power of ten in a GM would show here: a = 9376 km around Mars, GM 4.282837e13 m3/s2."""
    orbit = np.sqrt(4.282837e13 / 9.376e6**3)
    assert pytest.approx(orbit, rel=1e-3) == units.SPIN_PHOBOS
    assert 4e-3 < units.GM_PHOBOS / 11.1e3**2 < 8e-3  # surface gravity, m/s2


@pytest.mark.parametrize(
    "gm,volume",
    [
        (units.GM_67P, 18.752e9),
        (units.GM_BENNU, 0.06155e9),
        (units.GM_RYUGU, 0.3769e9),
        (units.GM_ITOKAWA, 0.01770e9),
        (units.GM_PHOBOS, 5745e9),
    ],
)
def test_densities_are_those_of_small_bodies(gm, volume):
    assert 500 < gm / units.G / volume < 2100  # kg/m3
