"""The hopper study: the cube's tables and pictures, the ground under MINERVA-II, statistics of an ensemble."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import trimesh
import xarray as xr
from scipy.optimize import brentq

from difsim import Status, mesh
from difsim.body import RigidState
from difsim.contact import Vertices
from difsim.gravity import Uniform
from difsim.mesh.distance import signed_distance
from difsim.shape import Plane
from difsim.shape.window import Window
from experiments.harness import write
from experiments.hopper import cube, ensemble, observe, scenes
from experiments.hopper.imhotep import SIDES, Lowest, World, prism
from experiments.hopper.run import Hopper
from experiments.records import provenance
from experiments.variables import undescribed
from inversion import sweep


def block(edges) -> mesh.TriMesh:
    shape = trimesh.creation.box(edges)
    return mesh.TriMesh(np.array(shape.vertices), np.array(shape.faces))


@pytest.mark.slow
def test_quick_cube_writes_what_the_paper_shows(tmp_path):
    told = cube.throw(quick=True)
    write(tmp_path, told, provenance() | {"stage": "cube", "wall_seconds": 1.0}, Hopper)
    found = told.summary
    thrown = found["thrown"]["smooth"]
    assert [row["status"] for row in thrown.values()] == ["OK"] * 3
    # Fig. 8: the weaker the gravity, the farther and the longer.
    for name in ("path_m", "settling_time_s", "highest_m"):
        values = [thrown[t][name] for t in ("phobos", "67p", "itokawa")]
        assert values == sorted(values)
    for row in thrown.values():
        assert row["largest_rise_of_energy"] < 1e-4 and row["ledger_error"] < 1e-3
        assert sum(row["lost_to"].values()) == pytest.approx(1.0, abs=1e-3)
    # Fig. 9: the creep that is left goes as the square of the regularisation speed: s' = -(1 + m r²/I) μ g s²/v_s²
    # from when it stands, some 8 s, so s = v_s²/(2.5 μ g t).
    slips = found["sliding"]["smooth"]["slip_m_s_at_40_s"]
    assert slips[1] == pytest.approx(1e-6 / (2.5 * 0.5 * 5.7e-3 * 32), rel=0.1)
    assert slips[0] > 50 * slips[1] > 2500 * slips[2]
    table = xr.load_dataset(tmp_path / "result.nc", engine="h5netcdf")
    assert all(np.isfinite(v).all() for v in table.values() if v.dtype.kind == "f")
    assert undescribed(table) == [] and "<h2>" in (tmp_path / "report.html").read_text()
    for name in ("trajectories", "settling", "energy", "sliding"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000


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
    with pytest.raises(ValueError, match="half_size"):
        Window.from_mesh(ground, (0.0, 0.0, 10.0), 0.0, 0.5)


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


def over_an_edge(lever: float, spin: float = 0.0):
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
    model, state, _ = over_an_edge(0.01)
    gap = model.contact.gap(model.surface, state.body.position, state.body.rotation.as_matrix())
    assert gap > 0 > model.approach(0.0, state).gap


def test_posture_over_an_edge():
    tilt, lever = observe.posture(*over_an_edge(0.03)[:2])
    assert float(tilt) == pytest.approx(np.pi / 4 - np.arcsin(0.03 * np.sqrt(2) / scenes.EDGE), abs=1e-12)
    assert float(lever) == pytest.approx(0.03, rel=1e-6)


def test_what_the_papers_rolling_resistance_balances():
    """Its force adds to its torque: a lever of C (1 + m h²/I), four times C for a cube on an edge."""
    length = float(scenes.Ground().rolling)

    def tipping(lever):
        model, state, height = over_an_edge(lever, spin=-1e-5)
        assert height == pytest.approx(scenes.EDGE / np.sqrt(2), rel=3e-3)
        return float(model.vector_field(0.0, state).body.spin[0])

    assert tipping(3.9 * length) > 0 > tipping(4.05 * length)


@pytest.mark.slow
def test_every_member_of_an_ensemble_is_counted():
    """Two that come down on a flat block, and two that are thrown out of its window."""
    ground = block([200.0, 200.0, 40.0])
    site = np.array([0.0, 0.0, 20.0])
    place = World(Uniform((0.0, 0.0, -0.02)), Window.from_mesh(ground, site, 30.0, 5.0), site, np.eye(3))
    cases = {k: np.full(4, mean) for k, (mean, _, _) in ensemble.INPUTS.items()}
    cases |= {"height": np.full(4, 0.5), "up_velocity": np.array([0.0, 5.0, -0.02, 5.0])}
    cases["terrain"] = np.array([1, 2, 3, 4])
    table = sweep(ensemble.member(place), cases, chunk=4)
    assert Status.tally(table["status"].values) == {Status.OK: 2, Status.LEFT: 2}
    settled = table["status"].values == Status.OK
    for name in ("settling_time", "rest_east", "rest_north"):
        np.testing.assert_array_equal(np.isfinite(table[name].values), settled)
    assert (table["contacts"].values[settled] > 0).all() and (table["settling_time"].values[settled] > 5).all()


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


def test_bad_options_are_refused():
    with pytest.raises(ValueError, match="members 2"):
        Hopper(members=2)
