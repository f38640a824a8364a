"""Small bodies through real steps, each against a closed form: columns, waves, spins, blocks that slide."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from difsim.sph import Tool
from difsim.sph.corrections import GradientCorrection
from difsim.sph.tools import Sliding
from tests.core.test_sph_elements import ELASTIC, SPACING, assemble, lattice
from tests.more.test_sph_elements import run_until


def test_a_block_slides_without_drag_along_a_slippery_plane():
    block, floor = lattice((0, 8), (0, 4)), lattice((-4, 20), (-3, 0))
    drag = {}
    for normal in ((0, 1), None):
        model, state = assemble(block, [(floor, normal)], gravity=9.81)
        state = eqx.tree_at(lambda s: s.velocity, state, state.velocity.at[0, :32].set(0.5))
        end = run_until(model, state, 0.08, 2e-4).motion.state
        drag[normal] = 0.5 - float(jnp.mean(end.velocity[0, :32]))
    # A coefficient of friction of 0.001 would take 0.0008 m/s.
    assert abs(drag[0, 1]) < 4e-4
    assert drag[None] > 0.2


def test_a_layer_between_plates_that_hold_it_shears_with_them():
    """The upper plate slides, the lower stays: σ_xy = G v t/H of the solid between, which pulls on both alike."""
    n, rows, speed = 40, 8, 0.02
    model, state = assemble(lattice((0, n), (0, rows)), [(lattice((0, n), (-3, 0)), None)])
    upper = lattice((0, n), (rows, rows + 3))
    k = state.density.size
    sliding = Tool(np.arange(k, k + upper.shape[1]), upper, Sliding(np.array([speed, 0.0])))
    model = eqx.tree_at(
        lambda m: (m.mass, m.tools, m.damping),
        model,
        (jnp.full(k + upper.shape[1], model.mass[0]), (*model.tools, sliding), jnp.asarray(200.0)),
    )
    state = model.at_rest(jnp.concatenate([state.position, jnp.asarray(upper)], axis=1))
    time = 0.05
    end = run_until(model, state, time, 2e-4)
    sheared = float(ELASTIC.shear) * speed * time / SPACING
    middle = np.asarray(end.motion.state.stress)[0, 1, : n * rows].reshape(n, rows)[n // 2]
    # Walls are as sharp as the kernel: the solid takes hold of them within 1.5 spacings of where they begin.
    assert (middle > sheared / (rows + 3)).all() and (middle < sheared / rows).all()
    assert np.ptp(middle) < 0.1 * middle.mean()
    low, high = (np.asarray(load.force) for load in model.loads(end.motion, end.neighbours))
    assert low[0] > 0 > high[0]
    # What they do not hold of each other is what the damping takes from the solid between.
    lost = 200.0 * float(jnp.sum((model.mass * end.motion.state.velocity[0])[: n * rows]))
    np.testing.assert_allclose(low[0] + high[0], -lost, rtol=0.05)


def test_gradient_correction_preserves_a_spinning_body():
    """A quarter of a turn in free flight. Without the correction the surface takes the spin for a strain."""
    body, rate = lattice((-3, 3), (-3, 3)), 5.0
    change = {}
    for corrections in ((), (GradientCorrection(),)):
        model, state = assemble(body, [], corrections=corrections)
        spin = rate * jnp.asarray(np.stack([-body[1], body[0]]))
        spinning = eqx.tree_at(lambda s: s.velocity, state, spin)
        x = np.asarray(run_until(model, spinning, 0.5 * np.pi / rate, 2e-4).motion.state.position)
        # The best rotation back, and what is left over.
        angle = np.arctan2(np.sum(body[0] * x[1] - body[1] * x[0]), np.sum(body * x))
        c, s = np.cos(angle), np.sin(angle)
        change[len(corrections)] = np.abs(np.array([[c, -s], [s, c]]) @ body - x).max() / SPACING
    assert change[1] < 0.01 < change[0]
