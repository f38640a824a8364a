"""The ground over which MINERVA-II is released: Imhotep on 67P, smooth in its basin and rocky around it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim import AtRest, units
from difsim.body import RigidBody, RigidState
from difsim.contact import Vertices
from difsim.contact.outline import AbstractOutline
from difsim.declarations import quantity
from difsim.dynamics import Hopper
from difsim.dynamics.hopper import HopperState
from difsim.gravity import AbstractField
from difsim.mesh import TriMesh
from difsim.mesh.distance import signed_distance
from difsim.session import CACHE
from difsim.shape import AbstractSDF, Patch, Rough
from difsim.shape.window import Window
from difsim.typing import Mat3, Scalar, Vec3
from experiments.agilkia.worlds import coarse_of, fast_field_of, lobes_67p, shape_of
from experiments.hopper.scenes import Ground

# The boulder Cheops in Imhotep, degrees east and north: it defines the prime meridian of the frame, 1395 m from
# the origin (Preusker et al., A&A 583 (2015) A33). SHAP5 has its surface there at 1385 m.
LONGITUDE, LATITUDE = 142.35, -0.28
SPIN = (0.0, 0.0, units.SPIN_67P)  # rad/s
HALF_SIZE, SPACING = 500.0, 12.5  # m, of the window
# Roughness, m (ours): a smooth basin of 120 m about the site, rocks around it.
BASIN, SMOOTH, ROCKY, WAVELENGTH, OCTAVES = 120.0, 0.02, 0.25, 10.0, 3
SIDES, ACROSS, HEIGHT, MASS = 16, 0.18, 0.07, 1.2  # MINERVA-II, m and kg


class World(eqx.Module):
    """Field without the centrifugal term, surface without roughness, and the site on it."""

    field: AbstractField
    surface: Window
    site: Vec3 = quantity("m", "position of the site")
    axes: Mat3 = quantity("", "local axes east, north and up (against effective gravity) as rows")

    def local(self, x: Float[Array, "*n 3"]) -> Float[Array, "*n 3"]:
        """Places as metres east, north and up of the site."""
        return (x - jnp.broadcast_to(self.site, x.shape)) @ self.axes.T

    @property
    def gravity(self) -> Scalar:
        """Effective, at the site, m/s²."""
        return jnp.linalg.norm(effective(self.field, self.site))


class Lowest(AbstractOutline):
    """Of a convex body's points the `most` that lie deepest along the ground's normal: those that can touch.

    Half of a prism's corners are enough (a whole face), and cost half. Not for friction that remembers its points.
    """

    points: AbstractOutline
    most: int = eqx.field(static=True)
    radius: Scalar = quantity("m", "largest distance of a point from the centre of mass")

    def arms(self, surface: AbstractSDF, centre: Vec3, rotation: Mat3) -> Float[Array, "N 3"]:
        arms = self.points.arms(surface, centre, rotation)
        return arms[jax.lax.top_k(-jax.lax.stop_gradient(arms @ surface.normal(centre)), self.most)[1]]

    @property
    def count(self) -> int:
        return self.most


def regolith() -> Ground:
    """The ground (ours). Rolling resistance balances up to C (1 + m h²/I) beside the centre of mass: 1.5 cm for a
    wheel of 9 cm, which holds on slopes up to 9 degrees."""
    return Ground(restitution=0.6, friction=0.6, rolling=5e-3, spin_speed=1e-3)


def rest_rule() -> AtRest:
    """Rest: a top of a hop passes in 2 speed/g = 1 s, far less than the hold."""
    return AtRest(speed=1e-4, spin=1e-3, hold=10.0)


def effective(field: AbstractField, x: Vec3) -> Vec3:
    """Gravity with the centrifugal term, m/s²."""
    spin = jnp.asarray(SPIN)
    return field.acceleration(x) - jnp.cross(spin, jnp.cross(spin, x))


def world(shape: str, spacing: float = SPACING) -> World:
    """Imhotep on the analogue of 67P, on SHAP5, or on a file's shape; tables are kept in the cache folder."""
    body, cache = shape_of(shape), CACHE / "worlds"
    field = lobes_67p() if shape == "analogue" else fast_field_of(coarse_of(body), cache)
    site = jnp.asarray(_surface_point(body))
    surface = Window.from_mesh(body, site, HALF_SIZE, spacing, cache=cache)
    pull = effective(field, site)
    up = -pull / jnp.linalg.norm(pull)
    east = jnp.cross(jnp.array([0.0, 0.0, 1.0]), up)
    east = east / jnp.linalg.norm(east)
    return World(field, surface, site, jnp.stack([east, jnp.cross(up, east), up]))


def _surface_point(body: TriMesh) -> np.ndarray:
    """Where the ray through the site leaves the body for good, to 1 mm."""
    lon, lat = np.radians([LONGITUDE, LATITUDE])
    ray = np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    radii = np.arange(0.0, 4000.0, 5.0)
    inside = radii[signed_distance(body, radii[:, None] * ray) < 0].max()
    fine = inside + np.arange(0.0, 5.0, 1e-3)
    return fine[np.abs(signed_distance(body, fine[:, None] * ray)).argmin()] * ray


def terrain(place: World, seed: Array | int) -> Rough:
    """The surface with its rocks."""
    return Rough(place.surface, Patch(place.site, BASIN, SMOOTH, ROCKY), WAVELENGTH, seed, OCTAVES)


def prism() -> Float[np.ndarray, "32 3"]:
    """The corners of MINERVA-II, a prism of sixteen sides, m from its centre."""
    angles = 2 * np.pi * np.arange(SIDES) / SIDES
    return np.array(
        [
            [0.5 * ACROSS * np.cos(a), 0.5 * ACROSS * np.sin(a), z]
            for a in angles
            for z in (-HEIGHT / 2, HEIGHT / 2)
        ]
    )


def inertia() -> Float[np.ndarray, "3"]:
    """Moments of the homogeneous prism (as a cylinder; the corners take 1 % off), kg m²."""
    radius = 0.5 * ACROSS
    side = MASS * (3 * radius**2 + HEIGHT**2) / 12
    return np.array([side, side, 0.5 * MASS * radius**2])


def minerva(
    place: World,
    seed: Array | int,
    ground: Ground | None = None,
    offset: Array | None = None,
    moments: Array | None = None,
) -> Hopper:
    """MINERVA-II over Imhotep; `offset` [3] m of its centre of mass, `moments` [3] kg m² if not homogeneous."""
    centre = jnp.zeros(3) if offset is None else offset
    ground = ground or regolith()
    corners = Vertices(jnp.asarray(prism()) - centre[None])
    outline = Lowest(corners, SIDES, corners.radius)
    return Hopper(
        RigidBody(MASS, jnp.diag(jnp.asarray(inertia()) if moments is None else moments)),
        ground.contact(outline, MASS),
        terrain(place, seed),
        place.field,
        SPIN,
        ground.resolution,
    )


def release_at(model: Hopper, place: World, local: Array, velocity: Array, spin: Array) -> HopperState:
    """At `local` [3] m east, north and above the site with `velocity` [3] m/s in the same axes, upright in the
    frame of the comet, which is at its epoch: Q is the identity."""
    body = RigidState(
        place.site + local @ place.axes, velocity @ place.axes, jnp.array([1.0, 0.0, 0.0, 0.0]), spin
    )
    return model.start(body)
