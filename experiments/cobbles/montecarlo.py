"""Monte Carlo of the two-arc estimate: the disturbances of Table 13, four fits a sample, and what they say of
CoR_E.

The world is the study's nominal collision; what a fit takes as known (cameras, markers, mass, inertia) has errors.
Each fit is given two covariances: of the noise of pixels alone, as in the paper, and with the errors of all that
it takes as known ("considered": Tapley, Schutz and Born, Statistical orbit determination (2004), sec. 6.4).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim import Status, simulate
from difsim.body import RigidBody
from difsim.declarations import quantity
from difsim.dynamics import Pair, PairState
from difsim.typing import Scalar
from experiments.cobbles import paper
from experiments.cobbles.arcs import (
    ArcFit,
    ArcProblem,
    Known,
    Tracks,
    coast,
    energy_ratio,
    fit_arc,
    images,
    to_state,
    to_vector,
)
from experiments.cobbles.cameras import half_widths, miscalibrate, scenario, stack
from experiments.cobbles.scene import hard, release
from experiments.cobbles.stones import Cobble, stone
from experiments.cobbles.through import View, is_facing, is_hidden
from inversion import map_batched

STARTS = 4  # at most, from one guess after another
ACCEPTABLE = 25.0  # px, rms of a fit: calibrations of Table 13 leave up to 10, a wrong attitude hundreds
ENDED = [s for s in Status if s.is_converged]


class Disturbances(eqx.Module):
    """Standard deviations of what is not known."""

    pixel: Scalar = quantity("px", "of a marker in an image")
    marker: Scalar = quantity("m", "of the place of a marker on its body")
    calibration: Scalar = quantity("", "of cameras, as a share of Table 13's errors", default=0.0)
    mass: Scalar = quantity("", "of the mass, as a share of it", default=0.0)
    inertia: Scalar = quantity("", "of the inertia, as a share of the largest moment", default=0.0)
    acceleration: Scalar = quantity("m/s²", "of the acceleration", default=0.0)


def table_13(pixel: float, marker: float) -> Disturbances:
    """Every row of Table 13."""
    return Disturbances(pixel, marker, 1.0, paper.MASS_ERROR, paper.INERTIA_ERROR, paper.ACCELERATION)


class World(eqx.Module):
    """The truth of a scenario: what is known, without error, of each body, its states [arc][body] at the arcs'
    starts, and which markers are seen then."""

    known: tuple[Known, Known]
    states: tuple[Float[Array, "2 12"], Float[Array, "2 12"]]
    seen: tuple[Array, Array]

    @property
    def energy_ratio(self) -> Scalar:
        """CoR_E of the truth, in the laboratory frame."""
        return energy_ratio(self.states, tuple(k.body for k in self.known))


def times(arc: int) -> np.ndarray:
    """Instants s of the measurements: Table 8 and the text."""
    return np.linspace(*paper.ARCS[arc], paper.EPOCHS[arc])


def world(which: int, cobble: Cobble) -> World:
    """The truth as scenario `which` sees it: the nominal collision of two equal cobbles with the same markers."""
    body, markers, rig = stone(cobble), cobble.markers, scenario(which)
    pair = Pair(body, body, hard(paper.RESTITUTION, paper.FRICTION, None))
    found = simulate(pair, release(paper.INCLINATION), np.array([paper.ARCS[0][0], paper.ARCS[1][0]]))
    both = (found.states.first, found.states.second)
    states = tuple(jnp.stack([to_vector(jax.tree.map(lambda x, a=a: x[a], s)) for s in both]) for a in (0, 1))
    view = View(rig, np.stack([markers, markers]))

    @jax.jit
    def see(xs, t):
        path = PairState(*(coast(body.body, to_state(x), t) for x in xs))
        return is_facing(view, path) & ~is_hidden(body, view, path)

    known = Known(rig, body.body, markers)
    return World((known, known), states, tuple(see(states[arc], jnp.asarray(times(arc))) for arc in (0, 1)))


class Sample(eqx.Module):
    """One sample: errors of the states [arc, body, 12], their covariance, errors in standard deviations squared
    with both covariances (`nees`, of 12, and of position and spin alone, 3 each: [arc, body, (all, position,
    spin)]), rms of the way [arc, body, (position m, spin rad/s)], rms of the residual px, status,
    starts [arc, body]; CoR_E and its standard deviation as the fit states it."""

    error: Array
    covariance: Array
    nees: Array
    nees_noise: Array
    way: Array
    residual: Array
    status: Array
    starts: Array
    energy_ratio: Scalar
    energy_ratio_sigma: Scalar

    @property
    def converged(self) -> Array:
        """Whether all four searches ended by themselves, with a residual that is no wrong minimum's."""
        ended = sum(self.status == int(s) for s in ENDED) > 0
        return jnp.all(ended & (self.residual <= ACCEPTABLE), axis=(-2, -1))

    @property
    def good(self) -> "Sample":
        """The samples that converged, as NumPy."""
        return jax.tree.map(lambda x: np.asarray(x)[np.asarray(self.converged)], self)


def standard_deviations(known: Known, d: Disturbances) -> Known:
    """Standard deviations of the errors of `known`, number by number, in its own structure."""
    widths = jax.tree.map(lambda w: d.calibration * w / jnp.sqrt(3.0), half_widths(known.rig))  # of a uniform
    inertia = d.inertia * jnp.max(jnp.diag(known.body.inertia)) * jnp.eye(3)
    markers = jnp.broadcast_to(d.marker, known.markers.shape)
    return eqx.tree_at(
        lambda k: (k.rig, k.body.mass, k.body.inertia, k.markers),
        known,
        (widths, d.mass * known.body.mass, inertia, markers),
    )


def mistaken(known: Known, rig, d: Disturbances, key: Array) -> Known:
    """What a fit takes as known of a body: the common, mistaken cameras, and markers, mass and moments in
    error."""
    mass, inertia, marker = jax.random.split(key, 3)
    s = standard_deviations(known, d)
    body = RigidBody(
        known.body.mass + s.body.mass * jax.random.normal(mass),
        known.body.inertia + s.body.inertia * jax.random.normal(inertia, (3, 3)),
    )
    return Known(rig, body, known.markers + s.markers * jax.random.normal(marker, s.markers.shape))


def consider_parameters(fit: ArcFit, problem: ArcProblem) -> tuple[Known, Array]:
    """dx/dc [12, ...] of the estimate by all that is taken as known, and by the random acceleration."""
    none = jnp.zeros((problem.tracks.times.size - 1, 3))
    _, pull = jax.vjp(lambda known, a: problem.residual(fit.x, known, a), problem.known, none)
    return jax.vmap(lambda column: pull(-column))(fit.gain.T)


def covariance(fit: ArcFit, slope: tuple[Known, Array], known: Known, d: Disturbances) -> Array:
    """Covariance [12, 12] of the estimate by the noise of pixels and by all that is considered."""
    push = jnp.broadcast_to(d.acceleration, slope[1].shape[1:])
    return fit.covariance + _sum_squares(slope[0], standard_deviations(known, d)) + _sum_squares(slope[1], push)


def _sum_squares(tree_s, tree_sigma) -> Array:
    """Σ over leaves of S σ² Sᵀ [12, 12]."""

    def one(s, sigma):
        weighed = (s * sigma[None]).reshape(s.shape[0], -1)
        return weighed @ weighed.T

    return sum(jax.tree.leaves(jax.tree.map(one, tree_s, tree_sigma)))


def _distances(error: Array, covariance: Array) -> Array:
    """Squared distances in σ: of all 12 numbers, of the position, of the spin."""

    def one(part):
        c, e = covariance[part, part], error[part]
        scale = jnp.sqrt(jnp.diag(c))
        return (e / scale) @ jnp.linalg.solve(c / scale[:, None] / scale[None, :], e / scale)

    return jnp.stack([one(slice(0, 12)), one(slice(0, 3)), one(slice(9, 12))])


def sample(truth: World, d: Disturbances, key: Array) -> Sample:
    """Disturb, measure, fit four arcs from random guesses in the box of Table 9, and compare with the truth."""
    key, calibration = jax.random.split(key)
    rig = miscalibrate(truth.known[0].rig, d.calibration, calibration)
    keys = jax.random.split(key, 2)
    known = [mistaken(k, rig, d, key) for k, key in zip(truth.known, keys, strict=True)]
    bodies, worlds = stack(known), stack(truth.known)

    def arc(which):
        t = jnp.asarray(times(which))

        def one(row):
            x, seen, mine, real, key = row
            push, pixel, guess = jax.random.split(key, 3)
            acceleration = d.acceleration * jax.random.normal(push, (t.size - 1, 3))
            pixels = images(real, x, t, acceleration)
            pixels = pixels + d.pixel * jax.random.normal(pixel, pixels.shape)
            problem = ArcProblem(mine, Tracks(t, pixels, seen), d.pixel, jnp.inf, x, jnp.asarray(paper.BOX[which]))
            starts = jax.random.uniform(guess, (STARTS, 12), minval=-1.0, maxval=1.0)
            fit = fit_arc(problem, starts, ACCEPTABLE / d.pixel)
            by_errors = consider_parameters(fit, problem)
            estimated, true = coast(mine.body, to_state(fit.x), t), coast(real.body, to_state(x), t, acceleration)
            off = [getattr(estimated, n) - getattr(true, n) for n in ("position", "spin")]
            numbers = {
                "error": fit.x - x,
                "covariance": covariance(fit, by_errors, mine, d),
                "way": jnp.stack([jnp.sqrt(jnp.mean(jnp.sum(each**2, axis=1))) for each in off]),
                "residual": fit.rms * d.pixel,
                "status": fit.status,
                "starts": fit.starts,
            }
            return fit.x, fit.covariance, by_errors, numbers

        row_keys = jax.random.split(jax.random.fold_in(key, which), 2)
        return jax.lax.map(one, (truth.states[which], truth.seen[which], bodies, worlds, row_keys))

    estimate, noise, by_errors, numbers = zip(arc(0), arc(1), strict=True)
    slopes = [[jax.tree.map(lambda leaf, b=b: leaf[b], of_arc) for b in (0, 1)] for of_arc in by_errors]
    noise, numbers = jnp.stack(noise), stack(numbers)
    distances = jax.vmap(jax.vmap(_distances))
    return Sample(
        **numbers,
        nees=distances(numbers["error"], numbers["covariance"]),
        nees_noise=distances(numbers["error"], noise),
        energy_ratio=energy_ratio(estimate, tuple(k.body for k in known)),
        energy_ratio_sigma=ratio_sigma(estimate, known, noise, slopes, d),
    )


def ratio_sigma(estimate, known: list[Known], noise: Array, slopes, d: Disturbances) -> Scalar:
    """Standard deviation of CoR_E: the errors of the cameras are common to all four fits, those of a body to two.

    **Arguments:** `estimate`: states [arc][body, 12]; `noise` [arc, body, 12, 12]: their covariances by the noise
    of pixels; `slopes` [arc][body]: what `consider_parameters` gives.
    """
    cases = [(arc, body) for arc in (0, 1) for body in (0, 1)]
    by_state, direct = jax.grad(energy_ratio, argnums=(0, 1))(estimate, tuple(k.body for k in known))
    variance = sum(by_state[a][b] @ noise[a, b] @ by_state[a][b] for a, b in cases)

    # dCoR_E/dc through each fit.
    through = {
        (a, b): jax.tree.map(lambda s, g=by_state[a][b]: jnp.tensordot(g, s, axes=1), slopes[a][b])
        for a, b in cases
    }
    add = lambda *trees: jax.tree.map(lambda *leaves: sum(leaves), *trees)  # noqa: E731
    of_body = [add(through[0, b][0], through[1, b][0]) for b in (0, 1)]
    widths = [standard_deviations(k, d) for k in known]
    terms = [(add(of_body[0].rig, of_body[1].rig), widths[0].rig)]
    for slope, by_body, width in zip(of_body, direct, widths, strict=True):
        terms += [(add(slope.body, by_body), width.body), (slope.markers, width.markers)]
    pushes = [push for _, push in through.values()]
    terms += [(push, jnp.broadcast_to(d.acceleration, push.shape)) for push in pushes]
    for slope, width in terms:
        variance += sum(jax.tree.leaves(jax.tree.map(lambda g, s: jnp.sum((g * s) ** 2), slope, width)))
    return jnp.sqrt(variance)


@eqx.filter_jit
def samples(truth: World, d: Disturbances, keys: Array) -> Sample:
    """`sample` of every key [N, 2] in one compiled call."""
    return map_batched(lambda key: sample(truth, d, key), keys)
