"""Rigid bodies of sub-spheres: a free top, what a collision keeps, one sub-sphere as a grain, weight, derivatives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import trapezoid

from difsim import FixedSteps, Status, run, simulate
from difsim.dem import Grains, HertzMindlin
from difsim.stepping.marching import initialise
from tests.core.test_clump import CLUMP, RHO, TURNED, R, flying

LAW = HertzMindlin(1e7, 0.25, restitution=0.6, friction=0.5)

# It runs into two grains, which lie side by side, while a third is out of reach.
AMONG = Grains(LAW, R * np.array([1.0, 0.8, 1.0]), RHO, clumps=(CLUMP,), clump_laws=(None,))

HIT = AMONG.at_rest(
    jnp.asarray(R * np.array([[0.0, 1.6, 9.0], [0.1, 1.1, 9.0], [0.0, 0.2, 9.0]])),
    (flying((0.2 * R, 0.1 * R, 2.48 * R), (0.05, 0.0, -0.6), TURNED, (5.0, -3.0, 8.0)),),
)

DT = 4e-6


@eqx.filter_jit
def take_steps(model, progress, steps):
    """After some steps with the list of the first."""
    near, dt = progress.neighbours, jnp.asarray(DT)
    return jax.lax.fori_loop(0, steps, lambda _, m: model.step(m, near, dt), progress.motion).state


@eqx.filter_jit
def momenta(model, state):
    x, v, m = state.position, state.velocity, model.mass[None]
    linear, angular = m * v, m * jnp.cross(x, v, axis=0) + model.inertia[None] * state.spin
    linear, angular = linear.sum(axis=1), angular.sum(axis=1)
    for clump, at in zip(model.clumps, state.clumps, strict=True):
        spun = at.rotation @ (clump.body.inertia @ at.spin)
        linear = linear + clump.body.mass * at.velocity
        angular = angular + clump.body.mass * jnp.cross(at.position, at.velocity) + spun
    return linear, angular


energy = eqx.filter_jit(lambda model, state: model.energy(0.0, state))


def total(model, state):
    return sum(float(e) for e in energy(model, state).values())


def at_time(run, i):
    return jax.tree.map(lambda x: jnp.asarray(x[i]), run.states)


def test_rebound_by_restitution_forward_and_by_differences():
    progress = initialise(AMONG, HIT)

    @jax.jit
    def end(e):
        def finish(e):
            model = eqx.tree_at(lambda m: m.law.restitution, AMONG, e)
            clump = take_steps(model, progress, 150).clumps[0]
            return jnp.concatenate([clump.velocity, clump.spin])

        return jax.jvp(finish, (e,), (jnp.ones_like(e),))

    e, h = jnp.asarray(0.6), 1e-5
    slope = end(e)[1]
    differences = (end(e + h)[0] - end(e - h)[0]) / (2 * h)
    assert np.abs(slope[:3]).max() > 1e-2
    np.testing.assert_allclose(slope, differences, rtol=1e-5, atol=1e-6 * np.abs(slope).max())


def test_a_clump_that_is_not_finite_stops_the_run():
    lost = eqx.tree_at(lambda s: s.clumps[0].spin, HIT, jnp.array([0.0, jnp.nan, 0.0]))
    ended = simulate(AMONG, lost, [0.0, 4e-4], solver=FixedSteps(100), throw=False)
    assert ended.status == Status.NOT_FINITE


def test_collision_conserves_momenta_loses_energy_and_resumes(tmp_path):
    times, steps = [0.0, 4e-4, 8e-4, 12e-4], FixedSteps(100)
    whole = run(AMONG, HIT, times, solver=steps)
    end = at_time(whole, -1)
    assert np.abs(end.spin[:, :2]).max() > 1.0 and np.abs(end.velocity[:, :2]).max() > 0.05
    assert (end.velocity[:, 2] == 0).all()
    for new, old in zip(momenta(AMONG, end), momenta(AMONG, HIT), strict=True):
        np.testing.assert_allclose(new, old, rtol=0, atol=1e-11 * np.abs(old).max())
    energies = [total(AMONG, HIT), *(total(AMONG, at_time(whole, i)) for i in range(1, 4))]
    assert (np.diff(energies) <= 1e-9 * energies[0]).all() and energies[-1] < 0.95 * energies[0]
    elastic = eqx.tree_at(lambda m: (m.law.restitution, m.law.friction), AMONG, (jnp.array(1.0), jnp.array(0.0)))
    kept = simulate(elastic, HIT, times, solver=steps)
    assert total(elastic, at_time(kept, -1)) == pytest.approx(energies[0], rel=1e-4)
    assert np.abs(np.asarray(kept.last.velocity)).max() > 0.05
    # Stopped at the second time, and begun again.
    with pytest.raises(ZeroDivisionError):
        run(AMONG, HIT, times, solver=steps, checkpoint=tmp_path, watch=lambda t: 1 / (t < 7e-4))
    on = run(AMONG, HIT, times, solver=steps, checkpoint=tmp_path)
    jax.tree.map(np.testing.assert_array_equal, on.states.clumps, whole.states.clumps)


def test_loads_of_a_clump_give_its_momenta():
    """Each step kicks by half of the load before and half of the load after it."""
    hit = simulate(AMONG, HIT, 2e-5 * jnp.arange(121), solver=FixedSteps(1))
    (load,), (body,) = hit.loads, hit.states.clumps
    assert np.abs(load.force).max() > 0.5
    momentum = CLUMP.body.mass * (body.velocity[-1] - body.velocity[0])
    np.testing.assert_allclose(trapezoid(load.force, hit.times, axis=0), momentum, rtol=1e-9)
    turning = jax.vmap(lambda at: at.rotation @ (CLUMP.body.inertia @ at.spin))(body)
    np.testing.assert_allclose(trapezoid(load.torque, hit.times, axis=0), turning[-1] - turning[0], rtol=1e-9)
