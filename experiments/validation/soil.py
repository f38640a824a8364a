"""Soil as particles against closed forms: kernels, the cone of Drucker and Prager."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim.sph import CubicSpline, DruckerPrager
from difsim.sph.kernel import WendlandC2
from experiments.validation.cases import Case

SOIL = DruckerPrager(young=0.84e6, poisson=0.3, friction=np.radians(19.8), density=2650.0, cohesion=100.0)


def cases() -> list[Case]:
    """Kernels are densities; simple shear stops at √J₂ = k - a I₁."""
    found = []
    r = (np.arange(20_000) + 0.5) / 20_000
    for kernel in (CubicSpline(1.0), WendlandC2(1.0)):
        for d, shell in ((2, 2 * np.pi * r), (3, 4 * np.pi * r**2)):
            along = [jnp.asarray(r), *[jnp.zeros_like(jnp.asarray(r))] * (d - 1)]
            values = jax.vmap(lambda *x, k=kernel: k.value(x))(*along)
            integral = float(np.mean(np.asarray(values) * shell))
            label = f"{type(kernel).__name__}: its integral over space, d = {d}"
            found.append(Case("Soil", label, 1.0, integral, 1e-7))
    gradient = jnp.zeros((3, 3)).at[0, 1].set(1.0)

    def step(stress, _):
        return SOIL.admissible(stress + 1e-4 * SOIL.rate(stress, gradient), SOIL.density), None

    stress, _ = jax.lax.scan(step, -1000.0 * jnp.eye(3), length=200)
    a, k = SOIL.cone.match(SOIL.friction, SOIL.cohesion)
    deviator = stress - jnp.trace(stress) / 3 * jnp.eye(3)
    ours = jnp.sqrt(0.5 * jnp.sum(deviator**2))
    found.append(Case("Soil", "simple shear: √J₂ at the cone", k + 3000 * a, ours, 1e-9, "Pa", True))
    return found
