"""The fast field for long runs and large ensembles: one potential, interpolated in tables."""

from collections.abc import Callable
from functools import partial
from os import PathLike
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim import safe
from difsim.checks import host_numbers
from difsim.declarations import part, quantity, rule
from difsim.gravity.field import AbstractField, as_points
from difsim.gravity.tables import far_table, fit_outside, kelvin, near_table
from difsim.mesh import TriMesh
from difsim.mesh.surface import require_mesh
from difsim.saving.checkpoint import Checkpoint
from difsim.spline import GridSpline
from difsim.typing import Scalar, Vec3

# Where the far table takes over, in largest radii of the body. Both are outside the sphere around the body: the
# image of points inside it cannot be resolved by a table.
BLEND = (1.35, 1.5)

PARTS = ("origin", "spacing", "coefficients")  # of a table

LARGEST_TABLE = 1e8  # numbers in the near table; the fit needs some ten times their memory (8 GB)

FIT = 1  # version of the fit, so that tables of an older one are not used


class Gridded(AbstractField):
    """The gravity of any body by two cubic splines of its potential, one near the body and one to infinity.

    U(x) = N(d) + b (F(d) - N(d)),  F(d) = (a/r) V(a² d/r²),  d = x - centre, r = |d|, with a spline N of U itself,
    a spline V of Kelvin's image of U, and b(r²) rising from 0 at r = a to 1 at `outer`. The centre of the image is
    infinity, V(0) = GM/a, so U → GM/r.

    The acceleration is exactly the gradient of this one potential, whose second derivatives are continuous, so the
    work along a closed path is zero and an integrator meets no jumps. The field is linear in the density: `2 *
    field` is that of a body twice as dense. The error is largest at the surface; state it with `error_map` as an
    error of acceleration. Inside the body the values are finite but inaccurate: the near table is fitted to the
    outside and has no jump of ∇g at the surface. `Gridded.fit` makes one.

    **Source:** the image by Kelvin's inversion, Kellogg, Foundations of potential theory (1929), ch. IX.
    """

    tag = "gridded"
    near: GridSpline = part("spline N of U around the centre, of degree 3")
    far: GridSpline = part("spline V of Kelvin's image of U around the origin, of degree 3")
    centre: Vec3 = quantity("m", "centre of both tables")
    inner: Scalar = quantity("m", "radius a where the far table begins to count", gt=0, usual=(1, 1e5), slip="km")
    outer: Scalar = quantity("m", "radius from which the far table alone counts", gt=0, usual=(1, 1e5), slip="km")

    @rule("inner = {inner} m and outer = {outer} m: give 0 < inner < outer")
    def _has_radii_in_order(self):
        return self.outer > self.inner

    @rule(
        "a table is read beyond its end: enlarge `near` up to outer = {outer} m from the centre, and `far` up to "
        "inner = {inner} m"
    )
    def _has_tables_that_reach(self):
        ends = [jnp.minimum(jnp.min(table.upper), -jnp.max(table.lower)) for table in (self.near, self.far)]
        return jnp.stack(ends) >= jnp.stack([self.outer, self.inner]) * (1 - 1e-5)

    def potential(self, x: Vec3) -> Scalar:
        d = x - self.centre
        near = self.near(d)
        share, _ = safe.rise((jnp.sum(d * d) - self.inner**2) / (self.outer**2 - self.inner**2))
        return near + share * (kelvin(self.far, self.inner, d) - near)

    def evaluate(self, points: Any) -> tuple[Float[Array, " P"], Float[Array, "P 3"]]:
        """U [P] m²/s² and g [P,3] m/s² at many points [P,3] m, in blocks that stay in the cache.

        A block that is entirely near or far reads one table only, so sort points by distance, or keep neighbours
        in space next to each other in the array.

        **Raises:** `ValueError` for points of another shape, none, or not finite.
        """
        points = as_points(points)
        laws = (
            lambda x: self.near(x - self.centre),
            lambda x: kelvin(self.far, self.inner, x - self.centre),
            self.potential,
        )
        near, far, both = (jax.vmap(jax.value_and_grad(law)) for law in laws)

        def evaluate_by_distance(x: Float[Array, "... 3"], *evaluations: Callable) -> tuple:
            r2 = jnp.sum((x - jnp.broadcast_to(self.centre, x.shape)) ** 2, axis=-1)
            all_near, all_far = jnp.all(r2 <= self.inner**2), jnp.all(r2 >= self.outer**2)
            return jax.lax.switch(jnp.where(all_near, 0, jnp.where(all_far, 1, 2)), evaluations, x)

        n = points.shape[0]
        width = min(n, 256)
        blocks = jnp.pad(points, ((0, -n % width), (0, 0)), mode="edge").reshape(-1, width, 3)
        mixed = lambda x: evaluate_by_distance(x, near, far, both)  # noqa: E731
        # A branch within the loop costs nearly as much as the look-up, so it is evaluated for all points first.
        U, g = evaluate_by_distance(blocks, *(partial(jax.lax.map, f) for f in (near, far, mixed)))
        return U.reshape(-1)[:n], g.reshape(-1, 3)[:n]

    @classmethod
    def fit(
        cls, field: AbstractField, mesh: TriMesh, spacing: float, cache: str | PathLike | None = None
    ) -> "Gridded":
        """On the host: the tables of the gravity of a body with the surface `mesh`.

        The field is evaluated at some 10 (largest radius/spacing)³ + 1.2e5 places, and the result has some 27
        (largest radius/spacing)³ numbers.

        **Arguments:** `field`, which falls off as GM/r; `mesh`, m; `spacing` of the near table, m;
        `cache`, a folder that keeps the tables (None: they are not kept). **Returns:** the fast field.
        **Raises:** `ValueError` for a spacing above a sixth of the body's largest radius or so small that the near
        table has more than 1e8 numbers, for a field that does not fall off as GM/r, and for a damaged file.
        """
        require_mesh("Gridded.fit", mesh)
        spacing = float(host_numbers("Gridded.fit: spacing", spacing, "", is_finite=False))
        centre = np.asarray(mesh.centroid)
        radius = np.linalg.norm(mesh.vertices - centre, axis=1).max()
        if not 0 < spacing <= radius / 6:
            raise ValueError(
                f"spacing {spacing} m for a body of {radius:.6g} m greatest radius: give at most a sixth of it, "
                "and some twentieth for accelerations good to a percent at the surface"
            )
        inner, outer = BLEND[0] * radius, BLEND[1] * radius
        if (numbers := (2 * outer / spacing) ** 3) > LARGEST_TABLE:
            raise ValueError(
                f"spacing {spacing} m for a body of {radius:.6g} m greatest radius makes a table of {numbers:.3g} "
                f"numbers, {8 * numbers / 2**30:.3g} GiB: give {2 * outer / LARGEST_TABLE ** (1 / 3):.3g} m or more; "
                "is the mesh in metres?"
            )

        def compute():
            far = far_table(field, centre, inner)
            near = near_table(field, centre, spacing, far, inner, outer)
            near = fit_outside(near, field, mesh, centre)
            return {
                f"{name}_{part}": getattr(table, part)
                for name, table in (("near", near), ("far", far))
                for part in PARTS
            }

        if cache is None:
            tables = compute()
        else:
            kept = Checkpoint(cache, (FIT, field, mesh.vertices, mesh.faces, spacing))
            tables = kept.get_or("gravity", compute)
        near, far = (
            GridSpline(*(jnp.asarray(tables[f"{name}_{part}"]) for part in PARTS), degree=3)
            for name in ("near", "far")
        )
        return cls(near, far, jnp.asarray(centre), inner, outer)
