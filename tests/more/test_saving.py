"""Files that are whole or not there, arrays in them, and hashes that name them."""

import time
import tracemalloc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.declarations import quantity
from difsim.saving.atomic import write_atomically
from difsim.saving.checkpoint import Checkpoint
from difsim.saving.marks import digest
from difsim.typing import Scalar
from tests.crafted import HARM, plant


def test_a_write_that_is_killed_leaves_the_file_before(tmp_path):
    path = tmp_path / "folder" / "piece.arrays"

    def write(text, killed=False):
        with write_atomically(path) as beside:
            beside.write_text(text)
            if killed:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write("ne", killed=True)
    assert not list(path.parent.iterdir())
    write("old")
    with pytest.raises(KeyboardInterrupt):
        write("ne", killed=True)
    assert path.read_text() == "old"
    write("new")
    assert path.read_text() == "new" and list(path.parent.iterdir()) == [path]


class Sized(eqx.Module):
    """What a run may consist of."""

    number: Scalar = quantity("", "a number of a toy")
    arrays: dict
    name: str = eqx.field(static=True, default="kept by the template")


def make_sized():
    arrays = {
        "float": jnp.arange(6.0).reshape(2, 3),
        "single": jnp.ones(3, jnp.float32),
        "integer": jnp.arange(4, dtype=jnp.int32),
        "flags": jnp.array([True, False]),
        "empty": jnp.zeros((0, 3)),
        "weak": jnp.full(3, 2.0),
        "of numpy": np.arange(12).reshape(3, 4).T,  # not in C order
        "complex": jnp.array(1 + 2j),
        "extremes": jnp.array([jnp.nan, -jnp.inf, -0.0, 5e-324]),
    }
    return Sized(0.25, arrays), (None, [jnp.asarray(3)])


def test_arrays_come_back_to_the_same_bits_types_and_structure(tmp_path):
    tree, kept = make_sized(), Checkpoint(tmp_path, "mark")
    kept.write_tree("tree", tree)
    back = kept.read_tree("tree", tree)
    assert jax.tree.structure(back) == jax.tree.structure(tree)
    for new, old in zip(jax.tree.leaves(back), jax.tree.leaves(tree), strict=True):
        assert new.dtype == old.dtype and new.shape == old.shape
        assert np.asarray(new).tobytes() == np.asarray(old).tobytes()
        assert isinstance(new, jax.Array) == isinstance(old, jax.Array)
        assert getattr(new, "weak_type", False) == getattr(old, "weak_type", False)
    assert back[0].number.weak_type and back[0].arrays["weak"].weak_type  # or float32 would become float64
    # Of a template without values too.
    outline = jax.eval_shape(lambda x: x, tree[0].arrays["float"])
    kept.write_tree("array", tree[0].arrays["float"])
    np.testing.assert_array_equal(kept.read_tree("array", outline), tree[0].arrays["float"])


def test_other_files_are_refused_and_never_executed(tmp_path, monkeypatch):
    monkeypatch.setenv(HARM, str(tmp_path / "harm"))
    kept = Checkpoint(tmp_path, "mark")
    kept.write("piece", {"x": np.arange(1000.0), "y": np.arange(5)})
    for what in plant(kept.path("piece")):
        tracemalloc.start()
        began = time.perf_counter()
        with pytest.raises(ValueError, match=r"piece\.arrays .*: remove"):
            kept.read("piece")
        took, (_, most) = time.perf_counter() - began, tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert took < 2.0 and most < 2e7, what
    assert kept.read("piece")["x"][-1] == 999.0
    assert not (tmp_path / "harm").exists()


class AbstractLaw(eqx.Module):
    """One of several."""


class Hooke(AbstractLaw):
    tag = "hooke"
    stiffness: Scalar = quantity("", "a number of a toy")
    order: int = eqx.field(static=True, default=1)


class Dashpot(AbstractLaw):
    """Another kind with the same numbers."""

    damping: Scalar = quantity("", "a number of a toy")
    order: int = eqx.field(static=True, default=1)


def test_a_hash_tells_all_values_apart():
    alike = [
        *(Hooke(2.0), Hooke(3.0), Hooke(2.0, order=2), Hooke(jnp.float32(2.0)), Dashpot(2.0)),
        *(None, 2.0, 2, True, "2.0", (2.0,), (2.0, None), ((2.0,), None), {"a": 2.0}, {"b": 2.0}, [], {}),
        *(np.zeros(4), np.zeros((2, 2)), np.zeros((4, 1)), np.zeros(4, np.float32), np.zeros(4, int)),
        *(("ab", "c"), ("a", "bc"), "abc"),
    ]
    assert len({digest(x) for x in alike}) == len(alike)
    assert digest((1.5, [2, 3])) == digest([np.float64(1.5), (jnp.asarray(2), 3)])
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest(np.arange(3.0)) == digest(np.arange(3.0, dtype=">f8"))


def test_a_checkpoint_may_lie_in_another(tmp_path):
    """The main study keeps the enumeration in the folder of the tree: pieces of one are not those of the other."""
    outer = Checkpoint(tmp_path, "tree")
    outer.write("node-", {"x": np.arange(3.0)})
    inner = Checkpoint(outer.folder, "all leaves")
    assert "node-" not in inner and "node-" in Checkpoint(tmp_path, "tree")
