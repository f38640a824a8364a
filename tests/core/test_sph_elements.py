"""Small bodies through real steps, each against a closed form: columns, waves, spins, blocks that slide."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import FixedSteps, Unrolled, allocate, simulate
from difsim.particles.neighbours import Neighbours
from difsim.sph import Continuum, CubicSpline, DruckerPrager, Murnaghan, Tool, Viscosity
from difsim.sph.continuum import ContinuumMotion
from difsim.sph.corrections import XSPH, ArtificialStress, GradientCorrection, tension
from difsim.sph.density import FixedDensity
from difsim.sph.soil import Compression, PlaneStrain
from difsim.stepping.marching import Progress
from tests.helpers import check_gradients, single

SPACING = 0.01

ELASTIC = Murnaghan(1e6, 0.3, 2000.0)


def lattice(x, y):
    """Cell centres [2, n] m from the first to before the last of `x` and of `y`, in spacings."""
    return (np.stack(np.meshgrid(np.arange(*x), np.arange(*y), indexing="ij")).reshape(2, -1) + 0.5) * SPACING


def put_together(solid, walls, gravity=0.0, alpha=0.3, **rest):
    """A model of a solid, which comes first, and walls, each with a normal or without, and its state at rest."""
    position = np.concatenate([solid] + [w for w, _ in walls], axis=1)
    ends = np.cumsum([solid.shape[1]] + [w.shape[1] for w, _ in walls])
    tools = []
    for (wall, normal), first, last in zip(walls, ends[:-1], ends[1:], strict=True):
        across = None if normal is None else np.tile(np.array(normal, float)[:, None], wall.shape[1])
        tools.append(Tool(np.arange(first, last), wall, normal=across))
    model = Continuum(
        ELASTIC,
        CubicSpline(2.5 * SPACING),
        Viscosity(alpha, 0.0, ELASTIC.sound),
        np.array([0.0, -gravity]),
        np.full(position.shape[1], float(ELASTIC.density) * SPACING**2),
        tuple(tools),
        **rest,
    )
    return model, model.at_rest(jnp.asarray(position))


def after(model, state, time, dt) -> Progress:
    """The run from `state` at 0 s until `time` s in steps of `dt` s."""
    return simulate(model, state, [0.0, time], solver=FixedSteps(round(time / dt))).progress


def test_a_column_between_slippery_walls_bears_its_weight():
    nx, ny, g = 6, 14, 9.81
    walls = [(lattice((-3, 0), (0, ny + 3)), (1, 0)), (lattice((nx, nx + 3), (0, ny + 3)), (-1, 0))]
    walls.append((lattice((-3, nx + 3), (-3, 0)), None))
    model, state = put_together(lattice((0, nx), (0, ny)), walls, gravity=g)
    # Nearly critical damping of the column's first mode, π c/2H.
    model = eqx.tree_at(lambda m: m.damping, model, jnp.asarray(400.0))
    end = after(model, state, 0.06, 2e-4)
    stress = np.asarray(end.motion.state.stress)[:, :, : nx * ny].reshape(3, 3, nx, ny)
    depth = (ny - np.arange(ny) - 0.5) * SPACING
    inside = slice(2, -2)  # the kernel of the two rows at the top is cut
    # Rows alternate by a tenth (velocities do not see it), so the line is through the mean over the width.
    column = -np.mean(stress[1, 1], axis=0) / (2000 * g)
    assert np.polyfit(depth[inside], column[inside], 1)[0] == pytest.approx(1.0, abs=0.05)
    assert np.sum(stress[0, 0]) / np.sum(stress[1, 1]) == pytest.approx(0.3 / 0.7, rel=0.03)
    forces = eqx.filter_jit(lambda m, p: [m.force(p.motion, p.neighbours, tool) for tool in m.tools])
    left, right, floor = map(np.asarray, forces(model, end))
    weight = 2000 * g * nx * ny * SPACING**2
    np.testing.assert_allclose(left + right + floor, [0, -weight], atol=1e-3 * weight)
    assert abs(left[1]) < 2e-3 * weight
    assert right[0] == pytest.approx(0.5 * 0.3 / 0.7 * 2000 * g * (ny * SPACING) ** 2, rel=0.1)


def test_a_compression_wave_has_the_speed_of_sound():
    """A standing plane wave stands still after a quarter of its period, λ/4c."""
    nx, ny, wave = 60, 24, 40
    solid = lattice((0, nx), (0, ny))
    model, state = put_together(solid, [], alpha=0.0)
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


def test_the_stress_of_a_turning_body_turns_with_it():
    """After a turn by 1 rad σ = R σ₀ Rᵀ (Jaumann), and inside the soil's cone nothing of it is lost."""
    soil = DruckerPrager(1e6, 0.3, 0.5, cohesion=1e6, density=2000.0)
    first = np.array([[-3000.0, 800.0, 0.0], [800.0, 500.0, 0.0], [0.0, 0.0, -700.0]])
    spin = jnp.zeros((3, 3)).at[0, 1].set(-1.0).at[1, 0].set(1.0)
    steps = 400

    def step(stress, _):
        half = stress + 0.5 / steps * soil.rate(stress, spin)
        return soil.admissible(stress + 1.0 / steps * soil.rate(half, spin), soil.density), None

    end = jax.jit(lambda s: jax.lax.scan(step, s, length=steps)[0])(jnp.asarray(first))
    turn = np.array([[np.cos(1), -np.sin(1), 0], [np.sin(1), np.cos(1), 0], [0, 0, 1]])
    np.testing.assert_allclose(end, turn @ first @ turn.T, atol=0.02)


def limit(soil, gradient, held_at, strain=0.2, steps=400):
    """σ of one stress point, pressed along y by `strain`, while the lateral strain keeps σ_xx at `held_at` Pa."""

    def step(stress, _):
        def strained(e):
            return soil.admissible(stress + strain / steps * soil.rate(stress, gradient(e)), soil.density)

        def newton(_, e):
            value, slope = jax.jvp(lambda e: strained(e)[0, 0], (e,), (jnp.ones(()),))
            return e - (value - held_at) / slope

        stress = strained(jax.lax.fori_loop(0, 6, newton, jnp.asarray(0.3)))
        return stress, stress

    return jax.jit(lambda s: jax.lax.scan(step, s, length=steps)[0])(held_at * jnp.eye(3))


def test_limits_of_the_cones_at_a_stress_point():
    """Coulomb's σ₁ = N σ₃ + 2 c √N: at the compression cone's edge, and in plane strain if the flow is associated.

    Without dilatancy plane strain ends with σ_zz in the middle, so at sin φ' = 3a < sin φ.
    """
    friction, c, lateral = 0.5, 300.0, -1000.0
    n = np.tan(np.pi / 4 + friction / 2) ** 2
    coulomb = n * lateral - 2 * c * np.sqrt(n)
    in_plane = lambda e: jnp.diag(jnp.stack([e, -1.0 + 0 * e, 0 * e]))  # noqa: E731
    triaxial = lambda e: jnp.diag(jnp.stack([e, -1.0 + 0 * e, e]))  # noqa: E731
    soil = DruckerPrager(1e6, 0.3, friction, c, cone=Compression())
    np.testing.assert_allclose(limit(soil, triaxial, lateral)[1, 1], coulomb, rtol=1e-6)
    a, k = PlaneStrain().match(friction, c)
    associated = DruckerPrager(1e6, 0.3, friction, c, dilatancy=np.arcsin(a / 3))
    np.testing.assert_allclose(limit(associated, in_plane, lateral)[1, 1], coulomb, rtol=1e-4)
    stress = limit(DruckerPrager(1e6, 0.3, friction, c), in_plane, lateral)
    np.testing.assert_allclose(stress[1, 1], (lateral * (1 + 3 * a) - 2 * k) / (1 - 3 * a), rtol=1e-4)
    np.testing.assert_allclose(stress[2, 2], 0.5 * (stress[0, 0] + stress[1, 1]), rtol=1e-4)


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


CORRECTIONS = (GradientCorrection(), XSPH(0.5), ArtificialStress(SPACING))


def test_corrections_are_exact_for_linear_motion():
    rng = np.random.default_rng(3)
    x = lattice((0, 7), (0, 7)) + rng.normal(size=(2, 49)) * 0.1 * SPACING
    model, state = put_together(x, [], corrections=CORRECTIONS, balance=FixedDensity())
    neighbours = Neighbours.allocate(x, 2.5 * SPACING, 0.0)
    field = eqx.filter_jit(lambda state: model.field(jnp.zeros(()), state, neighbours)[0])
    linear = jnp.array([[0.2, 0.5], [-0.1, 0.3]])
    rate = field(eqx.tree_at(lambda s: s.velocity, state, linear @ state.position))
    # At corners too.
    np.testing.assert_allclose(rate.stress[0, 1], ELASTIC.shear * 0.4, rtol=1e-9)
    assert (np.asarray(rate.density) == 0).all()
    pulled = 1e3 * jnp.asarray(rng.random((1, 1, 49))) * jnp.eye(3)[:, :, None]
    thrown = jnp.asarray(rng.normal(size=(2, 49)))
    moved = field(eqx.tree_at(lambda s: (s.velocity, s.stress), state, (thrown, pulled)))
    for change in (moved.velocity, moved.position - thrown):
        assert np.abs(np.asarray(change)).max() > 0.01
        np.testing.assert_allclose(np.sum(change, axis=1), 0, atol=1e-9 * np.abs(change).sum())


def test_only_positions_and_tools_stay_float64():
    """All else is float32, with all corrections and both kinds of wall, in a session of float64; traced only."""
    solid = lattice((0, 7), (0, 7))
    walls = [(lattice((-3, 0), (0, 7)), (1, 0)), (lattice((-3, 10), (-3, 0)), None)]
    model, state = put_together(solid, walls, gravity=9.81, corrections=CORRECTIONS)
    motion = ContinuumMotion(jnp.asarray(0.0), state, state, {}, {})
    near = Neighbours.allocate(state.position, 2.5 * SPACING, 0.0, rigid=model.rigid)
    soil = DruckerPrager(1e6, 0.3, 0.5, density=2000.0)
    for material, way in ((soil, Continuum.step), (ELASTIC, Continuum.attempt)):
        whole = eqx.tree_at(lambda m: m.material, model, material)
        before = motion, near, jnp.asarray(1e-4)
        now = jax.eval_shape(way, single(whole), *single(before))
        assert {x.dtype for x in jax.tree.leaves(now)} == {jnp.dtype(jnp.float32)}
        mixed = eqx.tree_at(lambda m: m.tools, single(whole), whole.tools)
        at = eqx.tree_at(lambda m: (m.time, m.state.position), single(motion), (motion.time, state.position))
        now = jax.eval_shape(way, mixed, at, *before[1:])
        assert [x.shape for x in jax.tree.leaves(now) if x.dtype != jnp.float32] == [(), state.position.shape]


def test_soil_far_from_the_origin_needs_float64_positions_only():
    by = jnp.full((2, 1), 100.0)
    walls = [(lattice((-3, 0), (0, 5)), (1, 0)), (lattice((-3, 8), (-3, 0)), None)]
    near, state = put_together(lattice((0, 5), (0, 5)), walls)
    near = eqx.tree_at(lambda m: m.material, near, DruckerPrager(1e6, 0.3, 0.5, density=2000.0))
    far = eqx.tree_at(lambda m: [t.reference for t in m.tools], near, [t.reference + by for t in near.tools])
    all_but_tools = eqx.tree_at(lambda m: m.tools, single(far), far.tools)

    def after(model, position):
        state = model.at_rest(position)
        way = {"solver": FixedSteps(40, neighbours=allocate(model, state)), "derivative": Unrolled()}

        def height(gravity):
            heavy = eqx.tree_at(lambda m: m.gravity, model, gravity * jnp.array([0.0, -1.0], model.gravity.dtype))
            last = simulate(heavy, state, [0.0, 2e-3], **way).last
            return jnp.mean(last.position[1]), last

        one = jnp.asarray(9.81, model.mass.dtype)
        _, slope, last = eqx.filter_jit(lambda g: jax.jvp(height, (g,), (jnp.ones_like(g),), has_aux=True))(one)
        return float(slope), last

    slope, exact = after(near, state.position)
    found, end = after(all_but_tools, state.position + by)
    fallen = np.abs(exact.position - state.position).max()
    np.testing.assert_allclose(end.position - by, exact.position, rtol=0, atol=1e-5 * fallen)
    assert found == pytest.approx(slope, rel=1e-5)
    assert {x.dtype for x in (end.velocity, end.stress, end.density)} == {jnp.dtype(jnp.float32)}
    _, plain = after(single(far), single(state.position + by))
    assert np.abs(plain.position - by - exact.position).max() > 1e-2 * fallen


def test_artificial_stress_spreads_a_clump_under_tension():
    """Under tension a particle that is nearer to one neighbour is pulled on to it; with it, it is pushed back."""
    x = lattice((0, 7), (0, 7))
    x[0, 24] += 0.3 * SPACING
    pull = {}
    for corrections in ((), (ArtificialStress(SPACING, 1.0, 4.0),)):
        model, state = put_together(x, [], corrections=corrections)
        tensed = eqx.tree_at(lambda s: s.stress, state, 1e3 * jnp.tile(jnp.eye(3)[:, :, None], 49))
        near = Neighbours.allocate(x, 2.5 * SPACING, 0.0)
        rate, _ = eqx.filter_jit(model.field)(jnp.zeros(()), tensed, near)
        pull[len(corrections)] = float(rate.velocity[0, 24])
    assert pull[1] < 0 < pull[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: XSPH(1.5), "share = 1.5"),
        (lambda: GradientCorrection(0.0), "least = 0"),
        (lambda: ArtificialStress(0.0), "spacing = 0"),
        (lambda: ArtificialStress(1.0, -0.5), "strength = -0.5"),
        (lambda: Tool([0], np.zeros((2, 1)), normal=np.zeros((2, 1))), "no direction"),
    ],
)
def test_bad_corrections_and_walls(make, message):
    with pytest.raises(ValueError, match=message):
        make()
