"""The forecast of landings: magnitudes of its world, a bounce in the tide, and a target that tumbles."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Adaptive, AtRest, Ignore, simulate
from difsim.body import RigidState
from difsim.contact import Ball, NoSmoothing
from difsim.dynamics import Kepler, Primary
from difsim.rotation import Rotation
from difsim.typing import Scalar, Vec3
from difsim.units import G
from experiments.data_files import data_folder
from experiments.hera import world
from experiments.hera.inputs import read_inputs

INPUTS = read_inputs(data_folder() / "hera.toml")


def sphere_case(mass: float) -> dict:
    """A case on a smooth sphere of 75 m, 1152 m from its primary (MISSIONS.md, section 7)."""
    case = {k: jnp.asarray(v[0]) for k, v in INPUTS.draw(1, 0).items()}
    period = 2 * np.pi * np.sqrt(1152.0**3 / (35.1278 + G * mass)) / 3600
    smooth = {"roughness_m": 0.0, "primary_GM_m3_per_s2": 35.1278, "mass_kg": mass, "period_h": period}
    smooth |= {"eccentricity": 0.0, "libration_deg": 0.0}
    smooth |= dict.fromkeys(("long_axis_m", "middle_axis_m", "short_axis_m"), 150.0)
    return case | {k: jnp.asarray(v) for k, v in smooth.items()}


def effective_potential(case: world.Case, x: Vec3) -> Scalar:
    """Gravity, tide and centrifugal potential of a locked target in a circular orbit, m²/s²: the Jacobi constant is
    ½ v² less it."""
    circle = Primary(
        world.pull_of_primary(case), Kepler(world.distance_of(case), 2 * jnp.pi / world.rate_of(case))
    )
    tide = circle.tide(jnp.zeros(()), Rotation(jnp.array([1.0, 0.0, 0.0, 0.0])))
    return (world.field_of(case) + tide).potential(x) + 0.5 * world.rate_of(case) ** 2 * (x[0] ** 2 + x[1] ** 2)


def lagrange_points(case: world.Case) -> tuple[Scalar, Scalar]:
    """Distances of L1 and L2 from the target's centre, m, by Newton's method from the Hill radius."""
    hill = world.distance_of(case) * jnp.cbrt(G * case["mass_kg"] / (3 * case["primary_GM_m3_per_s2"]))

    def root(sign):
        slope = jax.grad(lambda d: effective_potential(case, jnp.array([sign, 0.0, 0.0]) * d))
        step = lambda _, d: d - slope(d) / jax.grad(slope)(d)  # noqa: E731
        return jax.lax.fori_loop(0, 20, step, hill)

    return root(1.0), root(-1.0)


def opening_speeds(case: world.Case) -> tuple[Scalar, Scalar]:
    """The speeds, m/s, on the ground nearest to L1 and to L2 that open these: a slower lander cannot leave there."""

    def speed(x):
        ground = x / jnp.linalg.norm(x) * world.semi_axes(case)[0]
        return jnp.sqrt(2 * (effective_potential(case, ground) - effective_potential(case, x)))

    one, other = lagrange_points(case)
    return speed(jnp.array([1.0, 0.0, 0.0]) * one), speed(jnp.array([-1.0, 0.0, 0.0]) * other)


@pytest.mark.parametrize(
    ("mass", "gravity", "escape", "opening", "hop"),
    [(0.302680 / G, 5.4e-5, 0.090, 0.054, (930, 5.8)), (2.71e9, 3.2e-5, 0.069, 0.035, (1560, 9.7))],
)
def test_the_world_has_the_published_magnitudes(mass, gravity, escape, opening, hop):
    case = sphere_case(mass)
    ground = jnp.array([0.0, 75.0, 0.0])
    own = world.field_of(case)
    pull = float(jnp.linalg.norm(own.acceleration(ground)))
    np.testing.assert_allclose(world.distance_of(case), 1152.0, rtol=1e-6)
    np.testing.assert_allclose(pull, gravity, rtol=0.01)
    np.testing.assert_allclose(jnp.sqrt(2 * own.potential(ground)), escape, rtol=0.01)
    one, other = opening_speeds(case)  # of L1 and L2: the published number stands for both
    assert one < opening < other < 1.1 * one
    np.testing.assert_allclose((2 * 0.025 / pull, 0.025**2 / (2 * pull)), hop, rtol=0.01)
    for sign, distance in zip((1.0, -1.0), lagrange_points(case), strict=True):
        slope = jax.grad(lambda x: effective_potential(case, x))(jnp.array([sign * distance, 0.0, 0.0]))
        assert jnp.linalg.norm(slope) < 1e-6 * gravity


def test_a_fast_rotator_throws_off_what_is_loose():
    """A sphere without a primary: the pull of the ground is gravity less the centrifugal acceleration."""
    case = {k: jnp.asarray(v[0]) for k, v in read_inputs(data_folder() / "kamooalewa.toml").draw(1, 0).items()}
    case |= dict.fromkeys(("long_axis_m", "middle_axis_m", "short_axis_m"), jnp.asarray(60.0))
    gravity, swept = 4 / 3 * np.pi * G * case["density_kg_per_m3"] * 30.0, world.rate_of(case) ** 2 * 30.0
    for latitude in np.radians([0.0, 40.0, 88.0]):
        found = world.pull_at(case, jnp.asarray(70.0), jnp.degrees(latitude))
        due = 0.0, -swept * np.sin(latitude) * np.cos(latitude), swept * np.cos(latitude) ** 2 - gravity
        np.testing.assert_allclose(found, due, atol=1e-9 * swept)
    assert world.primary_of(case) is None and swept > 10 * gravity


def test_phobos_is_where_its_period_puts_it():
    """The published semi-major axis, and a tide that lifts on the side that faces Mars and behind."""
    case = {k: jnp.asarray(v[0]) for k, v in read_inputs(data_folder() / "idefix.toml").draw(1, 0).items()}
    still = {"eccentricity": 0.0, "libration_deg": 0.0, "mean_anomaly_deg": 0.0}
    case |= {k: jnp.asarray(v) for k, v in still.items()}
    np.testing.assert_allclose(world.distance_of(case), 9.376e6, rtol=1e-3)
    up = [float(world.pull_at(case, jnp.asarray(k), jnp.asarray(0.0))[2]) for k in (0.0, 90.0, 180.0)]
    own = jnp.linalg.norm(world.field_of(case).acceleration(jnp.array([13_000.0, 0.0, 0.0])))
    np.testing.assert_allclose(up[0] + own, 3 * world.rate_of(case) ** 2 * 13_000.0, rtol=5e-3)
    np.testing.assert_allclose(up[0], up[2], rtol=5e-3)
    assert up[1] < up[0] < 0


def test_a_bounce_in_the_tide_is_that_in_closed_form():
    e = 0.6
    case = sphere_case(2.71e9) | {"restitution": jnp.asarray(e), "friction": jnp.asarray(0.0)}
    case |= {"impact_depth_m": jnp.asarray(1e-3), "cohesion_Pa": jnp.asarray(0.0), "rolling_m": jnp.asarray(0.0)}
    model = world.model_of(case, INPUTS.landers["milani"])
    model = eqx.tree_at(
        lambda m: m.contact.outline, model, Ball(0.2), is_leaf=lambda x: x is model.contact.outline
    )
    model = eqx.tree_at(lambda m: m.contact.normal.regularisation, model, NoSmoothing())
    toward = jnp.array([0.8, 0.4, 0.447])
    place = toward / jnp.linalg.norm(toward) * 85.0
    start = model.start(RigidState(place, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    end = simulate(
        model,
        start,
        jnp.linspace(0.0, 1500.0, 151),
        solver=Adaptive(1e-10, 1e-10, max_steps=20_000),
        until=AtRest(hold=1e4),
        throw=False,
        trust=Ignore(),
    )
    jacobi = lambda body: 0.5 * body.velocity @ body.velocity - effective_potential(case, body.position)  # noqa: E731
    found, touch = np.asarray(jax.vmap(jacobi)(end.states.body)), end.stats.contact_state.body
    before = np.asarray(end.times) < float(end.stats.contact_time)
    after = np.asarray(end.times) > float(end.stats.contact_time) + 1.0
    assert end.stats.contacts == 1 and before.sum() > 50 and after.sum() > 50
    np.testing.assert_allclose(found[before], found[0], rtol=1e-9)
    np.testing.assert_allclose(found[after], found[-1], rtol=1e-9)
    np.testing.assert_allclose(jacobi(touch), found[0], rtol=1e-6)  # it has begun to press
    along = touch.velocity @ touch.position / jnp.linalg.norm(touch.position)
    assert along**2 < 0.999 * touch.velocity @ touch.velocity  # the Coriolis term has bent the fall
    np.testing.assert_allclose(found[-1] - found[0], -0.5 * (1 - e**2) * along**2, rtol=1e-3)


def test_a_tumbling_target_keeps_its_angular_momentum():
    case = sphere_case(2.71e9) | {"middle_axis_m": jnp.asarray(130.0), "short_axis_m": jnp.asarray(100.0)}
    case |= {"tumbling_tilt_deg": jnp.asarray(30.0)}
    frame, squares = world.tumble_freely(case), world.semi_axes(case) ** 2
    moments = jnp.sum(squares) - squares
    motion = jax.vmap(frame.at)(jnp.linspace(0.0, 43_200.0, 60))
    momentum = jax.vmap(lambda m: m.attitude @ (moments * m.spin))(motion)
    np.testing.assert_allclose(
        momentum,
        jnp.broadcast_to(momentum[0], momentum.shape),
        rtol=0,
        atol=1e-6 * float(jnp.linalg.norm(momentum[0])),
    )
    np.testing.assert_allclose(jnp.linalg.norm(motion.spin[0]), world.rate_of(case), rtol=1e-6)
    poles = jax.vmap(lambda m: m.attitude @ jnp.array([0.0, 0.0, 1.0]))(motion)
    assert jnp.min(poles @ poles[0]) < np.cos(0.2)  # a steady spin would keep its pole
