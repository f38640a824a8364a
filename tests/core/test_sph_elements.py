"""Soil at a stress point and small bodies, each against a closed form: turns, cones, corrections of the sums."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim.sph import Continuum, CubicSpline, DruckerPrager, Murnaghan, Tool, Viscosity
from difsim.sph.corrections import XSPH, ArtificialStress, GradientCorrection
from difsim.sph.density import FixedDensity
from difsim.sph.soil import Compression, PlaneStrain
from tests.helpers import list_neighbours

SPACING = 0.01

ELASTIC = Murnaghan(1e6, 0.3, 2000.0)


def lattice(x, y):
    """Cell centres [2, n] m from the first to before the last of `x` and of `y`, in spacings."""
    return (np.stack(np.meshgrid(np.arange(*x), np.arange(*y), indexing="ij")).reshape(2, -1) + 0.5) * SPACING


def assemble(solid, walls, gravity=0.0, alpha=0.3, **rest):
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
        def apply_strain(e):
            return soil.admissible(stress + strain / steps * soil.rate(stress, gradient(e)), soil.density)

        def newton(_, e):
            value, slope = jax.jvp(lambda e: apply_strain(e)[0, 0], (e,), (jnp.ones(()),))
            return e - (value - held_at) / slope

        stress = apply_strain(jax.lax.fori_loop(0, 6, newton, jnp.asarray(0.3)))
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


CORRECTIONS = (GradientCorrection(), XSPH(0.5), ArtificialStress(SPACING))


def test_corrections_are_exact_for_linear_motion():
    rng = np.random.default_rng(3)
    x = lattice((0, 7), (0, 7)) + rng.normal(size=(2, 49)) * 0.1 * SPACING
    model, state = assemble(x, [], corrections=CORRECTIONS, balance=FixedDensity())
    neighbours = list_neighbours(x, 2.5 * SPACING, 0.0)
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


def test_artificial_stress_spreads_a_clump_under_tension():
    """Under tension a particle that is nearer to one neighbour is pulled on to it; with it, it is pushed back."""
    x = lattice((0, 7), (0, 7))
    x[0, 24] += 0.3 * SPACING
    pull = {}
    for corrections in ((), (ArtificialStress(SPACING, 1.0, 4.0),)):
        model, state = assemble(x, [], corrections=corrections)
        tensed = eqx.tree_at(lambda s: s.stress, state, 1e3 * jnp.tile(jnp.eye(3)[:, :, None], 49))
        near = list_neighbours(x, 2.5 * SPACING, 0.0)
        rate, _ = eqx.filter_jit(model.field)(jnp.zeros(()), tensed, near)
        pull[len(corrections)] = float(rate.velocity[0, 24])
    assert pull[1] < 0 < pull[0]
