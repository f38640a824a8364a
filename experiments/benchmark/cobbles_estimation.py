"""Fits of a cobble's arc against scipy's with numerical derivatives: the same tracks, starts and stops."""

import time
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from experiments.benchmark.timing import cpu_seconds, row
from experiments.cobbles.arcs import STOPS, ArcProblem, Tracks, fit_arc, images
from experiments.cobbles.montecarlo import ACCEPTABLE, times, world
from experiments.cobbles.paper import BOX, MARKER_NOISE
from experiments.cobbles.stones import cobble
from inversion import map_batched

FITS = 1000
PIXEL = 3.0
SCENARIO, ARC, BODY = 2, 1, 0  # the peer gets the residuals of what is seen alone


def rows(seeds: int, folder: Path) -> list[dict[str, Any]]:
    """CPU ms of a fit, 1000 in one call, against `seeds` fits of scipy on a residual in numpy and a jitted one."""
    truth = world(SCENARIO, cobble("generated", 5))
    known, x, t = truth.known[BODY], truth.states[ARC][BODY], jnp.asarray(times(ARC))
    seen = truth.seen[ARC][BODY]

    def problem(key):
        pixel, marker, guess = jax.random.split(key, 3)
        pixels = images(known, x, t)
        pixels = pixels + PIXEL * jax.random.normal(pixel, pixels.shape)
        off = known.markers + MARKER_NOISE * jax.random.normal(marker, known.markers.shape)
        mine = eqx.tree_at(lambda k: k.markers, known, off)
        made = ArcProblem(mine, Tracks(t, pixels, seen), PIXEL, jnp.inf, x, jnp.asarray(BOX[ARC]))
        return made, jax.random.uniform(guess, (1, 12), minval=-1.0, maxval=1.0)

    keys = jax.random.split(jax.random.PRNGKey(0), FITS)
    problems, starts = jax.jit(jax.vmap(problem))(keys)
    fit = eqx.filter_jit(
        lambda many, s: map_batched(lambda row: fit_arc(*row, jnp.array(ACCEPTABLE / PIXEL)), (many, s))
    )
    found, seconds = cpu_seconds(lambda: fit(problems, starts), 3)
    ours = 1e3 * seconds / FITS

    jitted = eqx.filter_jit(lambda made, s: made.evaluate(s).residual)
    peers, errors, misses = {"numpy": [], "jitted": []}, {"numpy": [], "jitted": []}, 0
    for i in range(seeds):
        made = jax.tree.map(lambda leaf, i=i: leaf[i], problems)
        residuals = {"numpy": NumpyResidual(made), "jitted": lambda s, made=made: np.asarray(jitted(made, s))}
        for name, residual in residuals.items():
            residual(np.zeros(12))  # compiled, where it is
            started = time.process_time()
            theirs = least_squares(
                residual,
                np.asarray(starts[i, 0]),
                ftol=float(STOPS.misfit),
                xtol=float(STOPS.step),
                gtol=float(STOPS.gradient),
            )
            peers[name].append(1e3 * (time.process_time() - started))
            errors[name].append(2 * theirs.cost / float(found.rms[i] ** 2 * 2 * jnp.sum(seen)) - 1)
        misses += max(abs(errors[name][-1]) for name in errors) > 1e-4
    work = f"second arc, 12 unknowns, {int(2 * jnp.sum(seen))} pixels, {FITS} fits in one call"
    return [
        *[row(f"{work}: a fit; peer: scipy, residual {n}", ours, "ms CPU", np.median(peers[n])) for n in peers],
        row("share of the fits that found the motion", jnp.mean(found.rms * PIXEL <= ACCEPTABLE), "1"),
        row(f"of {seeds} peer fits, ends with another misfit (1e-4)", misses, "fits"),
    ]


class NumpyResidual:
    """The same residual by numpy and scipy alone, of what was seen."""

    def __init__(self, problem: ArcProblem):
        self.centre, self.scale = np.asarray(problem.centre), np.asarray(problem.scale)
        self.sigma, self.inertia = float(problem.sigma), np.asarray(problem.known.body.inertia)
        self.markers, self.times = np.asarray(problem.known.markers), np.asarray(problem.tracks.times)
        self.pixels, self.seen = np.asarray(problem.tracks.pixels), np.asarray(problem.tracks.seen)
        self.inverse, rig = np.linalg.inv(self.inertia), problem.known.rig
        self.matrices = Rotation.from_rotvec(np.array(rig.rotation)).as_matrix()
        self.shifts, self.radial = np.asarray(rig.translation), np.asarray(rig.radial)
        self.focal = np.stack([rig.fx, rig.fy], axis=1)
        self.middle = np.stack([rig.cx, rig.cy], axis=1)

    def rate(self, y: np.ndarray) -> np.ndarray:
        """Of quaternion (scalar first) and spin [7]."""
        w, u, spin = y[0], y[1:4], y[4:]
        rolled = w * spin + np.cross(u, spin)
        return np.concatenate(
            [[-0.5 * u @ spin], 0.5 * rolled, self.inverse @ np.cross(self.inertia @ spin, spin)]
        )

    def __call__(self, s: np.ndarray) -> np.ndarray:
        x = self.centre + self.scale * s
        p = x[6:9]
        y = np.concatenate([np.r_[1 - p @ p, 2 * p] / (1 + p @ p), x[9:]])
        path = [y]
        for h in np.diff(self.times):
            k1 = self.rate(y)
            k2 = self.rate(y + h / 2 * k1)
            k3 = self.rate(y + h / 2 * k2)
            k4 = self.rate(y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            path.append(y)
        q = np.array(path)[:, :4]
        w, u = q[:, :1, None], q[:, None, 1:]
        turn = 2 * np.cross(u, self.markers[None])
        points = self.markers + w * turn + np.cross(u, turn)
        points = points + (x[:3] + (self.times - self.times[0])[:, None] * x[3:6])[:, None]
        inside = np.einsum("cij,tmj->tcmi", self.matrices, points) + self.shifts[:, None]
        plane = inside[..., :2] / inside[..., 2:]
        r2 = np.sum(plane**2, axis=-1)
        w1, w2, w3 = self.radial.T[:, None, :, None]
        plane = plane * (1 + r2 * (w1 + r2 * (w2 + r2 * w3)))[..., None]
        pixels = plane * self.focal[None, :, None] + self.middle[None, :, None]
        return ((pixels - self.pixels)[self.seen] / self.sigma).ravel()
