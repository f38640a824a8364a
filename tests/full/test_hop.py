"""Reaction wheels in a hopper, and the hop that they make."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Adaptive
from experiments.hopper import hop


def test_hop_and_its_derivative_agree_with_the_closed_form():
    """The stop lasts 1 s, in which the cube turns: a tenth off the rigid cube that is stopped at once.

    A mirrored throw lands mirrored. Straight over the edge two corners touch at once, so the range, which is even
    in the momentum aside, has a kink there: its derivative is that of one side, and central differences give 0.
    """
    momenta = np.array([[0.0, 2e-3], [2e-5, 2e-3], [-2e-5, 2e-3], [-1e-3, 3e-3], [0.0, 4e-3]])
    inverse = hop.problem(solver=Adaptive(1e-10, 1e-10, resolve=0.0))
    places, slopes, ok = hop.slopes(inverse, momenta)
    assert ok.all()
    for i in (0, 4):
        closed = hop.rigid(momenta[i, 1])["distance"]
        assert places[i, 0] == pytest.approx(closed, rel=0.15) and abs(places[i, 1]) < 1e-6
    size = np.abs(slopes[0]).max()
    np.testing.assert_allclose(slopes[1], [[-1, 1], [1, -1]] * slopes[2], atol=1e-5 * size)
    assert abs(slopes[0][0, 0]) > 0.03 * size  # the kink
    h = 1e-6
    around = momenta[[1, 3]][:, None] + np.array([[h, 0], [-h, 0], [0, h], [0, -h]])
    values = eqx.filter_jit(lambda all_: jax.lax.map(lambda m: hop_to(inverse, m), all_))
    ends = np.asarray(values(jnp.asarray(around.reshape(-1, 2)))).reshape(2, 4, 2)
    differences = np.stack([ends[:, 0] - ends[:, 1], ends[:, 2] - ends[:, 3]], axis=-1) / (2 * h)
    for i, found in zip((1, 3), differences, strict=True):
        np.testing.assert_allclose(slopes[i], found, atol=5e-4 * np.abs(slopes[i]).max())


def test_the_derivative_of_a_hop_falls_with_the_tolerance():
    momentum = np.array([[-1e-3, 3e-3]])
    strict, *rest = (
        hop.slopes(hop.problem(solver=Adaptive(t, t, resolve=0.0)), momentum)[1] for t in (1e-11, 1e-7, 1e-9)
    )
    coarse, fine = (np.abs(x - strict).max() / np.abs(strict).max() for x in rest)
    assert fine < 1e-6 and fine < coarse / 10


def hop_to(inverse, momentum):
    """Where a hop lands [2] m."""
    found, _ = inverse.predict(dict(zip(hop.GUESS, momentum, strict=True)))
    return found["landing"]
