"""Checks by hand of published contacts, against the motions that the library computes by its own laws.

All three use `Plunge` with the law `Poncelet`; each closed form is of the same law.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.contact import Poncelet
from experiments.contact.shapes import PLATE
from experiments.contact.world import Plunge

fall = jax.jit(lambda plunge: plunge.fall())
MASS, RADIUS, EARTH = 0.0692, 0.0127, 9.81  # of Katsuragi and Durian
RATE, LENGTH = 1040.0, 0.087  # their k/m, 1/s², and d1, m
SHOTS = {0.1: (1.81, 88), 0.5: (2.41, 65), 1.0: (3.36, 56), 2.0: (5.02, 49), 3.0: (6.37, 46), 4.0: (7.50, 44)}


def beads(speed):
    area = np.pi * RADIUS**2
    ground = Poncelet(hardening=RATE * MASS / area, drag=MASS / (area * LENGTH))
    return Plunge(ground, MASS, RADIUS, speed, EARTH, PLATE)


@pytest.mark.parametrize("speed", SHOTS)
def test_katsuragi_and_durian_stop_where_their_law_says(speed):
    motion, (depth, duration) = fall(beads(speed)), SHOTS[speed]
    assert motion.has_stopped
    assert 100 * motion.depth[-1] == pytest.approx(depth, abs=0.0051)  # cm, to the last digit
    assert 1e3 * motion.time[-1] == pytest.approx(duration, abs=0.51)  # ms
    # v² is linear in the law: dv²/dz = 2 g - 2 k z/m - 2 v²/d1 has a closed form, which is 0 at the stop.
    z, rate = float(motion.depth[-1]), 2 / LENGTH
    steady = (2 * EARTH - 2 * RATE * z) / rate + 2 * RATE / rate**2
    began = 2 * EARTH / rate + 2 * RATE / rate**2
    squares = steady + (speed**2 - began) * np.exp(-rate * z)
    assert squares == pytest.approx(0.0, abs=1e-7 * (speed**2 + 2 * EARTH * z))


def test_acceleration_jumps_at_the_stop():
    motion = fall(beads(2.0))
    at_stop = RATE * float(motion.depth[-1])
    assert motion.specific_force[-1] == pytest.approx(at_stop, rel=1e-9)
    assert at_stop > 4 * EARTH  # and then it is 1 g


@pytest.mark.parametrize(("area", "pressure"), [(0.45, 11.9), (0.5, 10.7), (0.64, 8.4), (0.8, 6.7), (1.0, 5.4)])
def test_td2_needs_5_to_12_pascal(area, pressure):
    depth, duration, mass = 0.25, 3.0, 96.3
    strength = mass * 2 * depth / duration**2 / area
    assert strength == pytest.approx(pressure, abs=0.06)
    body = Plunge(Poncelet(strength), mass, np.sqrt(area / np.pi), 2 * depth / duration, 0.0, PLATE)
    motion = fall(body)
    assert motion.depth[-1] == pytest.approx(depth, rel=1e-6)
    assert motion.time[-1] == pytest.approx(duration, rel=1e-6)


def test_td2_by_a_resistance_in_proportion_to_depth():
    depth, duration, mass, area = 0.25, 3.0, 96.3, 0.64
    speed, stiffness = 0.5 * np.pi * depth / duration, mass * (0.5 * np.pi / duration) ** 2
    body = Plunge(Poncelet(hardening=stiffness / area), mass, np.sqrt(area / np.pi), speed, 0.0, PLATE)
    motion = fall(body)
    assert motion.depth[-1] == pytest.approx(depth, rel=1e-6)
    assert motion.time[-1] == pytest.approx(duration, rel=1e-6)
    assert speed == pytest.approx(0.131, abs=5e-4)
    assert mass * motion.peak_deceleration == pytest.approx(6.6, abs=0.05)


def test_td1_at_8_pascal_would_be_54_m_deep():
    energy, mass, area = 41.0, 96.3, 3 * 0.0314
    body = Plunge(Poncelet(8.0), mass, np.sqrt(area / np.pi), np.sqrt(2 * energy / mass), 0.0, PLATE)
    assert fall(body).depth[-1] == pytest.approx(54, abs=0.5)


def test_tag_comes_0_48_m_deep():
    mass, radius, slows = 1300.0, 0.16, 0.010
    pressure = mass * slows / (np.pi * radius**2)
    assert pressure == pytest.approx(162, abs=0.5)
    touch = fall(Plunge(Poncelet(pressure), mass, radius, 0.10, 0.0, PLATE))
    assert touch.speed_at(jnp.array(6.0)) == pytest.approx(0.04, rel=1e-6)
    fired = touch.depth_at(jnp.array(6.0))
    assert fired == pytest.approx(0.42, rel=1e-6)
    # The thrusters arrest the rest within 3 s more: a constant deceleration again.
    rest = fall(Plunge(Poncelet(pressure * 0.04 / 3.0 / slows), mass, radius, 0.04, 0.0, PLATE))
    assert rest.time[-1] == pytest.approx(3.0, rel=1e-6)
    assert fired + rest.depth[-1] == pytest.approx(0.48, rel=1e-6)
