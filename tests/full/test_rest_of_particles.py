"""Particles until they are at rest, with derivatives: reverse, and by differences."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Adaptive, AtRest, Courant, Reverse, Status, allocate, simulate
from difsim.dem import Grains, HertzMindlin
from difsim.shape import Plane
from difsim.sph import Continuum, CubicSpline, Murnaghan, Tool, Viscosity

R = 0.01
REST = AtRest(speed=1e-3, spin=0.1, hold=0.02)


def heap():
    """Two layers of grains that fall onto a floor and come to rest."""
    law = HertzMindlin(1e5, 0.25, restitution=0.2, friction=0.5)
    walls = (Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),)
    x, y = (a.ravel() for a in np.meshgrid(np.arange(4), np.arange(3), indexing="ij"))
    below = np.stack([2.02 * x, 2.02 * y, np.full(12, 1.01)])
    x, y = (a.ravel() for a in np.meshgrid(np.arange(3), np.arange(2), indexing="ij"))
    above = np.stack([1.01 + 2.02 * x, 1.01 + 2.02 * y, np.full(6, 2.5)])
    place = R * np.concatenate([below, above], axis=1)
    model = Grains(law, np.full(18, R), 2000.0, (0.0, 0.0, -9.81), walls)
    return model, model.at_rest(jnp.asarray(place))


def block():
    """A damped elastic block that sags on a floor."""
    spacing = 0.01
    solid = np.stack(np.meshgrid(np.arange(5), np.arange(4), indexing="ij")).reshape(2, -1) * spacing
    floor = np.stack(np.meshgrid(np.arange(-3, 8), np.arange(-3, 0), indexing="ij")).reshape(2, -1) * spacing
    n, m = solid.shape[1], floor.shape[1]
    material = Murnaghan(1e5, 0.3, 2000.0)
    model = Continuum(
        material,
        CubicSpline(2.5 * spacing),
        Viscosity(0.3, 0.0, material.sound),
        np.array([0.0, -9.81]),
        np.full(n + m, 0.2),
        (Tool(np.arange(n, n + m), floor),),
        damping=np.full(n + m, 150.0),
    )
    return model, model.at_rest(jnp.asarray(np.concatenate([solid, floor], axis=1)))


KEPT = 20  # motions that reverse derivatives keep
CASES = {
    "grains": (heap, lambda m: m.law.modulus, REST, 0.6),
    "soil": (block, lambda m: m.material.young, AtRest(speed=1e-3, hold=0.01), 0.3),
}


def ends(kind, solver, parts=1, fixed_end=None):
    """Functions of a factor on the stiffness: values and reverse slopes of where it comes to rest, or of where
    it is at a fixed end, s."""
    make, stiffness, rest, long = CASES[kind]
    if fixed_end is not None:
        rest, long = None, fixed_end
    model, state = make()
    times = jnp.linspace(0.0, long, parts + 1)
    near = allocate(model, state, slack=2.0)
    solver = eqx.tree_at(lambda s: s.neighbours, solver, near, is_leaf=lambda x: x is None)

    def finish(factor, derivative):
        changed = eqx.tree_at(stiffness, model, factor * stiffness(model))
        run = simulate(changed, state, times, solver=solver, derivative=derivative, until=rest, throw=False)
        return 1e3 * jnp.mean(run.last.position[-1]), run

    values = jax.jit(lambda x: finish(x, None))
    reverse = jax.jit(jax.value_and_grad(lambda x: finish(x, Reverse(checkpoints=KEPT)), has_aux=True))
    return values, reverse


@pytest.mark.parametrize(
    ("kind", "solver"),
    [
        ("grains", Courant(0.5)),
        ("soil", Courant(0.5)),
        ("soil", Adaptive(1e-5, max_steps=10_000)),
    ],
    ids=["grains", "soil", "soil, adaptive"],
)
def test_derivatives_of_rest_reverse_and_by_differences(kind, solver):
    values, reverse = ends(kind, solver)
    one, h = jnp.ones(()), 1e-4
    height, run = values(one)
    (again, steps), slope = reverse(one)
    assert run.status == steps.status == Status.OK
    # Far more steps than are kept. Steps by their error are up to twice as long as those of Courant(0.5).
    assert 2 * KEPT < run.progress.steps == steps.progress.steps
    assert 0 < run.stats.rest_time < run.progress.motion.time < CASES[kind][3]
    np.testing.assert_allclose(again, height, rtol=1e-12)
    if isinstance(
        solver, Adaptive
    ):  # the lengths of its steps, and with them the time of the end, have no derivative
        values, _ = ends(kind, solver, fixed_end=float(run.progress.motion.time))
    differences = (values(one + h)[0] - values(one - h)[0]) / (2 * h)
    np.testing.assert_allclose(slope, differences, rtol=1e-3)
