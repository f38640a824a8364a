"""A boulder's straight upper edge and its flat top, touched by a strut or by a sole, each on a leg spring.

The elastic energy is written down and the forces are its derivative, so the contact is conservative by
construction. Hertz in series with a linear spring share the closure g: N = κ δ^{3/2} = k (g - δ). With x = √δ
this is the cubic κ x³/k + x² = g; N and the energy are polynomials of x.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import safe
from difsim.contact.friction import slip_direction
from difsim.declarations import quantity, rule
from difsim.typing import Scalar, Vec3

END_WIDTH = 0.02  # of an edge's half length: how smoothly a contact slips off its end


@jax.jit  # traced once for force, energy and their derivatives
def _root(closure: Scalar, stiffness: Scalar, hertz: Scalar) -> Scalar:
    """The root x = √δ of the cubic, by Newton's method.

    With R = κ √g/k, the start √g (1 + 3/2 R)^{-1/3} is exact for a soft contact (R → 0) and 13 % low for a soft leg
    (R → ∞). The cubic is convex, and five steps reach round-off for every R.
    """
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
    slope = force * tangents[0] + 0.5 * (force / primals[1]) ** 2 * tangents[1]
    return series_energy(*primals), slope + 0.4 * _root(*primals) ** 5 * tangents[2]


class Crossing(eqx.Module):
    """The crossing of a strut and an edge.

    `closure`, m, positive in contact; unit `normal` from the boulder to the strut; `point` on the strut, m, and the
    `fraction` of the strut before it; `weight`, smooth, 1 in contact and 0 where the strut does not lie across the
    edge; `fading`, its derivative [2, 3] by hip and foot, 1/m; `beyond`, m, the distance of the strut from where
    the weight exceeds 5e-5, negative there.
    """

    closure: Scalar
    normal: Vec3
    point: Vec3
    fraction: Scalar
    weight: Scalar
    fading: Float[Array, "2 3"]
    beyond: Scalar


class Boulder(eqx.Module):
    """One straight edge of a prism and the flat top behind it, at the height of the edge.

    Wu et al. (2019), sec. 4.2: a triangular prism of edge 1 m and height 0.2 m, E* = 10 MPa, R = 0.2 m, friction tied
    to the regolith's; Hertz (Eqs 20, 21) in series with the leg (Eq 24).
    """

    edge_point: Vec3 = quantity("m", "middle of the upper edge")
    edge_direction: Vec3 = quantity("", "direction e of the edge, a level unit vector")
    half_length: Scalar = quantity("m", "half length of the edge", gt=0, usual=(0.01, 10), slip="cm or mm")
    modulus: Scalar = quantity(
        "Pa", "effective modulus E* of the contact", gt=0, usual=(1e4, 1e12), slip="MPa or GPa"
    )
    radius: Scalar = quantity("m", "radius R of curvature of the contact", gt=0, usual=(0.01, 10), slip="cm or mm")
    friction: Scalar = quantity("", "friction coefficient μ", ge=0, usual=(0, 2), slip="degrees")
    slip_speed: Scalar = quantity(
        "m/s", "slip speed v_ε, below which friction fades", gt=0, hint="it keeps the law smooth", default=5e-3
    )
    end_width: Scalar = quantity(
        "m", "width over which a contact fades as an end of the strut passes the edge", gt=0, default=0.04
    )

    @rule("edge_direction = {edge_direction} must be a unit vector: divide it by its length")
    def _has_unit_direction(self):
        return jnp.abs(jnp.sum(self.edge_direction**2) - 1) < 1e-6

    @rule("edge_direction = {edge_direction} must be level: the top lies at the edge's height")
    def _is_level(self):
        return jnp.abs(self.edge_direction[2]) < 1e-6

    @property
    def hertz(self) -> Scalar:
        """κ = (4/3) E* √R, N/m^1.5."""
        return 4 / 3 * self.modulus * jnp.sqrt(self.radius)

    def cross(self, hip: Vec3, foot: Vec3) -> Crossing:
        """The crossing of a strut and the edge.

        The contact normal of two crossing edges is their cross product. The closure is that of the straight lines.
        The weight lets the contact slip off their ends, and is 0 unless hip and foot lie on either side of the
        vertical plane through the edge. The normal points up, so the closure jumps where the normal is level. There
        the strut is upright, or parallel to the edge as seen from above: both its ends lie on one side, and the
        weight is 0 all around.

        **Arguments:** `hip` [3] and `foot` [3], the ends of the strut, m. **Returns:** the crossing.
        """
        strut, offset, e = foot - hip, hip - self.edge_point, self.edge_direction
        length = safe.norm(strut)
        turned = jnp.cross(strut, e)
        side = jnp.where(turned[2] < 0, -1.0, 1.0)
        normal = side * safe.unit(turned)
        b = jnp.sum(strut * e) / length
        along = jnp.sum(e * offset)
        # Parallel lines do not cross: 1 - b² = 0, the normal is 0, and so is the closure.
        fraction = safe.divide(b * along - jnp.sum(strut * offset) / length, 1 - b**2) / length

        # Seen from above: how far hip and foot are on their own sides of the edge, and where the strut crosses it.
        out = side * jnp.stack([e[1], -e[0], jnp.zeros_like(e[0])])
        inner, outer = -jnp.sum(out * offset), jnp.sum(out * (strut + offset))
        hip_side, hip_slope = safe.rise(inner / self.end_width)
        foot_side, foot_slope = safe.rise(outer / self.end_width)
        slant = safe.divide(jnp.sum(strut * e), inner + outer)
        t = (along + slant * inner) / self.half_length
        ends = safe.step(1 - jnp.abs(t), END_WIDTH)
        ends_slope = -jnp.sign(t) * ends * (1 - ends) / (END_WIDTH * self.half_length)
        astride = hip_side * foot_side
        part = safe.divide(inner, inner + outer)
        slide, pass_by = astride * ends_slope * (e - slant * out), ends / self.end_width * out
        fading = jnp.stack(
            [
                (1 - part) * slide - hip_slope * foot_side * pass_by,
                part * slide + hip_side * foot_slope * pass_by,
            ]
        )
        off_edge = (jnp.abs(t) - 1 - 10 * END_WIDTH) * self.half_length
        return Crossing(
            closure=-jnp.sum(normal * offset),
            normal=normal,
            point=hip + fraction * strut,
            fraction=fraction,
            weight=astride * ends,
            fading=fading,
            beyond=jnp.maximum(off_edge, -jnp.minimum(inner, outer)),
        )

    def edge_energy(self, hip: Vec3, foot: Vec3, stiffness: Scalar) -> Scalar:
        """The elastic energy of a strut on a leg spring against the edge: the weight times that of the closure.

        **Arguments:** `hip` [3], `foot` [3], m; `stiffness` of the leg spring, N/m. **Returns:** the energy, J.
        """
        edge = self.cross(hip, foot)
        return edge.weight * series_energy(edge.closure, stiffness, self.hertz)

    def edge_force(self, edge: Crossing, force: Scalar, energy: Scalar) -> tuple[Vec3, Vec3]:
        """The forces on the strut's hip and foot, minus the derivatives of `edge_energy`.

        **Arguments:** `edge`, the crossing; `force` N and `energy` J of its closure (`series_force`,
        `series_energy`). **Returns:** the force on the hip [3] and that on the foot [3], N.
        """
        push = edge.weight * force * edge.normal
        on_hip, on_foot = -energy * edge.fading
        return on_hip + (1 - edge.fraction) * push, on_foot + edge.fraction * push

    def sliding_force(self, force: Scalar, slip: Vec3) -> Vec3:
        """Regularised Coulomb friction -μ N v/√(v² + v_ε²).

        **Arguments:** `force` N, the normal force, N; `slip` v [3], m/s. **Returns:** the friction [3], N.
        """
        return -self.friction * force * slip_direction(slip, self.slip_speed)
