"""Principal values and axes of a symmetric 3 x 3 tensor by rotations alone, without a library's call per particle."""

import jax.numpy as jnp
from jaxtyping import Array, Float

SWEEPS = 4  # each over all three pairs of axes; what is left off the diagonal falls faster than its square


def principal3(tensor: Float[Array, "3 3"]) -> tuple[Float[Array, "3"], Float[Array, "3 3"]]:
    """The principal values and axes of a symmetric tensor, by Jacobi's rotations.

    **Arguments:** `tensor`. **Returns:** the values, in no order, and the axes, as columns in the same order.
    **Source:** Golub and Van Loan, Matrix computations (2013), sec. 8.5.
    """
    a = [[tensor[i, j] for j in range(3)] for i in range(3)]
    axes = [[jnp.asarray(float(i == j), tensor.dtype) for j in range(3)] for i in range(3)]
    for p, q in ((0, 1), (0, 2), (1, 2)) * SWEEPS:
        off, half = a[p][q], 0.5 * (a[q][q] - a[p][p])
        size = jnp.hypot(off, half)
        # The smaller of the two turns that make the pair diagonal; its denominator is zero where it is diagonal.
        tangent = jnp.where(off == 0, 0.0, off / jnp.where(off == 0, 1.0, half + jnp.where(half < 0, -size, size)))
        cosine = 1 / jnp.sqrt(1 + tangent**2)
        sine = tangent * cosine
        r = 3 - p - q
        a[p][p], a[q][q], a[p][q] = a[p][p] - tangent * off, a[q][q] + tangent * off, jnp.zeros_like(off)
        a[r][p], a[r][q] = cosine * a[r][p] - sine * a[r][q], sine * a[r][p] + cosine * a[r][q]
        a[q][p], a[p][r], a[q][r] = a[p][q], a[r][p], a[r][q]
        for row in axes:
            row[p], row[q] = cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]
    return jnp.stack([a[i][i] for i in range(3)]), jnp.stack([jnp.stack(row) for row in axes])
