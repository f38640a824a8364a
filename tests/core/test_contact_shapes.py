"""Shapes of bodies that touch: sections of meshes and landers, and the solids that are simulated."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.contact import Poncelet
from difsim.mesh import cylinder
from difsim.mesh.solids import box, ellipsoid_mesh
from experiments.contact.case import read_case
from experiments.contact.grains import find_touch
from experiments.contact.shapes import PLATE, SPHERE, measure_sections, read_shape
from experiments.contact.simulated import Runs
from experiments.contact.solids import Ball, Solid
from experiments.contact.world import Plunge
from experiments.data_files import data_folder
from inversion import Checkpoint, fit

CASES = data_folder() / "cases"
LANDER = data_folder() / "philae.toml"
fall = eqx.filter_jit(lambda section, radius: Plunge(Poncelet(10.0, 1e5), 0.07, radius, 2.0, 9.81, section).fall())


def write_mesh(folder, mesh):
    path = folder / "body.obj"
    lines = [f"v {x!r} {y!r} {z!r}\n" for x, y, z in mesh.vertices.tolist()]
    lines += [f"f {a} {b} {c}\n" for a, b, c in (mesh.faces + 1).tolist()]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_sections_of_a_mesh_are_those_of_its_solid():
    np.testing.assert_allclose(measure_sections(box((1.0, 2.0, 3.0)), np.array([-1.5, 0.2, 1.49])), 2.0)
    heights = np.array([-0.9, -0.5, 0.0, 0.7])
    found = measure_sections(ellipsoid_mesh((1.0, 0.5, 1.0), 5), heights)
    np.testing.assert_allclose(found, 0.5 * np.pi * (1 - heights**2), rtol=3e-3)


@pytest.mark.parametrize(("build", "section", "within"), [
    (lambda: ellipsoid_mesh((0.02, 0.02, 0.02), 5), SPHERE, 2e-3),
    (lambda: cylinder(0.02, 0.01, 400), PLATE, 1e-4),
])  # fmt: skip
def test_a_mesh_is_stopped_as_the_shape_that_it_approximates(tmp_path, build, section, within):
    shape = read_shape(write_mesh(tmp_path, build()))
    assert shape.radius == pytest.approx(0.02, rel=1e-3)
    found, due = fall(shape.section, shape.radius), fall(section, 0.02)
    assert found.has_stopped and due.has_stopped
    np.testing.assert_allclose(found.depth[-1], due.depth[-1], rtol=within)
    np.testing.assert_allclose(found.time[-1], due.time[-1], rtol=within)


def test_a_lander_presses_with_its_soles_and_then_with_its_hull():
    shape = read_shape(LANDER)
    soles, hull = 3 * np.pi * 0.1**2, 1.0
    assert np.pi * shape.radius**2 == pytest.approx(soles + hull) and shape.mass == 96.3
    before, after = (shape.section(jnp.asarray(z / shape.radius)) for z in (0.3, 0.4))  # the hull comes at 0.35 m
    assert before == pytest.approx(soles / (soles + hull)) and after == pytest.approx(1.0)
    strengths, radius = jnp.linspace(80.0, 260.0, 19), shape.radius
    land = jax.jit(jax.vmap(lambda s: Plunge(Poncelet(s), 96.3, radius, 0.5, 0.0, shape.section).fall()))
    motions = land(strengths)
    assert np.all(np.diff(motions.depth[:, -1]) < 0)
    # Constant pressures on the soles, and on all from the hull's touch on: the energy is that of the fall.
    z = motions.depth[:, -1]
    hulls = z > 0.39  # where the ledge, which is spread over a tenth of its depth, has been passed
    work = strengths * (soles * z + hull * jnp.maximum(z - 0.35, 0.0))
    assert 3 < np.sum(hulls) < 16
    np.testing.assert_allclose(work[hulls], 0.5 * 96.3 * 0.5**2, rtol=0.02)
    assert np.all(jax.vmap(lambda m: m.peak_deceleration)(motions) <= 1.01 * strengths * (soles + hull) / 96.3)


def test_a_case_takes_a_shape_from_a_file(tmp_path):
    path = tmp_path / "case.toml"
    text = (CASES / "katsuragi_durian.toml").read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"shape is that of .*philae\.toml: leave it out"):
        read_case(path, shape=LANDER)
    path.write_text(text.replace('shape = "plate"\n', ""), encoding="utf-8")
    with pytest.raises(ValueError, match=r"radius_m is that of .*philae\.toml: leave it out"):
        read_case(path, shape=LANDER)
    for line in ('shape = "plate"\n', "mass_kg = 0.0692\n", "radius_m = 0.0127\n"):
        text = text.replace(line, "")
    path.write_text(text, encoding="utf-8")
    case = read_case(path, shape=LANDER)
    assert case.parameters["mass"].value == 96.3 and case.parameters["radius"].value == case.shapes[0].radius
    with pytest.raises(ValueError, match="a mesh or a lander as --shape FILE"):
        read_case(path)


def test_a_body_is_raised_until_it_touches_one_grain():
    rng = np.random.default_rng(0)
    grains, radius = rng.uniform(-1.0, 1.0, (3, 300)), rng.uniform(0.05, 0.1, 300)
    centre, pebbles = Solid(lambda: box((0.5, 0.5, 0.2))).pebbles
    centre = centre + np.array([0.1, -0.2, 0.0])
    raised = centre + np.array([0.0, 0.0, find_touch(grains, radius, centre, pebbles)])
    gaps = np.linalg.norm(raised[:, :, None] - grains, axis=1) - pebbles[:, None] - radius
    assert gaps.min() == pytest.approx(0.0, abs=1e-12)


def test_particles_of_a_solid_fill_its_outer_layers():
    plate = Solid(lambda: cylinder(1.0, 0.4)).place_particles(0.1)
    assert plate[2].min() == pytest.approx(-0.15) and plate.shape[1] * 1e-3 == pytest.approx(0.4 * np.pi, rel=0.03)
    deep = Solid(lambda: box((2.0, 2.0, 2.0))).place_particles(0.1)
    assert np.max(np.abs(deep), axis=0).min() > 0.69 and deep.shape[1] * 1e-3 == pytest.approx(
        8 - 1.4**3, rel=0.01
    )


class Falls(Runs):
    """A formula in place of runs: some 14 mm deep at a friction of 0.2, with a scatter of a tenth."""

    def throw(self, p, key):
        rest = 0.0134 * (0.2 / float(p["friction"])) ** 0.5 * (1 + 0.1 * float(jax.random.uniform(key)))
        time = np.linspace(0.0, 0.05, 40)
        return np.stack([time, rest * (1 - (1 - time / 0.05) ** 2), 2 * rest / 0.05 * (1 - time / 0.05)])


def test_the_friction_of_grains_is_found_from_runs(tmp_path):
    case = read_case(CASES / "ball_in_grains.toml")
    runs = Falls(case, Checkpoint(tmp_path, 0))
    problem = runs.pose(jax.random.PRNGKey(0), False)
    found = fit(problem, key=jax.random.PRNGKey(1))
    assert len(runs.motions) == 9 and found.ok
    assert found.values["friction"] == pytest.approx(0.2, abs=2 * found.sigma["friction"])
    with pytest.raises(ValueError, match="a lander in simulated ground is of another study"):
        Runs(replace(case, shapes=(read_shape(LANDER),)), Checkpoint(tmp_path, 0))


def test_what_is_simulated_takes_numbers_alone(tmp_path):
    text = (CASES / "ball_in_grains.toml").read_text(encoding="utf-8")
    path = tmp_path / "case.toml"
    path.write_text(text.replace("{ log_uniform = [0.05, 0.6] }", "{ choice = [0.2, 0.4] }"), encoding="utf-8")
    with pytest.raises(ValueError, match="takes no choice"):
        read_case(path)
    with pytest.raises(ValueError, match="takes no series"):
        read_case(CASES / "ball_in_soil.toml", CASES / "drop.csv")
    assert isinstance(read_case(CASES / "ball_in_soil.toml").shapes[0].solid, Ball)
