"""`difsim cobbles --stage estimate --tracks`: the motion and CoR_E from a user's tracked markers.

Of the arcs nothing is known: a first state comes from the tracks alone, and the fit goes on from it.
"""

from collections.abc import Sequence
from os import PathLike

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.spatial.transform import Rotation

from difsim import Status
from difsim.camera import Camera
from experiments.cobbles import paper
from experiments.cobbles.arcs import NAMES, ArcFit, ArcProblem, Known, Tracks, energy_ratio, fit_arc
from experiments.cobbles.cameras import stack
from experiments.cobbles.montecarlo import Disturbances, consider_parameters, covariance, ratio_sigma
from experiments.cobbles.tracks_file import read_experiment, read_tracks
from experiments.harness import Found
from inversion import map_batched

ROUNDS = 20  # of the fixed point that takes the distortion out: it converges where the image grows with the angle
ATTITUDES, KEPT = 500, 8  # a turn of 500 random ones is nearer than 25 deg; the best are fitted
EARLY = 1 / 3  # of the arc, to find the attitude: all of it may hold more than half a turn
BOX = np.repeat([0.05, 0.1, 0.1, 0.5], 3)  # scales of the search: r, v, MRP, spin
OUTLIER = 4.0  # σ: images further off than this count less (a tracker that slipped)
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


def estimate_tracks(
    tracks: str | PathLike, calibration: str | PathLike, meshes: Sequence[str | PathLike]
) -> Found:
    """The motion of two bodies before and after their impact, and CoR_E, from a user's tracked markers.

    **Arguments:** the files, see tracks_file.py. **Returns:** states with standard deviations, for 1 px and the
    paper's errors of the places of markers, with an exact calibration; CoR_E with its own; residuals by camera.
    **Raises:** ValueError for faulty files, and for tracks that no motion fits.
    """
    errors = Disturbances(1.0, paper.MARKER_NOISE)
    experiment = read_experiment(calibration, list(meshes))
    measured = read_tracks(tracks, experiment)
    cameras = list(experiment.cameras.values())
    rig = stack(cameras)
    known = [Known(rig, body, markers) for body, markers in experiment.bodies.values()]
    fits: list[list] = [[], []]
    slopes: list[list] = [[], []]
    table = []
    for b, name in enumerate(experiment.bodies):
        for a, (arc, track) in enumerate(zip(experiment.arcs, measured[name], strict=True)):
            where = f"{tracks}: body {name!r}, arc {arc[0]:g} to {arc[1]:g} s"
            try:
                guess = first_guess(cameras, track)
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from None
            problem = ArcProblem(known[b], track, errors.pixel, OUTLIER, guess, BOX)
            fit = fit_unknown(problem)
            slope = eqx.filter_jit(consider_parameters)(fit, problem)
            if not (float(fit.rms) <= WRONG and Status(int(fit.status)).is_converged):
                raise ValueError(
                    f"{where}: no motion fits: rms {float(fit.rms) * float(errors.pixel):.1f} px, "
                    f"{Status(int(fit.status)).name}: check the calibration, the markers' names and the arcs"
                )
            fits[a].append(fit)
            slopes[a].append(slope)
            total = covariance(fit, slope, known[b], errors)
            if not np.isfinite(total).all():
                instants = int(np.count_nonzero(np.any(track.seen, axis=(1, 2))))
                raise ValueError(
                    f"{where}: {int(np.sum(track.seen))} marker images at {instants} instants do not fix the "
                    "twelve numbers of a motion: give more instants, or more markers in each"
                )
            table.append(_state(name, a, problem, fit, np.sqrt(np.diag(total)), list(experiment.cameras)))
    means = tuple(jnp.stack([f.x for f in arc]) for arc in fits)
    noise = jnp.stack([jnp.stack([f.covariance for f in arc]) for arc in fits])
    found = {
        "pixel_px": float(errors.pixel),
        "marker_m": float(errors.marker),
        "energy_ratio": float(energy_ratio(means, tuple(k.body for k in known))),
        "energy_ratio_sigma": float(ratio_sigma(means, known, noise, slopes, errors)),
        "states": table,
    }
    return Found(found, record="estimate", report="tracks")


def _state(name: str, arc: int, problem: ArcProblem, fit: ArcFit, sigma: np.ndarray, cameras: list[str]) -> dict:
    """One fitted state, for the report."""
    seen = np.asarray(problem.tracks.seen)
    residual = np.asarray(problem.residual(fit.x, problem.known, None)).reshape(*seen.shape, 2)
    pixel = float(problem.sigma)
    by_camera = {
        camera: pixel * float(np.sqrt(np.mean(residual[:, i][seen[:, i]] ** 2))) if seen[:, i].any() else None
        for i, camera in enumerate(cameras)
    }
    rows = zip(NAMES.items(), np.reshape(fit.x, (4, 3)).tolist(), sigma.reshape(4, 3).tolist(), strict=True)
    return {
        "body": name,
        "arc": arc + 1,
        "time_s": float(problem.tracks.times[0]),
        "images": int(seen.sum()),
        "rms_px": pixel * float(fit.rms),
        "rms_px_by_camera": by_camera,
        **{f"{quantity}, {unit}": {"value": x, "sigma": off} for (quantity, unit), x, off in rows},
    }
