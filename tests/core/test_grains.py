"""Soft spheres: closed forms, what is conserved, derivatives, what stops a run."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Courant, FixedSteps, Status, allocate, simulate
from difsim.dem import Grains, HertzMindlin, LinearSprings
from difsim.shape import Plane
from difsim.stepping.marching import initialise

R, RHO, E, NU = 5e-3, 2500.0, 1e7, 0.25

MASS = 4 / 3 * np.pi * RHO * R**3

HERTZ = HertzMindlin(E, NU, restitution=0.6, friction=0.5)

SPRINGS = LinearSprings(2e3, 0.8, restitution=0.6, friction=0.5)

FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))

G = 9.81


def moving(model, position, velocity, spin=None):
    state = model.at_rest(jnp.asarray(position, float))
    spin = jnp.zeros_like(state.spin) if spin is None else jnp.asarray(spin, float)
    return eqx.tree_at(lambda s: (s.velocity, s.spin), state, (jnp.asarray(velocity, float), spin))


@eqx.filter_jit
def energies(model, states):
    """At each of the times of a run."""
    return jax.vmap(model.energy, in_axes=(None, 0))(0.0, jax.tree.map(jnp.asarray, states))


def law(**changes):
    given = {"modulus": E, "poisson": NU, "restitution": 0.6, "friction": 0.5}
    return HertzMindlin(**given | changes)


def equal(of, gravity=(0.0, 0.0, -G)):
    """Three equal spheres on a floor."""
    return Grains(of, np.full(3, R), RHO, gravity, (FLOOR,))


@pytest.fixture(scope="module")
def near():
    """The list of a run of `equal` spheres. Lists with the same room for all make them share a program."""
    model, touching = equal(HERTZ), R * np.array([[0.0, 2, 1], [0, 0, 1.7], [1, 1, 1]])
    return allocate(model, model.at_rest(jnp.asarray(touching)))


@pytest.mark.parametrize("of", [HERTZ])
def test_restitution_is_realised_as_steps_become_short(of, near):
    """Two spheres, head on; the third and the floor are far away."""
    model, speed = equal(of, (0.0, 0.0, 0.0)), 0.3
    x = R * np.array([[0.0, 2.02, 0.0], [0, 0, 50], [50, 50, 50]])
    state = moving(model, x, [[speed, 0, 0], [0, 0, 0], [0, 0, 0]])
    for courant in (0.4, 0.05):  # 25 and 200 steps a contact; of first order, since the damper lags by half a step
        solver = Courant(courant, neighbours=near)
        run = simulate(model, state, [0.0, 0.04 * R / speed + 0.02], solver=solver)
        v = run.states.velocity[-1, 0]
        np.testing.assert_allclose((v[1] - v[0]) / 0.3, 0.6, atol=0.04 * courant)
        np.testing.assert_allclose(v.sum(), 0.3, rtol=1e-13)


@pytest.mark.parametrize("of", [law(restitution=0.01), LinearSprings(2e3, 12.0, restitution=0.6, friction=0.5)])
def test_friction_holds_for_any_damper_and_shear_stiffness(of, near):
    """A sphere that rolls down a slope: friction is 2/7 of its weight along it. In steps too long it swings."""
    model = equal(of, (2.0, 0.0, -G))
    state = model.at_rest(R * np.array([[0.0, 5, 10], [0, 0, 0], [1, 1, 1]]))
    run = simulate(model, state, [0.0, 0.1, 0.105], solver=Courant(0.95, neighbours=near))
    force = run.states.walls[0].memory.force[1:, 0, 0]
    np.testing.assert_allclose(-force, 2 / 7 * 2.0 * MASS, rtol=0.02)


def test_energy_along_a_wall_is_counted_once(near):
    """The last of all spheres, for which room in a list of those at a wall stands in, slides on the floor."""
    model = equal(law(friction=1e3), (0.0, 0.0, 0.0))
    x = np.array([[0.0, 5 * R, 10 * R], [0, 0, 0], [50 * R, 50 * R, R - 1e-5]])
    state = moving(model, x, [[0, 0, 0.1], [0, 0, 0], [0, 0, 0]])
    run = simulate(model, state, [0.0, 2e-5], solver=FixedSteps(20, neighbours=near))
    (at,) = run.states.walls
    force, stiffness = at.memory.force[-1, :, 0], at.memory.stiffness[-1, 0]
    assert at.who.shape[1] > 1
    np.testing.assert_allclose(
        energies(model, run.states)["tangential"][-1], 0.5 * force @ force / stiffness, rtol=1e-13
    )


def both_ways(function, at, along, weights):
    """Value, its derivative forward `along` a change, and in reverse by `weights` of the value, of one program."""
    value, forward = jax.linearize(function, at)
    return value, forward(along), jax.linear_transpose(forward, at)(weights)[0]


def test_derivatives_are_finite_where_grains_pass_apart():
    model = Grains(HERTZ, np.full(2, R), RHO)
    x = np.array([[0.0, 2.1 * R], [0, 0], [0, 0]])  # within the skin
    progress = initialise(model, moving(model, x, np.zeros((3, 2))))
    assert progress.neighbours.pairs.first[0] != progress.neighbours.pairs.second[0]

    def end(speed):
        state = moving(model, x, jnp.zeros((3, 2)).at[1, 0].set(speed))
        near, dt = progress.neighbours, jnp.asarray(1e-5)
        motion = model.begin(jnp.zeros(()), state, near)
        last = jax.lax.scan(lambda m, _: (model.step(m, near, dt), None), motion, length=4)[0]
        return last.state.velocity[1, 0]

    one = jnp.ones(())
    np.testing.assert_allclose(jax.jit(lambda speed: both_ways(end, speed, one, one))(0.3 * one), [0.3, 1.0, 1.0])


@pytest.fixture(scope="module")
def falling():
    """`equal` spheres of which two touch, one of them the floor, and one is apart and falls."""
    model = equal(HERTZ)
    x = R * np.array([[0.0, 2.01, 4], [0.0, 0.1, 0], [0.99, 1.0, 1.4]])
    return model, moving(model, x, [[0.3, 0, 0], [0, 0.1, 0], [0, 0, -0.2]])


def test_what_stops_a_run(falling, near):
    model, state = falling
    with pytest.raises(RuntimeError, match="STEP_TOO_LONG"):
        simulate(model, state, [0.0, 0.1], solver=FixedSteps(100, neighbours=near))
    thrown = eqx.tree_at(lambda s: s.velocity, state, state.velocity.at[0, 2].set(jnp.nan))
    ended = simulate(model, thrown, [0.0, 0.01], solver=FixedSteps(10_000, neighbours=near), throw=False)
    assert ended.status == Status.NOT_FINITE


@pytest.mark.parametrize("who", ["buried", "in one place", "too fast"])
def test_what_is_past_its_law_stops_a_run(who, falling, near):
    """Deep in each other or in the floor, at the start or later: not a motion that looks like one."""
    model, state = falling
    place, velocity = state.position, state.velocity
    if who == "buried":
        place = place.at[2, 1].set(-3 * R)
    elif who == "in one place":
        place = place.at[:, 1].set(place[:, 2])
    else:  # apart at first, and met at a speed that their modulus does not stop
        of = eqx.tree_at(lambda of: of.modulus, HERTZ, jnp.asarray(1e5))
        of = of if who == "too fast" else LinearSprings(10.0, 0.8, restitution=0.6, friction=0.5)
        model = equal(of)
        place = jnp.array([[-3 * R, 0.0, 3 * R], [0.0, 9 * R, 0.0], [5 * R, 5 * R, 5 * R]])
        velocity = jnp.array([[50.0, 0.0, -50.0], [0.0] * 3, [0.0] * 3])
    begin = eqx.tree_at(lambda s: (s.position, s.velocity), state, (place, velocity))
    ended = simulate(model, begin, [0.0, 1e-3], solver=Courant(neighbours=near), throw=False)
    assert ended.status == Status.BEYOND_LAW
    assert ended.stats.particle == 1 if who == "buried" else ended.stats.particle in (0, 1, 2)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"radius": np.array([1e-3, 0.0])}, r"radius = .* m must be positive"),
        ({"radius": np.array([1e-3, np.nan])}, "radius .* must be finite"),
        ({"radius": 1e-3}, r"radius has shape \(\): give \[n\]"),
        ({"radius": np.full((2, 1), 1e-3)}, r"radius has shape \(2, 1\)"),
        ({"radius": np.zeros(0)}, r"radius has shape \(0,\): .* at least one grain"),
        ({"density": -1.0}, "density"),
        ({"gravity": G}, "gravity has shape"),
        ({"gravity": (0.0, -G)}, "gravity has shape"),
        ({"gravity": (0.0, 0.0, np.nan)}, "gravity = .* must be finite"),
        ({"walls": FLOOR}, "Grains: walls: got an object Plane: give a tuple"),
        ({"walls": (HERTZ,)}, "Grains: walls: got a tuple of HertzMindlin"),
        ({"clumps": FLOOR}, "Grains: clumps: got an object Plane: give a tuple"),
    ],
)
def test_bad_grains(change, says):
    with pytest.raises(ValueError, match=says):
        Grains(**{"law": HERTZ, "radius": np.full(2, R), "density": RHO} | change)


def test_whole_numbers_of_metres_are_places():
    model = Grains(HERTZ, np.full(2, R), RHO)
    x = [[0, 1], [0, 0], [1, 2]]
    whole, same = model.at_rest(np.array(x)), model.at_rest(jnp.array(x, float))
    assert whole.position.dtype == same.position.dtype
    jax.tree.map(np.testing.assert_array_equal, whole, same)
