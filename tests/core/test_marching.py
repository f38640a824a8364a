"""Steps of particles: their errors, kept to what was asked for and estimated."""

import jax.numpy as jnp
import numpy as np

from difsim import Adaptive, simulate
from difsim.sph import Continuum, CubicSpline, DruckerPrager, Tool, Viscosity

SPACING = 0.01


def heap(friction=0.4):
    """Eight columns of soil on a floor that is wide enough for what falls down."""
    soil = np.stack(np.meshgrid(np.arange(8), np.arange(6), indexing="ij")).reshape(2, -1) * SPACING
    floor = np.stack(np.meshgrid(np.arange(-3, 25), np.arange(-3, 0), indexing="ij")).reshape(2, -1) * SPACING
    x = np.concatenate([soil, floor], axis=1)
    n, still = x.shape[1], np.arange(soil.shape[1], x.shape[1])
    material = DruckerPrager(1e5, 0.3, friction, density=2000.0)
    kernel, viscosity = CubicSpline(2.5 * SPACING), Viscosity(0.3, 0.7, material.sound)
    model = Continuum(material, kernel, viscosity, np.array([0.0, -9.81]), np.full(n, 0.2), (Tool(still, floor),))
    return model, model.at_rest(jnp.asarray(x))


def test_the_error_asked_for_is_kept():
    """Two grains far apart fall through what slows them: x = -g/ζ (t - (1 - exp(-ζ t))/ζ)."""
    soil, _ = heap()
    far, drag, end = jnp.asarray([[0.0, 1.0], [0.0, 0.0]]), 400.0, 0.02
    model = Continuum(
        soil.material, soil.kernel, soil.viscosity, soil.gravity, np.full(2, 0.2), damping=np.full(2, drag)
    )
    fallen = -9.81 / drag * (end - (1 - np.exp(-drag * end)) / drag)
    runs = {tol: simulate(model, model.at_rest(far), [0.0, end], solver=Adaptive(tol)) for tol in (1e-8, 1e-11)}
    error = {rtol: np.abs(run.states.position[-1, 1] - fallen).max() / model.reach for rtol, run in runs.items()}
    assert all(error[rtol] < rtol for rtol in runs)
    # A step's error goes as its cube; the first ones are held by the longest stable step.
    assert 8 < runs[1e-11].stats.steps[-1] / runs[1e-8].stats.steps[-1] < 10.5
