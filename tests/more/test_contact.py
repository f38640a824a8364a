"""`difsim contact`: synthetic readings, and wrong options."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.contact import Poncelet
from experiments.contact.assumptions import list_rows, weigh
from experiments.contact.case import EXAMPLE, read_case
from experiments.contact.coverage import measure, observe, sample_about
from experiments.contact.model import pose
from experiments.contact.world import Plunge
from experiments.data_files import data_folder
from inversion import Observations, fit

DROP, SERIES = data_folder() / EXAMPLE, data_folder() / "cases" / "drop.csv"
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
    text = text.replace("range_m_per_s2 = 68.6", f"range_m_per_s2 = {truth['range']}")
    laws = LAWS if gain is None else LAWS.replace("{ normal = [1.0, 0.1] }", str(gain))
    path, series = folder / f"{name}.toml", folder / f"{name}.csv"
    path.write_text(text.replace("\n[unknowns]", "\n[unknowns]" + laws), encoding="utf-8")
    clock = np.arange(0.0, 0.08, 5e-4)
    series.write_text("t_s,a_m_per_s2\n" + "".join(f"{t},0.0\n" for t in clock), encoding="utf-8")
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
    changed = {"unknowns.drag_kg_per_m3": 1570.0}
    problem = pose(read_case(path, changed=changed))
    z, log_weights, k_hat = sample_about(problem, np.array([0.1]), np.random.default_rng(0))
    grid = np.linspace(-4.0, 4.0, 4001)
    values = np.asarray(measure(problem, jnp.asarray(grid)[:, None]))
    density = np.exp(values - values.max() - 0.5 * grid**2)
    middle = np.sum(grid * density) / np.sum(density)
    width = np.sqrt(np.sum((grid - middle) ** 2 * density) / np.sum(density))
    weights = np.exp(log_weights)
    assert k_hat < 0.7 and weights @ z[:, 0] == pytest.approx(middle, abs=0.05 * width)
    assert np.sqrt(weights @ (z[:, 0] - middle) ** 2) == pytest.approx(width, rel=0.05)


def test_rows_of_assumptions_change_what_they_name(tmp_path):
    path = data_folder() / "cases" / "philae_td2.toml"
    rows = {row.name: row for row in list_rows(path)}
    assert len(rows) == 15 and not rows["sigma of depth x 2"].has_same_errors
    base, hard = (weigh(path, rows[name], 20_000, 0) for name in ("the file as it is", "hardening_Pa_per_m = 0.0"))
    assert base["unknowns"].keys() - hard["unknowns"].keys() == {"hardening"}
    assert hard["unknowns"]["strength"][0] > 10 * base["unknowns"]["strength"][0]
    # A constant pressure on the area: m v / (duration area), with its usual factor of 2 about 8 Pa.
    assert hard["unknowns"]["strength"][1] == pytest.approx(8.0, rel=0.2)


def test_a_thrust_that_fades_takes_its_impulse():
    """Without ground that resists at speed, and without gravity: dv = -(T τ + strength area t)/m."""
    thrust, decay, mass, area, strength = 20.0, 1.0, 1300.0, 0.0804, 100.0
    plunge = Plunge(Poncelet(strength), mass, (area / np.pi) ** 0.5, 0.1, 0.0, 0.0, thrust, decay)
    motion = eqx.filter_jit(lambda plunge: plunge.fall())(plunge)
    end = float(motion.time[-1])
    taken = thrust * decay * (1 - np.exp(-end / decay)) + strength * area * end
    assert motion.has_stopped and taken == pytest.approx(mass * 0.1, rel=1e-5)
    felt = (thrust * np.exp(-end / decay) + strength * area) / mass
    assert float(motion.specific_force[-1]) == pytest.approx(felt, rel=1e-6)
