"""The model of one fit through the impact: pixels of both stones' markers, what is unknown, and what they tell.

θ = (r, v, MRP, ω of both bodies at the start; e, μ; ln C if the contact gives way), and the errors of what a
calibration says of cameras and markers, in their standard deviations: as many as are unknown. The motion needs θ
alone, so derivatives go through the collision by θ alone, and by the rest through the images only.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int

from difsim import MaxImpacts, Solution, simulate
from difsim.body import RigidState, Stone
from difsim.declarations import quantity
from difsim.dynamics import CompliantPair, Pair, PairState
from difsim.dynamics.pair import AbstractPairLaw
from difsim.typing import Scalar
from experiments.cobbles import paper
from experiments.cobbles.arcs import AbstractPixels, images_along, look, places, to_state
from experiments.cobbles.cameras import Rig, half_widths
from experiments.cobbles.scene import STIFFNESS, hard

TIMES = np.linspace(0.0, paper.DURATION, 51)  # s: one in 0.05 s as in the paper's arcs
RESTITUTION, FRICTION = 24, 25  # where they are in θ
STATES = 24  # numbers of both states, before them
PRIOR = (0.5, 0.5)  # of friction, mean and standard deviation: where the contact sticks, nothing else tells it
COMPLIANCE = (-np.log(STIFFNESS), 0.7)  # of ln C, C in m/N: known to a factor of 2
STEP = 5e-5  # s, in a contact of 2 ms
# Of the chord of a line of sight through the ball around the other stone: 4 mm apart in a ball of 12 cm.
SAMPLES = np.linspace(0.0, 1.0, 31)
Law = Callable[[Array], AbstractPairLaw]  # of θ


def rigid(theta: Float[Array, "26"]) -> AbstractPairLaw:
    """Hard; values that a search may try, not those that are found, can be out of bounds."""
    return hard(jnp.clip(theta[RESTITUTION], 0.0, 1.0), jnp.maximum(theta[FRICTION], 0.0), None)


def compliant(theta: Float[Array, "27"]) -> AbstractPairLaw:
    """Hard with the compliance that θ says."""
    restitution = jnp.clip(theta[RESTITUTION], 0.05, 1.0)  # its damper has no end at e = 0
    return CompliantPair(jnp.exp(theta[26]), restitution, jnp.maximum(theta[FRICTION], 0.0), 0.0, STEP)


class View(eqx.Module):
    """The view, on which images depend besides the motion: cameras, and markers of both bodies."""

    rig: Rig
    markers: Float[Array, "2 M 3"] = quantity("m", "markers in the frames of the bodies")


class Setup(eqx.Module):
    """The known part of the setup: the stone (both are equal), the view, and the law that θ makes.

    `spread`: standard deviations of the view's numbers, 0 for what is known; `loose`: where the others are in the
    flat view.
    """

    stone: Stone
    view: View
    spread: View
    loose: tuple[int, ...] = eqx.field(static=True)
    law: Law = eqx.field(static=True)
    centre: Float[Array, " k"] = quantity("", "mean of the prior of θ")
    width: Float[Array, " k"] = quantity("", "its standard deviation, infinite without a prior", is_finite=False)

    def perturb(self, errors: Float[Array, " n"]) -> View:
        """The view with `errors`, in standard deviations, of what is unknown of it."""
        flat, unravel = ravel_pytree(self.view)
        at = np.array(self.loose, int)
        return unravel(flat.at[at].add(ravel_pytree(self.spread)[0][at] * errors))

    def prior(self, theta: Float[Array, " k"], errors: Float[Array, " n"]) -> Float[Array, "k + n"]:
        """Residuals of the priors."""
        return jnp.concatenate([(theta - self.centre) / self.width, errors])


def setup(stone: Stone, rig: Rig, markers: Float[np.ndarray, "2 M 3"], unknowns: tuple[str, ...] = ()) -> Setup:
    """What is unknown besides states, restitution and friction: any of "calibration" (Table 13), "markers"
    (0.67 mm) and "compliance"."""
    view = View(rig, markers)
    of_uniform = ("calibration" in unknowns) / np.sqrt(3.0)  # Table 13's are half-widths
    spread = View(
        jax.tree.map(lambda w: of_uniform * w, half_widths(rig)),
        jnp.full_like(view.markers, paper.MARKER_NOISE if "markers" in unknowns else 0.0),
    )
    loose = tuple(np.flatnonzero(np.asarray(ravel_pytree(spread)[0])).tolist())
    centre, width = np.zeros(26), np.full(26, np.inf)
    centre[FRICTION], width[FRICTION] = PRIOR
    if "compliance" not in unknowns:
        return Setup(stone, view, spread, loose, rigid, centre, width)
    mean, sigma = COMPLIANCE
    return Setup(stone, view, spread, loose, compliant, np.append(centre, mean), np.append(width, sigma))


def collide(stone: Stone, law: Law, theta: Float[Array, " k"], times: Float[Array, " T"]) -> Solution:
    """How two such stones meet."""
    state = PairState(to_state(theta[:12]), to_state(theta[12:24]))
    return simulate(Pair(stone, stone, law(theta)), state, times, until=MaxImpacts(2), throw=False)


def images(view: View, path: PairState) -> Float[Array, "2 T C M 2"]:
    """Pixels of all markers, seen or not."""
    return jnp.stack(
        [images_along(view.rig, m, way) for m, way in zip(view.markers, (path.first, path.second), strict=True)]
    )


def is_facing(view: View, path: PairState) -> Bool[Array, "2 T C M"]:
    """Which markers are in the image and on the near side of their body."""

    def one(markers, way):
        points = places(markers, way)
        return look(view.rig, lambda camera: camera.sees(points) & jax.vmap(camera.faces)(points, way.position))

    return jnp.stack([one(*each) for each in zip(view.markers, (path.first, path.second), strict=True)])


def is_hidden(stone: Stone, view: View, path: PairState) -> Bool[Array, "2 T C M"]:
    """Which markers are behind the other stone."""
    ways = zip(view.markers, (path.first, path.second), (path.second, path.first), strict=True)
    return jnp.stack([is_occluded(stone, view.rig, *way) for way in ways])


def is_occluded(
    other: Stone, rig: Rig, markers: Float[Array, "M 3"], path: RigidState, hider: RigidState
) -> Bool[Array, "T C M"]:
    """Whether the line from a camera to a marker of the body on `path` goes through the stone `other`, which is on
    the path `hider`. Not for derivatives."""

    def is_behind(camera, marker, body, stone):
        ends = camera, body.point(marker)
        eye, mark = (stone.rotation.inverse @ (p - stone.position) for p in ends)
        way = mark - eye
        nearest, length = -(eye @ way) / (way @ way), jnp.sqrt(way @ way)
        apart = eye + nearest * way
        half = jnp.sqrt(jnp.maximum(other.radius**2 - apart @ apart, 0.0)) / length
        share = jnp.clip(nearest + half * (2 * SAMPLES - 1), 0.0, 1.0)
        return jnp.any(jax.vmap(other.shape.distance)(eye[None] + share[:, None] * way[None]) < 0)

    over_markers = jax.vmap(is_behind, in_axes=(None, 0, None, None))
    over_cameras = jax.vmap(over_markers, in_axes=(0, None, None, None))
    eyes = jax.vmap(lambda camera: camera.position)(rig)
    return jax.vmap(over_cameras, in_axes=(None, None, 0, 0))(eyes, markers, path, hider)


class Sensitivity(eqx.Module):
    """A path [T] and its derivatives by θ (k in front of each leaf); CoR_E and its derivatives [k]; time s of the
    first contact, and how many there were."""

    path: PairState
    by_theta: PairState
    ratio: Scalar
    ratio_by_theta: Float[Array, " k"]
    contact_time: Scalar
    contacts: Int[Array, ""]


@eqx.filter_jit
def sensitivity(stone: Stone, law: Law, theta: Float[Array, " k"], times: Float[Array, " T"]) -> Sensitivity:
    """The motion through the impact, and its derivatives."""

    def fly(theta):
        found = collide(stone, law, theta, times)
        met_so = found.impacts
        return (found.states, met_so.energy_restitution), (met_so.time, met_so.count)

    def push(direction):
        value, slope, rest = jax.jvp(fly, (theta,), (direction,), has_aux=True)
        return slope, (value, rest)

    directions = jnp.eye(theta.size, dtype=theta.dtype)
    (by_theta, ratio_by_theta), ((path, ratio), rest) = jax.vmap(push, out_axes=(0, None))(directions)
    return Sensitivity(path, by_theta, ratio, ratio_by_theta, *rest)


def columns(known: Setup, errors: Float[Array, " n"], moved: Sensitivity) -> Float[Array, "2 T C M 2 k + n"]:
    """Derivatives of the pixels by θ and by the errors of the view."""
    view = known.perturb(errors)
    by_theta = jax.vmap(lambda d: jax.jvp(lambda path: images(view, path), (moved.path,), (d,))[1])(moved.by_theta)
    by_errors = jax.jacfwd(lambda errors: images(known.perturb(errors), moved.path))(errors)
    return jnp.concatenate([jnp.moveaxis(by_theta, 0, -1), by_errors], axis=-1)


def information(
    known: Setup, moved: Sensitivity, weight: Float[Array, "2 T C M"], sigma: Scalar
) -> Float[Array, "k+n k+n"]:
    """Fisher's, of θ and the errors, from pixels that count by `weight` (0 to 1), and from the priors."""
    errors = jnp.zeros(len(known.loose))
    j = columns(known, errors, moved) * (jnp.sqrt(weight) / sigma)[..., None, None]
    j = j.reshape(-1, j.shape[-1])
    return j.T @ j + jnp.diag(jnp.concatenate([1 / known.width**2, jnp.ones(len(known.loose))]))


def inverse(information: Array) -> Array:
    """Of a matrix whose elements differ by many powers of ten."""
    scale = 1 / jnp.sqrt(jnp.diagonal(information))
    return jnp.linalg.inv(information * scale[:, None] * scale[None, :]) * scale[:, None] * scale[None, :]


class ThroughImpact(AbstractPixels):
    """Pixels of both stones' markers over the whole flight, r = (pixels - measured)/σ, and the priors.

    s = ((θ - centre)/scale, errors of the view in their standard deviations).
    """

    known: Setup
    seen: Bool[Array, "2 T C M"]
    measured: Float[Array, "2 T C M 2"]
    times: Float[Array, " T"] = quantity("s", "times of the images")
    sigma: Scalar = quantity("px", "standard deviation σ of a marker in an image")
    centre: Float[Array, " k"] = quantity("", "first guess of θ")
    scale: Float[Array, " k"] = quantity("", "distance by which it may be off")

    @property
    def count(self) -> int:
        return self.scale.size + len(self.known.loose)

    @property
    def rows(self) -> int:
        return self.measured.size + self.count

    def physical(self, s: Float[Array, "k + n"]) -> tuple[Float[Array, " k"], Float[Array, " n"]]:
        """θ and the errors of the view."""
        k = self.scale.size
        return self.centre + self.scale * s[:k], s[k:]

    def residual_at(self, s: Float[Array, "k + n"]) -> Float[Array, " rows"]:
        theta, errors = self.physical(s)
        pixels = images(
            self.known.perturb(errors), collide(self.known.stone, self.known.law, theta, self.times).states
        )
        error = jnp.where(self.seen[..., None], (pixels - self.measured) / self.sigma, 0.0)
        return jnp.concatenate([error.ravel(), self.known.prior(theta, errors)])

    def linearise(self, s: Float[Array, "k + n"]) -> Float[Array, "rows k+n"]:
        theta, errors = self.physical(s)
        j = (
            columns(self.known, errors, sensitivity(self.known.stone, self.known.law, theta, self.times))
            / self.sigma
        )
        j = jnp.where(self.seen[..., None, None], j, 0.0).reshape(-1, self.count)
        j = jnp.concatenate([j, jnp.diag(jnp.concatenate([1 / self.known.width, jnp.ones_like(errors)]))])
        return j * jnp.concatenate([self.scale, jnp.ones_like(errors)])[None]
