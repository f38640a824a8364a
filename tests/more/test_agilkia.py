"""The Agilkia study: its two files, bad input, the paper's objective, and one quick run from the command line."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial import ConvexHull

from difsim import Status
from experiments.agilkia.baseline import OPTIMUM, paper_objective
from experiments.agilkia.chain import contacts
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.agilkia.limits import Limit, limits, lowest_misfit
from experiments.agilkia.scenario import experiment, problem, unknowns
from experiments.agilkia.worlds import shape_of
from inversion import Fixed, Observation, Observations, Problem
from inversion.cube import Cube
from inversion.threads import map_in_threads

PHILAE = DATA / "philae.toml"


def edit(tmp_path, source, old, new):
    """A copy of a data file with one text replaced."""
    text = (DATA / source).read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "edited.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def test_the_two_data_sets_are_not_mixed():
    published, paper = (read_observations(DATA / f"philae_{name}.toml") for name in ("published", "paper"))
    assert float(published.fitted["rebound_speed"].value) == 0.325
    assert "rebound_speed" not in paper.all and "rebound_velocity" not in published.all
    assert {"peak_force", "regolith_force"} <= set(paper.reported), "forces are reported, not fitted"
    lander = read_lander(PHILAE)
    moments = [experiment(lander, data).lander.body.inertia[2, 2] for data in (published, paper)]
    assert moments == [31.7, 5.0]


def test_the_site_is_that_of_the_published_numbers():
    known = experiment(read_lander(PHILAE), read_observations(DATA / "philae_published.toml"))
    assert float(jnp.linalg.norm(known.velocity)) == pytest.approx(1.010, abs=2e-3)
    assert float(known.velocity[2]) == pytest.approx(-1.006, abs=2e-3)
    # 1.69e-4 m/s2 with the centrifugal term on the mesh; two ellipsoids are 3.2 % low.
    assert float(jnp.linalg.norm(known.gravity.vector)) == pytest.approx(1.64e-4, rel=0.005)


NORMAL = "normal = [0.775, -0.540, 0.328]"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[21.6, 21.6, 31.7]", "[1.0, 1.0, 31.7]", "belong to no body"),
        ("velocity_m_per_s = [-0.8353", "velocity_m_per_s = [0.9353", "moves away from the ground"),
        (NORMAL, f"{NORMAL}\ngravity_m_per_s2 = [0.0, 0.0, 1e-4]", "pulls away from the ground"),
        ("edge_distance_m = 1.05", "edge_distance_m = 0.25", "puts the edge 0.15 to 0.35 m"),
        (
            "thickness_m = [0.25, 1.0]",
            "thickness_m = [0.0, 1.0]",
            "thickness_m = [0.0, 1.0] must be positive",
        ),
    ],
)
def test_a_wrong_lander_is_refused(tmp_path, old, new, says):
    path = edit(tmp_path, "philae.toml", old, new)
    data = read_observations(DATA / "philae_published.toml")
    with pytest.raises(ValueError, match=re.escape(says)):
        problem(read_lander(path), data)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[observables.rebound_speed]", "[observables.speed]", "no observable is called 'speed'"),
        ("[observables.damper_energy]", "[observables.peak_force]", "cannot be fitted"),
        ('name = "published"', "name = published", "not a TOML file"),
    ],
)
def test_wrong_observations_are_refused(tmp_path, old, new, says):
    path = edit(tmp_path, "philae_published.toml", old, new)
    with pytest.raises(ValueError, match=says):
        experiment(read_lander(PHILAE), read_observations(path))


def test_a_shape_in_metres_is_refused(tmp_path):
    path, ball = tmp_path / "ball.obj", ConvexHull(1e3 * np.random.default_rng(0).normal(size=(50, 3)))
    faces = [face if np.linalg.det(ball.points[face]) > 0 else face[::-1] for face in ball.simplices]
    vertices = [f"v {x} {y} {z}" for x, y, z in ball.points]
    path.write_text("\n".join([*vertices, *(f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces)]))
    with pytest.raises(ValueError, match=r"the file is in m: .*--shape takes .* vertices in km"):
        shape_of(str(path))


def test_next_contacts_need_a_trusted_sample():
    draws = {"second_contact_time": np.array([1.0, 2.0, 3.0, np.nan]), "second_contact_distance": np.ones(4)}
    draws["second_contact_position"] = np.ones((4, 3))
    found = contacts(draws, trusted=True)
    assert found["come_down"] == 0.75 and found["second_contact_time"]["median"] == 2.0
    assert contacts(draws, trusted=False) == {"draws": 4, "come_down": 0.75}


def test_the_paper_objective_is_its_formula():
    observed = jnp.array([0.3, 0.0, 0.1])
    data = Observations({"rebound_velocity": Observation(np.asarray(observed), 0.01)})
    setting = Problem(unknowns(read_lander(PHILAE)), lambda p: ({}, True), data)
    at = lambda v: float(paper_objective(setting, {"rebound_velocity": jnp.asarray(v)}))  # noqa: E731
    assert at(observed) == pytest.approx(0.0, abs=1e-15)
    assert at(observed * jnp.sqrt(1.1)) == pytest.approx(0.1)
    assert at([-0.3, 0.0, -0.1]) == pytest.approx(2.0)


def test_a_known_number_is_no_unknown(tmp_path):
    text = PHILAE.read_text(encoding="utf-8")
    for key, known in {
        "thickness_m": "0.3",
        "grain_modulus_Pa": "1e8",
        "friction": "[0.6]",
        "scenario": '"a"',
        "edge_offset_m": "0.05",
        "tilt_sigma_deg": "0",
        "heading_deg": "90",
    }.items():
        text, count = re.subn(rf"^{key} = .*$", f"{key} = {known}", text, flags=re.M)
        assert count == 1, key
    path = tmp_path / "known.toml"
    path.write_text(text, encoding="utf-8")
    found = unknowns(read_lander(path))
    known = {name: float(q.value) for name, q in found.items() if isinstance(q, Fixed)}
    assert found.keys() - known.keys() == {"grain_diameter", "grain_density"}
    assert known.pop("heading") == pytest.approx(np.pi / 2)
    assert known == {
        **{"thickness": 0.3, "grain_modulus": 1e8, "friction": 0.6},
        **{"scenario": 0.0, "edge_offset": 0.05, "tilt_x": 0.0, "tilt_y": 0.0},
    }
    posed = problem(read_lander(path), read_observations(DATA / "philae_paper.toml"))
    assert posed.names == ("grain_diameter", "grain_density") and posed.discrete == ()
    # An edge that is known is checked as one within a range is.
    path.write_text(text.replace("edge_offset_m = 0.05", "edge_offset_m = 0.5"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"puts the edge 1.55 to 1.55 m"):
        read_lander(path)


@pytest.fixture(scope="module")
def observe():
    return jax.jit(lambda known, p: known(p))


@pytest.fixture(scope="module")
def optimum(observe):
    """Observables at the paper's optimum, in both data sets."""
    lander, found = read_lander(PHILAE), {}
    for name in ("published", "paper"):
        known = experiment(lander, read_observations(DATA / f"philae_{name}.toml"))
        found[name] = observe(known, {k: jnp.asarray(v) for k, v in OPTIMUM.items()})
    return found


@pytest.mark.parametrize("name", ["published", "paper"])
def test_energy_and_times_of_a_touchdown_add_up(optimum, name):
    values, status = optimum[name]
    assert status == Status.OK
    v = {k: np.asarray(x) for k, x in values.items()}
    spent = v["ground_energy"] + v["damper_energy"] + v["kinetic_energy"]
    assert spent == pytest.approx(v["initial_energy"], abs=0.1), "gravity, wheel and springs are below 0.1 J"
    assert max(v["boulder_time"], v["regolith_time"]) <= v["contact_time"] + 1e-9
    assert v["contact_time"] <= v["boulder_time"] + v["regolith_time"] + 1e-6
    assert v["penetration_least"] <= v["penetration_middle"] <= v["penetration_deepest"] < 0.3
    assert np.linalg.norm(v["rebound_velocity"]) == pytest.approx(v["rebound_speed"], rel=1e-12)


def excess(limit, y):
    """The excess of observables over a limit."""
    found = sum(a * y[name] for name, a in limit.linear.items())
    return float(found + sum(b * y[name] ** 2 for name, b in limit.square.items()) - limit.most)


@pytest.mark.parametrize("count", [20])
def test_no_touchdown_is_beyond_the_limits(observe, count):
    setting = problem(read_lander(PHILAE), read_observations(DATA / "philae_published.toml"))
    cube = Cube(setting)
    rows = cube.physical(np.random.default_rng(count).random((count, cube.active.size)))
    lowest = {s: lowest_misfit(setting, {"scenario": s}) for s in (0.0, 1.0)}
    bounds = {s: limits(setting.predict, {"scenario": s}) for s in lowest}
    assert {*bounds[1.0]} - {*bounds[0.0]} == {"impulse"} and all(value < 6.0 for value in lowest.values())

    def exceeds(row):
        p = setting.to_dict(jnp.asarray(row))
        (values, status), scenario = observe(setting.predict, p), float(p["scenario"])
        if status != Status.OK:
            return None
        assert float(setting.data.compare(values, p).misfit) >= lowest[scenario]
        return {name: excess(limit, values) for name, limit in bounds[scenario].items()}

    found = [row for row in map_in_threads(exceeds, rows) if row is not None]
    assert len(found) > 0.9 * count
    assert max(value for row in found for value in row.values()) <= 0.0
    assert max(row["energy"] for row in found) > -0.5, "J: the limit of the energy is close"


def test_misfit_of_a_limit_is_that_of_the_nearest_allowed_point():
    assert Limit({"y": 1.0}, {}, 1.0).misfit({"y": (3.0, 0.5)}) == pytest.approx(16.0)
    assert Limit({}, {"y": 4.0}, 4.0).misfit({"y": (-3.0, 1.0)}) == pytest.approx(4.0)
    # Two shares in proportion to their variances.
    both = Limit({"y": 1.0, "z": 1.0}, {}, 0.0)
    assert both.misfit({"y": (3.0, 1.0), "z": (2.0, 2.0)}) == pytest.approx(5.0)
    assert both.misfit({"y": (-3.0, 1.0), "z": (2.0, 2.0)}) == 0.0 == both.misfit({"y": (3.0, 1.0)})
