"""Soft spheres: closed forms, what is conserved, derivatives, what stops a run."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Courant, FixedSteps, Status, allocate, run, simulate
from difsim.contact import ConstantCohesion, RollingTorque, SpinningResistance
from difsim.dem import Grains, HertzMindlin, LinearSprings
from difsim.shape import Plane
from difsim.stepping.marching import initialise
from tests.helpers import single

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


@pytest.mark.parametrize("of", [HERTZ, pytest.param(SPRINGS, marks=pytest.mark.slow)])
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


def three():
    """Spheres of which two touch, one of them the floor, and one is apart and falls."""
    model = Grains(HERTZ, R * np.array([1.0, 0.8, 1.1]), RHO, (0.0, 0.0, -G), (FLOOR,))
    x = np.array([[0.0, 1.8 * R, 4 * R], [0.0, 0.1 * R, 0], [0.99 * R, 0.8 * R, 1.4 * R]])
    return model, moving(model, x, [[0.3, 0, 0], [0, 0.1, 0], [0, 0, -0.2]])


@pytest.mark.slow
def test_steps_are_of_second_order_for_elastic_grains():
    model = equal(law(restitution=1.0, friction=0.0), (0.0, 0.0, 0.0))
    x = 2.0001 * R * np.array([[0.0, np.cos(0.2), 0], [0, np.sin(0.2), 50], [50, 50, 50]])
    begin = moving(model, x, [[0.3, 0, 0], [0, 0, 0], [0, 0, 0]])
    with_steps = [simulate(model, begin, [0.0, 2.4e-4], solver=FixedSteps(n)) for n in (40, 80, 640)]
    coarse, fine, best = (run.last.position for run in with_steps)
    assert np.abs(best[1, 0]) > 1e-8  # they have met
    slope = np.log2(np.abs(coarse - best).max() / np.abs(fine - best).max())
    assert slope > 1.8


@pytest.mark.slow
def test_fall_is_exact_and_a_stack_carries_its_weight():
    model = Grains(law(restitution=0.1), np.full(4, R), RHO, (0.0, 0.0, -G), (FLOOR,))
    k = 4 / 3 * HERTZ.effective_modulus
    above = np.array([4, 3, 2, 1]) * MASS * G
    effective = np.array([R, R / 2, R / 2, R / 2])
    depth = (above / (k * effective**0.5)) ** (2 / 3)
    height = np.cumsum(np.array([1, 2, 2, 2]) * R - depth)
    x = np.zeros((3, 4))
    x[2] = height
    run = simulate(model, model.at_rest(jnp.asarray(x)), [0.0, 0.05])
    np.testing.assert_allclose(run.states.position[-1, 2], height, rtol=0, atol=1e-5 * depth.min())
    x[2] += 0.05
    x[0] = np.arange(4) * 3 * R
    run = simulate(model, model.at_rest(jnp.asarray(x)), [0.0, 0.02, 0.05])
    np.testing.assert_allclose(
        run.states.position[1:, 2], x[2] - 0.5 * G * np.array([[4e-4], [25e-4]]), rtol=1e-13
    )


def gas(of, n=4, seed=0):
    random = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij")).reshape(3, -1)
    radius = R * random.uniform(0.6, 1.0, n**3)
    walls = tuple(
        Plane(tuple(at * np.array(side)), tuple(-s * np.array(side, float)))
        for side in np.eye(3)
        for s, at in ((-1, 0.0), (1, n * 2.05 * R))
    )
    model = Grains(of, radius, RHO, walls=walls)
    state = moving(model, (grid + 0.5) * 2.05 * R, 0.2 * random.normal(size=grid.shape))
    return model, state


def total(model, state):
    return sum(float(v) for v in model.energy(0.0, state).values())


@pytest.mark.slow
@pytest.mark.parametrize("of", [HERTZ, SPRINGS])
def test_energy_never_rises_and_momentum_stays(of):
    model, state = gas(of)
    run = simulate(model, state, np.linspace(0, 0.05, 21), solver=Courant(0.2))
    energies = [total(model, jax.tree.map(lambda x, i=i: jnp.asarray(x[i]), run.states)) for i in range(21)]
    assert energies[-1] < 0.7 * energies[0] and np.diff(energies).max() < 1e-6 * energies[0]
    free = eqx.tree_at(lambda m: m.walls, model, ())
    state = eqx.tree_at(lambda s: s.walls, state, ())
    spin = 20 * jnp.asarray(np.random.default_rng(1).normal(size=state.spin.shape))
    state = eqx.tree_at(lambda s: (s.velocity, s.spin), state, (state.velocity - state.position * 3, spin))
    run = simulate(free, state, [0.0, 0.03])

    def momenta(x, v, w):
        m, moment = np.asarray(model.mass), 0.4 * np.asarray(model.mass * model.radius**2)
        return (m * v).sum(1), (m * np.cross(x, v, axis=0) + moment * w).sum(1)

    before = momenta(*map(np.asarray, (state.position, state.velocity, state.spin)))
    after = momenta(*(getattr(run.states, k)[-1] for k in ("position", "velocity", "spin")))
    assert abs(run.states.spin[-1] - np.asarray(spin)).max() > 1.0  # friction has turned them
    for new, old in zip(after, before, strict=True):
        np.testing.assert_allclose(new, old, rtol=0, atol=1e-11 * np.abs(old).max())


@pytest.mark.slow
def test_elastic_gas_keeps_its_energy():
    """64 spheres at a fiftieth of a contact: 1e-4."""
    model, state = gas(law(restitution=1.0, friction=0.0))
    run = simulate(model, state, np.linspace(0, 0.1, 6), solver=Courant(0.2))
    energies = [total(model, jax.tree.map(lambda x, i=i: jnp.asarray(x[i]), run.states)) for i in range(6)]
    moved = np.abs(run.states.velocity[-1] - np.asarray(state.velocity)).max()
    assert moved > 0.1 and np.abs(np.array(energies) / energies[0] - 1).max() < 1e-4


@pytest.mark.slow
def test_energy_counts_what_attracts_between_grains_and_to_walls():
    """Two fly together and to the floor, and away again."""
    model = Grains(
        law(restitution=1.0, friction=0.0, cohesion=(ConstantCohesion(0.02, 0.02 * R),)),
        np.full(2, R),
        RHO,
        walls=(FLOOR,),
    )
    x = np.array([[0.0, 2.03 * R], [0, 0], [1.04 * R, 1.04 * R]])
    state = moving(model, x, [[0.15, -0.15], [0, 0], [-0.2, -0.2]])
    run = simulate(model, state, np.linspace(0, 3e-3, 31), solver=Courant(0.04))
    told = {k: np.asarray(v) for k, v in energies(model, run.states).items()}
    whole, motion = sum(told.values()), told["kinetic"]
    apart = run.states.velocity[-1] * np.array([[-1, 1], [1, 1], [1, 1]]) >= 0
    assert apart.all() and motion.min() < 0.6 * motion[0]
    assert np.abs(whole / motion[0] - 1).max() < 1e-4
    assert np.ptp(whole - told["cohesive"]) > 0.05 * motion[0]
    # Room in the list is told as grain 0 with itself, and these are no distance from each other.
    far = eqx.tree_at(lambda m: m.law.cohesion[0].range, model, jnp.asarray(3 * R))
    wide = eqx.tree_at(lambda s: s.position, run.states, 9 * run.states.position)
    assert (energies(far, wide)["cohesive"] == 0).all()


@pytest.mark.slow
def test_a_sliding_sphere_begins_to_roll():
    """v = 5/7 v₀ from t = 2 v₀/(7 μ g) on, and with a resistance C it is slowed by 5/7 C/R g."""
    depth = (MASS * G / (4 / 3 * HERTZ.effective_modulus * R**0.5)) ** (2 / 3)
    for C in (0.0, 2e-5):
        rolling = (RollingTorque(C, 0.1),) if C else ()
        model = Grains(law(friction=0.3, rolling=rolling), np.full(2, R), RHO, (0.0, 0.0, -G), (FLOOR,))
        x = np.array([[0.0, 0.0], [0.0, 5 * R], [R - depth, R - depth]])
        state = moving(model, x, [[0.2, 0.2], [0, 0], [0, 0]])
        begins = 2 * 0.2 / (7 * 0.3 * G)
        run = simulate(model, state, [0.0, begins / 2, 2 * begins, 4 * begins], solver=Courant(0.3))
        v, w = run.states.velocity[1:, 0, 0], run.states.spin[1:, 1, 0]
        np.testing.assert_allclose(v[0], 0.2 - 0.3 * G * begins / 2, rtol=2e-3)
        if not C:
            arm = R - depth  # of the contact: friction turns the sphere by a little less than its radius
            rolls = 0.2 / (1 + 0.4 * (R / arm) ** 2)
            np.testing.assert_allclose([v[1:], w[1:] * arm], rolls, rtol=2e-4)
        else:
            np.testing.assert_allclose(v[1] - v[2], 5 / 7 * C / R * G * 2 * begins, rtol=2e-2)


@pytest.mark.parametrize("of", [law(restitution=0.01), LinearSprings(2e3, 12.0, restitution=0.6, friction=0.5)])
def test_friction_holds_for_any_damper_and_shear_stiffness(of, near):
    """A sphere that rolls down a slope: friction is 2/7 of its weight along it. In steps too long it swings."""
    model = equal(of, (2.0, 0.0, -G))
    state = model.at_rest(R * np.array([[0.0, 5, 10], [0, 0, 0], [1, 1, 1]]))
    run = simulate(model, state, [0.0, 0.1, 0.105], solver=Courant(0.95, neighbours=near))
    force = run.states.walls[0].memory.force[1:, 0, 0]
    np.testing.assert_allclose(-force, 2 / 7 * 2.0 * MASS, rtol=0.02)


@pytest.mark.slow
def test_cohesion_holds_up_to_its_pull_off():
    hold = law(cohesion=(ConstantCohesion(3 * MASS * G, 0.02 * R),))
    for pulls, stays in ((2.5, True), (3.5, False)):
        model = Grains(hold, np.full(2, R), RHO, (0.0, 0.0, -pulls * G), (FLOOR,))
        ceiling = eqx.tree_at(lambda m: m.walls, model, (Plane((0.0, 0.0, 0.0), (0.0, 0.0, -1.0)),))
        x = np.array([[0.0, 5 * R], [0, 0], [-R, -R]])
        run = simulate(ceiling, ceiling.at_rest(jnp.asarray(x)), [0.0, 0.05])
        assert (abs(run.states.position[-1, 2] + R) < 0.02 * R).all() == stays


@pytest.mark.slow
def test_memory_outlives_its_list():
    """Oblique impacts that stick, on each other and on a wall, are the same however often lists are made."""
    model = Grains(HERTZ, np.full(3, R), RHO, walls=(FLOOR,))
    x = np.array([[0.0, 2.001 * R, 9 * R], [0, 0, 0], [5 * R, 5 * R, 1.001 * R]])
    state = moving(model, x, [[0.3, 0, 0.05], [0.05, 0, 0], [0, 0, -0.3]])
    lists = (allocate(model, state, skin=skin) for skin in (0.5, 4e-4))
    once, often = (simulate(model, state, [0.0, 4e-4], solver=FixedSteps(200, neighbours=x)) for x in lists)
    assert (np.abs(once.states.spin[-1]).max(axis=0) > 0.1).all()
    np.testing.assert_allclose(often.states.spin[-1], once.states.spin[-1], rtol=1e-12)


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


@pytest.mark.slow
def test_derivatives_forward_reverse_and_by_differences():
    """Through an oblique impact with cohesion and rolling, by restitution, friction, modulus and theirs."""
    rolling = RollingTorque(0.1 * R, 1.0), SpinningResistance(0.05 * R, 1.0)
    of = law(rolling=rolling, cohesion=(ConstantCohesion(5 * MASS * G, 0.02 * R),))
    model, state = three()
    model = eqx.tree_at(lambda m: m.law, model, of)
    progress = initialise(model, state)

    def numbers(model):
        of = model.law
        return of.restitution, of.friction, of.modulus, of.rolling[0].length, of.cohesion[0].pull_off

    @jax.jit
    def end(factors, along, weights):
        def ended(factors):
            changed = eqx.tree_at(
                numbers, model, tuple(f * x for f, x in zip(factors, numbers(model), strict=True))
            )
            near, dt = progress.neighbours, jnp.asarray(4e-6)
            last = jax.lax.scan(lambda m, _: (changed.step(m, near, dt), None), progress.motion, length=60)[0]
            return jnp.concatenate([last.state.velocity[0], last.state.spin[1]])

        return both_ways(ended, factors, along, weights)

    p, (five, six), h = jnp.ones(5), (np.eye(5), np.eye(6)), 1e-5
    forward = np.stack([end(p, e, six[0])[1] for e in five], axis=1)
    reverse = np.stack([end(p, five[0], e)[2] for e in six])
    beside = [[end(p + sign * h * e, e, six[0])[0] for e in five] for sign in (1, -1)]
    differences = (np.array(beside[0]) - np.array(beside[1])).T / (2 * h)
    assert np.isfinite(forward).all() and (np.abs(forward).max(axis=0) > 1e-3).all()
    np.testing.assert_allclose(reverse, forward, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(forward, differences, rtol=1e-5, atol=1e-6 * np.abs(forward).max())


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


@pytest.mark.parametrize(
    "who", ["buried", "in one place", "too fast", pytest.param("springs", marks=pytest.mark.slow)]
)
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


@pytest.mark.slow
def test_a_list_is_made_larger_and_a_run_goes_on_from_a_state():
    # A loose heap that falls together, in a box without a lid, needs more room for its pairs.
    model, state = gas(HERTZ)
    falls = Grains(HERTZ, model.radius, RHO, (0.0, 0.0, -50 * G), model.walls[:-1])
    loose = falls.at_rest(state.position * jnp.array([1.0, 1.0, 1.3])[:, None])
    whole = run(falls, loose, [0.0, 0.001, 0.04, 0.05])
    assert whole.stats.lists > 0 and whole.states.pairs.first.shape[0] == 4
    on = run(falls, jax.tree.map(lambda x: jnp.asarray(x[2]), whole.states), [0.0, 0.01])
    np.testing.assert_allclose(on.states.position[-1], whole.states.position[3], atol=0.02 * R)


@pytest.mark.slow
def test_float32_stays_float32_within_a_float64_session(falling):
    model, state = falling
    both = (model, state), single((model, state))
    wide, narrow = (simulate(*given, [0.0, 4e-4], solver=FixedSteps(100)).states for given in both)
    assert {x.dtype for x in jax.tree.leaves(narrow) if x.dtype.kind == "f"} == {np.dtype(np.float32)}
    assert np.abs(wide.spin).max() > 1.0  # two have met
    np.testing.assert_allclose(narrow.position, wide.position, atol=1e-4 * R)


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
