"""Philae above beds of grains: the bed repeated, the rock around it, the boulder, and one touchdown."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from difsim.beds.specification import Bed
from difsim.beds.statistics import PackingStatistics
from difsim.contact.friction import TangentialHistory
from difsim.dem import Grains, HertzMindlin, legged
from difsim.dem.contacts import remap_pairs
from difsim.dem.state import PADDING, GrainsState, PairMemory, WallMemory
from difsim.particles.pairs import Pairs
from difsim.shape import Complement, Cylinder, Plane
from difsim.shape.sub_spheres import fill_with_spheres
from experiments.agilkia import grains, grains_draws
from experiments.agilkia.baseline import OPTIMUM
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.agilkia.grains_scene import beds, boulder, build
from experiments.agilkia.run import Agilkia
from experiments.agilkia.scenario import experiment
from experiments.foot.grains import recipe

PLACES = np.array([[1.2, 0.1], [-0.6, 1.0], [-0.6, -1.0]])


@pytest.fixture(scope="module")
def bed():
    """Two grains that touch, one on the floor; a third pair is room that is left."""
    shear = TangentialHistory(jnp.arange(6.0).reshape(3, 2), jnp.array([1.0, 2.0]))
    zero = jnp.zeros((3, 2))
    pairs = PairMemory(jnp.array([0, 0], jnp.int32), jnp.array([1, 0], jnp.int32), shear)
    at = jnp.array([[0.0, 0.01], [0.0, 0.0], [0.05, 0.15]])
    wall = WallMemory(jnp.array([0, PADDING], jnp.int32), shear)
    state = GrainsState(at, zero, zero, pairs, (wall, wall))
    walls = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), Complement(Cylinder(0.3))
    law = HertzMindlin(1e7, 0.25, 0.5, 0.6)
    grains = Grains(law, np.array([0.05, 0.055]), 600.0, (0.0, 0.0, -1e-4), walls)
    return Bed(grains, state, PackingStatistics(0.25, 0.6, 0.4, 360.0, 5.0, 1))


@pytest.fixture
def coarse(monkeypatch):
    """Bodies of few sub-spheres, which are filled much sooner."""
    monkeypatch.setattr(legged, "fill_with_spheres", lambda mesh, _: fill_with_spheres(mesh, 0.6))


@pytest.fixture(scope="module")
def known_experiment():
    return experiment(read_lander(DATA / "philae.toml"), read_observations(DATA / "philae_paper.toml"))


def test_each_foot_has_a_bed_with_its_contact_memory(bed):
    radius, state, rock = beds(bed, PLACES, 0.3)
    assert radius.shape == (6,)
    np.testing.assert_allclose(state.position[:, 2:4] - bed.state.position, [[-0.6] * 2, [1.0] * 2, [-0.25] * 2])
    np.testing.assert_array_equal(state.pairs.first, [0, 2, 4])
    np.testing.assert_array_equal(state.pairs.second, [1, 3, 5])
    np.testing.assert_array_equal(state.walls[0].who, [0, PADDING, 2, PADDING, 4, PADDING])
    kept = bed.state.pairs.memory.force
    for at in state.walls:
        np.testing.assert_array_equal(at.memory.force, np.tile(kept, 3))
    # And so it comes to a run, whose list says who touches.
    listed = Pairs.empty(state.position, radius, 0.0, 0.01).rebuild(state.position)
    told = remap_pairs(state.pairs, listed)
    touching = told.first != told.second
    np.testing.assert_array_equal(told.memory.force[:, touching], np.tile(kept[:, :1], 3))
    # Down to the floor in the middle of each bed, 5 cm into the rock's top between them, and in a wall.
    points = jnp.array([[1.2, 0.1, -0.2], [0.0, 0.0, -0.05], [0.0, 0.0, 0.3], [1.2, 0.1 + 0.31, -0.2]])
    np.testing.assert_allclose(jax.vmap(rock.distance)(points), [0.3, -0.05, 0.3, -0.01], atol=1e-12)


@pytest.mark.parametrize("scenario", [0.0, 1.0])
def test_the_boulder_has_its_edge_where_the_reduced_law_has_it(known_experiment, scenario):
    model, _ = known_experiment.build({k: jnp.asarray(v) for k, v in (OPTIMUM | {"scenario": scenario}).items()})
    stone, edge = boulder(model, 0.02), np.asarray(model.boulder.edge_point)
    out = edge * [1, 1, 0] / np.linalg.norm(edge[:2])
    side = 1.0 if scenario == 0.0 else -1.0
    away = {d: float(stone.distance(jnp.asarray(edge + d * side * out - [0, 0, 0.05]))) for d in (-0.03, 0.04)}
    assert away[-0.03] == pytest.approx(-0.03, abs=1e-6)
    assert away[0.04] == pytest.approx(0.04, abs=1e-6)
    along = np.asarray(model.boulder.edge_direction)
    ends = [float(stone.distance(jnp.asarray(edge + s * along + [0, 0, 0.01]))) for s in (-0.499, 0.499)]
    np.testing.assert_allclose(ends, 0.01, atol=1e-6)
    assert float(stone.distance(jnp.asarray(edge * [1, 1, 0]))) == pytest.approx(0.02, abs=1e-6)


def test_scene_starts_as_the_reduced_law_and_touches_nothing(bed, known_experiment, coarse):
    lander = read_lander(DATA / "philae.toml")
    scene = build(known_experiment, OPTIMUM, lander["sub_spheres"], bed, drum=False)
    _, start = known_experiment.build({k: jnp.asarray(v) for k, v in OPTIMUM.items()})
    centre, velocity, _ = scene.lander.total_motion(scene.state.clumps[0])
    np.testing.assert_allclose(centre, start.body.position, atol=1e-12)
    np.testing.assert_allclose(velocity, start.body.velocity, atol=1e-12)
    sub_spheres = scene.lander.spheres(scene.state.clumps[0])
    velocity = np.asarray(velocity)
    for wall in scene.grains.walls:
        assert float(jnp.min(jax.vmap(wall.distance, in_axes=1)(sub_spheres.position) - sub_spheres.radius)) > 0.03
    # Each foot comes down within 10 cm of the middle of its bed.
    at = np.asarray(sub_spheres.position)
    landing = at[:2] + velocity[:2, None] * at[2] / -velocity[2]
    middles = np.asarray(scene.grains.walls[1].sdf.sdf.solids[1].position)[:2]
    assert np.linalg.norm(landing - middles[:, None], axis=0).min() < 0.1


def test_the_seed_chooses_the_bed(monkeypatch, tmp_path):
    def fail(*args):
        made = recipe(*args)
        raise LookupError(made.sizes.radii(made.count, made.seed).tolist())

    monkeypatch.setattr(grains, "settle", fail)
    beds_of = []
    for seed in (3, 4, 3):
        with pytest.raises(LookupError) as told:
            Agilkia(regolith="grains", seed=seed, out=tmp_path).run()
        beds_of.append(told.value.args)
    assert beds_of[0] == beds_of[2] != beds_of[1]


PLACE = {"lander": "Philae", "body": "67P"}


def posterior_file(path, **further):
    """A file with a posterior of which only the draws 2 and 3 have a weight."""
    draws = {name: ("weighted_draw", np.full(4, value)) for name, value in (OPTIMUM | further).items()}
    draws["friction"] = "weighted_draw", np.array([0.2, 0.6, 1.0, 0.2])
    weight = xr.Dataset({"weight": ("weighted_draw", np.array([0.0, 0.0, 0.5, 0.5]))})
    weight["lp"] = "weighted_draw", np.zeros(4)
    groups = {"/": xr.Dataset(attrs=PLACE), "weighted_posterior": xr.Dataset(draws), "weights": weight}
    xr.DataTree.from_dict(groups).to_netcdf(path, engine="h5netcdf")
    return path


def test_draws_are_those_that_have_a_weight(tmp_path):
    values = grains_draws.pick_draws(posterior_file(tmp_path / "result.nc"), 2, seed=0, place=PLACE)
    assert {v["friction"] for v in values} == {0.2, 1.0} and values[0].keys() == OPTIMUM.keys()
    with pytest.raises(ValueError, match="calibrated law"):
        grains_draws.pick_draws(posterior_file(tmp_path / "other.nc", law_error=0.0), 2, seed=0, place=PLACE)
    with pytest.raises(ValueError, match="of which 2 have a weight"):
        grains_draws.pick_draws(tmp_path / "result.nc", 3, seed=0, place=PLACE)
    with pytest.raises(ValueError, match=r"is of another body: \{'body': '67P'\}"):
        grains_draws.pick_draws(tmp_path / "result.nc", 2, seed=0, place=PLACE | {"body": "Bennu"})
    (tmp_path / "bad.nc").write_bytes(b"no file")
    for name in ("none.nc", "bad.nc"):
        with pytest.raises(ValueError, match="has no posterior"):
            grains_draws.pick_draws(tmp_path / name, 2, seed=0, place=PLACE)
