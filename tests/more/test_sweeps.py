"""Batches and checkpoints, one of them killed for real."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from inversion import Checkpoint, map_batched, sweep
from inversion.batches import rows_at_once


def two(case):
    return {"area": case["x"] * case["y"], "row": case["x"] * jnp.arange(3.0)}


def test_map_batched_keeps_rows_in_order():
    xs = {"a": jnp.arange(7.0), "b": jnp.arange(14.0).reshape(7, 2)}
    got = map_batched(lambda row: row["a"] + row["b"].sum(), xs)
    np.testing.assert_allclose(got, np.arange(7.0) + np.arange(14.0).reshape(7, 2).sum(axis=1))
    np.testing.assert_allclose(map_batched(lambda x: x**2, jnp.arange(5.0), batch_size=2), np.arange(5.0) ** 2)
    with pytest.raises(ValueError, match="rows"):
        map_batched(lambda row: row, {"a": jnp.zeros(2), "b": jnp.zeros(3)})


def test_batches_by_platform():
    """A row of 1000 numbers makes two such rows: 24 kB with its input."""
    row, function = jax.ShapeDtypeStruct((1000,), np.float64), lambda x: jnp.sin(x) * 2.0
    assert rows_at_once(function, row, 10_000, "cpu", 10**8) is None
    assert rows_at_once(function, row, 10, "cuda", 10**8) == 10
    # Memory for 2083 rows: five equal batches.
    assert rows_at_once(function, row, 10_000, "cuda", 10**8) == 2000
    assert rows_at_once(function, row, 10_000, "cuda", 1) == 1


def test_rows_are_shared_out_over_two_devices():
    script = textwrap.dedent("""
        import jax, numpy as np, toys, inversion
        assert len(jax.devices()) == 2
        got = inversion.map_batched(lambda x: 2 * x, np.arange(5.0))
        assert np.array_equal(got, 2 * np.arange(5.0))
        fit = inversion.fit(toys.linear(), key=jax.random.PRNGKey(0), starts=5, keep=3)
        assert np.allclose(list(fit.values.values()), toys.closed_form()[0], rtol=1e-6)
        # A throw's time of flight, 2 v/g: searched for in rows on both devices, and differentiated.
        slopes = inversion.map_batched(jax.jacfwd(toys.time_of_flight), np.array([1.0, 2.0, 3.0]))
        assert np.allclose(slopes, 1.0, rtol=1e-9)
    """)
    here = Path(__file__).parents[1]
    environment = os.environ | {
        "PYTHONPATH": f"{here}:{here.parent}",
        "XLA_FLAGS": f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=2",
        "JAX_ENABLE_X64": "1",
    }
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)


def test_sweep_gives_one_row_a_case():
    cases = {"x": np.arange(5.0), "y": np.arange(5.0) + 1.0}
    data = sweep(two, cases, chunk=2)
    np.testing.assert_allclose(data["area"], cases["x"] * cases["y"])
    assert data["row"].dims == ("case", "row_0") and dict(data.sizes) == {"case": 5, "row_0": 3}
    np.testing.assert_allclose(data["x"], cases["x"])


def test_sweep_compiles_once():
    traces = []

    def function(case):
        traces.append(1)
        return {"double": 2.0 * case["x"]}

    sweep(function, {"x": np.arange(10.0)}, chunk=4)
    sweep(function, {"x": np.arange(4.0)}, chunk=4)
    assert len(traces) == 1


def test_checkpoint_computes_once_and_starts_afresh_when_changed(tmp_path):
    calls = []

    def compute():
        calls.append(1)
        return {"a": np.arange(3), "b": np.array(2.5)}

    for fingerprint, expected in (("one", 1), ("one", 1), ("two", 2), ("one", 2)):
        got = Checkpoint(tmp_path, fingerprint).get_or("piece", compute)
        assert len(calls) == expected
        np.testing.assert_array_equal(got["a"], np.arange(3))
        assert got["b"] == 2.5 and got["b"].shape == ()
    assert "piece" in Checkpoint(tmp_path, "one") and "other" not in Checkpoint(tmp_path, "one")
    with pytest.raises(ValueError, match="names a file"):
        Checkpoint(tmp_path, "one").get_or("../piece", compute)


def test_other_cases_are_not_taken_from_a_checkpoint(tmp_path):
    store = Checkpoint(tmp_path, "same")
    for x in (np.arange(3.0), np.arange(3.0) + 1.0):
        np.testing.assert_allclose(sweep(two, {"x": x, "y": x}, checkpoint=store)["area"], x**2)
