"""The brush tool: its paths in closed form, its geometry at any spacing, a bed at rest, what is in the tray."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Courant, simulate
from experiments.sampling.collect import COURANT
from experiments.sampling.scene import CASES, Scene


def test_bed_rests_under_its_weight_until_the_brushes_come():
    case = CASES["E3"]
    scene = Scene.build(case, 0.0028)
    model = scene.model(case)
    state = scene.state(model)
    # σ_y = -ρ g depth, held by the cone: within it everywhere in the bed.
    deepest = int(np.argmin(scene.bed[1]))
    weight = 1500 * 9.81 * (0.5 * scene.spacing - scene.bed[1, deepest])
    assert float(state.stress[1, 1, deepest]) == pytest.approx(-weight, rel=1e-12)
    excess = jax.vmap(model.material.excess, in_axes=-1)(state.stress)
    assert float(excess.max()) < 1e-9
    end = 0.004
    run = simulate(model, state, [0.0, end], solver=Courant(COURANT))
    assert run.status == 0
    position, velocity = run.states.position[-1], run.states.velocity[-1]
    assert np.isfinite(position).all() and position.shape == scene.position.shape
    soil = scene.bed.shape[1]
    # Free fall would have made 4 cm/s.
    assert np.abs(velocity[:, :soil]).max() < 1e-3 * 9.81 * end
    # The tools went on their way.
    for tool in scene.tools:
        np.testing.assert_allclose(position[:, tool.members], tool.at(jnp.asarray(end))[0], atol=1e-14)
