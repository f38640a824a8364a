"""An unknown, an observable and a landing gear are each added by one row; a lander may lack legs and boulder."""

import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from experiments.ranges import Range

from difsim import Status
from difsim.body import CentralDamper
from difsim.body.lander import UndampedGear
from experiments.agilkia.baseline import OPTIMUM
from experiments.agilkia.catalogue import (
    GEARS,
    OBSERVABLES,
    STANDARD,
    UNKNOWNS,
    Catalogue,
    Gear,
    Observable,
    Unknown,
)
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.agilkia.keys import INTERVAL, SPEED, Numbers
from experiments.agilkia.report import observable_rows
from experiments.agilkia.scenario import Experiment, problem
from inversion import Bounded

SHARE = Numbers(Range("1", (0.01, 0.99), (0.2, 0.95)), (INTERVAL,))
POROSITY = Unknown("porosity", "porosity", SHARE, lambda x: Bounded(*x, unit="1"))  # known by this name
STIFFNESS = Unknown(
    "log_leg_stiffness",
    "log_leg_stiffness",
    Numbers(Range("ln N/m", (0.0, 25.0), (5.0, 16.0)), (INTERVAL,)),
    lambda x: Bounded(*x, unit="ln N/m"),
    enter=lambda q, x: {"lander": eqx.tree_at(lambda lander: lander.leg_stiffness, q["lander"], jnp.exp(x))},
)
SPEED_DOWN = Observable("speed_down", SPEED, lambda run: -run.first.body.velocity[2])
STOP = Numbers(Range("N/m2", (1.0, 1e10), (1e3, 1e9)))
STRUTS = Gear({"stop_N_per_m2": STOP}, lambda table: CentralDamper(1e3, 0.01, table["stop_N_per_m2"]))
MINE = Catalogue((*UNKNOWNS, POROSITY, STIFFNESS), (*OBSERVABLES, SPEED_DOWN), GEARS | {"struts": STRUTS})


@pytest.fixture
def written(tmp_path):
    """Copies of Philae's two files, edited: tables left out, and texts replaced."""

    def write(without=(), lander=(), observations=()):
        text = (DATA / "philae.toml").read_text()
        for table in without:
            text = re.sub(rf"^\[{table}\].*\n(?:(?!\[\w+\]).*\n)*", "", text, flags=re.M)
        for old, new in lander:
            text, count = re.subn(old, new, text, flags=re.M)
            assert count, old
        seen = (DATA / "philae_published.toml").read_text()
        for old, new in observations:
            seen, count = re.subn(old, new, seen, flags=re.M)
            assert count, old
        (tmp_path / "lander.toml").write_text(text)
        (tmp_path / "seen.toml").write_text(seen)
        return tmp_path / "lander.toml", tmp_path / "seen.toml"

    return write


@jax.jit
def observe(known: Experiment, p: dict):
    return known(p)


def test_a_row_each_adds_an_unknown_an_observable_and_a_gear(written):
    lander, seen = written(
        lander=[
            (r'kind = "central".*', 'kind = "struts"\nstop_N_per_m2 = 2e7'),
            (r"^heading_deg", "porosity = [0.5, 0.9]\nlog_leg_stiffness = [9.0, 10.0]\nheading_deg"),
        ],
        observations=[(r"\Z", "\n[observables.speed_down]\nvalue = 1.0\nsigma = 0.1\n")],
    )
    with pytest.raises(ValueError, match="kind = 'struts' must be 'central' or 'maxwell'"):
        read_lander(lander)
    with pytest.raises(ValueError, match="no observable is called 'speed_down'"):
        read_observations(seen)
    data = read_observations(seen, MINE)
    posed = problem(read_lander(lander, MINE), data, catalogue=MINE)
    assert posed.names[-2:] == ("porosity", "log_leg_stiffness") and posed.parameters["porosity"].unit == "1"
    assert float(posed.predict.lander.gear.stop_stiffness) == 2e7
    p = {k: jnp.asarray(v) for k, v in OPTIMUM.items()}
    p |= {"porosity": jnp.asarray(0.6), "log_leg_stiffness": jnp.asarray(9.5)}
    model, _ = posed.predict.build(p)
    assert float(model.regolith.porosity) == 0.6
    assert float(model.lander.leg_stiffness) == pytest.approx(np.exp(9.5))
    observed, status = observe(posed.predict, p)
    assert status == Status.OK and float(observed["speed_down"]) == pytest.approx(1.006, abs=2e-3)
    rows = observable_rows(data, {k: np.asarray(v) for k, v in observed.items()}, MINE)
    assert rows["speed_down"]["unit"] == "m/s" and rows["speed_down"]["fitted"]


@pytest.mark.slow
def test_a_touchdown_without_a_boulder(written):
    boulder = [r"^scenario = .*\n", r"^edge_offset_m = .*\n"]
    kept, seen = written(without=["obstacle"])
    with pytest.raises(ValueError, match=r"\[unknowns\] has no key 'scenario'"):
        read_lander(kept)
    lander, seen = written(without=["obstacle"], lander=[(line, "") for line in boulder])
    posed = problem(read_lander(lander), read_observations(seen))
    assert not {"scenario", "edge_offset"} & set(posed.names)
    observed, status = observe(posed.predict, {k: jnp.asarray(OPTIMUM[k]) for k in posed.names})
    assert status == Status.OK and "boulder_time" not in observed
    # It comes down on three soles at once: all are deeper than the least of a touchdown that a boulder tips.
    assert float(observed["penetration_least"]) > 0.05 and float(observed["regolith_time"]) > 0
    lander, seen = written(
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


@pytest.mark.slow
def test_a_bare_body_lands_on_its_hull(written):
    kept, seen = written(without=["gear"], lander=BARE)
    with pytest.raises(ValueError, match=r"\[obstacle\] needs a lander with legs"):
        read_lander(kept)
    lander, seen = written(without=["gear", "obstacle"], lander=BARE)
    with pytest.raises(ValueError, match="has no legs"):
        problem(read_lander(lander), read_observations(seen))
    lander, seen = written(without=["gear", "obstacle"], lander=BARE, observations=[(FITS_LEGS, "")])
    posed = problem(read_lander(lander), read_observations(seen))
    assert posed.predict.lander.legs == 0 and isinstance(posed.predict.lander.gear, UndampedGear)
    observed, status = observe(posed.predict, {k: jnp.asarray(OPTIMUM[k]) for k in posed.names})
    assert status == Status.OK and "damper_stroke" not in observed
    # It stands upright and falls flat: the hull's law for the whole mass gives its restitution, 0.2, at 1.006 m/s.
    assert float(observed["rebound_speed"]) == pytest.approx(0.2 * 1.006, rel=0.2)
    spent = observed["ground_energy"] + observed["kinetic_energy"]
    assert float(spent) == pytest.approx(float(observed["initial_energy"]), abs=0.2)


def test_the_keys_of_legs_belong_together(written):
    lander, _ = written(lander=[(r"^hips_m = .*\n", "")])
    with pytest.raises(ValueError, match="lacks 'hips_m'"):
        read_lander(lander)
    assert STANDARD.observable("spin").unit == "rad/s"
