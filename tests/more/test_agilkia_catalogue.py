"""An unknown, an observable and a landing gear are each added by one row; a lander may lack legs and boulder."""

import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Status
from difsim.body import CentralDamper
from difsim.contact import Regolith
from difsim.declarations import quantities
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
from experiments.agilkia.keys import INTERVAL, SPEED, Numbers, number
from experiments.agilkia.report import observable_rows
from experiments.agilkia.scenario import Experiment, problem
from inversion import Bounded

SHARE = Numbers(quantities(Regolith)["porosity"], (INTERVAL,))

POROSITY = Unknown("porosity", "porosity", SHARE, lambda x: Bounded(*x, unit="1"))  # known by this name

STIFFNESS = Unknown(
    "log_leg_stiffness",
    "log_leg_stiffness",
    number("ln N/m", "logarithm of the stiffness", (INTERVAL,), usual=(5, 16)),
    lambda x: Bounded(*x, unit="ln N/m"),
    enter=lambda q, x: {"lander": eqx.tree_at(lambda lander: lander.leg_stiffness, q["lander"], jnp.exp(x))},
)

SPEED_DOWN = Observable("speed_down", SPEED, lambda run: -run.first.body.velocity[2])

STOP = number("N/m²", "stop of a strut", gt=0, usual=(1e3, 1e9))

STRUTS = Gear({"stop_N_per_m2": STOP}, lambda table: CentralDamper(1e3, 0.01, table["stop_N_per_m2"]))

MINE = Catalogue((*UNKNOWNS, POROSITY, STIFFNESS), (*OBSERVABLES, SPEED_DOWN), GEARS | {"struts": STRUTS})


@pytest.fixture
def write(tmp_path):
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


def test_a_row_each_adds_an_unknown_an_observable_and_a_gear(write):
    lander, seen = write(
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


def test_the_keys_of_legs_belong_together(write):
    lander, _ = write(lander=[(r"^hips_m = .*\n", "")])
    with pytest.raises(ValueError, match="lacks 'hips_m'"):
        read_lander(lander)
    assert STANDARD.observable("spin").unit == "rad/s"
