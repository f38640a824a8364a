"""A lander of one's own: the body is named in its file, its gravity is the file's, and nothing of 67P or Philae is
used or said of another one."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Status
from experiments.agilkia import report, worlds
from experiments.agilkia.baseline import OPTIMUM
from experiments.agilkia.chain import is_agilkia
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.agilkia.run import Agilkia, _world
from experiments.agilkia.scenario import experiment, problem

PHILAE = (DATA / "philae.toml").read_text(encoding="utf-8")
TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorials" / "lander.py"
FOUR_LEGS = re.search(r'write_text\("""\n(.*?)"""\)', TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)[1]
READINGS = """
name = "mine"
[initial]
spin_rad_per_s = 0.01
flywheel_N_m_s = 0.0
rundown_s = 1.0
horizon_s = 5.0
[observables.rebound_speed]
value = 0.03
sigma = 0.01
"""
SITE = "position_m = [2114.5, -955.2, 494.9]"


def write(tmp_path, text, *changes):
    """The path of a file with a text in which some are replaced."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    path = tmp_path / "lander.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def readings(tmp_path):
    path = tmp_path / "readings.toml"
    path.write_text(READINGS, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "old", "new", "says"),
    [
        (PHILAE, 'body = "67P" ', "", "lacks 'body'"),
        (
            PHILAE,
            'body = "67P" ',
            'body = "Bennu" ',
            r"body = 'Bennu' needs gravity_m_per_s2.*only '67P' has a field",
        ),
        (PHILAE, SITE, "position_m = [0.0, 0.0, 80.0]", r"408 m below the surface of 67P \(shape 'analogue'\)"),
        (FOUR_LEGS, "gravity_m_per_s2", "# gravity", r"body = 'small asteroid' needs gravity_m_per_s2"),
    ],
)
def test_gravity_and_body_of_a_site_are_never_guessed(tmp_path, text, old, new, says):
    path = write(tmp_path, text, (old, new))
    with pytest.raises(ValueError, match=rf"^{re.escape(str(path))}: \[(site|lander)\].*{says}"):
        read_lander(path)


def test_gravity_of_another_body_is_that_of_its_file(tmp_path, readings):
    lander, data = read_lander(write(tmp_path, FOUR_LEGS)), read_observations(readings)
    known = experiment(lander, data)
    found = report.place(lander, data, known)
    assert found["gravity_m_s2"] == [0.0, 0.0, -1.0e-4] and found["assumed"] == []
    assert found["body"] == "small asteroid" and found["site_height_m"] is None
    line = report.place_line(found)
    assert line.startswith("Four legs on small asteroid: gravity (0, 0, -0.0001) m/s2") and "67P" not in line


def test_gravity_of_67p_is_the_ellipsoids_and_is_called_assumed():
    """2.4 % below the polyhedron's at the site, with the centrifugal term 1.637e-4 m/s2 (docs of `lobes_67p`)."""
    lander, data = read_lander(DATA / "philae.toml"), read_observations(DATA / "philae_paper.toml")
    known = experiment(lander, data)
    found = report.place(lander, data, known, "analogue", worlds.analogue())
    assert np.linalg.norm(found["gravity_m_s2"]) == pytest.approx(1.637e-4, rel=1e-3)
    assert found["site_height_m"] == pytest.approx(-20.5, abs=0.5)
    assumed = " ".join(found["assumed"])
    assert "two rotating ellipsoids" in assumed and "20.5 m below the surface" in assumed
    assert "inertia_kg_m2 is the data set's, [5.0, 5.0, 5.0]" in assumed


def test_a_site_near_a_mesh_is_nearer_than_near_the_ellipsoids():
    """A ball of 2 km: 60 m above it is a site on a mesh, 200 m above it one of the ellipsoids alone."""
    ball = worlds.Ellipsoid([2000.0, 2000.0, 2000.0])
    assert worlds.check_site([0.0, 0.0, 2060.0], ball, "mine.obj") == pytest.approx(60.0, abs=0.1)
    assert worlds.check_site([0.0, 0.0, 2200.0], ball, "analogue") == pytest.approx(200.0, abs=0.1)
    with pytest.raises(ValueError, match=r"200 m above the surface of 67P \(shape 'mine.obj'\)"):
        worlds.check_site([0.0, 0.0, 2200.0], ball, "mine.obj")


def test_only_67p_can_be_flown_about(tmp_path, readings):
    lander = read_lander(write(tmp_path, FOUR_LEGS))
    mine = {"lander": tmp_path / "lander.toml", "observations": readings}
    assert _world(Agilkia(**mine), lander["site"]) is None
    with pytest.raises(ValueError, match="--shape shap5 is of 67P, and the site is on 'small asteroid'"):
        _world(Agilkia(**mine, shape="shap5"), lander["site"])
    with pytest.raises(ValueError, match=r"fits second_contact_\w+, and the flight .* on 'small asteroid'"):
        problem(lander, read_observations(DATA / "philae_bounce.toml"), worlds.analogue())


def test_a_descent_is_flown_to_agilkia_alone(tmp_path):
    site = read_lander(DATA / "philae.toml")["site"]
    assert is_agilkia(site) and not is_agilkia(site | {"velocity_m_per_s": [-0.8, 0.4987, -0.2715]})
    assert not is_agilkia(site | {"position_m": [2100.0, -955.2, 494.9]})


@pytest.fixture(scope="module")
def touch_down():
    return jax.jit(lambda known, p: known(p))


def test_ten_times_the_gravity_is_ten_times_the_weight(tmp_path, readings, touch_down):
    """The speed at the end of a fall that meets nothing: v + g t, by each gravity."""
    data = read_observations(readings)
    truth = {k: jnp.asarray(v) for k, v in OPTIMUM.items() if k not in ("scenario", "edge_offset")}
    for gravity in (1e-4, 1e-3):
        change = ("gravity_m_per_s2 = [0.0, 0.0, -1.0e-4]", f"gravity_m_per_s2 = [0.0, 0.0, {-gravity}]")
        slow = ("velocity_m_per_s = [0.05, 0.0, -0.4]", "velocity_m_per_s = [0.0, 0.0, -0.001]")
        known = experiment(read_lander(write(tmp_path, FOUR_LEGS, change, slow)), data)
        observed, status = touch_down(known, truth)
        assert status == Status.OK and float(observed["rebound_speed"]) == pytest.approx(
            0.001 + gravity * 5.0, rel=1e-6
        )
