"""The benchmark of a GPU: what is read from a compiled program, and counts of the programs themselves."""

import importlib.util
from collections import Counter

import equinox as eqx
import jax.numpy as jnp
import pytest

from difsim import dynamics, gravity, shape, simulate
from difsim.session import OLDER_EMITTER
from experiments.benchmark import gpu
from experiments.benchmark.gpu_program import read
from experiments.benchmark.gpu_target import compile_for_h100
from inversion import Bounded, Discrete, Observation, Observations, Problem, cube, programs


def bounce(p):
    model = dynamics.Bouncer(gravity.Uniform((0, 0, -p["g"])), shape.Plane((0, 0, 0), (0, 0, 1)), p["e"])
    end = simulate(model, dynamics.PointState((0, 0, 1)), jnp.array([0.0, 200.0]), throw=False)
    return {"z": end.last.position[2]}, end.status


@pytest.mark.skipif(importlib.util.find_spec("jax_plugins") is None, reason="JAX's CUDA plugin is not installed")
@pytest.mark.parametrize(
    ("name", "kernels", "waits"),
    [
        ("grains, 10000 spheres", 45, 0),
        ("grains, 10000 spheres, positions in float64, else float32", 44, 0),
        ("soil, a heap of 38 rows", 31, 0),
        ("soil, a heap of 38 rows, positions in float64, else float32", 29, 0),
    ],
)
def test_a_step_launches_as_many_kernels_as_stated(name, kernels, waits):
    """The numbers of docs/scaling.md: fewer are welcome, and change it."""
    program = gpu.PROGRAMS[name]()
    loops = {loop.path: loop for loop in read(compile_for_h100(*program[:1], *program.arguments).as_text()).all()}
    step = loops[program.at]
    assert step.kernels.total() <= kernels and len(step.inner) <= waits
    assert not step.library


@pytest.mark.skipif(importlib.util.find_spec("jax_plugins") is None, reason="JAX's CUDA plugin is not installed")
@pytest.mark.parametrize("program", [programs._simulate, programs._try, cube._batch])
@pytest.mark.parametrize("is_relaxed", [False, True])
def test_fits_trees_and_samplers_compile_for_a_gpu(program, is_relaxed):
    """Of a tree are the relaxed problem's."""
    problem = Problem(
        {"e": Bounded(0.05, 0.95), "g": Discrete((1e-4, 2e-4))},
        bounce,
        Observations({"z": Observation(0.4, 0.01)}),
    )
    problem = problem.relax() if is_relaxed else problem
    x = jnp.zeros_like(problem.held)
    arrays, static = eqx.partition((problem, x[None] if program is cube._batch else x), eqx.is_array)

    def rebuild(arrays):
        return eqx.filter(program.__wrapped__(*eqx.combine(arrays, static)), eqx.is_array)

    assert compile_for_h100(rebuild, arrays, options=OLDER_EMITTER).as_text()


@pytest.mark.skipif(importlib.util.find_spec("jax_plugins") is None, reason="JAX's CUDA plugin is not installed")
def test_an_ensemble_of_hoppers_calls_no_library():
    program = gpu.PROGRAMS["hopper, 1024 members, values"]()
    loops = read(compile_for_h100(*program[:1], *program.arguments).as_text()).all()
    assert sum((loop.library for loop in loops if loop.path), Counter()) == Counter()
