"""Descent, bounce and the chain from surface parameters to the second contact."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from difsim import Status, mesh, units
from difsim.dynamics import FlightState
from difsim.gravity import Mascons, Polyhedron, lobes_67p
from difsim.shape import GridSDF, Sphere, Union
from experiments.agilkia import bounce, chain, descent, orbits
from experiments.agilkia.baseline import OPTIMUM
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.agilkia.scenario import STRICT, experiment, problem
from tests.helpers import find_published
from tests.ways import forward

GM = units.GM_67P

LOBES = Mascons((0.69 * GM, 0.31 * GM), ((-620.0, 128.0, -58.0), (1442.0, -382.0, 143.0)))

SURFACE = Union((Sphere((-620.0, 128.0, -58.0), 1900.0), Sphere((1442.0, -382.0, 143.0), 950.0)))

SITE = bounce.project_to_surface(SURFACE, descent.AGILKIA.touchdown.position)

UP = SURFACE.normal(SITE)

FINE = forward(1e-10, 1e-10, max_steps=100_000)


def test_the_descent_lands_and_finds_its_way_back(tmp_path):
    result = descent.descend({"two points": (LOBES, SURFACE)}, instants=31)
    row = result.isel(world=0)
    assert row["status"].item() == "OK"
    assert row["closure"] < 1e-5 and row["jacobi_drift"] < 1e-10
    # Two points have not the field of 67P, but its mass: the way is that of Philae within a few per cent.
    assert row["landing_off"] < 300 and row["separation_off"] < 0.05 * 22.38e3
    np.testing.assert_allclose(row["forward"].values[[0, -1]], [result.attrs["origin"], row["landing_position"]])
    np.testing.assert_allclose(
        row["backward"].values[[0, -1]], [row["separation_position"], result.attrs["target"]]
    )
    result.to_netcdf(tmp_path / "descent.nc", engine="h5netcdf")
    figure = orbits.draw_descent(xr.load_dataset(tmp_path / "descent.nc", engine="h5netcdf"))
    figure.savefig(tmp_path / "descent.png", dpi=150)
    assert (tmp_path / "descent.png").stat().st_size > 20_000


def test_the_next_contact_and_its_derivative_by_the_rebound():
    velocity = 0.25 * UP + jnp.array([0.05, 0.1, -0.05])

    @jax.jit
    def numbers(velocity):
        contact = bounce.next_contact(velocity, LOBES, SURFACE)
        return jnp.concatenate([contact.time[None], contact.position, contact.distance[None]]), contact.status

    value, status = numbers(velocity)
    assert status == Status.OK
    assert abs(SURFACE.distance(value[1:4])) < 1e-8 and abs(SURFACE.distance(SITE)) < 1e-8
    assert value[4] == pytest.approx(np.linalg.norm(value[1:4] - SITE), rel=1e-12)
    found = jax.jit(jax.jacfwd(lambda v: numbers(v)[0]))(velocity)
    for i, h in enumerate(1e-5 * np.eye(3)):
        at = [numbers(velocity + k * h)[0] for k in (-2, -1, 1, 2)]
        differences = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * 1e-5)
        np.testing.assert_allclose(found[:, i], differences, rtol=1e-6, atol=1e-6 * np.abs(found[:, i]).max())
    assert numbers(-velocity)[1] == Status.INSIDE
    assert numbers(3.0 * UP)[1] == Status.NO_CONTACT


def test_the_bounce_beside_the_paper(tmp_path):
    """What is needed to reach the paper's site in its time does reach it; the table and picture say the rest."""
    result = bounce.bounce({"two points": (LOBES, SURFACE)})
    row = result.isel(world=0)
    assert row["time_off"] == row["time"] - 2754 and row["distance_off"] == row["distance"] - 718.5
    again = bounce.shoot(SITE, jnp.array(bounce.PAPER_SITE), jnp.array(2754.0), UP, LOBES, SURFACE)
    np.testing.assert_allclose(row["needed"], again, atol=1e-9)
    orbits.draw_bounce(result).savefig(tmp_path / "bounce.png", dpi=150)
    assert (tmp_path / "bounce.png").stat().st_size > 20_000


def test_one_gradient_from_the_surface_to_the_second_contact():
    """d(second contact)/d(surface parameters) through the touchdown, against differences."""
    known = experiment(read_lander(DATA / "philae.toml"), read_observations(DATA / "philae_published.toml"))
    touchdown = replace(known, solver=STRICT, derivative=None, world=(lobes_67p(), SURFACE))
    names = ("thickness", "friction", "tilt_x", "heading")
    fixed = {"grain_density": 1443.0, "grain_modulus": 1e8, "grain_diameter": 1.4e-4, "scenario": 0.0}
    fixed = {k: jnp.asarray(v) for k, v in (fixed | {"edge_offset": 0.02, "tilt_y": -0.01}).items()}

    @jax.jit
    def second(x):
        observed, status = touchdown(fixed | dict(zip(names, x, strict=True)))
        found = [observed["second_contact_time"][None], observed["second_contact_position"]]
        return jnp.concatenate(found), status == Status.OK

    x = jnp.array([0.3, 0.6, 0.02, 0.3])
    assert second(x)[1]
    exact = jax.jit(jax.jacfwd(lambda x: second(x)[0]))(x)
    for i, h in enumerate(1e-4 * np.eye(4)):
        differences = (second(x + h)[0] - second(x - h)[0]) / 2e-4
        np.testing.assert_allclose(exact[:, i], differences, rtol=1e-2, atol=1e-2 * np.abs(exact[:, i]).max())


def test_a_chain_at_a_site_of_ones_own_has_no_descent():
    """It flies on from the touchdown at the site of the file, and after Philae's descent from the landing."""
    posed = problem(read_lander(DATA / "philae.toml"), read_observations(DATA / "philae_published.toml"))
    world, values = (LOBES, SURFACE), OPTIMUM
    own = chain.ChainProgram(posed, world, descends=False)(values)
    assert own["status"] == "ok" and not [name for name in own if name.startswith("landing")]
    flown = replace(posed.predict, world=world)
    observed, ended = jax.jit(lambda p: flown(p))({k: jnp.asarray(v) for k, v in values.items()})
    assert ended == Status.OK and own["second_contact_position"] == pytest.approx(
        observed["second_contact_position"].tolist()
    )
    descended = chain.ChainProgram(posed, world, descends=True)(values)
    assert descended["landing_time"] == pytest.approx(25144, rel=0.05)


def test_one_gradient_from_the_separation_to_the_second_contact():
    """Descent of seven hours, touchdown and bounce in one derivative, against differences.

    These need the finer touchdown: its own error at the default moves a difference over 1 mm by a tenth.
    """
    known = experiment(read_lander(DATA / "philae.toml"), read_observations(DATA / "philae_published.toml"))
    world = LOBES, SURFACE
    ground = {"grain_density": 1443.0, "grain_modulus": 1e8, "grain_diameter": 1.4e-4, "scenario": 0.0}
    ground |= {"edge_offset": 0.02, "tilt_x": 0.02, "tilt_y": -0.01, "heading": 0.3}
    ground |= {"thickness": 0.3, "friction": 0.6}
    ground = {k: jnp.asarray(v) for k, v in ground.items()}
    start = descent.AGILKIA.separation

    @jax.jit
    def second(x):
        begin = FlightState(start.position + x[:3], start.velocity + x[3:])
        landing, _, came_down = chain.descend(world, begin)
        observed, status = chain.move_to_landing(replace(known, **FINE), world, landing)(ground)
        found = [observed["second_contact_time"][None], observed["second_contact_position"]]
        return jnp.concatenate(found), (status == Status.OK) & came_down

    # One direction in place, one in velocity: 1 m, and about what carries as far in seven hours.
    directions = jnp.array([[0.6, 0.0, 0.8, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2e-5, 3e-5, -2e-5]])
    assert second(jnp.zeros(6))[1]
    for direction in directions:
        exact = jax.jit(lambda d: jax.jvp(lambda x: second(x)[0], (jnp.zeros(6),), (d,))[1])(direction)
        h = 0.1
        differences = (second(h * direction)[0] - second(-h * direction)[0]) / (2 * h)
        np.testing.assert_allclose(exact, differences, rtol=1e-4, atol=1e-4 * np.abs(exact).max())


def test_the_scenario_on_a_mesh_of_67p():
    """2000 facets of SHAP5: separation within 10 m of the scenario's, which the finer mesh made; landing too."""
    shape = mesh.load(find_published("67P/67p_shap5_cheops_2000f.obj"), "km")
    field = Polyhedron(shape, GM / (units.G * shape.volume))
    row = descent.descend({"SHAP5": (field, GridSDF.from_mesh(shape, 60.0))}).isel(world=0)
    assert row["status"].item() == "OK" and row["closure"] < 1e-5
    assert row["separation_off"] < 10 and row["landing_off"] < 15
