"""The Agilkia study: its two files, bad input, the paper's objective, and one quick run from the command line."""

import json
import os
import signal
import subprocess
import sys
import time

import equinox as eqx
import jax
import numpy as np
import pytest
import xarray as xr

from experiments.agilkia.baseline import OPTIMUM
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.agilkia.joint_cases import JOINT, TOUCHDOWN
from experiments.agilkia.scenario import problem
from experiments.agilkia.solve import SEARCH, TOLERANCE, draw_posterior, search_tree
from experiments.geometry import parts
from experiments.variables import BODY
from inversion import Checkpoint
from inversion.branch import enumerate_leaves
from tests.helpers import find_published
from tests.results import assert_described, assert_spin_is_in_its_frame

PHILAE = DATA / "philae.toml"

KEYS = {
    "parameters": ("value", "lo95", "hi95", "prior", "unit", "verdict"),
    "observables": ("simulated", "observed", "sigma"),
}

SUMMARY = (
    *("misfit", "fisher_rank", "fisher_condition", "simulator_calls", "jacobian_calls"),
    *("wall_seconds", "status"),
)


def test_a_fit_never_weighs_an_impossible_ground():
    """A number that comes in past the files, inside jit: no residual, an infinite misfit."""
    setting = problem(read_lander(PHILAE), read_observations(DATA / "philae_published.toml")).relax()
    s = setting.to_prior_scale(OPTIMUM)

    @jax.jit
    def weigh(porosity):
        return eqx.tree_at(lambda p: p.predict.porosity, setting, porosity).evaluate(s)

    for porosity, is_possible in ((0.75, True), (1.0, False)):
        found = weigh(porosity)
        assert found.ok == is_possible and np.isfinite(found.misfit) == is_possible, porosity
        assert np.isfinite(found.residual).all() == is_possible, porosity


def test_the_tree_finds_the_best_of_all_leaves(tmp_path):
    """Enumeration, which knows nothing of the posterior, finds no better leaf, and takes more simulations."""
    inverse = problem(read_lander(PHILAE), read_observations(DATA / "philae_published.toml"))
    posterior = draw_posterior(inverse, 0, 300, np.inf, Checkpoint(tmp_path, "posterior"), False)
    tree = search_tree(inverse, 0, posterior)
    leaves = enumerate_leaves(inverse, SEARCH, key=jax.random.PRNGKey(1))
    assert tree.incumbent.misfit < min(leaf.misfit for leaf in leaves) + TOLERANCE
    assert tree.is_closed and tree.violations == 0
    assert 2 * tree.calls.forward < sum(leaf.calls.forward for leaf in leaves)


def test_a_killed_run_goes_on_and_writes_everything(tmp_path):
    command = [sys.executable, "-m", "experiments", "agilkia", "--quick", "--out", str(tmp_path)]
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    del environment["XLA_FLAGS"]  # those of this session: the command sets its own
    first = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list(tmp_path.glob("checkpoint/*/node-*.arrays")):
        assert first.poll() is None, "it ended before its first node"
        time.sleep(0.5)
    first.send_signal(signal.SIGKILL)
    first.wait()
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("checkpoint/*/node-*.arrays")}
    subprocess.run([*command, "--keep-checkpoint"], env=environment, check=True, capture_output=True)
    assert kept and all(path.stat().st_mtime_ns == written for path, written in kept.items()), "done again"

    summary = json.loads((tmp_path / "summary.json").read_text())
    assert set(SUMMARY) <= set(summary) and all(summary[key] is not None for key in SUMMARY)
    for group, keys in KEYS.items():
        assert all(set(keys) <= set(row) for row in summary[group].values())
    assert {"ground_J", "damper_J", "friction_J", "kinetic_J", "ledger_error_J"} <= set(summary["energy"])
    assert summary["energy"]["ledger_error_J"] < 1e-6 * summary["energy"]["initial_J"]
    assert {"nodes_visited", "leaves", "bound_gap", "best_leaf", "lowest_draw"} <= set(summary["branch"])
    assert {row["label"] for row in summary["branch"]["bounds"]} <= {"probable", "heuristic"}
    assert summary["branch"]["bounds"][0]["label"] == "heuristic"  # the blend of the scenarios
    chain = summary["chain"]
    assert chain["status"] == "ok" and chain["second_contact_time"] > 0
    flown = chain["posterior"]
    assert flown["draws"] == 100 and flown["come_down"] > 0.5
    assert ("second_contact_time" in flown) == summary["posterior"]["is_good"]
    groups = xr.open_datatree(tmp_path / "result.nc", engine="h5netcdf")
    assert groups["posterior"]["thickness"].dims == ("chain", "draw")
    assert groups["weights"].sizes == groups["weighted_posterior"].sizes
    assert abs(sum(leaf["probability"] for leaf in summary["posterior"]["leaves"]) - 1.0) < 1e-6
    result = xr.load_dataset(tmp_path / "result.nc", engine="h5netcdf")
    assert result.attrs["sources"] and result["force"].attrs["units"] == "N"
    assert_described(summary, result)
    assert_spin_is_in_its_frame(result)
    assert result["outline"].attrs["frame"] == BODY
    assert [part.name for part in parts(result)] == ["outline", "ground", "boulder"]  # what difsim view draws
    assert result.attrs["lander"] == "Philae" and result.attrs["body"] == "67P"
    assert np.linalg.norm(result["gravity"]) == pytest.approx(1.637e-4, rel=1e-3)
    assert summary["gravity_m_s2"] == result["gravity"].values.tolist() and len(summary["assumed"]) == 2
    assert "Philae on 67P" in (tmp_path / "report.html").read_text()
    assert len(summary["inputs"]) == 2  # the lander and the observations
    assert "What is the ground on" in (tmp_path / "report.html").read_text()
    pictures = ("touchdown", "fit", "parameters", "tree", "contacts")
    assert all((tmp_path / f"{name}.png").stat().st_size > 10_000 for name in pictures)


def test_touchdown_and_next_contact_are_compared(tmp_path):
    """Every case has its row, log scores are differences of evidences, and the conflicts are those of this shape."""
    shape = find_published("67P/67p_shap5_cheops_1000f.obj")
    words = [sys.executable, "-m", "experiments", "agilkia", "--stage", "joint", "--quick", "--shape", shape]
    subprocess.run([*words, "--out", str(tmp_path)], check=True, capture_output=True)
    summary = json.loads((tmp_path / "joint.json").read_text())
    table = summary["comparison"]
    assert list(table) == list(summary["headlines"]) == list(summary["predicted_contact"]) and len(table) == 4
    held_out = table[TOUCHDOWN]["log_score_of_held_out"]
    assert held_out == pytest.approx(table[JOINT]["log_evidence"] - table[TOUCHDOWN]["log_evidence"])
    assert table[JOINT]["log_score_of_held_out"] is None and not table[TOUCHDOWN]["contact_in_95"]
    low, high = summary["error"]["prior_m_per_s"]
    assert all(low <= size <= high for size in summary["error"]["size_m_per_s"])
    place = summary["conflicts"]["place, m from the paper's: of its rebound, flown here"]
    assert place["other"] > 100.0 and place["apart_sigma"] == pytest.approx(place["other"] / 280.0)
    result = xr.load_dataset(tmp_path / "joint.nc", engine="h5netcdf")
    assert_described(summary, result)
    assert result["second_contact_time"].dims == ("case", "draw")
    assert (tmp_path / "joint.png").stat().st_size > 10_000
