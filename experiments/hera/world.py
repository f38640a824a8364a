"""The world of a landing: a rotating ellipsoid with rough ground, in the tide of its primary if it is a moon.

The unknowns of the inputs decide what there is: without `primary_GM_m3_per_s2` there is no tide, without
`libration_deg` the spin is steady, and the mass is `mass_kg` or follows from `density_kg_per_m3`.

Frame: fixed to the target, z its pole, x towards the primary of a locked moon. Longitude 0 therefore faces the
primary, and the moon moves towards longitude 270 degrees.
"""

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim import safe
from difsim.body import RigidBody, RigidState
from difsim.contact import (
    AtEffectivePoint,
    ClippedDamping,
    ConstantCohesion,
    Hooke,
    NormalForce,
    RollingTorque,
    SpinningResistance,
    StickSlip,
    SurfaceContact,
    Vertices,
)
from difsim.dynamics import AbstractFrame, Hopper, Kepler, Libration, Primary, Steady, Tabulated, tumble
from difsim.dynamics.hopper import HopperState
from difsim.gravity import Ellipsoid, PointMass
from difsim.shape import Ellipsoid as Solid
from difsim.shape import Rough
from difsim.typing import Scalar, Vec3
from difsim.units import HOUR, G
from experiments.hera.inputs import Lander

WIDTH = 0.01  # of the depth: how smoothly a contact starts
SLIP_SPEED, SPIN_SPEED = 2e-3, 3e-3  # m/s, rad/s: below them friction and rolling resistance fade
TUMBLING_TIMES = np.linspace(
    0.0, 43_300.0, 97
)  # s, of the table of a tumbling rotation: 0.07 rad from each to the next

Case = Mapping[str, Any]  # the unknowns of one member, by name


def semi_axes(case: Case) -> Vec3:
    """The semi-axes of the target, m."""
    return jnp.stack([case["long_axis_m"], case["middle_axis_m"], case["short_axis_m"]]) / 2


def mass_of(case: Case) -> Scalar:
    """The mass of the target, kg."""
    if "mass_kg" in case:
        return case["mass_kg"]
    return case["density_kg_per_m3"] * (4 / 3 * jnp.pi * jnp.prod(semi_axes(case)))


def field_of(case: Case) -> Ellipsoid:
    """The target's own gravity, of uniform density."""
    axes = semi_axes(case)
    density = mass_of(case) / (4 / 3 * jnp.pi * jnp.prod(axes))
    return Ellipsoid(jnp.zeros(3), jnp.eye(3), axes, density)


def pull_of_primary(case: Case) -> PointMass:
    """The gravity of the primary about its centre."""
    return PointMass(case["primary_GM_m3_per_s2"], jnp.zeros(3))


def rate_of(case: Case) -> Scalar:
    """The mean spin of the target, rad/s, which is also the mean motion of a moon."""
    return 2 * jnp.pi / (case["period_h"] * HOUR)


def distance_of(case: Case) -> Scalar:
    """The semi-major axis of the mutual orbit, m, from the period and both masses."""
    return jnp.cbrt((case["primary_GM_m3_per_s2"] + G * mass_of(case)) / rate_of(case) ** 2)


def primary_of(case: Case) -> Primary | None:
    """The primary on its ellipse as seen from the target, in whose frame it is about +x; None where it has none."""
    if "primary_GM_m3_per_s2" not in case:
        return None
    anomaly = jnp.radians(case["mean_anomaly_deg"])
    orbit = Kepler(
        distance_of(case), 2 * jnp.pi / rate_of(case), case["eccentricity"], anomaly, pericentre=-anomaly
    )
    return Primary(pull_of_primary(case), orbit)


def librate(case: Case) -> AbstractFrame:
    """A moon that librates in longitude once an orbit, amplitude 0 being a locked one; others spin steadily."""
    rate = rate_of(case)
    spin = jnp.array([0.0, 0.0, 1.0]) * rate
    if "libration_deg" not in case:
        return Steady(spin)
    return Libration(spin, jnp.radians(case["libration_deg"]), rate, jnp.radians(case["libration_phase_deg"]))


def tumble_freely(case: Case) -> Tabulated:
    """A target that tumbles without torque, its spin tilted from the pole at the release."""
    tilt, toward = jnp.radians(case["tumbling_tilt_deg"]), jnp.radians(case["libration_phase_deg"])
    spin = jnp.stack([jnp.sin(tilt) * jnp.cos(toward), jnp.sin(tilt) * jnp.sin(toward), jnp.cos(tilt)])
    squares = semi_axes(case) ** 2
    return tumble(jnp.diag(jnp.sum(squares) - squares), rate_of(case) * spin, jnp.asarray(TUMBLING_TIMES))


def ground_of(case: Case) -> Rough:
    """The ellipsoid with boulders: noise of one octave."""
    return Rough(
        Solid(semi_axes(case)), case["roughness_m"], case["boulder_spacing_m"], case["terrain"], octaves=1
    )


def contact_of(case: Case, lander: Lander, slope: Scalar | float = 1.0) -> SurfaceContact:
    """The lander's contact: a spring as deep as stated, a damper of the restitution, friction, rolling, cohesion.

    Rough ground shows a depth that is too small by its `slope` 1 + L (`Rough`); spring and damper make up for it.
    """
    outline = outline_of(case, lander)
    rate = case["impact_speed_m_per_s"] / case["impact_depth_m"]  # of the oscillation whose quarter is the impact
    normal = NormalForce.from_restitution(
        case["restitution"],
        Hooke(lander.mass * rate**2 * slope**2),
        WIDTH * case["impact_depth_m"],
        mass=lander.mass * slope**2,
        damping=ClippedDamping,
    )
    patch = case["friction"] * case["impact_depth_m"]  # a corner is about as wide as it is deep
    corner = lander.mean_face / 4  # m², what one corner holds of a face that lies on the ground
    held = case["cohesion_Pa"] * corner
    if len(lander.tips):  # which do not stick, and keep the box from the ground
        held = jnp.where(case["antennas"] > 0, 0.0, held)
    return SurfaceContact(
        outline,
        normal,
        AtEffectivePoint(StickSlip(case["friction"], case["friction"], SLIP_SPEED)),
        (RollingTorque(case["rolling_m"], SPIN_SPEED), SpinningResistance(patch, SPIN_SPEED)),
        (ConstantCohesion(held * slope, case["cohesion_range_m"] / slope),),
    )


def outline_of(case: Case, lander: Lander) -> Vertices:
    """The corners of the box, and the tips of its antennas where they are taken as stiff."""
    box = Vertices.box(lander.edges)
    if not lander.tips:
        return box
    return Vertices(jnp.concatenate([box.points, case["antennas"] * jnp.asarray(lander.tips)]))


def model_of(case: Case, lander: Lander, frame_of: Callable[[Case], AbstractFrame] = librate) -> Hopper:
    """The lander over the target's ground. **Arguments:** `case`; `lander`; `frame_of`, the target's rotation.
    **Returns:** the model."""
    ground = ground_of(case)
    return Hopper(
        RigidBody(lander.mass, jnp.diag(jnp.asarray(lander.inertia))),
        contact_of(case, lander, 1 + ground.gradient_bound()),
        ground,
        field_of(case),
        frame_of(case),
        0.15 * case["impact_depth_m"] / case["impact_speed_m_per_s"],
        primary_of(case),
    )


def surface_point(case: Case, longitude: Scalar, latitude: Scalar) -> tuple[Vec3, Float[Array, "3 3"]]:
    """The point of the smooth ellipsoid at planetocentric angles, rad, and the axes east, north, up there as rows."""
    axes = semi_axes(case)
    flat = jnp.cos(latitude)
    toward = jnp.stack([flat * jnp.cos(longitude), flat * jnp.sin(longitude), jnp.sin(latitude)])
    point = toward / jnp.linalg.norm(toward / axes)
    up = safe.unit(point / axes**2)
    east = safe.unit(jnp.cross(jnp.array([0.0, 0.0, 1.0]), up))
    return point, jnp.stack([east, jnp.cross(up, east), up])


def pull_at(case: Case, longitude: Scalar, latitude: Scalar) -> Vec3:
    """The acceleration east, north and up [3], m/s², of what lies on the smooth ellipsoid there at the release.

    Where it points up, only cohesion holds a lander.
    """
    point, local = surface_point(case, jnp.radians(longitude), jnp.radians(latitude))
    motion, field = librate(case).at(jnp.zeros(())), field_of(case)
    if (primary := primary_of(case)) is not None:
        field = field + primary.tide(jnp.zeros(()), motion.attitude)
    return local @ (field.acceleration(point) + motion.apparent_acceleration(point, jnp.zeros(3)))


def angles_of(x: Vec3) -> tuple[Scalar, Scalar]:
    """Longitude from 0 to 360 and planetocentric latitude of a place, deg."""
    longitude = jnp.degrees(jnp.arctan2(x[1], x[0])) % 360
    return longitude, jnp.degrees(jnp.arctan2(x[2], jnp.hypot(x[0], x[1])))


def release_of(case: Case, model: Hopper) -> HopperState:
    """The end of control: above the aimed place with errors of place and velocity, at any attitude, turning slowly."""
    point, local = surface_point(
        case, jnp.radians(case["aim_longitude_deg"]), jnp.radians(case["aim_latitude_deg"])
    )
    missed = jnp.stack([case["east_error_m"], case["north_error_m"], case["altitude_m"]])
    error = jnp.stack([case[f"{k}_speed_error_m_per_s"] for k in ("east", "north", "up")])
    velocity = error - jnp.array([0.0, 0.0, 1.0]) * case["descent_speed_m_per_s"]
    spin = jnp.stack([case[f"spin_{k}_rad_per_s"] for k in "xyz"])
    attitude = any_attitude(jnp.stack([case[f"attitude_{k}"] for k in "abc"]))
    return model.start(RigidState(point + missed @ local, velocity @ local, attitude, spin))


def any_attitude(u: Float[Array, "3"]) -> Float[Array, "4"]:
    """A unit quaternion of uniformly distributed attitude from three numbers in [0, 1] (Shoemake 1992)."""
    one, other = jnp.sqrt(1 - u[0]), jnp.sqrt(u[0])
    a, b = 2 * jnp.pi * u[1], 2 * jnp.pi * u[2]
    return jnp.stack([other * jnp.cos(b), one * jnp.sin(a), one * jnp.cos(a), other * jnp.sin(b)])
