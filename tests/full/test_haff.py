"""A granular gas that cools by itself: Haff's law, and its slope by kinetic theory."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from difsim import FixedSteps, allocate, run
from difsim.dem import Grains, LinearSprings
from difsim.shape import Plane

SIDE, SHARE, E = 8, 0.05, 0.9  # spheres along an edge, solid fraction, restitution
DIAMETER, SPEED, DENSITY = 0.01, 0.1, 1000.0  # m, m/s (of one axis, rms), kg/m³
CONTACT = 0.05 * DIAMETER / SPEED  # s that an impact lasts
PER_CONTACT = 15


def test_a_gas_cools_by_haffs_law():
    """1/√T is linear in time, with the slope (2√π/3) n σ² χ (1 - e²), χ = (1 - φ/2)/(1 - φ)³, T = <v²>/3.

    Walls throw back without loss, so they only
    cut off neighbours: of the points σ away from a centre somewhere in
    a cube of edge L a share of 1 - 3/2 σ/L + 2/π (σ/L)² lies inside. What the theory does not know: an impact
    lasts 4 % of the time between two at the start, and walls change χ beside them (1 to 2 %); and 7000 impacts
    scatter by 2 %. Measured: 0.97 of it, and 0.94 with impacts half as long; so it is good to 10 %.
    """
    count = SIDE**3
    mass = np.pi / 6 * DENSITY * DIAMETER**3
    inner = (count * np.pi / 6 / SHARE) ** (1 / 3) * DIAMETER  # L: edge of the cube that centres have
    stiffness = 0.5 * mass * (np.pi / CONTACT) ** 2
    law, elastic = (LinearSprings(stiffness, 1.0, e, 0.0) for e in (E, 1.0))
    sides = [(axis, sign) for axis in np.eye(3) for sign in (1.0, -1.0)]
    walls = tuple(Plane(-sign * 0.5 * (inner + DIAMETER) * axis, sign * axis) for axis, sign in sides)
    model = Grains(law, np.full(count, 0.5 * DIAMETER), DENSITY, walls=walls, wall_laws=(elastic,) * 6)
    random = np.random.default_rng(0)
    lattice = np.stack(np.meshgrid(*[(np.arange(SIDE) + 0.5) / SIDE - 0.5] * 3)).reshape(3, -1)
    velocity = random.normal(size=(3, count))
    velocity -= velocity.mean(axis=1)[:, None]
    velocity *= SPEED / np.sqrt((velocity**2).mean())
    state = model.at_rest(jnp.asarray(inner * lattice))
    state = eqx.tree_at(lambda s: s.velocity, state, jnp.asarray(velocity))
    density, cut = SHARE / (np.pi / 6 * DIAMETER**3), DIAMETER / inner
    slope = 2 * np.sqrt(np.pi) / 3 * density * DIAMETER**2 * (1 - SHARE / 2) / (1 - SHARE) ** 3 * (1 - E**2)
    slope *= 1 - 1.5 * cut + 2 / np.pi * cut**2
    times = np.linspace(0.0, 1.5, 16) / (slope * SPEED)  # until speeds are 1/2.5 of what they were
    # Each time that the list runs out of room costs a compilation, and a lattice has hardly any pairs.
    near = allocate(model, state, slack=6.0)
    steps = FixedSteps(int(np.ceil(times[1] / CONTACT * PER_CONTACT)), neighbours=near)
    end = run(model, state, times, solver=steps)
    times, cold = times[1:], 1 / np.sqrt((end.states.velocity[1:] ** 2).mean(axis=(1, 2)))
    assert np.corrcoef(times, cold)[0, 1] ** 2 > 0.998
    np.testing.assert_allclose(np.polyfit(times, cold, 1)[0], slope, rtol=0.1)
    assert np.abs(end.states.spin).max() == 0
