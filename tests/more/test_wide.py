"""What goes to a GPU by itself, in a process of two devices of a CPU, of which the second stands for a GPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = """
import jax, jax.numpy as jnp, numpy as np
import difsim
difsim.configure(cores=2, cache=None)
from difsim import gravity, wide
from difsim.stepping.marching import initialise
from difsim.dem import Grains, HertzMindlin
from inversion import Bounded, Observation, Observations, Problem, map_batched, sample, sweep
CPU, GPU = jax.local_devices()
wide._is_accelerator = lambda device: device == GPU
MANY = 2 * wide.ROWS_PER_CORE
def on(x): return set().union(*(leaf.devices() for leaf in jax.tree.leaves(x)))
"""
WORK = {
    "rows": """
square = lambda x: x**2
assert on(map_batched(square, np.arange(MANY))) == {GPU}
assert GPU in on(map_batched(square, np.arange(MANY - 1))) and on(map_batched(square, np.arange(1.0))) == {CPU}
here = jax.device_put(jnp.arange(float(MANY)), CPU)
assert on(map_batched(square, here)) == {CPU} and on(jax.jit(lambda x: map_batched(square, x))(np.arange(MANY)))
table = sweep(lambda case: {"y": case["x"] ** 2, "on": 0 * case["x"]}, {"x": np.arange(3.0 * MANY)})
np.testing.assert_array_equal(table["y"], np.arange(3.0 * MANY) ** 2)
""",
    "draws": """
from inversion import cube
wide.ROWS_PER_CORE = 100  # a generation has some 1000 draws
sizes, of = [], cube._batch
def batch(problem, x):
    assert on(x) == {GPU}
    sizes.append(len(x))
    return of(problem, x)
cube._batch = batch
predict = lambda p: ({"y": p["x"]}, jnp.array(True))
problem = Problem({"x": Bounded(-1.0, 1.0)}, predict, Observations({"y": Observation(0.2, 0.1)}))
found = sample(problem, key=jax.random.PRNGKey(0), effective_size=400)
assert found.ok and abs(found.mean["x"] - 0.2) < 0.02 and sizes, sizes
twice = found.predict(lambda p: {"y": 2 * p["x"]}, key=jax.random.PRNGKey(1), count=MANY)
assert abs(twice["y"].mean() - 0.4) < 0.1 and twice["y"].shape == (MANY,)
""",
    "fields": """
import trimesh
from difsim.gravity import error_map
from difsim.mesh import TriMesh
ball = trimesh.creation.icosphere(3)
body = gravity.Polyhedron(TriMesh(np.asarray(ball.vertices), np.asarray(ball.faces)), 500.0)
points = 2 * np.random.default_rng(0).normal(size=(wide.TERMS // len(body.faces) + 1, 3))
far, near = body.evaluate(points), body.evaluate(points[:10])
assert on(far) == {GPU} and on(near) == {CPU}
np.testing.assert_allclose(far[1][:10], near[1], rtol=1e-12)
assert on(body.evaluate(jax.device_put(jnp.asarray(points), CPU))) == {CPU}
""",
    "particles": """
def bed(n):
    model = Grains(HertzMindlin(1e6, 0.25, restitution=0.5, friction=0.5), np.full(n, 0.01), 1000.0, (0.0, 0.0, -9.81))
    place = np.stack(np.unravel_index(np.arange(n), (12, 12, 12))) * 0.02
    return model, model.at_rest(jnp.asarray(place))
assert on(initialise(*bed(wide.PARTICLES)).motion) == {GPU}
assert on(initialise(*bed(100)).motion) == {CPU}
model, state = bed(wide.PARTICLES)
assert on(initialise(model, jax.device_put(state, CPU)).motion) == {CPU}
""",
}


@pytest.mark.parametrize("work", WORK)
def test_wide_work_goes_to_the_accelerator(work):
    clean = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "EQX_ON_ERROR")}
    code, root = BEGIN + WORK[work], Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], env=clean, cwd=root, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
