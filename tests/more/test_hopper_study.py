"""The hopper study: the cube's tables and pictures, the ground under MINERVA-II, statistics of an ensemble."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import trimesh
import xarray as xr
from scipy.optimize import brentq

from difsim import mesh
from difsim.body import RigidState
from difsim.contact import Vertices
from difsim.mesh.distance import signed_distance
from difsim.shape import Plane
from difsim.shape.window import Window
from experiments.hopper import ensemble, field, scenes
from experiments.hopper.imhotep import SIDES, Lowest, prism


def block(edges) -> mesh.TriMesh:
    shape = trimesh.creation.box(edges)
    return mesh.TriMesh(np.array(shape.vertices), np.array(shape.faces))


def test_a_window_is_exact_inside_and_a_bound_outside(tmp_path):
    ground = block([40.0, 40.0, 20.0])
    window = Window.from_mesh(ground, (0.0, 0.0, 10.0), 4.0, 0.5, cache=tmp_path)
    distance = jax.jit(jax.vmap(window.distance))
    plane = Plane((0.0, 0.0, 10.0), (0.0, 0.0, 1.0))
    random = np.random.default_rng(0)
    inside = jnp.array(random.uniform(-4, 4, size=(100, 3)) + np.array([[0.0, 0.0, 10.0]]))
    np.testing.assert_allclose(distance(inside), jax.vmap(plane.distance)(inside), atol=1e-9)
    outside = random.uniform(-19, 19, size=(100, 3)) + np.array([[0.0, 0.0, 30.0]])
    assert (np.asarray(distance(jnp.array(outside))) <= signed_distance(ground, outside) + 1e-9).all()
    (file,) = tmp_path.iterdir()
    again = Window.from_mesh(ground, (0.0, 0.0, 10.0), 4.0, 0.5, cache=tmp_path)
    np.testing.assert_array_equal(again.spline.coefficients, window.spline.coefficients)
    assert list(tmp_path.iterdir()) == [file]


def test_the_lowest_corners_are_those_that_touch():
    corners = Vertices(prism())
    lowest = Lowest(corners, SIDES, corners.radius)
    plane = Plane((0.0, 0.0, 0.0), (0.1, -0.2, 1.0))
    centre = jnp.array([0.0, 0.0, 0.05])
    for seed in range(3):
        turn = jnp.asarray(np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0])
        heights = [
            np.sort(jax.vmap(plane.distance)(centre[None] + outline.arms(plane, centre, turn)))[:SIDES]
            for outline in (corners, lowest)
        ]
        np.testing.assert_allclose(heights[1], heights[0], atol=1e-15)


def cube_on_edge(lever: float, spin: float = 0.0):
    """A cube on its edge, which is `lever` m beside its centre of mass and carries its weight; it tips over that
    edge with `spin` rad/s. Rolling resistance acts in full. Model, state, and the height of its centre."""
    gravity = scenes.GRAVITY["67p"]
    model = scenes.cube(gravity, scenes.Ground(spin_speed=1e-8))
    weight, force = scenes.MASS * gravity, model.contact.normal.force
    floats = brentq(lambda gap: 2 * float(force(jnp.asarray(-gap), jnp.zeros(()))) - weight, 0.0, 1e-3, xtol=1e-15)
    reach = scenes.EDGE / np.sqrt(2)
    angle, height = np.pi / 4 - np.arcsin(lever / reach), np.sqrt(reach**2 - lever**2)
    turn = (np.cos(angle / 2), np.sin(angle / 2), 0.0, 0.0)
    body = RigidState((0.0, 0.0, height + floats), (0.0, -spin * height, 0.0), turn, (spin, 0.0, 0.0))
    return model, model.start(body), height


def test_a_cube_that_stands_still_is_in_contact_though_it_floats():
    model, state, _ = cube_on_edge(0.01)
    gap = model.contact.gap(model.surface, state.body.position, state.body.rotation.as_matrix())
    assert gap > 0 > model.approach(0.0, state).gap


def test_what_the_papers_rolling_resistance_balances():
    """Its force adds to its torque: a lever of C (1 + m h²/I), four times C for a cube on an edge."""
    length = float(scenes.Ground().rolling)

    def tipping(lever):
        model, state, height = cube_on_edge(lever, spin=-1e-5)
        assert height == pytest.approx(scenes.EDGE / np.sqrt(2), rel=3e-3)
        return float(model.vector_field(0.0, state).body.spin[0])

    assert tipping(3.9 * length) > 0 > tipping(4.05 * length)


def test_both_sensitivities_find_a_known_slope():
    members = 4000
    cases = ensemble.draw(members)
    z = {k: (cases[k] - mean) / sigma for k, (mean, sigma, _) in ensemble.INPUTS.items()}
    noise = np.random.default_rng(5).normal(size=members)
    table = xr.Dataset({k: ("case", v) for k, v in cases.items()})
    table["rest_east"] = ("case", 3 * z["friction"] + noise)
    table["rest_north"] = ("case", noise)
    table["off_centre"] = ("case", z["friction"] ** 2)  # a mean that no input moves to first order
    table["settling_time"] = ("case", 100 - 20 * z["restitution"] + 10 * noise)
    found = ensemble.sensitivities(table)
    truth = xr.zeros_like(found["regression"])
    truth.loc["rest_east", "friction"] = 3.0
    truth.loc["settling_time", "restitution"] = -20.0
    for name in ("regression", "smoothed"):
        off = (found[name] - truth) / found[f"{name}_error"]
        assert float(np.abs(off).max()) < 4.0 and 0.6 < float((off**2).mean()) < 1.7
    assert ensemble.judge(found)["share_within_2_errors"] > 0.85


def test_the_ellipse_of_gaussian_places():
    random = np.random.default_rng(2)
    turn = np.radians(30.0)  # the long axis from north towards east
    along, across = 5 * random.normal(size=20_000), 2 * random.normal(size=20_000)
    east, north = along * np.sin(turn) + across * np.cos(turn), along * np.cos(turn) - across * np.sin(turn)
    found = ensemble.landing_ellipse(np.stack([east + 10, north - 3], axis=1))
    np.testing.assert_allclose(found["centre_m"], (10, -3), atol=0.15)
    np.testing.assert_allclose(found["semi_axes_1_sigma_m"], (5, 2), rtol=0.03)
    assert found["azimuth_deg"] == pytest.approx(30.0, abs=1.0)
    expected = found["share_inside_if_gaussian"]
    assert all(found["share_inside"][k] == pytest.approx(expected[k], abs=0.015) for k in expected)


def test_the_ground_is_a_cubic_spline():
    y, x = np.meshgrid(*((np.arange(k) - 1) * field.SPACING for k in field.CELLS), indexing="ij")
    slope = field.HeightField(jnp.asarray(0.03 + 0.1 * x - 0.2 * y), field.SPACING)
    at = jnp.array([1.234, 0.567])
    np.testing.assert_allclose(slope.height(at), 0.03 + 0.1234 - 0.1134, rtol=1e-12)
    normal = np.array([-0.1, 0.2, 1.0]) / np.sqrt(1.05)
    place = jnp.append(at, slope.height(at)) + 0.1 * normal
    np.testing.assert_allclose(slope.distance(place), 0.1, rtol=1e-12)
    np.testing.assert_allclose(slope.normal(place), normal, rtol=1e-12)
    # The second derivative is continuous where two cells meet.
    bumpy = field.HeightField(jnp.asarray(np.random.default_rng(0).normal(size=field.CELLS)), field.SPACING)
    bend = jax.jit(jax.grad(jax.grad(lambda x: bumpy.height(jnp.stack([x, jnp.asarray(0.5)])))))
    np.testing.assert_allclose(bend(4 * field.SPACING - 1e-9), bend(4 * field.SPACING + 1e-9), rtol=1e-5)


def test_maps_have_the_spread_of_their_coefficients():
    true, spread = field.truth(), 4e-6 * np.eye(true_size := field.truth().size)
    maps, at = field._maps(true, true, spread)
    assert true_size == 200 and maps["sigma"].shape == (at["y"].size, at["x"].size)
    np.testing.assert_allclose(maps["true"], maps["found"])
    assert maps["sigma"].min() > 0.3 * 2e-3 and maps["sigma"].max() < 2e-3
