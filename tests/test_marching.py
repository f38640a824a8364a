"""Runs of particles: order of the steps, resuming, running out of room, what stops a run, derivatives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.sph import Continuum, CubicSpline, DruckerPrager, Tool, Viscosity
from difsim.stepping import ConstantStep, CourantStep, Status, advance, evolve, march, start

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


def test_a_run_resumes_to_the_same_bits(tmp_path):
    model, state = heap()
    times = [0.01, 0.02, 0.03]
    whole = evolve(model, state, times, ConstantStep(2e-4))
    assert whole.steps.tolist() == [50, 100, 150] and whole.states.position.shape == (3, 2, 132)

    def stop(time):
        if time > 0.015:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evolve(model, state, times, ConstantStep(2e-4), checkpoint=tmp_path / "run", watch=stop)
    seen = []
    resumed = evolve(model, state, times, ConstantStep(2e-4), checkpoint=tmp_path / "run", watch=seen.append)
    assert seen == [0.03]
    jax.tree.map(np.testing.assert_array_equal, resumed.states, whole.states)
    with pytest.raises(ValueError, match="another run"):
        evolve(model, state, times, ConstantStep(1e-4), checkpoint=tmp_path / "run")


def test_a_list_without_room_is_made_larger():
    model, state = heap()
    progress = start(model, state)
    few = eqx.tree_at(lambda p: p.neighbours.index, progress, progress.neighbours.index[:20])
    few = eqx.tree_at(lambda p: p.neighbours.origin, few, few.neighbours.origin + 1.0)  # stale: made at once
    stopped = advance(model, few, jnp.asarray(0.01), ConstantStep(2e-4), jnp.asarray(100))
    assert stopped.status == Status.OVERFLOW and stopped.steps == 0 and stopped.motion.time == 0


def test_what_stops_a_run():
    model, state = heap()
    with pytest.raises(RuntimeError, match="STEP_TOO_LONG: at 0 s, step 0: a step is longer"):
        evolve(model, state, [0.1], ConstantStep(2e-3))
    thrown = eqx.tree_at(lambda s: s.velocity, state, state.velocity.at[0, 7].set(jnp.nan))
    ended = evolve(model, thrown, [0.1], ConstantStep(2e-4), throw=False)
    assert ended.status == Status.NOT_FINITE and ended.particle >= 0 and ended.times.size == 0
    limited = evolve(model, state, [0.1], max_steps=10, throw=False)
    assert limited.status == Status.STEP_LIMIT and limited.end.steps == 10
    with pytest.raises(ValueError, match="must rise"):
        evolve(model, state, [0.1, 0.1])
    with pytest.raises(ValueError, match="courant = 2"):
        CourantStep(2.0)
    with pytest.raises(ValueError, match="dt = 0"):
        ConstantStep(0.0)


def test_steps_are_of_second_order():
    """Of an elastic block; yielding and approach have kinks."""
    model, state = heap()
    whole = (jnp.asarray(1e6), jnp.asarray(0.0), jnp.asarray(0.0))
    model = eqx.tree_at(lambda m: (m.material.cohesion, m.viscosity.alpha, m.viscosity.beta), model, whole)
    at = {n: march_jit(model, start(model, state), jnp.asarray(0.02 / n), n).motion.state for n in (50, 100, 800)}
    error = {n: float(jnp.max(jnp.abs(at[n].position - at[800].position))) for n in (50, 100)}
    assert error[100] < error[50] / 3.8 < 1e-4


march_jit = eqx.filter_jit(march)


def test_derivatives_forward_reverse_and_by_differences():
    model, state = heap()
    progress = start(model, state)

    @jax.jit
    def energy(friction):
        soil = eqx.tree_at(lambda m: m.material.friction, model, friction)
        end = march(soil, progress, jnp.asarray(2e-4), 60).motion.state
        return jnp.sum(end.velocity**2)

    phi = jnp.asarray(0.4)
    _, forward = jax.jvp(energy, (phi,), (jnp.ones(()),))
    reverse = jax.grad(energy)(phi)
    differences = (energy(phi + 1e-5) - energy(phi - 1e-5)) / 2e-5
    assert abs(differences) > 1e-3
    np.testing.assert_allclose(reverse, forward, rtol=1e-9)
    np.testing.assert_allclose(forward, differences, rtol=1e-4)
