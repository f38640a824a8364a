"""Philae above beds of grains: the bed repeated, the rock around it, the boulder, and one touchdown."""

import json

import equinox as eqx
import jax.numpy as jnp

from experiments.agilkia import grains_draws
from experiments.agilkia.baseline import OPTIMUM
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.agilkia.run import Agilkia
from experiments.agilkia.scenario import experiment
from experiments.foot.calibration import read


def test_the_whole_command(tmp_path):
    """Until the soles have all but stopped."""
    text = (DATA / "philae_paper.toml").read_text()
    (tmp_path / "short.toml").write_text(text.replace("horizon_s = 10.0", "horizon_s = 0.6"))
    Agilkia(observations=tmp_path / "short.toml", regolith="grains", grain=0.05, out=tmp_path).run()
    found = json.loads((tmp_path / "grains.json").read_text())
    assert 0.15 < found["grains"]["deepest_sole_m"] < 0.25
    assert found["grains"]["energy_after_J"] < 0.1 * found["grains"]["energy_before_J"]
    assert found["sequence_s"]["boulder"][0] < found["sequence_s"]["leg 0"][0]  # strut first: Fig. 12
    assert (tmp_path / "grains.png").is_file()
    assert not (tmp_path / "grains.checkpoint").exists()


def test_the_law_at_a_draw_depends_on_its_error():
    """Of the calibrated law: what resists less lets the footpads in deeper."""
    known = experiment(read_lander(DATA / "philae.toml"), read_observations(DATA / "philae_published.toml"))
    known = eqx.tree_at(
        lambda e: (e.horizon, e.calibration), known, (jnp.asarray(1.0), read()), is_leaf=lambda x: x is None
    )
    softer, harder = (grains_draws.evaluate_law(known, OPTIMUM | {"law_error": e}) for e in (-1.0, 1.0))
    assert softer.keys() == grains_draws.UNITS.keys()
    assert softer["penetration_deepest"] > harder["penetration_deepest"] > 0
    found = {law: rows[0] for law, rows in grains_draws.spans(known, [OPTIMUM]).items()}
    for name in grains_draws.UNITS:
        assert found["lower"][name] <= found["calibrated"][name] <= found["upper"][name]
