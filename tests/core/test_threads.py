"""Rows that threads compute a few at a time."""

import jax.numpy as jnp
import numpy as np
import pytest

from inversion.progress import Bar
from inversion.threads import RowProgram


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 331])
def test_rows_in_threads_are_those_one_by_one(count):
    program = RowProgram(lambda scale, row: {"sum": scale * jnp.sum(row["x"] ** row["n"]), "one": 1.0})
    rows = {"x": np.linspace(1.0, 2.0, 2 * count).reshape(count, 2), "n": np.arange(count) % 3}
    done = []
    with Bar("rows", count, lambda label, now, total: done.append(now)) as bar:
        found = program.map(jnp.asarray(2.0), rows=rows, bar=bar)
    np.testing.assert_allclose(found["sum"], 2.0 * np.sum(rows["x"] ** rows["n"][:, None], axis=1), rtol=1e-14)
    np.testing.assert_array_equal(found["one"], np.ones(count))
    assert done[-1] == count
    last = program(jnp.asarray(2.0), row={name: values[-1] for name, values in rows.items()})
    assert last["sum"] == found["sum"][-1]
