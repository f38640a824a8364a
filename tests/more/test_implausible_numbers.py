"""Numbers of input files and options that are not usual: each is doubted by name until it is confirmed."""

import copy
import json
import re
import tomllib
import warnings

import pytest

from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.gravity.run import GravityStudy

LANDER = tomllib.loads((DATA / "philae.toml").read_text(encoding="utf-8"))
SEEN = tomllib.loads((DATA / "philae_published.toml").read_text(encoding="utf-8"))


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


def test_an_implausible_option_is_doubted():
    with pytest.warns(UserWarning, match="--GM 0.0001 is implausible.*is it in km³/s²?"):
        GravityStudy(mesh=DATA, GM=1e-4).check_numbers()
