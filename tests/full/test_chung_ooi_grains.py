"""The eight impacts of Chung & Ooi (2011) by `Grains`: tests/more/test_chung_ooi.py says what is known of them.

Each is of two spheres above a floor of their own material: for tests 2 to 6 the second is far off, for 1, 7 and 8
the floor is. All impacts are one compiled call. Gates as there; impacts that stick also on the closed form of
`LinearSprings`, whose spring along the contact swings as one of stiffness 7/2 k_t.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.dem import Grains, HertzMindlin, LinearSprings
from difsim.shape import Plane
from tests.more.test_chung_ooi import (
    ALONG,
    ANGLES,
    HERTZ,
    RESTITUTIONS,
    SPEEDS,
    SPINS,
    check_oblique,
    friction_loss,
    wall,
)

PER_CONTACT, LENGTH = 400, 1.5  # steps in a contact of Hertz, and contacts that a run is long
OXIDE = {
    "radius": 2.5e-3,
    "density": 4000.0,
    "modulus": 380e9,
    "poisson": 0.23,
    "friction": 0.092,
    "restitution": 0.98,
}
ALUMINIUM = {
    "radius": 0.1,
    "density": 2700.0,
    "modulus": 70e9,
    "poisson": 0.3,
    "friction": 0.0,
    "restitution": 1.0,
}
SMALL = OXIDE | {"radius": 1e-5}
STILL = {"along": 0.0, "into": 3.9, "spin": 0.0, "other_spin": 0.0, "other_radius": 1.0, "pair": False}


class Cases(eqx.Module):
    """Of n impacts: model, state just in touch and step."""

    model: Grains
    state: eqx.Module
    dt: jax.Array


def case(given, law=None):
    """One impact: `along` and `into` the wall (or the second sphere, which is still) m/s, spins rad/s about y."""
    g = STILL | given
    law = law or HertzMindlin(g["modulus"], g["poisson"], g["restitution"], g["friction"])
    radius = np.array([1.0, g["other_radius"]]) * g["radius"]
    floor = Plane((0.0, 0.0, -10.0 * radius.sum() if g["pair"] else 0.0), (0.0, 0.0, 1.0))
    model = Grains(law, radius, g["density"], walls=(floor,))
    second = [0.0, 0.0, -radius[1]] if g["pair"] else [10 * radius[0], 0.0, 10 * radius[0]]
    state = model.at_rest(jnp.array([[0.0, second[0]], [0.0, 0.0], [radius[0], second[2]]]))
    velocity = jnp.array([[g["along"], 0.0], [0.0, 0.0], [-g["into"], 0.0]])
    spin = jnp.array([[0.0, 0.0], [g["spin"], g["other_spin"]], [0.0, 0.0]])
    state = eqx.tree_at(lambda s: (s.velocity, s.spin), state, (velocity, spin))
    one, mass = (radius[0], model.mass[0]) if not g["pair"] else (_reduce(radius), _reduce(model.mass))
    one, mass = jnp.asarray(one), jnp.asarray(mass)
    duration = law.duration(one, mass, law.deepest(one, mass, jnp.zeros(()), jnp.asarray(g["into"])))
    return Cases(model, state, LENGTH * duration / (LENGTH * PER_CONTACT))


def _reduce(x):
    return x[0] * x[1] / (x[0] + x[1])


@eqx.filter_jit
def play_cases(cases, near):
    """States at the end, greatest depth m and force N, and time in touch s."""

    def one(at):
        def step(carry, _):
            motion, depth, force, touching = carry
            motion = at.model.step(motion, near, at.dt)
            push = at.model.mass[0] * jnp.abs(motion.rates.velocity[2, 0])
            inside = motion.rates.depth > 0
            return (
                motion,
                jnp.maximum(depth, motion.rates.depth),
                jnp.maximum(force, push),
                touching + inside,
            ), None

        zero = jnp.zeros(())
        begin = at.model.begin(zero, at.state, near), zero, zero, jnp.zeros((), int)
        last, _ = jax.lax.scan(step, begin, length=round(LENGTH * PER_CONTACT))
        return last[0].state, last[1], last[2], last[3] * at.dt

    return jax.vmap(one)(cases)


def play(cases):
    """All of one law in one call; the two spheres, and each with the floor, are always in the list."""
    model = case(OXIDE).model
    both = jnp.array([[0.0, 1.5], [0.0, 0.0], [0.9, 0.9]]) * OXIDE["radius"]
    near = model.allocate(model.at_rest(both), 0.5, 1.3).rebuild(both)
    assert near.at_walls[0].shape[0] >= 2 and near.pairs.first[0] != near.pairs.second[0]
    state, *peaks = play_cases(jax.tree.map(lambda *x: jnp.stack(x), *cases), near)
    return (*(np.asarray(getattr(state, name)) for name in ("velocity", "spin")), *map(np.asarray, peaks))


PAIR = {"pair": True, "along": 0.0}
GROUPS = {
    "normal": [ALUMINIUM | PAIR | {"into": v} for v in (1.0, 20.0)]
    + [ALUMINIUM | {"into": v} for v in (1.0, 0.2)],
    "restitution": [OXIDE | {"restitution": e} for e in RESTITUTIONS],
    "angle": [OXIDE | {"along": 3.9 * np.sin(a), "into": 3.9 * np.cos(a)} for a in ANGLES],
    "along": [SMALL | {"along": v, "into": 5.0} for v in ALONG],
    "spin": [OXIDE | {"spin": w / OXIDE["radius"], "into": 5.0} for w in SPINS],
    "pairs": [
        OXIDE
        | PAIR
        | {"spin": w / OXIDE["radius"], "other_spin": w / OXIDE["radius"], "other_radius": r, "into": 0.4}
        for r in (1.0, 2.0)
        for w in (0.05, 0.2, 1.0)
    ],
}


@pytest.fixture(scope="module")
def all_impacts():
    parts = play([case(given) for group in GROUPS.values() for given in group])
    ends = np.cumsum([len(group) for group in GROUPS.values()])
    return {
        name: [part[end - len(group) : end] for part in parts]
        for (name, group), end in zip(GROUPS.items(), ends, strict=True)
    }


def test_1_and_2_elastic_normal_impacts_are_those_of_hertz(all_impacts):
    velocity, _, *peaks = all_impacts["normal"]
    for got, expected in zip(peaks, HERTZ, strict=True):
        np.testing.assert_allclose(got, expected, rtol=3e-3)
    np.testing.assert_allclose(velocity[:2, 2, 0], 0, atol=1e-3 * SPEEDS[:2].max())
    np.testing.assert_allclose(velocity[:2, 2, 1], -SPEEDS[:2], rtol=1e-3)
    np.testing.assert_allclose(velocity[2:, 2, 0], SPEEDS[2:], rtol=1e-3)


def test_3_the_restitution_asked_for_is_realised(all_impacts):
    np.testing.assert_allclose(all_impacts["restitution"][0][:, 2, 0] / 3.9, RESTITUTIONS, atol=5e-3)


@pytest.mark.parametrize("name", ["angle", "along", "spin"])
def test_4_to_6_oblique_and_spinning_impacts(name, all_impacts):
    given = [STILL | g for g in GROUPS[name]]
    along, into, spin = (np.array([g[k] for g in given]) for k in ("along", "into", "spin"))
    velocity, turned = all_impacts[name][:2]
    last = np.stack([velocity[:, 0, 0], velocity[:, 2, 0], turned[:, 1, 0]], axis=1)
    same = wall(*(given[0][k] for k in ("radius", "density", "modulus", "poisson")))
    check_oblique(last, along, into, spin, same)


def test_7_and_8_colliding_spinning_spheres_conserve_momenta(all_impacts):
    given = GROUPS["pairs"]
    velocity, spin = all_impacts["pairs"][:2]
    mu, e = OXIDE["friction"], OXIDE["restitution"]
    for g, v, w in zip(given, velocity, spin, strict=True):
        r = OXIDE["radius"] * np.array([1.0, g["other_radius"]])
        m = 4 / 3 * np.pi * OXIDE["density"] * r**3
        np.testing.assert_allclose((m * v).sum(axis=1), [0, 0, -m[0] * 0.4], atol=1e-12 * m[0])
        # About where they touched; the centres are r₁ above and r₂ below, and move by less than 1e-3 r meanwhile.
        push, slip = (1 + e) * _reduce(m) * 0.4, -(r * [g["spin"], g["other_spin"]]).sum()
        np.testing.assert_allclose(m[0] * (v[2, 0] + 0.4), push, rtol=5e-3)
        across = m[0] * v[0, 0]
        if abs(slip) > 3.5 * mu * push / _reduce(m):
            np.testing.assert_allclose(across, -np.sign(slip) * mu * push, rtol=0.02)
        one = wall(r[0], OXIDE["density"], OXIDE["modulus"], OXIDE["poisson"])
        taken = friction_loss(
            np.array([slip]), np.array([0.4]), one | {"mass": _reduce(m), "curvature": _reduce(r)}
        )
        np.testing.assert_allclose(across, -_reduce(m) * taken[0], atol=0.02 * mu * push)
        turned = 0.4 * m * r**2 * (w[1] - [g["spin"], g["other_spin"]])
        np.testing.assert_allclose(turned, -r * across, rtol=5e-3)


def test_a_sticking_impact_swings_back_by_the_stiffness_ratio():
    """e_t = -cos(π √(7/2 r)): by LinearSprings without bound, elastic."""
    ratios = np.array([2 / 7, 0.5, 0.8])
    given = OXIDE | {"along": 0.3, "into": 1.0}
    cases = [case(given, LinearSprings(4e6, r, 1.0, friction=1e3)) for r in ratios]
    velocity, spin = play(cases)[:2]
    slip = velocity[:, 0, 0] - spin[:, 1, 0] * OXIDE["radius"]
    np.testing.assert_allclose(slip / 0.3, np.cos(np.pi * np.sqrt(3.5 * ratios)), atol=0.02)
