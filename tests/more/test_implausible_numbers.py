"""Numbers of input files and options that are not usual: each is doubted by name until it is confirmed."""

import re

import pytest

from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.gravity.run import GravityStudy

CASES = {
    "mass in g": ("philae.toml", "lander.mass_kg", "96300.0", "0.5 to 10000 kg is usual: is it in g?"),
    "angle in rad": ("philae.toml", "unknowns.heading_deg", "[-3.14, 3.14]", "is it in rad?"),
    "speed in cm/s": (
        "philae_published.toml",
        "observables.rebound_speed.value",
        "32.5",
        "is it in cm/s or mm/s?",
    ),
    "time in minutes": ("philae_published.toml", "initial.horizon_s", "0.1", "is it in minutes or ms?"),
}


@pytest.mark.parametrize("case", CASES)
def test_an_implausible_number_is_doubted_until_it_is_confirmed(tmp_path, case):
    name, place, value, doubt = CASES[case]
    table, key = place.rsplit(".", 1)
    head, at, rest = (DATA / name).read_text(encoding="utf-8").partition(f"[{table}]")
    text = head + at + re.sub(rf"^{key} = .*$", f"{key} = {value}", rest, count=1, flags=re.M)
    path, read = tmp_path / "mine.toml", read_lander if name == "philae.toml" else read_observations
    path.write_text(text, encoding="utf-8")
    with pytest.warns(UserWarning, match=re.escape(doubt)) as doubts:
        read(path)
    (message,) = [str(each.message) for each in doubts]
    assert f"[{table}] {key} = " in message and f'confirmed = ["{place}"] at the top' in message
    path.write_text(f'confirmed = ["{place}"]\n{text}', encoding="utf-8")
    assert "confirmed" not in read(path) if read is read_lander else read(path)


def test_an_implausible_option_is_doubted():
    with pytest.warns(UserWarning, match="--GM 0.0001 is implausible.*is it in km³/s²?"):
        GravityStudy(mesh=DATA, GM=1e-4).check_numbers()
