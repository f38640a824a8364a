"""Energy balance of grains and soil: what each named loss is in closed form, and that nothing is missing."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Courant, simulate
from difsim.dem import Grains, HertzMindlin, LinearSprings
from difsim.dem.losses import ContactLosses
from difsim.shape import Plane
from difsim.sph import Continuum, DruckerPrager, Tool, Viscosity
from difsim.sph.kernel import WendlandC2
from difsim.sph.losses import ContinuumLosses

R, RHO, G = 5e-3, 2500.0, 9.81

MASS = 4 / 3 * np.pi * RHO * R**3

FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))


def hertz(**changes):
    return HertzMindlin(**{"modulus": 1e7, "poisson": 0.25, "restitution": 0.6, "friction": 0.5} | changes)


def run(model, state, end, solver):
    """The energies by name at the end of a run, J, and the change of their sum."""
    solution = simulate(model, state, [0.0, end], solver=solver, throw=False)
    assert not any("energy" in reason for reason in solution.unknown)
    total = sum(solution.energy.values())
    return {name: float(part[-1]) for name, part in solution.energy.items()}, float(total[-1] - total[0])


def ball(law, velocity, spin=(0.0, 0.0, 0.0), gravity=0.0, height=1.0001 * R):
    model = Grains(law, np.full(1, R), RHO, (0.0, 0.0, -gravity), (FLOOR,), losses=ContactLosses())
    state = model.at_rest(jnp.array([[0.0], [0.0], [height]]))
    given = jnp.array(velocity)[:, None], jnp.array(spin)[:, None]
    return model, eqx.tree_at(lambda s: (s.velocity, s.spin), state, given)


@pytest.mark.parametrize("law", [hertz(), LinearSprings(2e3, 0.8, 0.6, 0.5)])
def test_damper_takes_what_restitution_leaves(law):
    parts, change = run(*ball(law, (0.0, 0.0, -0.3)), 0.004, Courant(0.02))
    kinetic = 0.5 * MASS * 0.3**2
    np.testing.assert_allclose(
        parts["damping"], (1 - 0.6**2) * kinetic, rtol=1e-2
    )  # steps are of first order in the restitution itself
    assert abs(change) < 3e-5 * kinetic and parts["friction"] == parts["rolling"] == 0


def block(cohesion, alpha, path=None, n=8, **changes):
    """A square block of soil in the plane on a row of tools, which move along a path."""
    spacing, sound = 0.01, 30.0
    soil = DruckerPrager(1e6, 0.3, 0.3, cohesion=cohesion, density=2000.0)
    x, y = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    place = jnp.asarray(spacing * np.stack([x.ravel(), y.ravel()]).astype(float))
    lowest = np.flatnonzero(np.asarray(y.ravel()) < 2)
    tools = () if path is None else (Tool(lowest, place[:, lowest], path),)
    given = {"gravity": (0.0, 0.0), "tools": tools, "losses": ContinuumLosses()} | changes
    mass = np.full(n * n, 2000.0 * spacing**2)
    model = Continuum(soil, WendlandC2(2.5 * spacing), Viscosity(alpha, 0.0, sound), mass=mass, **given)
    return model, model.at_rest(place)


def test_plastic_shear_loses_stress_times_strain_times_volume():
    """A uniform shear of one particle: the limit of the material takes k γ in each volume."""
    model, state = block(cohesion=50.0, alpha=0.0, n=2)
    account, soil, d_gamma = model.losses, model.material, 1e-5
    k = float(soil.cone.match(soil.friction, soil.cohesion)[1])
    shear = jnp.zeros((3, 3, 4)).at[0, 1].set(k).at[1, 0].set(k)
    before = eqx.tree_at(lambda s: s.stress, state, shear)
    trial = eqx.tree_at(lambda s: s.stress, state, shear * (1 + float(soil.shear) * d_gamma / k))
    after = eqx.tree_at(lambda s: s.stress, trial, soil.admissible(trial.stress, trial.density))
    taken = float(account.plastic(model, before, trial, after)["plastic"])
    np.testing.assert_allclose(taken, k * d_gamma * 4 * 1e-4, rtol=1e-9)
