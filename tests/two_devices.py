"""What `tests/test_devices.py` runs in a process of two devices."""

import sys
import tempfile
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import Courant, FixedSteps, Reverse, Unrolled, initialise, simulate
from difsim.body import RigidBody, RigidState
from difsim.dem import Clump, Grains, HertzMindlin
from difsim.shape import Plane
from tests.test_marching import heap

BOTH = jax.local_devices()
ONE = BOTH[:1]
LAW = HertzMindlin(1e6, 0.25, restitution=0.5, friction=0.5)
FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))


def bed():
    """An odd number of grains that fall together on a floor, and a body of three spheres on them."""
    place = np.stack(np.meshgrid(np.arange(5), np.arange(3), np.arange(5), indexing="ij")).reshape(3, -1) * 0.021
    place += 0.002 * np.random.default_rng(0).uniform(size=place.shape) + [[0.0], [0.0], [0.01]]
    body = RigidBody(0.05, 1e-5 * np.eye(3))
    clump = Clump(body, np.array([[-0.01, 0.0, 0.0], [0.01, 0.0, 0.0], [0.0, 0.01, 0.0]]), np.full(3, 0.01))
    model = Grains(LAW, np.full(75, 0.01), 1000.0, (0.0, 0.0, -9.81), (FLOOR,), (clump,), clump_laws=(None,))
    place_of, way = np.array([0.04, 0.02, 0.13]), np.array([0.0, 0.0, -1.0])
    above = RigidState(place_of, way, np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3))
    return model, model.at_rest(jnp.asarray(place), (above,))


def odd_heap():
    """As many particles that two devices have unequal shares."""
    model, state = heap()
    kept = np.arange(1, state.density.size)
    tool = model.tools[0]
    model = eqx.tree_at(lambda m: (m.mass, m.tools[0].members), model, (model.mass[1:], tool.members - 1))
    return model, jax.tree.map(lambda x: x[..., kept], state)


def near(found, expected, tolerance):
    """Within the tolerance of the largest entry, array by array."""
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape and np.abs(a - b).max() <= tolerance * np.abs(b).max(), np.abs(a - b).max()


def parts(state):
    """What a state has of its particles: lists of pairs have another order on two devices."""
    if not hasattr(state, "pairs"):
        return state
    return state.position, state.velocity, state.spin, state.clumps, state.walls[0].memory.force.sum()


def soil():
    for model, state in (heap(), odd_heap()):
        one, two = (simulate(model, state, [0.0, 0.01, 0.02], solver=Courant(), devices=d) for d in (ONE, BOTH))
        near(two.states, one.states, 1e-9)
        assert one.stats.steps.tolist() == two.stats.steps.tolist()
        assert two.last.position.devices() == set(BOTH) and two.progress.devices == 2
        # Where a state is says where it goes on, unless told otherwise.
        assert simulate(model, two.progress, [0.021]).progress.devices == 2
        back = simulate(model, two.progress, [0.021], devices=ONE)
        assert back.progress.devices == 1 and back.last.position.devices() == set(ONE)
        near(back.last, simulate(model, one.progress, [0.021]).last, 1e-9)


def grains():
    model, state = bed()
    one, two = (simulate(model, state, [0.0, 0.02], solver=FixedSteps(400), devices=d) for d in (ONE, BOTH))
    near(parts(two.last), parts(one.last), 1e-9)
    near(*(model.energy(0.0, run.last) for run in (two, one)), 1e-9)


def lists_that_run_out_of_room():
    model, state = bed()
    runs = []
    for devices in (ONE, BOTH):
        begin = initialise(model, state, slack=1.0, skin=0.02, devices=devices)
        runs.append(simulate(model, begin, [0.0, 0.02], solver=FixedSteps(400)))
    assert runs[1].stats.lists > 0
    near(*(parts(run.last) for run in runs[::-1]), 1e-9)


def derivatives_of_soil():
    same_slopes(*odd_heap(), lambda m: m.material.friction)


def derivatives_of_grains():
    same_slopes(*bed(), lambda m: m.law.friction)


def same_slopes(model, state, law):
    one, two = (slopes(model, state, law, devices) for devices in (ONE, BOTH))
    near(two, one, 1e-8)
    (by_law, by_size), along, _ = two
    assert by_law != 0
    np.testing.assert_allclose(by_law * law(model) + by_size, along, rtol=1e-8)


def slopes(model, state, law, devices):
    """By a number of the law and by where particles begin: through equal steps in both modes, and through others."""
    begin = initialise(model, state, devices=devices)
    equal = {"solver": FixedSteps(20), "derivative": Unrolled()}

    def end(friction, size, begin, **how):
        of = eqx.tree_at(law, model, friction)
        place = eqx.tree_at(lambda s: s.position, state, size * state.position)
        run = simulate(of, begin.restarted(of, place), [0.0, 0.001], throw=False, **how)
        return jnp.sum(run.last.velocity**2) + jnp.sum(run.last.position[-1] ** 2)

    def along(*at):
        return jax.jvp(lambda *x: end(*x, begin, **equal), at, at)[1]

    at = law(model), jnp.ones(())
    back = jax.jit(jax.grad(lambda *x: end(*x, **equal), (0, 1)))(*at, begin)
    other = jax.jit(jax.grad(lambda *x: end(*x, derivative=Reverse()), (0, 1)))(*at, begin)
    return back, eqx.filter_jit(along)(*at), other


def files():
    """A run that two devices began goes on on one, and the reverse."""
    model, state = bed()
    times, steps = [0.0, 0.005, 0.01, 0.015], FixedSteps(100)

    def stop(time):
        if time > 0.009:
            raise KeyboardInterrupt

    whole = simulate(model, state, times, solver=steps)
    for first, then in ((BOTH, ONE), (ONE, BOTH), (BOTH, BOTH)):
        with tempfile.TemporaryDirectory() as folder:
            given = {"solver": steps, "checkpoint": Path(folder)}
            try:
                simulate(model, state, times, **given, devices=first, watch=stop)
            except KeyboardInterrupt:
                seen = []
                resumed = simulate(model, state, times, **given, devices=then, watch=seen.append)
                assert seen == [0.015] and resumed.progress.devices == len(then)
                near(parts(resumed.last), parts(whole.last), 1e-9)
                continue
            raise AssertionError("the run was not interrupted")


def bad_calls():
    model, state = heap()
    bad = (
        (2, "devices of this process"),
        ([], "devices of this process"),
        (["cpu:0"], "of which there are 2"),
        ([BOTH[0], BOTH[0]], "each device once"),
    )
    for devices, message in bad:
        for call in (
            lambda: simulate(model, state, [0.0, 0.01], devices=devices),  # noqa: B023
            lambda: initialise(model, state, devices=devices),  # noqa: B023
        ):
            refused(call, message)
    begin = initialise(model, state)
    inside = jax.jit(lambda x: simulate(model, begin, [0.0, x], devices=BOTH, throw=False).last.position)
    refused(lambda: inside(0.01), "initialise")


def refused(call, message):
    try:
        call()
    except ValueError as error:
        assert message in str(error), error
        return
    raise AssertionError(f"not refused: {message}")


if __name__ == "__main__":
    assert len(BOTH) == 2
    for name in sys.argv[1:]:
        globals()[name]()
