"""The file of a contact: what it may say, and what it is refused for."""

import re

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.contact.case import EXAMPLE, read_case
from experiments.contact.coverage import observe
from experiments.contact.model import build_model, pose
from experiments.contact.shapes import SHAPES
from experiments.data_files import data_folder
from inversion import Bounded, Discrete, Fixed, Gaussian, Log, Series

DROP, SERIES = data_folder() / EXAMPLE, data_folder() / "cases" / "drop.csv"
TRUTH = {"speed": 2.45, "hardening": 1.42e5, "drag": 1570.0, "delay": 6.3e-3, "bias": 0.4, "noise": 1.5}


@pytest.fixture(scope="module")
def text():
    return DROP.read_text(encoding="utf-8")


def change(tmp_path, text, old, new):
    assert old in text
    path = tmp_path / "case.toml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


def test_a_case_has_numbers_and_laws():
    case = read_case(DROP, SERIES)
    assert case.unknown == ["speed", "hardening", "drag", "delay", "noise", "bias"]
    assert case.parameters["mass"] == Fixed(0.0692, "kg") and case.shapes == (SHAPES["sphere"],)
    kinds = {name: type(case.parameters[name]) for name in case.unknown}
    assert kinds == {"speed": Gaussian, "bias": Gaussian, "delay": Bounded} | dict.fromkeys(
        ("hardening", "drag", "noise"), Log
    )
    assert case.data.names == ("depth", "series") and np.sum(case.data["series"].noise.beyond) > 3


def test_the_shipped_series_is_synthetic_and_can_be_made_again():
    case = read_case(DROP, SERIES)
    problem = pose(case)
    p = problem.to_dict(jnp.array([TRUTH[name] for name in problem.names]))
    made = observe(problem, p, eqx.filter_jit(problem.predict)(p)[0], np.random.default_rng(0))["series"]
    np.testing.assert_allclose(case.series.observed.value, made.value, atol=5.1e-4)


@pytest.mark.parametrize(
    "name", ["apollo", "drop", "katsuragi_durian", "philae_td1", "philae_td2", "surveyor", "tag"]
)
def test_shipped_cases_move_in_the_middle_of_their_laws(name):
    case = read_case(data_folder() / "cases" / f"{name}.toml")
    problem = pose(case)
    middle = problem.to_dict(problem.physical(problem.scale_probabilities(jnp.full(problem.size, 0.5))))
    found, status = eqx.filter_jit(build_model(case))(middle)
    assert status == 0 and set(found) == set(case.data.names)
    assert all(0.0 < float(value) < 10.0 for value in found.values())


def test_a_choice_is_one_of_its_values(tmp_path, text):
    path = change(tmp_path, text, 'shape = "sphere"', 'shape = ["sphere", "plate"]')
    assert read_case(path).parameters["shape"] == Discrete([0.0, 1.0], labels=("sphere", "plate"))
    path = change(tmp_path, text, "{ log_uniform = [100.0, 1e4] }", "1500.0")
    assert read_case(path).parameters["drag"] == Fixed(1500.0, "kg/m3")
    path = change(tmp_path, text, "{ log_uniform = [100.0, 1e4] }", "{ choice = [0.0, 1500.0] }")
    np.testing.assert_array_equal(read_case(path).parameters["drag"].values, [0.0, 1500.0])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("mass_kg = 0.0692\n", "", "mass_kg is missing: give its number in [body], or its law in [unknowns]"),
        ("mass_kg = 0.0692", "mass_kg = -1.0", "[body] mass_kg = -1.0 must be positive"),
        ("log_uniform = [1e4, 1e7]", "log_uniform = [1e7, 1e4]", "two numbers, the first one less"),
        (
            'shape = "sphere"',
            'shape = "cube"',
            "give [body] shape = one of ['plate', 'sphere'], or a list of them, not 'cube'",
        ),
        ("mass_kg = ", "weight_kg = ", "[body] has no key 'weight_kg'"),
    ],
)
def test_a_wrong_file_is_refused_by_what_is_wrong(tmp_path, text, old, new, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        read_case(change(tmp_path, text, old, new), SERIES)


def test_the_series_shows_where_its_readings_end(tmp_path):
    assert float(read_case(DROP, SERIES).parameters["range"].value) == 68.6
    series = tmp_path / "whole.csv"
    series.write_text("t_s,a_m_per_s2\n0.0,0.1\n0.1,-40.2\n0.2,9.8\n0.3,9.8\n", encoding="utf-8")
    whole = read_case(DROP, series)
    assert whole.parameters["range"].value > 1e6 and not np.any(whole.data["series"].noise.beyond)


def test_nothing_measured_is_refused(tmp_path, text):
    path = tmp_path / "case.toml"
    path.write_text(text[: text.index("[observations")], encoding="utf-8")
    with pytest.raises(ValueError, match="nothing was measured"):
        read_case(path)
    assert isinstance(read_case(path, SERIES).series, Series)
