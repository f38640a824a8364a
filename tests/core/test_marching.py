"""Steps of particles: their errors, kept to what was asked for and estimated."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from difsim import Adaptive, simulate
from difsim.sph import Continuum, CubicSpline, DruckerPrager, Tool, Viscosity
from difsim.stepping.marching import initialise

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


def test_attempt_is_third_order_and_gives_the_second_order_error():
    """In an elastic block that waves: yielding and approach have kinks."""
    model, state = heap()
    whole = (jnp.asarray(1e6), jnp.asarray(0.0), jnp.asarray(0.0))
    model = eqx.tree_at(lambda m: (m.material.cohesion, m.viscosity.alpha, m.viscosity.beta), model, whole)
    waves = 0.1 * jnp.sin(40.0 * state.position)
    progress = initialise(model, eqx.tree_at(lambda s: s.velocity, state, waves))
    attempt = eqx.filter_jit(model.attempt)

    def advance_in(parts, dt):
        motion, told = progress.motion, None
        for _ in range(parts):
            motion, told = attempt(motion, progress.neighbours, jnp.asarray(dt / parts))
        return motion.state.position, told

    exact = {dt: advance_in(8, dt)[0] for dt in (2e-4, 1e-4)}
    found = {dt: advance_in(1, dt) for dt in exact}
    error = {dt: float(jnp.max(jnp.abs(found[dt][0] - exact[dt]))) for dt in exact}
    told = {dt: float(jnp.max(found[dt][1])) for dt in exact}
    assert 13 < error[2e-4] / error[1e-4] < 19 and 6.5 < told[2e-4] / told[1e-4] < 9.5
    assert error[2e-4] / model.reach < told[2e-4] < 1e-3
