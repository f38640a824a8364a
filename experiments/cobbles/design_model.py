"""The precision of restitution by a design of the experiment: ln σ(e) of a fit through the impact, and its slopes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim import safe
from difsim.camera import looking_at
from difsim.declarations import quantity
from difsim.dynamics import PairState
from difsim.shape import AbstractSDF
from difsim.typing import Scalar, Vec3
from experiments.cobbles.arcs import look, places
from experiments.cobbles.cameras import UP
from experiments.cobbles.through import (
    FRICTION,
    RESTITUTION,
    Sensitivity,
    Setup,
    View,
    information,
    inverse,
    is_facing,
    is_hidden,
)

APART = 0.015  # m: markers are no nearer to each other
# Smooth stand-ins for what is seen, for the descent alone: over a cosine, and px at the border of an image.
TURN, BORDER = 0.05, 20.0


class Design(eqx.Module):
    """Places and aims of cameras, places of markers, and the release of both stones."""

    cameras: Float[Array, "C 4"] = quantity("m", "x, y on the wall, and x, y of the aim in the plane z = 0")
    markers: Float[Array, "2 M 3"] = quantity("", "directions from the centre of mass, of any length")
    spin: Float[Array, "2 3"] = quantity("rad/s", "spins at the release")
    inclination: Scalar = quantity("rad", "inclination at the release")


class Place(eqx.Module):
    """The parts of the experiment that a design does not change."""

    known: Setup
    walls: Float[Array, " C"] = quantity("m", "z of the wall of each camera")
    sigma: Scalar = quantity("px", "standard deviation of a marker in an image")


def surface_point(shape: AbstractSDF, radius: Scalar, direction: Vec3) -> Vec3:
    """Where a ray from the centre of mass leaves the solid for good, m; differentiable by the direction."""
    along = safe.unit(direction)
    fixed = jax.lax.stop_gradient(along)

    def newton_step(_, r):
        return r - shape.distance(r * fixed)

    # Sphere tracing from outside; 60 steps are some 1e-6 m from the surface even at 60° to it.
    r = jax.lax.stop_gradient(jax.lax.fori_loop(0, 60, newton_step, 1.1 * radius))
    slope = jax.lax.stop_gradient(jax.grad(shape.distance)(r * fixed) @ fixed)
    # One Newton step: the implicit function's derivative.
    return (r - safe.divide(shape.distance(r * along), slope)) * along


def build_setup(place: Place, design: Design) -> Setup:
    """The known setup of a fit, with cameras and markers as designed."""
    known, rig = place.known, place.known.view.rig

    def pose(camera, wall):
        position, aim = jnp.append(camera[:2], wall), jnp.append(camera[2:], 0.0)
        return looking_at(position, aim, jnp.array(UP))

    turn, shift = jax.vmap(pose)(design.cameras, place.walls)
    rig = eqx.tree_at(lambda r: (r.rotation, r.translation), rig, (turn, shift))
    out = lambda d: surface_point(known.stone.shape, known.stone.radius, d)  # noqa: E731
    return eqx.tree_at(lambda k: k.view, known, View(rig, jax.vmap(jax.vmap(out))(design.markers)))


def visibility(view: View, path: PairState) -> Float[Array, "2 T C M"]:
    """How much each image counts, between 0 and 1: on the near side of its body, and inside the image's border."""

    def visibility_of(markers, way):
        points = places(markers, way)
        arms = safe.unit(points - way.position[:, None])

        def one(camera):
            towards = safe.unit(camera.position[None] - way.position)
            near = jax.nn.sigmoid(jnp.sum(arms * towards[:, None], axis=-1) / TURN)
            pixels = camera.project(points)
            inside = jax.nn.sigmoid(pixels / BORDER) * jax.nn.sigmoid((camera.size[None, None] - pixels) / BORDER)
            return near * jnp.prod(inside, axis=-1)

        return look(view.rig, one)

    return jnp.stack([visibility_of(*each) for each in zip(view.markers, (path.first, path.second), strict=True)])


def crowding_penalty(markers: Float[Array, "2 M 3"]) -> Scalar:
    """Σ max(0, 1 - d/APART)² over pairs of one body, with d m between them."""
    first, second = np.triu_indices(markers.shape[1], 1)
    apart = safe.norm(markers[:, first] - markers[:, second])
    return jnp.sum(jnp.maximum(1 - apart / APART, 0.0) ** 2)


def log_sigma(place: Place, design: Design, moved: Sensitivity) -> Scalar:
    """ln σ(e) with smooth visibility, and what keeps markers apart."""
    known = build_setup(place, design)
    behind = jax.lax.stop_gradient(is_hidden(known.stone, known.view, moved.path))
    weight = jnp.where(behind, 0.0, visibility(known.view, moved.path))
    covariance = inverse(information(known, moved, weight, place.sigma))
    return 0.5 * jnp.log(covariance[RESTITUTION, RESTITUTION]) + crowding_penalty(known.view.markers)


@eqx.filter_jit
def slopes(place: Place, design: Design, moved: Sensitivity) -> tuple[Scalar, Design, Sensitivity]:
    """ln σ(e), and its derivatives by the design and by the motion."""
    value, (by_design, by_motion) = eqx.filter_value_and_grad(lambda both: log_sigma(place, *both))(
        (design, moved)
    )
    return value, by_design, by_motion


@eqx.filter_jit
def predict_errors(place: Place, design: Design, moved: Sensitivity) -> dict[str, Array]:
    """Standard deviations of e and μ with what is really seen, and the share of the images that is."""
    known = build_setup(place, design)
    seen = is_facing(known.view, moved.path) & ~is_hidden(known.stone, known.view, moved.path)
    covariance = inverse(information(known, moved, seen.astype(float), place.sigma))
    return {
        "restitution": jnp.sqrt(covariance[RESTITUTION, RESTITUTION]),
        "friction": jnp.sqrt(covariance[FRICTION, FRICTION]),
        "seen": jnp.mean(seen.astype(float)),
        "markers": known.view.markers,
    }
