"""A boulder's straight upper edge and its flat top, touched by a strut or by a sole, each on a leg spring.

The elastic energy is written down and the forces are its derivative, so the contact is conservative by
construction. Hertz in series with a linear spring share the closure g: N = κ δ^{3/2} = k (g - δ). With x = √δ
this is the cubic κ x³/k + x² = g; N and the energy are polynomials of x.
"""

import equinox as eqx
import jax
import jax.numpy as jnp

from difsim import safe
from difsim.contact.friction import slip_direction
from difsim.typing import Scalar, Vec3, number, require, scalar

END_WIDTH = 0.02  # of a strut's length and an edge's half length: how smoothly a contact slips off its end


def _root(closure: Scalar, stiffness: Scalar, hertz: Scalar) -> Scalar:
    """x = √δ. With R = κ √g/k, √g (1 + 3/2 R)^{-1/3} is right for a soft contact (R → 0) and 13 % low for a soft
    leg (R → ∞); from there Newton on the convex cubic reaches round-off in five steps for every R."""
    g, ratio = jnp.maximum(closure, 0.0), hertz / stiffness
    root = safe.sqrt(g)
    x = root * (1 + 1.5 * ratio * root) ** (-1 / 3)
    for _ in range(5):
        x = x - safe.divide(ratio * x**3 + x**2 - g, 3 * ratio * x**2 + 2 * x)
    return x


@jax.custom_jvp
def series_force(closure: Scalar, stiffness: Scalar, hertz: Scalar) -> Scalar:
    """Force N of a Hertz contact (κ, N/m^1.5) in series with a spring (k, N/m); 0 for closure ≤ 0."""
    return hertz * _root(closure, stiffness, hertz) ** 3


@series_force.defjvp
def _(primals, tangents):
    # The implicit derivative of the cubic; regular at x = 0, where that of x itself is not.
    _, stiffness, hertz = primals
    dg, dk, dκ = tangents
    ratio, x = hertz / stiffness, _root(*primals)
    dratio = dκ / stiffness - ratio * dk / stiffness
    return hertz * x**3, x**3 * dκ + 3 * hertz * x * (dg - x**3 * dratio) / (3 * ratio * x + 2)


@jax.custom_jvp
def series_energy(closure: Scalar, stiffness: Scalar, hertz: Scalar) -> Scalar:
    """Energy J stored in both springs; its derivative by the closure is `series_force`."""
    x = _root(closure, stiffness, hertz)
    return hertz * x**5 * (0.5 * hertz / stiffness * x + 0.4)


@series_energy.defjvp
def _(primals, tangents):
    # How the closure is shared minimises the energy, so each derivative is taken at a fixed share.
    force = series_force(*primals)
    δ = safe.power(force / primals[2], 2 / 3)
    slope = force * tangents[0] + 0.5 * (force / primals[1]) ** 2 * tangents[1]
    return series_energy(*primals), slope + 0.4 * safe.power(δ, 2.5) * tangents[2]


class Crossing(eqx.Module):
    """Where a strut crosses an edge: closure m (> 0 in contact), unit normal from the boulder to the strut,
    the point m on the strut, a smooth weight, 1 inside both segments and 0 beyond their ends, and how far
    `beyond` (m) the crossing is from where that weight is felt (5e-5; negative there)."""

    closure: Scalar
    normal: Vec3
    point: Vec3
    weight: Scalar
    beyond: Scalar


class Boulder(eqx.Module):
    """One straight edge of a prism and the flat top behind it.

    **Arguments:** `edge_point` [3] m, the middle of the upper edge, and `edge_direction` [3]; `half_length` m;
    `modulus` E* Pa and `radius` R m of curvature of the contact; `friction`; `slip_speed` m/s of the
    regularised Coulomb law. The top lies at the height of the edge.

    Paper 000 sec. 4.2: a triangular prism of edge 1 m and height .2 m, E* = 10 MPa, R = .2 m, friction tied to
    the regolith's; Hertz (Eqs 20, 21) in series with the leg (Eq 24).
    """

    edge_point: Vec3 = number()
    edge_direction: Vec3 = number()
    half_length: Scalar = scalar()
    modulus: Scalar = scalar()
    radius: Scalar = scalar()
    friction: Scalar = scalar()
    slip_speed: Scalar = scalar(default=5e-3)

    def __check_init__(self):
        for name in ("half_length", "modulus", "radius", "slip_speed"):
            value = getattr(self, name)
            require(value > 0, f"Boulder: {name} = {value} must be positive (SI units)")
        require(self.friction >= 0, f"Boulder: friction = {self.friction} must not be negative")
        require(
            jnp.abs(jnp.sum(self.edge_direction**2) - 1) < 1e-6,
            f"Boulder: edge_direction = {self.edge_direction} must be a unit vector",
        )

    @property
    def hertz(self) -> Scalar:
        """κ = (4/3) E* √R, N/m^1.5."""
        return 4 / 3 * self.modulus * jnp.sqrt(self.radius)

    def cross(self, hip: Vec3, foot: Vec3) -> Crossing:
        """The strut from `hip` to `foot` (m) against the edge.

        The contact normal of two crossing edges is their cross product: no point of either body could tell
        it. The closure is that of the straight lines; the weight lets the contact slip off their ends.
        """
        length = safe.norm(foot - hip)
        u, e = (foot - hip) / length, self.edge_direction
        normal = safe.unit(jnp.cross(u, e))
        normal = normal * jnp.where(normal[2] < 0, -1.0, 1.0)
        offset = hip - self.edge_point
        b = jnp.sum(u * e)
        along_u, along_e = jnp.sum(u * offset), jnp.sum(e * offset)
        # Parallel lines do not cross: 1 - b² = 0, the normal is 0, and so is the closure.
        s = safe.divide(b * along_e - along_u, 1 - b**2) / length
        t = safe.divide(along_e - b * along_u, 1 - b**2) / self.half_length
        weight = safe.step(s, END_WIDTH) * safe.step(1 - s, END_WIDTH) * safe.step(1 - jnp.abs(t), END_WIDTH)
        off_strut = (jnp.abs(s - 0.5) - 0.5 - 10 * END_WIDTH) * length
        off_edge = (jnp.abs(t) - 1 - 10 * END_WIDTH) * self.half_length
        beyond = jnp.maximum(off_strut, off_edge)
        return Crossing(-jnp.sum(normal * offset), normal, hip + s * length * u, weight, beyond)

    def edge_energy(self, hip: Vec3, foot: Vec3, stiffness: Scalar) -> Scalar:
        """Energy J of a strut on a leg spring (N/m) against the edge: weight times that of the closure."""
        edge = self.cross(hip, foot)
        return edge.weight * series_energy(edge.closure, stiffness, self.hertz)

    def edge_push(self, hip: Vec3, foot: Vec3, force: Scalar, energy: Scalar) -> tuple[Vec3, Vec3]:
        """Forces N on the strut's `hip` and `foot`: minus the derivatives of `edge_energy`, of which the caller
        knows force and energy of the closure already."""

        def geometry(hip, foot):
            edge = self.cross(hip, foot)
            return edge.closure, edge.weight

        (_, weight), pull = jax.vjp(geometry, hip, foot)
        on_hip, on_foot = pull((weight * force, energy))
        return -on_hip, -on_foot

    def sliding(self, force: Scalar, slip: Vec3) -> Vec3:
        """Regularised Coulomb friction -μ N v/√(v² + v_ε²), N."""
        return -self.friction * force * slip_direction(slip, self.slip_speed)
