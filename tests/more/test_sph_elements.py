"""Small bodies through real steps, each against a closed form: columns, waves, spins, blocks that slide."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import trapezoid

from difsim import FixedSteps, Unrolled, allocate, simulate
from difsim.sph import Continuum, CubicSpline, DruckerPrager
from difsim.sph.continuum import ContinuumMotion
from difsim.sph.corrections import tension
from difsim.sph.kernel import WendlandC2
from difsim.sph.losses import ContinuumLosses
from difsim.sph.tools import Carried, Sliding, Turning
from difsim.stepping.marching import Progress
from tests.core.test_sph import SOIL, block, field, grid
from tests.core.test_sph_elements import CORRECTIONS, ELASTIC, SPACING, assemble, lattice
from tests.helpers import check_gradients, list_neighbours, to_single


def run_until(model, state, time, dt) -> Progress:
    """The run from `state` at 0 s until `time` s in steps of `dt` s."""
    return simulate(model, state, [0.0, time], solver=FixedSteps(round(time / dt))).progress


def test_a_column_between_slippery_walls_bears_its_weight():
    nx, ny, g = 6, 14, 9.81
    walls = [(lattice((-3, 0), (0, ny + 3)), (1, 0)), (lattice((nx, nx + 3), (0, ny + 3)), (-1, 0))]
    walls.append((lattice((-3, nx + 3), (-3, 0)), None))
    model, state = assemble(lattice((0, nx), (0, ny)), walls, gravity=g)
    # Nearly critical damping of the column's first mode, π c/2H.
    model = eqx.tree_at(lambda m: m.damping, model, jnp.asarray(400.0))
    end = run_until(model, state, 0.06, 2e-4)
    stress = np.asarray(end.motion.state.stress)[:, :, : nx * ny].reshape(3, 3, nx, ny)
    depth = (ny - np.arange(ny) - 0.5) * SPACING
    inside = slice(2, -2)  # the kernel of the two rows at the top is cut
    # Rows alternate by a tenth (velocities do not see it), so the line is through the mean over the width.
    column = -np.mean(stress[1, 1], axis=0) / (2000 * g)
    assert np.polyfit(depth[inside], column[inside], 1)[0] == pytest.approx(1.0, abs=0.05)
    assert np.sum(stress[0, 0]) / np.sum(stress[1, 1]) == pytest.approx(0.3 / 0.7, rel=0.03)
    loads = eqx.filter_jit(model.loads)(end.motion, end.neighbours)
    left, right, floor = (np.asarray(load.force) for load in loads)
    weight = 2000 * g * nx * ny * SPACING**2
    np.testing.assert_allclose(left + right + floor, [0, -weight], atol=1e-3 * weight)
    assert abs(left[1]) < 2e-3 * weight
    height, push = ny * SPACING, 0.3 / 0.7 * 2000 * g
    assert right[0] == pytest.approx(push * height**2 / 2, rel=0.1)
    arm = np.mean(model.tools[1].reference, axis=1)
    about_the_foot = loads[1].torque + (arm[0] - nx * SPACING) * right[1] - arm[1] * right[0]
    assert about_the_foot == pytest.approx(-push * height**3 / 6, rel=0.1)


def test_a_plate_gives_a_block_impulse_and_work():
    """A plate pushes a block off: the impulse of its load is the block's momentum, its work the block's energy."""
    n, m = 12, 6
    model, state = assemble(lattice((0, n), (0, m)), [(lattice((-3, 0), (0, m)), None)], losses=ContinuumLosses())
    (plate,) = model.tools
    moving = Carried(Turning(np.mean(plate.reference, axis=1), 3.0), Sliding((0.2, 0.0)))
    model = eqx.tree_at(lambda c: c.tools[0].path, model, moving)
    pushed = simulate(model, state, jnp.linspace(0.0, 0.01, 101), solver=FixedSteps(1))
    (load,) = pushed.loads
    times, mass = np.asarray(pushed.times), float(model.mass[0])

    def integral(rate):
        return trapezoid(np.asarray(rate), times, axis=0)

    momentum = mass * np.asarray(pushed.last.velocity)[:, : n * m].sum(axis=1)
    np.testing.assert_allclose(-integral(load.force), momentum, rtol=0.01, atol=0.002 * momentum[0])
    np.testing.assert_allclose(integral(load.power), pushed.energy["tools"][-1], rtol=0.01)


def test_only_positions_and_tools_stay_float64():
    """All else is float32, with all corrections and both kinds of wall, in a session of float64; traced only."""
    solid = lattice((0, 7), (0, 7))
    walls = [(lattice((-3, 0), (0, 7)), (1, 0)), (lattice((-3, 10), (-3, 0)), None)]
    model, state = assemble(solid, walls, gravity=9.81, corrections=CORRECTIONS)
    motion = ContinuumMotion(jnp.asarray(0.0), state, state, {}, {})
    near = list_neighbours(state.position, 2.5 * SPACING, 0.0, rigid=model.rigid)
    soil = DruckerPrager(1e6, 0.3, 0.5, density=2000.0)
    for material, way in ((soil, Continuum.step), (ELASTIC, Continuum.attempt)):
        whole = eqx.tree_at(lambda m: m.material, model, material)
        before = motion, near, jnp.asarray(1e-4)
        now = jax.eval_shape(way, to_single(whole), *to_single(before))
        assert {x.dtype for x in jax.tree.leaves(now)} == {jnp.dtype(jnp.float32)}
        mixed = eqx.tree_at(lambda m: m.tools, to_single(whole), whole.tools)
        at = eqx.tree_at(lambda m: (m.time, m.state.position), to_single(motion), (motion.time, state.position))
        now = jax.eval_shape(way, mixed, at, *before[1:])
        assert [x.shape for x in jax.tree.leaves(now) if x.dtype != jnp.float32] == [(), state.position.shape]


def test_soil_far_from_the_origin_needs_float64_positions_only():
    by = jnp.full((2, 1), 100.0)
    walls = [(lattice((-3, 0), (0, 5)), (1, 0)), (lattice((-3, 8), (-3, 0)), None)]
    near, state = assemble(lattice((0, 5), (0, 5)), walls)
    near = eqx.tree_at(lambda m: m.material, near, DruckerPrager(1e6, 0.3, 0.5, density=2000.0))
    far = eqx.tree_at(lambda m: [t.reference for t in m.tools], near, [t.reference + by for t in near.tools])
    all_but_tools = eqx.tree_at(lambda m: m.tools, to_single(far), far.tools)

    def run_to_end(model, position):
        state = model.at_rest(position)
        way = {"solver": FixedSteps(40, neighbours=allocate(model, state)), "derivative": Unrolled()}

        def height(gravity):
            heavy = eqx.tree_at(lambda m: m.gravity, model, gravity * jnp.array([0.0, -1.0], model.gravity.dtype))
            last = simulate(heavy, state, [0.0, 2e-3], **way).last
            return jnp.mean(last.position[1]), last

        one = jnp.asarray(9.81, model.mass.dtype)
        _, slope, last = eqx.filter_jit(lambda g: jax.jvp(height, (g,), (jnp.ones_like(g),), has_aux=True))(one)
        return float(slope), last

    slope, exact = run_to_end(near, state.position)
    found, end = run_to_end(all_but_tools, state.position + by)
    fallen = np.abs(exact.position - state.position).max()
    np.testing.assert_allclose(end.position - by, exact.position, rtol=0, atol=1e-5 * fallen)
    assert found == pytest.approx(slope, rel=1e-5)
    assert {x.dtype for x in (end.velocity, end.stress, end.density)} == {jnp.dtype(jnp.float32)}
    _, plain = run_to_end(to_single(far), to_single(state.position + by))
    assert np.abs(plain.position - by - exact.position).max() > 1e-2 * fallen


@pytest.mark.parametrize("d", [2, 3])
def test_tension_is_the_positive_part(d):
    rng = np.random.default_rng(2)
    q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    values = np.array([3.0, -2.0, 1.0])[:d]
    stress = jnp.asarray(q @ np.diag(values) @ q.T)
    np.testing.assert_allclose(tension(stress), q @ np.diag(np.maximum(values, 0)) @ q.T, atol=1e-12)
    for same in (jnp.zeros((d, d)), 2.0 * jnp.eye(d), -jnp.eye(d)):
        np.testing.assert_allclose(tension(same), jnp.maximum(same, 0), atol=1e-12)
        assert np.isfinite(jax.jacfwd(tension)(same)).all()
    check_gradients(lambda s: tension(0.5 * (s + s.T)), stress)


def test_a_compression_wave_has_the_speed_of_sound():
    """A standing plane wave stands still after a quarter of its period, λ/4c."""
    nx, ny, wave = 60, 24, 40
    solid = lattice((0, nx), (0, ny))
    model, state = assemble(solid, [], alpha=0.0)
    shape = np.sin(2 * np.pi * solid[0] / (wave * SPACING))
    state = eqx.tree_at(lambda s: s.velocity, state, state.velocity.at[0].set(1e-3 * jnp.asarray(shape)))
    # One wave in the middle: what comes from the free surfaces, at most at that speed, is not there yet.
    inside = np.abs(solid[0] - 0.5 * nx * SPACING) < 0.5 * wave * SPACING
    inside &= np.abs(solid[1] - 0.5 * ny * SPACING) < SPACING
    seen = shape * inside
    dt = 2e-4
    run = simulate(model, state, dt * jnp.arange(25), solver=FixedSteps(1))
    a = np.asarray(run.states.velocity[1:, 0] @ seen)
    i = int(np.argmax(a < 0))
    quarter = dt * (i + a[i - 1] / (a[i - 1] - a[i]))
    speed = np.sqrt((ELASTIC.bulk + 4 / 3 * ELASTIC.shear) / 2000)
    assert wave * SPACING / 4 / quarter == pytest.approx(speed, rel=0.02)


def strain_error(d, kernel, support):
    """The relative error of a uniform expansion's stress rate in the middle of a lattice, whatever the support."""
    cells = {2: 11, 3: 9}[d]
    model, state, _ = block(grid(d, 1.0, cells) - (cells - 1) / 2, 1.0)
    model = eqx.tree_at(lambda m: m.kernel, model, kernel(support))
    state = eqx.tree_at(lambda s: s.velocity, state, state.position)
    near = list_neighbours(state.position, 3.0, 0.0)  # of the widest support: one program for all of them
    rate = field(model, state, near).stress[0, 0, state.density.size // 2]
    expansion = jnp.diag(jnp.array([1.0, 1.0, float(d == 3)]))
    return float(rate / SOIL.rate(jnp.zeros((3, 3)), expansion)[0, 0]) - 1


@pytest.mark.parametrize("kernel", [CubicSpline, WendlandC2])
@pytest.mark.parametrize("d", [2, 3])
def test_a_support_of_too_few_spacings_is_refused(d, kernel):
    """One of 1.5 spacings made stresses 29 % too large, and nothing said so."""
    assert -0.35 < strain_error(d, kernel, 1.5) < -0.25
    assert all(abs(strain_error(d, kernel, support)) < 0.035 for support in (2.0, 2.2, 2.5, 3.0))
    model, _, _ = block(grid(d))
    given = model.material, model.viscosity, model.gravity, model.mass
    for support in (2.0, 2.5):
        Continuum(given[0], kernel(support * 0.1), *given[1:])
    with pytest.raises(ValueError, match=r"h = 0\.15 m is too short .*: give 2 spacings"):
        Continuum(given[0], kernel(0.15), *given[1:])
    heavier = model.mass.at[3].multiply(2.0**d)
    with pytest.raises(ValueError, match=r"h = 0\.25 m is too short"):
        Continuum(given[0], kernel(0.25), *given[1:3], heavier)
    with pytest.raises(ValueError, match=r"gravity has shape \(1,\)"):
        Continuum(given[0], kernel(0.25), given[1], jnp.zeros(1), model.mass)
