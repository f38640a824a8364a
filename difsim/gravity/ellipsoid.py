"""The homogeneous ellipsoid, exact inside and outside, and 67P as two of them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim.declarations import quantity, rule
from difsim.gravity.carlson import rf_rd
from difsim.gravity.field import AbstractField, Sum
from difsim.rotation import nearest_rotation
from difsim.typing import Mat3, Scalar, Vec3
from difsim.units import GM_67P, LOBES_67P, G


class Ellipsoid(AbstractField):
    """A homogeneous ellipsoid.

    U = 2π Gρ abc [R_F(q) - ⅓ Σ uᵢ² R_D,i(q)],  qᵢ = aᵢ² + λ, with u the point in the ellipsoid's own axes and λ
    the confocal parameter: 0 inside, and outside the positive root of Σ uᵢ²/(aᵢ² + λ) = 1. The acceleration is
    continuous through the surface; the gradient jumps there by 4πGρ along the normal, and on the surface itself it
    has the inner value.

    **Source:** Chandrasekhar, Ellipsoidal figures of equilibrium (1969), ch. 3; Carlson (1995).
    """

    tag = "ellipsoid"
    centre: Vec3 = quantity("m", "centre of the ellipsoid")
    axes: Mat3 = quantity("", "axes, row i the unit vector along semi-axis i")
    semi_axes: Vec3 = quantity("m", "semi-axes a, b and c", gt=0, usual=(1, 1e5), slip="km")
    density: Scalar = quantity("kg/m³", "density ρ", ge=0, usual=(100, 1e4), slip="g/cm³")

    @rule("the rows of axes = {axes} are not orthonormal: orthonormalise them first")
    def _has_orthonormal_axes(self):
        return jnp.abs(self.axes @ self.axes.T - jnp.eye(3)) < 1e-5

    def potential(self, x: Vec3) -> Scalar:
        u = self.axes @ (x - self.centre)
        return 2 * jnp.pi * G * self.density * jnp.prod(self.semi_axes) * _shape(u, self.semi_axes**2)


@eqx.filter_custom_jvp
def _shape(u: Vec3, a2: Vec3) -> Scalar:
    """R_F(q) - ⅓ Σ uᵢ² R_D,i(q)."""
    rf, rd = rf_rd(a2 + _confocal(u**2, a2))
    return rf - jnp.dot(u**2, rd) / 3


@_shape.def_jvp
def _(primals, tangents):
    """∂/∂uᵢ = -⅔ uᵢ R_D,i in closed form, as fast as U: ∂/∂λ is 0 outside, and λ is constant inside."""
    (u, a2), (du, da2) = primals, tangents
    confocal = _confocal(u**2, a2)
    rf, rd = rf_rd(a2 + confocal)
    value, change = rf - jnp.dot(u**2, rd) / 3, jnp.zeros_like(rf)
    if du is not None:
        change -= 2 / 3 * jnp.dot(u * rd, du)
    if da2 is not None:
        by_q = jax.jvp(rf_rd, (a2 + confocal,), (da2,))[1]
        change += by_q[0] - jnp.dot(u**2, by_q[1]) / 3
    return value, change


def _confocal(u2: Vec3, a2: Vec3) -> Scalar:
    """The root λ ≥ 0 of F(λ) = Σ u²/(a² + λ) = 1 outside, 0 inside.

    1/F grows and is concave, nearly a straight line: Newton steps on 1/F = 1 from a lower bound approach the root
    without passing it. Only the last two steps are differentiated; two steps from a converged root give
    derivatives exact up to the third.
    """
    outside = jnp.sum(u2 / a2) > 1
    u2 = jnp.where(outside, u2, a2)  # inside, solve for an outer point instead and discard the result
    root = jnp.maximum(jnp.sum(u2) - jnp.max(a2), 0.0)
    held = jax.lax.stop_gradient((u2, a2))
    root = jax.lax.fori_loop(0, 8, lambda _, root: _newton(root, *held), jax.lax.stop_gradient(root))
    root = _newton(_newton(root, u2, a2), u2, a2)
    return jnp.where(outside, root, 0.0)


def _newton(root: Scalar, u2: Vec3, a2: Vec3) -> Scalar:
    terms = u2 / (a2 + root)
    F = jnp.sum(terms)
    return root + (F - 1) * F / jnp.sum(terms / (a2 + root))


def lobes_67p() -> AbstractField:
    """The gravity of comet 67P as two ellipsoids with the mass and inertia of its lobes.

    Axes, centroids and mass shares (69/31 %) of the two lobes of the SHAP5 shape at uniform density; GM = 666.2
    m³/s². The frame is body-fixed with the comet's rotation about z (add it with `Rotating`).

    Error at Philae's first touchdown, r = (2114.5, -955.2, 494.9) m: |g| = 2.066e-4 m/s² where the polyhedron has
    2.117e-4 (2.4 % low); with the centrifugal term of ω = 1.40677e-4 rad/s 1.637e-4 against 1.691e-4 (3.2 % low).
    Between 2.9 and 5 km from the centre it is 1.0 % rms.

    **Returns:** a `Sum` of two `Ellipsoid`s.
    **Source:** computed from the SHAP5 shape model of Jorda et al., Icarus 277 (2016) 257-278.
    """
    return Sum(
        tuple(
            Ellipsoid(
                jnp.asarray(centre),
                jnp.asarray(nearest_rotation(axes).T),
                jnp.asarray(semi_axes),
                jnp.asarray(share * GM_67P / (G * 4 / 3 * np.pi * np.prod(semi_axes))),
            )
            for share, centre, axes, semi_axes in LOBES_67P
        )
    )
