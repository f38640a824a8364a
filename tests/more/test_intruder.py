"""A ball in grains: until when derivatives agree, published depths and codes."""

import csv

import numpy as np
import pytest
import xarray as xr

from experiments.contact.solids import Ball
from experiments.contact.throws import begin_at_surface, end_at_stop
from experiments.intruder.codes import SEEN
from experiments.intruder.derivatives import _valid_until
from experiments.intruder.exponents import fit_powers
from experiments.intruder.katsuragi import fit_law, observed_order, published_stop, square_speed, validate
from experiments.intruder.published import formula
from experiments.intruder.scene import BASE
from tests.helpers import find_published


def test_a_derivative_is_right_until_it_first_parts():
    other = np.ones((4, 4))
    forward = other * np.array([[1.0, 1.05, 0.5, 1.0]])  # by parameter
    forward[2, 0], forward[3] = 1.2, 1.0  # right again later does not count
    result = xr.Dataset(
        {"forward": (("time", "parameter"), forward), "difference": (("step", "time", "parameter"), other[None])},
        coords={"time": [0.1, 0.2, 0.3, 0.4], "parameter": [*BASE], "step": [1e-3]},
    )
    assert list(_valid_until(result, 1e-3).values()) == [0.2, 0.4, 0.0, 0.4]


@pytest.mark.parametrize(
    "speed, depth", [(0.1, 0.0181), (0.5, 0.0241), (1.0, 0.0336), (2.0, 0.0502), (4.0, 0.0750)]
)
def test_formula_is_near_the_law_of_katsuragi_and_durian(speed, depth):
    """Two published descriptions of a ball in glass beads differ by a fifth, at the law's own fall."""
    fall = speed**2 / (2 * 9.81) + depth
    assert formula(0.0254, 8070.0, fall, 1520.0) == pytest.approx(depth, rel=0.22)


def test_heights_of_the_codes_are_those_of_the_record():
    table = find_published("Dosta2024/ball_25000_displacement.csv")
    rows = {float(row["time_s"]): row for row in csv.DictReader(table.read_text().splitlines())}
    for time, (mean, deviation) in SEEN.items():
        means, of_beds = (
            np.array([float(x) for k, x in rows[time].items() if k.endswith(end) and not k.startswith("LIGGGHTS")])
            for end in ("_mean_m", "_sd_m")
        )
        assert np.nanmean(means) == pytest.approx(mean, abs=6e-5)
        assert np.hypot(np.nanstd(means, ddof=1), np.sqrt(np.nanmean(of_beds**2))) == pytest.approx(
            deviation, abs=6e-5
        )


def test_powers_and_their_errors_follow_from_throws():
    rng = np.random.default_rng(0)
    speed, gravity = (np.exp(x) for x in rng.uniform(-2.0, 0.0, (2, 2000)))
    values = 0.3 * speed**0.8 * gravity**-0.25 * np.exp(rng.normal(0.0, 0.1, 2000))
    values[:3] = np.nan  # balls that are still fast
    powers, errors = fit_powers(speed, gravity, values)
    assert np.all(np.abs(powers - [0.8, -0.25]) < 3.0 * errors)
    np.testing.assert_allclose(errors, 0.1 / (np.sqrt(2000) * np.std(np.log([speed, gravity]), axis=1)), rtol=0.05)
    with pytest.raises(ValueError, match="2 of 5 balls are slow"):
        fit_powers(speed[:5], gravity[:5], values[:5])


@pytest.mark.parametrize("speed, milliseconds", [(0.5, 65), (1.0, 56), (2.0, 49), (3.0, 46)])
def test_the_published_law_stops_a_ball_in_time(speed, milliseconds):
    assert 1e3 * published_stop(speed)[0] == pytest.approx(milliseconds, abs=0.5)


def test_a_path_is_cut_at_the_surface_and_at_the_stop():
    time = np.linspace(0.0, 1.0, 101)
    depth, speed = 2 * time - time**2 - 0.19, 2 - 2 * time  # the surface at 0.1 s, the stop at 1 s
    whole = begin_at_surface(end_at_stop(np.stack([time, depth, speed - 0.01])))  # stops between two samples
    np.testing.assert_allclose(whole[:, 0], [0.0, 0.0, 1.79], atol=1e-9)
    np.testing.assert_allclose(whole[:, -1], [0.895, 0.81, 0.0], atol=1e-4)
    moving = begin_at_surface(end_at_stop(np.stack([time, depth, speed])[:, :50]))
    assert moving[0, -1] == pytest.approx(0.39) and moving[2, -1] == pytest.approx(1.02)


def test_the_particles_of_a_ball_fill_it():
    for ratio in (2.0, 2.52, 3.17):
        ball = Ball().place_particles(1 / ratio)
        assert ball.shape[1] / ratio**3 == pytest.approx(4 / 3 * np.pi, rel=0.1)
        np.testing.assert_allclose(np.linalg.norm(ball, axis=0).max(), 1 - 0.5 / ratio)
        np.testing.assert_allclose(ball.mean(axis=1), 0.0, atol=0.01)


def test_a_law_is_found_again_in_its_paths():
    paths = []
    for speed in (0.5, 1.0, 3.0):
        depth = np.linspace(0.0, 0.1, 4000)
        square = square_speed(depth, speed, 0.1, 1500.0)
        moves = np.arange(depth.size) < np.argmax(square < 0)
        paths.append(np.stack([0 * depth, depth, np.sqrt(square, where=moves, out=0 * depth)])[:, moves])
    np.testing.assert_allclose(fit_law(paths), [0.1, 1500.0], rtol=1e-3)


def test_friction_is_found_where_grains_follow_the_published_law():
    """d₁ and k/m are the published ones at a friction of 0.2, and the stopping times too."""
    sizes, frictions, speeds = [0.008, 0.0063, 0.005], [0.1, 0.17, 0.28, 0.45], [0.5, 3.0]
    axes = "size", "friction", "place"
    ratio = np.array(frictions)[None, :, None] / 0.2 * np.exp([-0.01, 0.01])
    ratio = ratio * (1 + 1e3 * (np.array(sizes)[:, None, None] ** 2 - sizes[-1] ** 2))
    stops = np.array([published_stop(speed)[0] for speed in speeds])
    found = xr.Dataset(
        {
            "length": (axes, 0.087 * ratio**-0.5),
            "stiffness": (axes, 1040.0 * ratio),
            "stop": (("speed", *axes), stops[:, None, None, None] * ratio**-0.3),
            "moved": (("row", "change"), np.array([[0.1, 0.0], [0.0, 0.0], [0.03, 0.04], [0.0, 0.0]])),
            "moving": (axes, np.zeros_like(ratio)),
        },
        coords={"size": sizes, "friction": frictions, "speed": speeds},
    )
    summary = validate(found)
    assert summary["friction"] == pytest.approx(0.2, rel=0.02) and summary["sigma_ln_friction"] < 0.02
    rows = [*summary["comparison"].values()]
    assert all(abs(row["difference_over_u"]) < 1 for row in rows)
    assert [row["u_input"] for row in rows] == pytest.approx([0.1, 0.0, 0.05, 0.0])


def test_the_order_of_convergence_is_that_of_three_sizes():
    sizes = np.array([4.0, 2.0, 1.0])
    assert observed_order(1 + 0.1 * sizes**2, sizes) == pytest.approx(2.0)
    assert observed_order(np.array([1.0, 1.1, 1.3]), sizes) is None
