"""Bad input files: what is impossible is refused by name, what is implausible is doubted until it is confirmed."""

import copy
import json
import re
import tomllib
import warnings

import pytest

from experiments.agilkia import keys
from experiments.agilkia.catalogue import STANDARD
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.agilkia.run import Agilkia
from experiments.foot.run import FootStudy
from experiments.gravity.run import GravityStudy
from experiments.sampling.run import Sampling

LANDER = tomllib.loads((DATA / "philae.toml").read_text(encoding="utf-8"))
SEEN = tomllib.loads((DATA / "philae_published.toml").read_text(encoding="utf-8"))
HOLDS = keys.LANDER | {
    "lander": keys.BODY | keys.LEGS,
    "gear": keys.GEAR,
    "obstacle": keys.OBSTACLE,
    "unknowns": {row.key: row.holds for row in STANDARD.unknowns},
    "sub_spheres": keys.SUB_SPHERES,
}


def write(path, tables):
    """A TOML file: values are written as JSON writes them, but for its names of what is not finite."""
    plain = [f"{k} = {json.dumps(v)}" for k, v in tables.items() if not isinstance(v, dict)]
    flat = {}
    for name, table in tables.items():
        if isinstance(table, dict):
            nested = {k: v for k, v in table.items() if isinstance(v, dict)}
            flat[name] = {k: v for k, v in table.items() if k not in nested}
            flat |= {f"{name}.{inner}": v for inner, v in nested.items()}
    for name, table in flat.items():
        plain += [f"[{name}]", *(f"{k} = {json.dumps(v)}" for k, v in table.items())]
    path.write_text("\n".join(plain).replace("NaN", "nan").replace("Infinity", "inf"), encoding="utf-8")
    return path


def edit(tables, place, key, value):
    """The tables with one value in another's place; None takes the key out."""
    tables = copy.deepcopy(tables)
    inner = tables
    for part in place.split("."):
        inner = inner.setdefault(part, {})
    inner[key] = value
    if value is None:
        del inner[key]
    return tables


WRONG = {
    "a text": "some",
    "a Boolean": True,
    "not a number": float("nan"),
    "infinite": float("inf"),
    "rows of different lengths": [[1.0, 2.0], [3.0]],
    "an empty list": [],
    "huge": 1e300,
    "minus huge": -1e300,
    "too many": [1.0, 2.0, 3.0, 4.0, 5.0],
    "too deep": [[[1.0]]],
    "missing": None,
}
TEXTS = {"a number": 3, "a list of numbers": [1, 2], "a Boolean": True, "an empty list": [], "missing": None}


def wrong_values(tables):
    for place, holds in tables.items():
        for key, each in holds.items():
            for name, value in (WRONG if isinstance(each, keys.Numbers) else TEXTS).items():
                if not (name == "too many" and (keys.ANY,) in getattr(each, "shapes", ())):
                    yield pytest.param(place, key, value, id=f"{place}.{key}: {name}")


@pytest.mark.parametrize(("place", "key", "value"), [*wrong_values(HOLDS)])
def test_a_wrong_value_of_a_lander_is_refused_by_name(tmp_path, place, key, value):
    path = write(tmp_path / "mine.toml", edit(LANDER, place, key, value))
    with pytest.raises(ValueError, match=re.escape(str(path))) as refused:
        read_lander(path)
    assert key in str(refused.value)


SOME = [STANDARD.observable(name) for name in ("rebound_speed", "second_contact_position", "peak_force")]
READINGS = {f"observables.{row.name}": keys.observation(row.reading) for row in SOME}


@pytest.mark.parametrize(
    ("place", "key", "value"), [*wrong_values(READINGS), *wrong_values({"initial": keys.INITIAL})]
)
def test_a_wrong_value_of_the_observations_is_refused_by_name(tmp_path, place, key, value):
    tables = SEEN
    for row in SOME:
        right = {"value": [2e3, 1.0, 1.0] if keys.VECTOR in row.reading.shapes else 1.0, "sigma": 1.0}
        tables = edit(tables, "observables", row.name, right | {"fitted": row.is_smooth})
    path = write(tmp_path / "mine.toml", edit(tables, place, key, value))
    with pytest.raises(ValueError, match=re.escape(str(path))) as refused:
        read_observations(path)
    assert key in str(refused.value)


@pytest.mark.parametrize(
    ("place", "key", "value"),
    [
        ("lander", "mass_kg", 0.0),
        ("lander", "feet_m", [[1200.0, 0, -750], [-600, 1039, -750], [-600, -1039, -750]]),
        ("lander", "hull_m", [1000.0, 1000.0, 800.0]),
        ("lander", "footpad_radius_m", 1000.0),
        ("lander", "leg_stiffness_N_per_m", 1e12),
        ("gear", "stroke_m", 42.6),
        ("obstacle", "leg", 3),
        ("obstacle", "leg", -1),
        ("obstacle", "leg", 1.5),
        ("obstacle", "edge_distance_m", -1.05),
        ("obstacle", "height_m", -0.2),
        ("obstacle", "half_length_m", 0.0),
        ("obstacle", "modulus_Pa", -1.0),
        ("obstacle", "radius_m", 0.0),
        ("site", "position_m", [0.0, 0.0, 0.0]),
        ("site", "normal", [0.0, 0.0, 0.0]),
        ("site", "alpha_s_deg", 1e9),
        ("unknowns", "thickness_m", [-1.0, 1.0]),
        ("unknowns", "grain_density_kg_per_m3", [0.5, 3.0]),
        ("unknowns", "friction", -0.6),
        ("unknowns", "friction", 31.0),
        ("regolith", "porosity", 1.0),
        ("regolith", "porosity", 75.0),
        ("regolith", "porosity", -0.1),
        ("regolith", "surface_energy_J_per_m2", -0.02),
    ],
)
def test_an_impossible_number_is_refused(tmp_path, place, key, value):
    path = write(tmp_path / "mine.toml", edit(LANDER, place, key, value))
    with pytest.raises(ValueError, match=f"mine.toml.*{key} = "):
        read_lander(path)


@pytest.mark.parametrize(
    ("place", "key", "value"),
    [
        ("lander", "inertia_kg_m2", [1.0, 1.0, 31.7]),
        ("lander", "feet_m", [[1.2, 0.0, 0.75], [-0.6, 1.039, 0.75], [-0.6, -1.039, 0.75]]),
        ("site", "velocity_m_per_s", [0.8353, -0.4987, 0.2715]),
        ("site", "gravity_m_per_s2", [0.0, 0.0, 1.7e-4]),
        ("site", "alpha_s_deg", 0.0),
        ("unknowns", "scenario", ["a", "a"]),
        ("unknowns", "scenario", ["a", "c"]),
        ("unknowns", "friction", [0.2, 0.2]),
        ("unknowns", "thickness_m", [1.0, 0.25]),
    ],
)
def test_a_lander_that_cannot_be_is_refused_by_its_file(tmp_path, place, key, value):
    """Each number alone is right. Such errors used to come from the model, without the file."""
    path = write(tmp_path / "mine.toml", edit(LANDER, place, key, value))
    word = {"inertia_kg_m2": "principal moments", "feet_m": "below the centre of mass"}.get(key, key)
    with pytest.raises(ValueError, match=rf"(?s)^{re.escape(str(path))}: \[{place}\].*{word}"):
        read_lander(path)


# Feet or hips in mm: the edge of the boulder is not between them then. A hull in mm: the feet are in it. A site in km:
# it is inside the comet.
IN_MM = re.compile("puts the edge|must lie below the hull|m below the surface of 67P")


@pytest.mark.parametrize(
    ("place", "key", "value", "doubt"),
    [
        ("lander", "mass_kg", 96_300.0, "0.5 to 10000 kg is usual: is it in g?"),
        ("lander", "hips_m", [[200.0, 0, -400], [-100, 173, -400], [-100, -173, -400]], "is it in mm?"),
        ("lander", "leg_stiffness_N_per_m", 13.3, "is it in N/mm?"),
        ("gear", "stroke_m", 4.26, "is it in mm?"),
        ("obstacle", "modulus_Pa", 1e3, "is it in MPa or GPa?"),
        ("site", "velocity_m_per_s", [-83.5, 49.9, -27.2], "is it in cm/s or mm/s?"),
        ("site", "position_m", [2.1145, -0.9552, 0.4949], "is it in km?"),
        ("site", "gravity_m_per_s2", [0.0, 0.0, -9.81], "is it in mm/s²?"),
        ("unknowns", "thickness_m", [25.0, 100.0], "is it in cm?"),
        ("unknowns", "grain_density_kg_per_m3", [50.0, 3000.0], "is it in g/cm³?"),
        ("unknowns", "heading_deg", [-3.14, 3.14], "is it in rad?"),
        ("unknowns", "heading_deg", [0.0, 6.2832], "is it in rad?"),
        ("regolith", "porosity", 0.1, "0.2 to 0.95 is usual"),
    ],
)
def test_an_implausible_number_is_doubted_until_it_is_confirmed(tmp_path, place, key, value, doubt):
    tables = edit(LANDER, place, key, value)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            read_lander(write(tmp_path / "mine.toml", tables))
        except ValueError as refused:
            assert IN_MM.search(str(refused))
    (message,) = [str(each.message) for each in told]
    assert f"[{place}] {key} = " in message and doubt in message
    assert f'confirmed = ["{place}.{key}"] at the top' in message
    try:
        read = read_lander(write(tmp_path / "mine.toml", {"confirmed": [f"{place}.{key}"]} | tables))
        assert "confirmed" not in read
    except ValueError as refused:
        assert IN_MM.search(str(refused))


@pytest.mark.parametrize(
    ("place", "key", "value", "doubt"),
    [
        ("observables.rebound_speed", "value", 32.5, "is it in cm/s or mm/s?"),
        ("observables.rebound_speed", "sigma", 1e-6, "1e-05 to 10 m/s is usual"),
        ("observables.damper_stroke", "value", 4.26, "is it in cm or mm?"),
        ("observables.ground_energy", "value", 4100.0, "is it in mJ?"),
        ("initial", "spin_rad_per_s", 30.0, "is it in degrees/s or rev/min?"),
        ("initial", "horizon_s", 0.1, "is it in minutes or ms?"),
        ("lander", "mass_kg", 96_300.0, "is it in g?"),
    ],
)
def test_an_implausible_observation_is_doubted(tmp_path, place, key, value, doubt):
    tables = edit(SEEN, place, key, value)
    with pytest.warns(UserWarning, match=re.escape(doubt)):
        read_observations(write(tmp_path / "mine.toml", tables))
    read_observations(write(tmp_path / "mine.toml", {"confirmed": [f"{place}.{key}"]} | tables))


@pytest.mark.parametrize(
    ("place", "key", "value"),
    [
        ("initial", "spin_rad_per_s", 1e6),
        ("initial", "horizon_s", 0.01),
        ("initial", "horizon_s", 1e9),
        ("observables.rebound_speed", "sigma", 1e-300),
        ("observables.rebound_speed", "sigma", 1e300),
        ("observables.rebound_speed", "sigma", 0.0),
        ("observables.rebound_speed", "fitted", "no"),
        ("observables.damper_stroke", "value", -0.0426),
        ("observables.rebound_speed", "value", [0.3, 0.0, 0.1]),
        ("observables.rebound_velocity", "value", 0.3),
    ],
)
def test_an_impossible_observation_is_refused(tmp_path, place, key, value):
    tables = edit(SEEN, "observables", "rebound_velocity", {"value": [0.2, 0.1, 0.2], "sigma": 0.01})
    with pytest.raises(ValueError, match=rf"\[{place}\] {key} = "):
        read_observations(write(tmp_path / "mine.toml", edit(tables, place, key, value)))


@pytest.mark.parametrize("confirmed", [["lander.mas_kg"], ["mass_kg"], [3], "all", {"mass_kg": True}])
def test_only_keys_of_the_file_are_confirmed(tmp_path, confirmed):
    with pytest.raises(ValueError, match="confirmed"):
        read_lander(write(tmp_path / "mine.toml", {"confirmed": confirmed} | LANDER))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (Agilkia(seed=-1), "--seed -1 must be in"),
        (Agilkia(grain=50.0), "--grain 50.0 must be in .* is it in cm or mm"),
        (FootStudy(spacing=float("nan")), "--spacing nan must be"),
        (FootStudy(load=1e9), "--load .* is it in g/cm²?"),
        (FootStudy(speeds=(0.5, 1e3)), "--speeds .* is it in cm/s?"),
        (GravityStudy(mesh=DATA, GM=-1.0), "--GM -1.0 must be"),
        (GravityStudy(mesh=DATA, points=0), "--points 0 must be"),
        (Sampling(spacing=1.8), "--spacing 1.8 must be .* is it in mm?"),
    ],
)
def test_an_impossible_option_is_refused_before_the_run(options, says):
    with pytest.raises(ValueError, match=says):
        options.run()


def test_an_implausible_option_is_doubted():
    with pytest.warns(UserWarning, match="--GM 0.0001 is implausible.*is it in km³/s²?"):
        GravityStudy(mesh=DATA, GM=1e-4).check_numbers()
