import matplotlib.image
import numpy as np
import pytest
import xarray as xr

from difsim.plot.style import STYLE
from experiments.agilkia import diagrams, pictures
from experiments.agilkia.run import Agilkia
from experiments.harness import Found, write

NAMES = ["thickness", "grain_diameter", "grain_density", "edge_offset", "tilt_x", "heading"]
ATTRIBUTES = {"lander": "Toy", "body": "67P", "name": "synthetic", "scenario": "a", "status": "ok"}
FILES = ["touchdown.png", "fit.png", "parameters.png", "tree.png"]


def series():
    """A lander of 97 kg at 1 m/s, stopped within 0.9 s by a boulder and then by three soles."""
    time = np.linspace(0.0, 10.0, 2001)
    done = np.clip((time - 0.1) / 0.8, 0.0, 1.0)
    fade = 0.5 * (1 + np.cos(np.pi * done))  # 1 before the contact, 0 after it
    velocity = np.stack([0.11 + 0.2 * fade, 0.01 + 0.05 * fade, 0.27 - 1.2 * fade], axis=1)
    force = 97.0 * np.gradient(velocity, time, axis=0)
    size = np.linalg.norm(force, axis=1)
    kinetic = 0.5 * 97.0 * (velocity**2).sum(axis=1)
    lost = kinetic[0] - kinetic
    joule = {"kinetic": kinetic, "potential": 0.03 * time, "elastic": 2.0 * np.sin(np.pi * done) ** 2}
    joule |= {"ground": 0.7 * lost, "damper": 0.1 * lost, "friction": 0.2 * lost, "flywheel": -0.01 * time}
    data = {
        "position": (("time", "axis"), np.cumsum(velocity, axis=0) * 5e-3, "m"),
        "velocity": (("time", "axis"), velocity, "m/s"),
        "spin": (("time", "axis"), np.stack([0 * time, 0.02 * done, 0.004 - 0.04 * done], axis=1), "rad/s"),
        "force": (("time", "axis"), force, "N"),
        "boulder_force": ("time", 0.6 * size * (time < 0.4), "N"),
        "sole_force": (("time", "foot"), size[:, None] * (time[:, None] > [0.3, 9.9, 0.4]) * [0.5, 0.0, 0.4], "N"),
        "penetration": (("time", "foot"), done[:, None] * [0.24, 0.01, 0.17], "m"),
        "stroke": ("time", 0.04 * done, "m"),
    }
    return {"time": time, "axis": list("xyz")}, data | {f"energy_{k}": ("time", v, "J") for k, v in joule.items()}


def inversion():
    value = np.array([0.45, 4e-3, 1500.0, 0.01, 0.02, 0.4])
    low = np.array([0.25, 1e-4, 500.0, -0.1, -0.07, -np.pi])
    high = np.array([1.0, 1e-1, 3000.0, 0.1, 0.07, np.pi])
    sigma = np.array([0.05, 4e-3, 450.0, 0.004, 0.01, 0.9])
    correlation = np.eye(6)
    correlation[0, 2] = correlation[2, 0] = -0.8
    covariance = correlation * np.outer(sigma, sigma)
    covariance[4, :], covariance[:, 4] = np.nan, np.nan  # not determined
    rng = np.random.default_rng(1)
    draw = value + sigma * rng.standard_normal((200, 6)) * (np.arange(6) != 1)
    draw[:, 1] = 4e-3 * np.exp(rng.standard_normal(200))
    prior = low + (high - low) * rng.random((300, 6))
    name = ["rebound_speed", "ground_energy", "damper_energy", "damper_stroke", "penetration_deepest"]
    name += ["rebound_velocity_x", "spin_after_rundown", "contact_time"]
    data = {
        "value": ("parameter", value, "see unit_of"),
        "lo95": ("parameter", np.where(np.arange(6) == 1, np.nan, value - 1.96 * sigma), "see unit_of"),
        "hi95": ("parameter", value + 1.96 * sigma, "see unit_of"),
        "unit_of": ("parameter", ["m", "m", "kg/m3", "m", "rad", "rad"], "1"),
        "verdict": ("parameter", ["fixed by the data", "bounded on one side", "not fixed: the prior came back"]
                    + ["fixed by the data"] + 2 * ["not fixed: the prior came back"], "1"),
        "log_scale": ("parameter", np.arange(6) == 1, "1"),
        "prior_lo": ("parameter", low, "see unit_of"),
        "prior_hi": ("parameter", high, "see unit_of"),
        "covariance": (("parameter", "parameter_2"), covariance, "see unit_of"),
        "simulated": ("observable", [0.318, 39.6, 6.1, 0.0426, 0.27, 0.11, np.nan, 1.3], "see observable_unit"),
        "observed": ("observable", [0.325, 41.0, 4.0, 0.0426, 0.24, 0.13, 0.483, 20.0], "see observable_unit"),
        "sigma": ("observable", [0.02, 3.0, 2.0, 0.005, 0.05, 0.03, 0.2, 1.0], "see observable_unit"),
        "fitted": ("observable", np.arange(8) < 6, "1"),
        "observable_unit": ("observable", ["m/s", "J", "J", "m", "m", "m/s", "rad/s", "s"], "1"),
        "median": ("parameter", np.where(np.arange(6) == 1, np.nan, value), "see unit_of"),
        "draw": (("shown_draw", "parameter"), draw, "see unit_of"),
        "prior_draw": (("shown_prior", "parameter"), prior, "see unit_of"),
        "misfit": ((), 5.3, "1"),
    }  # fmt: skip
    return {"parameter": NAMES, "parameter_2": NAMES, "observable": name}, data


def branches():
    """Two scenarios by three frictions by three moduli, one scenario pruned but for a failed leaf."""
    nodes = [
        (-1, 4.8, "branched", "relaxed"),
        (0, 4.9, "branched", "scenario a"),
        (0, 9.0, "pruned", "scenario b"),
    ]
    for misfit, friction in ((5.0, "0.2"), (5.1, "0.6"), (5.9, "1")):
        nodes.append((1, misfit, "branched" if misfit < 5.5 else "pruned", f"friction {friction}"))
        for extra, modulus in ((0.3, "1e+07"), (0.1, "1e+08"), (np.nan, "1e+09")):
            if misfit < 5.5:
                status = "failed" if np.isnan(extra) else "leaf"
                nodes.append((nodes.index(nodes[-1]) if extra == 0.3 else nodes[-1][0], misfit + extra, status,
                              f"grain modulus {modulus}"))  # fmt: skip
    parent, misfit, status, label = zip(*nodes, strict=True)
    leaf = [f"{s}, {f}, {e}" for s in "ab" for f in ("0.2", "0.6", "1") for e in ("1e+07", "1e+08", "1e+09")]
    return {
        "node_parent": ("node", np.array(parent), "1"),
        "node_misfit": ("node", np.array(misfit), "1"),
        "node_status": ("node", list(status), "1"),
        "node_label": ("node", list(label), "1"),
        "leaf_probability": ("leaf", 0.5 ** np.arange(1.0, 19.0), "1"),
        "leaf_error": ("leaf", np.full(18, 0.01), "1"),
        "leaf_label": ("leaf", leaf, "1"),
    }


def baseline():
    rng = np.random.default_rng(0)
    value = np.array([0.45, 4e-3, 1500.0, 0.01, 0.02, 0.4])
    spread = 1 + 0.1 * rng.standard_normal((12, len(NAMES)))
    return {
        "restart_objective": ("restart", 1e-4 * rng.random(12), "1"),
        "restart_value": (("restart", "parameter"), value * spread, "see unit_of"),
    }


@pytest.fixture
def result():
    coords, data = series()
    more_coords, more = inversion()
    data = data | more | branches() | baseline()
    variables = {name: (dims, values, {"units": unit}) for name, (dims, values, unit) in data.items()}
    return xr.Dataset(variables, coords | more_coords, ATTRIBUTES)


def check(result, folder):
    with matplotlib.rc_context(STYLE):
        figures = pictures.draw(result)
        assert [f"{name}.png" for name in figures] == FILES
        write(folder, Found(figures=figures), {}, Agilkia)
    for name in FILES:
        pixels = matplotlib.image.imread(folder / name)[..., :3]
        assert pixels.shape[1] >= 1200
        assert pixels.min() < 0.1  # there is ink


def test_all_pictures_are_written(result, tmp_path):
    check(result, tmp_path)


@pytest.mark.parametrize(
    "parts",
    [
        ("restart_", "draw", "simulated"),
        ("leaf_", "prior_draw", "energy_", "sole_"),
        ("node_", "force", "value"),
    ],
)
def test_a_missing_part_is_no_crash(result, tmp_path, parts):
    check(result.drop_vars([name for name in result if name.startswith(parts)]), tmp_path)
    check(xr.Dataset(attrs=result.attrs), tmp_path)


def test_numbers_that_are_missing_are_no_crash(result, tmp_path):
    check(result.map(lambda v: v * np.nan if v.dtype == float else v), tmp_path)
    failed = {name: v.where(v["time"] < 0.5) for name, v in result.items() if "time" in v.dims}
    check(result.assign(failed), tmp_path)


def test_a_nan_is_not_drawn_as_a_value(result):
    drawn = pictures._residuals(result).axes[0].lines
    dots = [line for line in drawn if line.get_marker() not in ("None", None, "")]
    assert np.isnan([line.get_xdata() for line in dots]).sum() == 1  # which matplotlib leaves out


def test_a_parent_stands_over_the_middle_of_its_children():
    x, depth = diagrams._places(np.array([-1, 0, 0, 1, 1])).T
    assert depth.tolist() == [0, 1, 1, 2, 2]
    assert x.tolist() == [1.25, 0.5, 2.0, 0.0, 1.0]
