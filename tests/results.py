"""What the results of all studies are: described, and with a spin in the frame that it names."""

import json

import jax
import jax.numpy as jnp

from difsim import Rotation
from experiments.variables import BODY, find_undescribed

PROVENANCE = {
    *("study", "stage", "quick", "wall_seconds", "created", "machine", "version", "libraries", "commit"),
    *("command", "seed", "options", "inputs"),
}


def assert_described(summary: dict, *results) -> None:
    """A summary tells what made it; datasets too, and each of their variables what it is."""
    assert summary.keys() >= PROVENANCE, PROVENANCE - summary.keys()
    for result in results:
        assert result.attrs.keys() >= PROVENANCE, PROVENANCE - result.attrs.keys()
        assert result.attrs["commit"] == summary["commit"]
        assert json.loads(result.attrs["options"]) == summary["options"]
        assert find_undescribed(result) == []


def assert_spin_is_in_its_frame(result, **at) -> None:
    """The spin of a result is that of its attitude: what turns q(t) into q(t + h) over h, in the frame it names."""
    one = result.isel(at) if at else result
    q, spin, time = (jnp.asarray(one[name].values) for name in ("attitude", "spin", "time"))
    step, middle = jnp.diff(time)[:, None], 0.5 * (spin[1:] + spin[:-1])

    def turns(p, q):
        first, second = Rotation(p), Rotation(q)
        inside, outside = first.inverse @ second, second @ first.inverse
        return {BODY: inside.as_rotation_vector(), "outside": outside.as_rotation_vector()}

    off = {k: jnp.abs(turn / step - middle) for k, turn in jax.vmap(turns)(q[:-1], q[1:]).items()}
    worst = {k: float(jnp.median(jnp.max(x, axis=1))) for k, x in off.items()}
    own = BODY if one["spin"].attrs["frame"] == BODY else "outside"
    assert worst[own] == min(worst.values()) < 1e-3 * float(jnp.max(jnp.abs(spin))), worst
