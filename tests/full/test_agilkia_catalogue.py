"""An unknown, an observable and a landing gear are each added by one row; a lander may lack legs and boulder."""

import jax.numpy as jnp
import pytest

from difsim import Status
from difsim.body.lander import UndampedGear
from experiments.agilkia.baseline import OPTIMUM
from experiments.agilkia.files import read_lander, read_observations
from experiments.agilkia.scenario import problem
from tests.more.test_agilkia_catalogue import (
    observe,
    write,  # noqa: F401  # of fixtures
)


def test_a_touchdown_without_a_boulder(write):
    boulder = [r"^scenario = .*\n", r"^edge_offset_m = .*\n"]
    kept, seen = write(without=["obstacle"])
    with pytest.raises(ValueError, match=r"\[unknowns\] has no key 'scenario'"):
        read_lander(kept)
    lander, seen = write(without=["obstacle"], lander=[(line, "") for line in boulder])
    posed = problem(read_lander(lander), read_observations(seen))
    assert not {"scenario", "edge_offset"} & set(posed.names)
    observed, status = observe(posed.predict, {k: jnp.asarray(OPTIMUM[k]) for k in posed.names})
    assert status == Status.OK and "boulder_time" not in observed
    # It comes down on three soles at once: all are deeper than the least of a touchdown that a boulder tips.
    assert float(observed["penetration_least"]) > 0.05 and float(observed["regolith_time"]) > 0
    lander, seen = write(
        without=["obstacle"],
        lander=[(line, "") for line in boulder],
        observations=[(r"\Z", "\n[observables.boulder_time]\nvalue = 1.0\nsigma = 0.1\n")],
    )
    with pytest.raises(ValueError, match="fits boulder_time, and the lander's file has no boulder"):
        problem(read_lander(lander), read_observations(seen))


BARE = [
    *((rf"^{key} = .*\n", "") for key in ("scenario", "edge_offset_m", "feet_m", "hips_m", "footpad_radius_m")),
    (r"^leg_stiffness_N_per_m = .*\n", ""),
]

FITS_LEGS = r"\[observables\.(damper_stroke|penetration_\w+)\][^\[]*"


def test_a_bare_body_lands_on_its_hull(write):
    kept, seen = write(without=["gear"], lander=BARE)
    with pytest.raises(ValueError, match=r"\[obstacle\] needs a lander with legs"):
        read_lander(kept)
    lander, seen = write(without=["gear", "obstacle"], lander=BARE)
    with pytest.raises(ValueError, match="has no legs"):
        problem(read_lander(lander), read_observations(seen))
    lander, seen = write(without=["gear", "obstacle"], lander=BARE, observations=[(FITS_LEGS, "")])
    posed = problem(read_lander(lander), read_observations(seen))
    assert posed.predict.lander.legs == 0 and isinstance(posed.predict.lander.gear, UndampedGear)
    observed, status = observe(posed.predict, {k: jnp.asarray(OPTIMUM[k]) for k in posed.names})
    assert status == Status.OK and "damper_stroke" not in observed
    # It stands upright and falls flat: no part of the ground throws it back.
    assert float(observed["rebound_speed"]) < 0.1 * 1.006
    spent = observed["ground_energy"] + observed["kinetic_energy"]
    assert float(spent) == pytest.approx(float(observed["initial_energy"]), abs=0.2)
