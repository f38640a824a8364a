"""`difsim contact`: synthetic readings, and wrong options."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import units
from difsim.contact import Poncelet
from difsim.gravity import Polyhedron, Rotating
from difsim.mesh import load
from experiments.contact.assumptions import Row, list_rows, weigh
from experiments.contact.case import EXAMPLE, read_case
from experiments.contact.coverage import observe, sample_about
from experiments.contact.joint import BATCH, list_common, pose_both, split_pressure
from experiments.contact.model import pose
from experiments.contact.packings import compare as compare_packings
from experiments.contact.packings import fit_law
from experiments.contact.shapes import PLATE
from experiments.contact.throws import Thrown
from experiments.contact.world import Plunge
from experiments.data_files import data_folder
from inversion import Observations, fit, sample
from inversion.cube import Cube
from tests.helpers import find_published

DROP, SERIES = data_folder() / EXAMPLE, data_folder() / "cases" / "drop.csv"
TD2 = data_folder() / "cases" / "philae_td2.toml"
TRUTH = {"speed": 2.45, "hardening": 1.42e5, "drag": 1570.0, "bias": 0.4, "noise": 1.5}


@pytest.fixture(scope="module")
def drop():
    return pose(read_case(DROP, SERIES))


def test_synthetic_readings_end_at_the_range_and_are_bounds(drop):
    truth = TRUTH | {"delay": 5e-3, "speed": 2.6}
    p = drop.to_dict(jnp.array([truth[name] for name in drop.names]))
    seen = observe(drop, p, eqx.filter_jit(drop.predict)(p)[0], np.random.default_rng(1))["series"]
    limit = float(drop.parameters["range"].value)
    beyond = np.asarray(seen.noise.beyond)
    np.testing.assert_array_equal(beyond != 0, np.abs(seen.value) == limit)
    assert 0 < np.sum(beyond) < beyond.size / 2


SENSORS = {  # two of one body: delay, bandwidth, noise, gain, bias and range
    "slow": {"delay": 6e-3, "bandwidth": 150.0, "noise": 0.8, "gain": 1.08, "bias": 0.5, "range": 1e3},
    "fast": {"delay": 2e-3, "bandwidth": 900.0, "noise": 1.5, "gain": 0.95, "bias": -0.7, "range": 60.0},
}
LAWS = """
gain = { normal = [1.0, 0.1] }
bandwidth_Hz = { log_uniform = [20.0, 5000.0] }
"""


def fit_sensor(folder, name, gain):
    """Hardening and drag with their sigmas, by one sensor alone; `gain`: the known one, None for an unknown."""
    truth = TRUTH | SENSORS[name]
    text = DROP.read_text(encoding="utf-8").replace("bandwidth_Hz = 500.0\n", "").replace("gain = 1.0\n", "")
    laws = LAWS if gain is None else LAWS.replace("{ normal = [1.0, 0.1] }", str(gain))
    path, series = folder / f"{name}.toml", folder / f"{name}.csv"
    path.write_text(text.replace("\n[unknowns]", "\n[unknowns]" + laws), encoding="utf-8")
    clock = np.arange(0.0, 0.08, 5e-4)
    series.write_text("t_s,a_m_per_s2\n" + "".join(f"{t},{t}\n" for t in clock), encoding="utf-8")
    problem = pose(read_case(path, series))
    p = {key: jnp.asarray(truth.get(key, q.value if hasattr(q, "value") else 0.0))
         for key, q in problem.parameters.items()}  # fmt: skip
    data = observe(problem, p, eqx.filter_jit(problem.predict)(p)[0], np.random.default_rng(2))
    problem = eqx.tree_at(lambda problem: problem.data, problem, Observations(data))
    start = {key: truth[key] for key in problem.names} | {"hardening": 1.425e5, "drag": 1550.0}  # the right peak
    found = fit(problem, key=jax.random.PRNGKey(0), guesses=[start], starts=0, keep=1)
    return np.array([[found.values[key], found.sigma[key]] for key in ("hardening", "drag")])


def test_two_sensors_of_one_body_find_one_ground(tmp_path):
    """They differ in delay, gain, bias, bandwidth and range. The public series of two sensors was not at hand."""
    slow, fast = (fit_sensor(tmp_path, name, None) for name in SENSORS)
    truth = np.array([TRUTH["hardening"], TRUTH["drag"]])
    for values, sigmas in (slow.T, fast.T):
        assert np.all(np.abs(values - truth) < 2.5 * sigmas) and np.all(sigmas < 0.05 * truth)
    apart = np.abs(slow[:, 0] - fast[:, 0]) / np.hypot(slow[:, 1], fast[:, 1])
    assert np.all(apart < 2.0)


def test_a_wrong_gain_shows_between_two_sensors(tmp_path):
    slow, fast = (fit_sensor(tmp_path, name, 1.0) for name in SENSORS)
    apart = np.abs(slow[:, 0] - fast[:, 0]) / np.hypot(slow[:, 1], fast[:, 1])
    assert np.any(apart > 3.0)


def test_a_posterior_about_its_peak_is_that_of_a_grid():
    """Of one unknown, whose posterior is known by quadrature."""
    path = data_folder() / "cases" / "katsuragi_durian.toml"
    cube = Cube(pose(read_case(path, changed={"unknowns.drag_kg_per_m3": 1570.0})), BATCH)
    u, log_weights, k_hat = sample_about(cube, np.array([0.55]), 0)
    grid = (np.arange(8000) + 0.5) / 8000
    values = cube.log_likelihood(grid[:, None])
    density = np.exp(values - values.max()) / np.sum(np.exp(values - values.max()))
    middle = density @ grid
    width = np.sqrt(density @ (grid - middle) ** 2)
    weights = np.exp(log_weights)
    assert k_hat < 0.7 and weights @ u[:, 0] == pytest.approx(middle, abs=0.05 * width)
    assert np.sqrt(weights @ (u[:, 0] - middle) ** 2) == pytest.approx(width, rel=0.05)


def write_plate(folder, name, depth, speed="1.0", law="{ log_uniform = [1e2, 1e5] }"):
    """A case of one unknown, a constant strength σ: a plate of 10 kg/m² without gravity stops in 5 v²/σ m."""
    path = folder / f"{name}.toml"
    path.write_text(
        f"""title = "{name}"
body = {{ shape = "plate", mass_kg = {10 * np.pi}, radius_m = 1.0, speed_m_per_s = {speed} }}
site = {{ gravity_m_per_s2 = 0.0 }}
ground = {{ law = "poncelet", hardening_Pa_per_m = 0.0, drag_kg_per_m3 = 0.0 }}
unknowns = {{ strength_Pa = {law} }}
observations = {{ depth = {{ value = {depth}, sigma = {0.2 * depth} }} }}
""",
        encoding="utf-8",
    )
    return path


def test_evidence_of_one_soil_is_that_of_a_grid(tmp_path):
    cases = {at: read_case(write_plate(tmp_path, at, d)) for at, d in {"near": 0.005, "far": 0.008}.items()}
    strength = np.geomspace(1e2, 1e5, 200_001)
    near, far = (np.exp(-0.5 * ((5.0 / strength - d) / (0.2 * d)) ** 2) for d in (0.005, 0.008))
    for common, due in (([], near.mean() * far.mean()), (list_common(cases), np.mean(near * far))):
        found = sample(pose_both(cases, common), key=jax.random.PRNGKey(0), batch_size=BATCH)
        assert found.ok and found.log_evidence == pytest.approx(np.log(due), abs=4 * found.log_evidence_error)
        assert found.log_evidence_error < 0.1


def test_one_soil_needs_one_prior(tmp_path):
    paths = (
        write_plate(tmp_path, "one", 0.005),
        write_plate(tmp_path, "two", 0.005, law="{ uniform = [1e2, 1e5] }"),
    )
    with pytest.raises(ValueError, match="one and two need the same ground"):
        list_common({path.stem: read_case(path) for path in paths})


def test_parts_of_the_pressure_are_the_energy_by_volume():
    plunge = Plunge(Poncelet(40.0, 300.0, 200.0), 96.3, 0.45, 0.3, 1.7e-4, PLATE)
    motion = eqx.filter_jit(lambda plunge: plunge.fall())(plunge)
    parts, z = split_pressure(plunge, motion), float(motion.depth[-1])
    np.testing.assert_allclose(parts[:2], [40.0, 150.0 * z], rtol=1e-6)
    energy = 96.3 * (0.5 * 0.3**2 + 1.7e-4 * z)
    assert float(jnp.sum(parts)) == pytest.approx(energy / (np.pi * 0.45**2 * z), rel=1e-3)


def test_a_rebound_takes_the_time_of_the_way_out(tmp_path):
    changed = {"unknowns.restitution": 0.5, "unknowns.drag_kg_per_m3": 0.0, "unknowns.hardening_Pa_per_m": 0.0}
    problem = pose(read_case(TD2, changed=changed))
    p = problem.to_dict(jnp.array([{"radius": 0.45, "speed": 0.2, "strength": 10.0}[k] for k in problem.names]))
    seen = eqx.filter_jit(problem.predict)(p)[0]
    # In at half the speed on average, out at half of it.
    assert float(seen["duration"]) == pytest.approx(4 * float(seen["depth"]) / 0.2, rel=2e-3)


def test_rows_of_assumptions_change_what_they_name(tmp_path):
    rows = {row.name: row for row in list_rows(TD2)}
    assert len(rows) == 18 and not rows["sigma of depth x 2"].has_same_errors
    constant = Row("constant", {"unknowns.hardening_Pa_per_m": 0.0, "unknowns.drag_kg_per_m3": 0.0})
    base, hard = (weigh(TD2, row, 40_000, 0) for row in (rows["the file as it is"], constant))
    assert base["unknowns"].keys() - hard["unknowns"].keys() == {"hardening", "drag"}
    assert hard["unknowns"]["strength"][0] > 10 * base["unknowns"]["strength"][0]
    # A constant pressure on the area: m v / (duration area), with its usual factor of 2 about 8 Pa.
    assert hard["unknowns"]["strength"][1] == pytest.approx(8.0, rel=0.2)


def test_a_thrust_that_fades_takes_its_impulse():
    """Without ground that resists at speed, and without gravity: dv = -(T τ + strength area t)/m."""
    thrust, decay, mass, area, strength = 20.0, 1.0, 1300.0, 0.0804, 100.0
    plunge = Plunge(Poncelet(strength), mass, (area / np.pi) ** 0.5, 0.1, 0.0, PLATE, thrust, decay)
    motion = eqx.filter_jit(lambda plunge: plunge.fall())(plunge)
    end = float(motion.time[-1])
    taken = thrust * decay * (1 - np.exp(-end / decay)) + strength * area * end
    assert motion.has_stopped and taken == pytest.approx(mass * 0.1, rel=1e-5)
    felt = (thrust * np.exp(-end / decay) + strength * area) / mass
    assert float(motion.specific_force[-1]) == pytest.approx(felt, rel=1e-6)


def test_gravity_of_tag_is_that_of_bennu_at_the_site():
    """Its shape with the published GM and spin, normal to the ground where the crater Hokioi is (56 N, 42 E)."""
    path = find_published("Bennu/bennu_osirisrex2019_2692f.obj")
    bennu, gm, spin = load(path, "km"), 4.892, 2 * np.pi / (4.2975 * 3600)
    corners = bennu.vertices[bennu.faces]
    normals, middles = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), corners.mean(axis=1)
    density = gm / units.G / (np.einsum("fi,fi->", normals, middles) / 6)
    assert density == pytest.approx(1190.0, abs=3.0)
    north, east = np.radians([56.0, 42.0])
    site = np.array([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)])
    face = int(np.argmax(middles @ site / np.linalg.norm(middles, axis=1)))
    field = Rotating(Polyhedron(bennu, density), (0.0, 0.0, spin))
    down = -normals[face] / np.linalg.norm(normals[face])
    gravity = read_case(data_folder() / "cases" / "tag.toml").parameters["gravity"]
    assert field.acceleration(middles[face]) @ down == pytest.approx(float(gravity.value), rel=0.02)


def test_the_law_that_made_a_path_is_found_from_it():
    plate, times = Thrown(None, 1300.0, 0.16, 0.1, 6.8e-5), np.linspace(0.0, 6.0, 41)
    true = {"strength": 60.0, "hardening": 200.0, "drag": 2000.0}
    motion = Plunge(Poncelet(**true), *plate[1:], PLATE).fall()
    law, fitted = fit_law(plate, times, np.array([float(motion.speed_at(jnp.asarray(t))) for t in times]))
    assert float(fitted.depth_at(jnp.asarray(6.0))) == pytest.approx(
        float(motion.depth_at(jnp.asarray(6.0))), rel=1e-4
    )
    assert law["drag"] == pytest.approx(true["drag"], rel=0.2)


def test_packings_take_a_plate_that_is_read_at_a_time():
    with pytest.raises(ValueError, match="packings takes a plate with a depth or a speed at a time"):
        compare_packings(TD2, 10, 0, True)
