"""What `tests/test_devices.py` runs in a process of two devices."""

import sys
import tempfile

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import AtRest, Courant, FixedSteps, Reverse, Unrolled, initialise, simulate
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
    above = RigidState(np.array([0.04, 0.02, 0.13]), np.array([0.0, 0.0, -1.0]), np.array([1.0, 0.0, 0.0, 0.0]))
    return model, model.at_rest(jnp.asarray(place), (clump.moving(above),))


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


def values():
    for make, end, steps in ((heap, 0.03, 150), (odd_heap, 0.03, 150), (bed, 0.02, 400)):
        model, state = make()
        for solver in (FixedSteps(steps), Courant()):
            runs = [simulate(model, state, [0.0, 0.5 * end, end], solver=solver, devices=d) for d in (ONE, BOTH)]
            near(*(parts(run.last) for run in runs), 1e-9)
            assert runs[0].stats.steps.tolist() == runs[1].stats.steps.tolist()
            assert runs[1].last.position.devices() == set(BOTH) and runs[1].progress.devices == 2
            assert runs[0].stats.lists == runs[1].stats.lists


if __name__ == "__main__":
    globals()[sys.argv[1]]()
