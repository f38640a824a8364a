"""Arcs of which nothing is known: a first state from the tracks alone, and the fit that goes on from it."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.spatial.transform import Rotation

from difsim.camera import Camera
from experiments.cobbles.arcs import ArcFit, ArcProblem, Tracks, fit_arc
from inversion import map_batched

ROUNDS = 20  # of the fixed point that takes the distortion out: it converges where the image grows with the angle
ATTITUDES, KEPT = 500, 8  # a turn of 500 random ones is nearer than 25 deg; the best are fitted
EARLY = 1 / 3  # of the arc, to find the attitude: all of it may hold more than half a turn
BOX = np.repeat([0.05, 0.1, 0.1, 0.5], 3)  # scales of the search: r, v, MRP, spin
WRONG = 10.0  # σ: the rms of a fit that has not found the motion


def directions(camera: Camera, pixels: Float[np.ndarray, "... 2"]) -> Float[np.ndarray, "... 2"]:
    """(a, b) on the plane at unit distance, distortion taken out."""
    focal, centre = np.array([camera.fx, camera.fy]), np.array([camera.cx, camera.cy])
    distorted = (pixels - centre) / focal
    w1, w2, w3 = np.asarray(camera.radial)
    plane = distorted
    for _ in range(ROUNDS):
        s = np.sum(plane**2, axis=-1, keepdims=True)
        plane = distorted / (1 + s * (w1 + s * (w2 + s * w3)))
    return plane


def first_guess(cameras: list[Camera], tracks: Tracks) -> Float[np.ndarray, "12"]:
    """(r, v, 0, 0) at the first time: the straight way nearest to all rays, as if all markers were in the centre.

    (R_k - a_k R_z)·(r + v τ) = a_k t_z - t_k, k = x, y, for every image (a_x, a_y). Good to the size of the body.
    **Raises:** ValueError where one camera sees everything: a size and a distance cannot be told apart so.
    """
    seen, since = np.asarray(tracks.seen), np.asarray(tracks.times - tracks.times[0])
    if np.count_nonzero(seen.any(axis=(0, 2))) < 2:
        raise ValueError("only one camera sees the body: at least two are needed to start from")
    rows, right = [], []
    for i, camera in enumerate(cameras):
        matrix, shift = np.asarray(camera.matrix), np.asarray(camera.translation)
        instants, markers = np.nonzero(seen[:, i])
        plane = directions(camera, np.asarray(tracks.pixels)[instants, i, markers])
        for k in (0, 1):
            row = matrix[k] - plane[:, k, None] * matrix[2]
            rows.append(np.c_[row, since[instants, None] * row])
            right.append(plane[:, k] * shift[2] - shift[k])
    line = np.linalg.lstsq(np.concatenate(rows), np.concatenate(right), rcond=None)[0]
    return np.r_[line, np.zeros(6)]


@eqx.filter_jit
def _fit(problem: ArcProblem, attitudes: Float[Array, "n 3"]) -> ArcFit:
    tracks = problem.tracks
    end = tracks.times[0] + EARLY * (tracks.times[-1] - tracks.times[0])
    early = eqx.tree_at(
        lambda p: (p.tracks.seen, p.robust),
        problem,
        (tracks.seen & (tracks.times <= end)[:, None, None], jnp.array(jnp.inf)),
    )
    starts = jnp.zeros((attitudes.shape[0], 12)).at[:, 6:9].set(attitudes / problem.scale[6:9][None])
    misfit = map_batched(lambda s: early.evaluate(s).misfit, starts, batch_size=50)
    first = fit_arc(early, starts[jnp.argsort(misfit)[:KEPT]], jnp.array(WRONG))
    return fit_arc(problem, ((first.x - problem.centre) / problem.scale)[None], jnp.array(WRONG))


def fit_unknown(problem: ArcProblem) -> ArcFit:
    """The fit of an arc whose `centre` is what `first_guess` gives.

    Attitudes are screened on the first third of the arc, the best are fitted there until one serves, and from it
    the whole arc is fitted.
    """
    attitudes = Rotation.random(ATTITUDES, rng=np.random.default_rng(0)).as_mrp()
    return _fit(problem, jnp.asarray(attitudes))
