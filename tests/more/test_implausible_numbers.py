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


IN_KM = "m below the surface of 67P"  # a site in km is inside the comet


@pytest.mark.parametrize(
    ("place", "key", "value", "doubt"),
    [
        ("lander", "mass_kg", 96_300.0, "0.5 to 10000 kg is usual: is it in g?"),
        ("site", "position_m", [2.1145, -0.9552, 0.4949], "is it in km?"),
        ("unknowns", "heading_deg", [-3.14, 3.14], "is it in rad?"),
    ],
)
def test_an_implausible_number_is_doubted_until_it_is_confirmed(tmp_path, place, key, value, doubt):
    tables = edit(LANDER, place, key, value)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            read_lander(write(tmp_path / "mine.toml", tables))
        except ValueError as refused:
            assert IN_KM in str(refused)
    (message,) = [str(each.message) for each in told]
    assert f"[{place}] {key} = " in message and doubt in message
    assert f'confirmed = ["{place}.{key}"] at the top' in message
    try:
        read = read_lander(write(tmp_path / "mine.toml", {"confirmed": [f"{place}.{key}"]} | tables))
        assert "confirmed" not in read
    except ValueError as refused:
        assert IN_KM in str(refused)


@pytest.mark.parametrize(
    ("place", "key", "value", "doubt"),
    [
        ("observables.rebound_speed", "value", 32.5, "is it in cm/s or mm/s?"),
        ("initial", "horizon_s", 0.1, "is it in minutes or ms?"),
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
