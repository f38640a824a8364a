"""Runs of particles: order of the steps, resuming, running out of room, what stops a run, derivatives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Adaptive, Courant, FixedSteps, Status, Unrolled, allocate, run, simulate
from difsim.stepping.running import resume
from tests.core.test_marching import heap


def test_a_run_resumes_to_the_same_bits(tmp_path):
    model, state = heap()
    times, fifty = [0.0, 0.01, 0.02, 0.03], FixedSteps(50)
    whole = run(model, state, times, solver=fifty)
    assert whole.stats.steps.tolist() == [0, 50, 100, 150] and whole.states.position.shape == (4, 2, 132)

    def stop(time):
        if time > 0.015:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(model, state, times, solver=fifty, checkpoint=tmp_path / "run", watch=stop)
    seen = []
    resumed = run(model, state, times, solver=fifty, checkpoint=tmp_path / "run", watch=seen.append)
    assert seen == [0.03]
    jax.tree.map(np.testing.assert_array_equal, resumed.states, whole.states)
    other = run(model, state, times[:2], solver=fifty, checkpoint=tmp_path / "run", watch=seen.append)
    assert seen == [0.03, 0.0, 0.01] and other.states.position.shape[0] == 2  # another run begins at its start
    with pytest.raises(ValueError, match="other arrays than are asked for"):
        run(model, state, times, solver=fifty, checkpoint=tmp_path / "run", save=lambda s: s.position)
    # A part of each state is saved, and the run goes on from its progress.
    part = run(model, state, times[:2], solver=fifty, save=lambda s: (s.position[:, 0], s.density[3]))
    np.testing.assert_array_equal(part.states[0], whole.states.position[:2, :, 0])
    np.testing.assert_array_equal(part.states[1], whole.states.density[:2, 3])
    assert part.times.tolist() == times[:2] and part.stats.steps.tolist() == [0, 50]
    with pytest.raises(ValueError, match="run: save returned 'x'"):
        run(model, state, times[:2], solver=fifty, save=lambda s: "x")
    with pytest.raises(ValueError, match=r"run: until returned an array .*: return one truth"):
        run(model, state, times[:2], solver=fifty, until=lambda s: s.density > 0)
    early = run(model, state, times, solver=fifty, until=lambda s: (s.density > 0).all())
    assert early.times.tolist() == times[:1]
    on = resume(model, part.progress, times[1:], solver=fifty)
    jax.tree.map(np.testing.assert_array_equal, on.last, whole.last)
    assert on.stats.steps.tolist() == [50, 100, 150]
    pure = simulate(model, state, times, solver=fifty)
    jax.tree.map(np.testing.assert_array_equal, pure.states, whole.states)
    with pytest.raises(ValueError, match=r"must begin at 0\.01 s"):
        resume(model, part.progress, times, solver=fifty)


def test_a_list_without_room_is_made_larger():
    model, state = heap()
    roomy = allocate(model, state)
    few = eqx.tree_at(lambda x: x.near.index, roomy, roomy.near.index[:20])
    times = [0.0, 0.002]
    stopped = simulate(model, state, times, solver=FixedSteps(10, neighbours=few), throw=False)
    assert (
        stopped.status == Status.OVERFLOW and stopped.progress.steps == 0 and stopped.times.tolist() == [0.0, 0.0]
    )
    with pytest.raises(RuntimeError, match=r"OVERFLOW: .*`run`"):
        simulate(model, state, times, solver=FixedSteps(10, neighbours=few))
    grown, whole = (run(model, state, times, solver=FixedSteps(10, neighbours=x)) for x in (few, roomy))
    assert grown.stats.lists > 0 and whole.stats.lists == 0 and grown.progress.neighbours.index.shape[0] > 20
    assert grown.stats.steps.tolist() == whole.stats.steps.tolist() == [0, 10]
    moved = np.abs(whole.states.position[-1] - np.asarray(state.position)).max()
    np.testing.assert_allclose(grown.states.position, whole.states.position, rtol=0, atol=1e-9 * moved)


def test_what_stops_a_run():
    model, state = heap()
    with pytest.raises(RuntimeError, match="STEP_TOO_LONG: at 0 s, step 0: a step is longer"):
        simulate(model, state, [0.0, 0.1], solver=FixedSteps(50))
    thrown = eqx.tree_at(lambda s: s.velocity, state, state.velocity.at[0, 7].set(jnp.nan))
    ended = run(model, thrown, [0.0, 0.1], solver=FixedSteps(500), throw=False)
    assert ended.status == Status.NOT_FINITE and ended.stats.particle >= 0 and ended.times.tolist() == [0.0]
    # Its list is stale however often it is made.
    lost = eqx.tree_at(lambda s: s.position, state, state.position.at[0, 7].set(jnp.nan))
    near = allocate(model, state)
    ended = simulate(model, lost, [0.0, 0.02], solver=FixedSteps(100, neighbours=near), throw=False)
    assert ended.status == Status.NOT_FINITE and ended.progress.steps == 0
    limited = simulate(model, state, [0.0, 0.1], solver=Courant(max_steps=10), throw=False)
    assert limited.status == Status.STEP_LIMIT and limited.progress.steps == 10
    # A time that is none was reached at once, with the status OK.
    for times in ([0.1, 0.1], [0.001, np.nan], [np.nan], [0.001, np.inf], [], [0.1]):
        for function in (simulate, run):
            with pytest.raises(ValueError, match=r"finite and increase|at least two times"):
                function(model, state, times)
    with pytest.raises(ValueError, match="fraction = 2"):
        Courant(2.0)
    with pytest.raises(ValueError, match="steps: 0 must be 1 or more"):
        FixedSteps(0)


def test_what_stops_a_run_of_controlled_error():
    model, state = heap()
    thrown = eqx.tree_at(lambda s: s.velocity, state, state.velocity.at[0, 7].set(jnp.nan))
    ended = simulate(model, thrown, [0.0, 0.1], solver=Adaptive(1e-6), throw=False)
    assert ended.status == Status.NOT_FINITE and ended.progress.steps == 0 and ended.stats.particle >= 0
    with pytest.raises(RuntimeError, match=r"STEP_TOO_SHORT: at .* at particle \d+: a millionth"):
        simulate(model, state, [0.0, 0.1], solver=Adaptive(1e-30))
    with pytest.raises(ValueError, match="rtol = 0"):
        Adaptive(0.0)


def test_derivatives_forward_reverse_and_by_differences():
    model, state = heap()
    way = {"solver": FixedSteps(60, neighbours=allocate(model, state)), "derivative": Unrolled()}

    @jax.jit
    def energy(friction):
        soil = eqx.tree_at(lambda m: m.material.friction, model, friction)
        end = simulate(soil, state, [0.0, 0.012], **way).last
        return jnp.sum(end.velocity**2)

    def value_and_slope(phi):  # values of the same program as the derivative: one less to compile
        return jax.jvp(energy, (phi,), (jnp.ones(()),))

    phi = jnp.asarray(0.4)
    forward, reverse = value_and_slope(phi)[1], jax.grad(energy)(phi)
    differences = (value_and_slope(phi + 1e-5)[0] - value_and_slope(phi - 1e-5)[0]) / 2e-5
    assert abs(differences) > 1e-3
    np.testing.assert_allclose(reverse, forward, rtol=1e-9)
    np.testing.assert_allclose(forward, differences, rtol=1e-4)


def test_equal_steps_are_as_many_as_were_asked_for_in_float32():
    """The roundings of 200 times must not leave a rest for one step more."""
    model, state = jax.tree.map(
        lambda x: x.astype(jnp.float32) if eqx.is_inexact_array(x) else x, heap(), is_leaf=eqx.is_array
    )
    ended = simulate(model, state, [0.0, 0.0123], solver=FixedSteps(200))
    assert int(ended.stats.steps[-1]) == 200 and float(ended.times[-1]) == pytest.approx(0.0123)


def test_steps_are_of_second_order():
    """An elastic block: yielding and approach have kinks."""
    model, state = heap()
    whole = (jnp.asarray(1e6), jnp.asarray(0.0), jnp.asarray(0.0))
    model = eqx.tree_at(lambda m: (m.material.cohesion, m.viscosity.alpha, m.viscosity.beta), model, whole)
    at = {n: simulate(model, state, [0.0, 0.02], solver=FixedSteps(n)).last for n in (50, 100, 800)}
    error = {n: float(jnp.max(jnp.abs(at[n].position - at[800].position))) for n in (50, 100)}
    assert error[100] < error[50] / 3.8 < 1e-4
