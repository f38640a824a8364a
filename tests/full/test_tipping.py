"""Landers that tip over on the boulder: their energy closes, whatever strut, edge and soles do to each other."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Status
from difsim.body import RigidState
from difsim.rotation import Rotation
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.agilkia.scenario import problem
from tests.philae import BOX, CENTRAL, MAXWELL, P0, build

SHARE = 1e-4  # of the initial energy: what a run may lose track of
# A strut that passed the vertical on the edge made 79 kJ of the 49 J of this one.
JUMPED = {
    "thickness": 0.849,
    "grain_diameter": 0.0159,
    "grain_density": 1870.0,
    "grain_modulus": 1e8,
    "friction": 0.6,
    "scenario": 0.0,
    "edge_offset": -0.0833,
    "tilt_x": -0.0457,
    "tilt_y": 0.00703,
    "heading": 0.677,
}


def inverse(name="published", kind="central"):
    lander = read_lander(DATA / "philae.toml")
    lander["gear"]["kind"] = kind
    return problem(lander, read_observations(DATA / f"philae_{name}.toml"))


@eqx.filter_jit
def follow_touchdown(known, row, names):
    """Status, drift of the energy over the initial one, least height and stroke, least upright."""
    _, solution = known.follow(dict(zip(names, row, strict=True)), jnp.linspace(0.0, known.horizon, 51))
    energy, body = solution.energy, solution.states.body
    total = sum(energy.values())
    axis = jax.vmap(lambda q: Rotation(q) @ jnp.array([0.0, 0.0, 1.0]))(body.attitude)
    given_back = [jnp.min(jnp.diff(energy[sink])) for sink in ("ground", "damper", "friction")]
    return {
        "status": solution.status,
        "drift": jnp.max(jnp.abs(total - total[0])) / energy["kinetic"][0],
        "height": jnp.min(body.position[:, 2]),
        "stroke": jnp.min(solution.states.gear),
        "upright": jnp.min(axis[:, 2]),
        "given_back": jnp.min(jnp.stack(given_back)),
    }


def follow(known, rows, names):
    """Of each row what `follow_touchdown` says: one program for any number of them."""
    found = [follow_touchdown(known, row, names) for row in rows]
    return jax.tree.map(lambda *values: np.stack(values), *found)


def draws(problem, count, seed):
    """Rows of the prior, discrete unknowns at one of their values each."""
    u = np.random.default_rng(seed).uniform(size=(count, len(problem.names)))
    rows = np.array(jax.vmap(lambda u: problem.relax().physical(problem.quantile(u)))(jnp.asarray(u)))
    for name in problem.discrete:
        i, values = problem.names.index(name), np.asarray(problem.parameters[name].values)
        rows[:, i] = values[(u[:, i] * len(values)).astype(int)]
    return jnp.asarray(rows)


def test_the_touchdown_that_made_energy_closes():
    """At the tolerance of a search, where its contacts switch too."""
    setting = inverse()
    row = jnp.array([[JUMPED[name] for name in setting.names]])
    seen = follow(setting.predict, row, tuple(setting.names))
    assert seen["upright"][0] < 0.6, "it tips by more than 53 degrees"
    assert seen["status"][0] == Status.OK and seen["drift"][0] < SHARE


@pytest.mark.parametrize(
    ("name", "kind", "tipped"),
    [
        ("published", "central", 0.2),
        ("paper", "central", 0.2),
        ("published", "maxwell", 0.03),
    ],
)
def test_draws_of_the_prior_close_or_are_refused(name, kind, tipped):
    """None creates energy, has its centre in the ground, or draws a leg out, also where it tips over."""
    setting = inverse(name, kind)
    seen = jax.tree.map(np.asarray, follow(setting.predict, draws(setting, 60, 25), tuple(setting.names)))
    values_are_valid = np.isin(seen["status"], (Status.OK, Status.PAST_VALIDITY))
    assert values_are_valid.mean() > 0.95 and np.all(values_are_valid | (seen["status"] == Status.ENERGY))
    assert seen["drift"][values_are_valid].max() < SHARE
    assert np.mean(seen["upright"] < 0.5) > tipped, "draws that tip over by 60 degrees are among them"
    assert seen["height"].min() > 0 and seen["stroke"].min() > -0.01
    assert seen["given_back"].min() > -1e-4


@pytest.mark.parametrize("gear", [pytest.param(CENTRAL, id="central"), pytest.param(MAXWELL, id="maxwell")])
def test_no_state_creates_energy(gear):
    """Near ground and boulder, at any attitude, spin and stroke: the rates of all energies add up to 0, and those
    of ground, damper and friction are positive."""
    model, start = build(P0, gear, hull=BOX)

    @jax.jit
    @jax.vmap
    def rates(position, turn, velocity, spin, stroke, depth, pit):
        body = RigidState(position, velocity, Rotation.from_rotation_vector(turn), spin)
        state = replace(start, body=body, gear=stroke, penetration=depth, pit=pit)

        def energies(t, state):
            return model.energy(t, state)

        t = jnp.array(0.5)
        _, rate = jax.jvp(energies, (t, state), (jnp.ones(()), model.vector_field(t, state)))
        return rate | model.power(t, state), jnp.any(model.boulder_forces(state).normal_forces[0] != 0)

    random, n = np.random.default_rng(3), 4000
    uniform = lambda *sizes: jnp.asarray(random.uniform(-1, 1, size=(n, *sizes)))  # noqa: E731
    position = 0.4 * uniform(3) + jnp.array([[0.0, 0.0, 0.75]])
    stroke = 0.03 * (1 + uniform(*start.gear.shape)) - 0.002
    depths = (0.1 * (1 + uniform(*of.shape)) for of in (start.penetration, start.pit))
    rate, on_the_edge = rates(position, 1.5 * uniform(3), uniform(3), uniform(3), stroke, *depths)
    flow = sum(np.abs(part) for part in rate.values())
    np.testing.assert_allclose(sum(rate.values()) / flow, 0, atol=1e-9)
    for sink in ("ground", "damper", "friction"):
        assert np.min(rate[sink] / flow) > -1e-12, sink
    assert np.mean(on_the_edge) > 0.02, "struts on the edge are among them"
