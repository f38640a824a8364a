"""The benchmark of a GPU: what is read from a compiled program, and counts of the programs themselves."""

import importlib.util
from collections import Counter
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import pytest

from difsim import dynamics, gravity, shape, simulate
from difsim.session import OLDER_EMITTER
from experiments.benchmarks import gpu
from experiments.benchmarks.gpu_program import BANDWIDTH, LAUNCH, read
from experiments.benchmarks.gpu_target import compiled_for_h100
from inversion import Bounded, Discrete, Observation, Observations, Problem, cube, programs

ROOT = Path(__file__).parents[1]

TEXT = """HloModule jit_run, is_scheduled=true

%stage (p: (s32[], f64[8])) -> (s32[], f64[8]) {
  %p = (s32[], f64[8]{0}) parameter(0)
  %g = f64[8]{0} get-tuple-element(%p), index=1
  %fused.2 = f64[8]{0} fusion(%g), kind=kLoop, calls=%add
  %solve = (f64[8]{0}, s32[1]{0}) custom-call(%fused.2), custom_call_target="cusolver_getrf"
  ROOT %t = (s32[], f64[8]{0}) tuple(%p, %fused.2)
}

%yes (a: f64[8]) -> f64[8] {
  %a = f64[8]{0} parameter(0)
  ROOT %twice = f64[8]{0} fusion(%a), kind=kLoop, calls=%add
}

%no (b: f64[8]) -> f64[8] {
  ROOT %b = f64[8]{0} parameter(0)
}

%step (q: (s32[], f64[8], pred[])) -> (s32[], f64[8], pred[]) {
  %q = (s32[], f64[8]{0}, /*index=2*/pred[]) parameter(0)
  %h = f64[8]{0} get-tuple-element(%q), index=1
  %fused.1 = (f64[8]{0}, pred[]) fusion(%h), kind=kLoop, calls=%add
  %copy.1 = f64[8]{0} copy(%h)
  %inner = (s32[], f64[8]{0}) while(%t0), condition=%c, body=%stage, backend_config={"known_trip_count":{"n":"6"}}
  %one = f64[8]{0} conditional(%pr, %a, %b), branch_computations={%yes, %no}
  %two = f64[8]{0} conditional(%pr, %a, %b), true_computation=%no, false_computation=%yes
  ROOT %u = (s32[], f64[8]{0}, pred[]) tuple(%q, %one)
}

ENTRY %main (x: f64[8]) -> f64[8] {
  %x = f64[8]{0} parameter(0)
  %wrapped = f64[8]{0} fusion(%x), kind=kLoop, calls=%add
  %outer = (s32[], f64[8]{0}, pred[]) while(%s0), condition=%d, body=%step, metadata={op_name="jit(run)/while"}
  ROOT %r = f64[8]{0} get-tuple-element(%outer), index=1
}
"""


def bounce(p):
    model = dynamics.Bouncer(gravity.Uniform((0, 0, -p["g"])), shape.Plane((0, 0, 0), (0, 0, 1)), p["e"])
    end = simulate(model, dynamics.PointState((0, 0, 1)), jnp.array([0.0, 200.0]), throw=False)
    return {"z": end.last.position[2]}, end.status


def test_a_program_is_read_by_its_loops():
    program = read(TEXT)
    assert program.kernels == Counter({"fusion": 1}) and program.moved == 128
    (step,) = program.inner
    assert step.path == (1,) and step.turns is None
    # A fusion reads 64 bytes and writes 65, a copy 64 and 64.
    assert step.kernels == Counter({"fusion": 1, "copy": 1}) and step.moved == 129 + 128
    stage, *branches = step.inner
    assert stage.path == (1, 1) and stage.turns == 6 and stage.library == Counter({"cusolver_getrf": 1})
    assert stage.kernels == Counter({"fusion": 1, "custom-call": 1}) and stage.moved == 128 + 64 + 68
    # Of two conditions the branch with a kernel counts, whichever it is.
    assert [(branch.turns, branch.kernels.total(), branch.moved) for branch in branches] == [(1, 1, 128)] * 2
    # Two kernels; six turns of two kernels and the loop's own condition; two branches and their conditions.
    assert step.launches == 2 + 6 * 3 + 2 * 2 and step.seconds == pytest.approx(LAUNCH * 24)
    step.moved = int(1e12)
    assert step.seconds == pytest.approx((1e12 + 6 * 260 + 2 * 128) / BANDWIDTH)


@pytest.mark.slow
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
    loops = {loop.path: loop for loop in read(compiled_for_h100(*program[:1], *program.arguments).as_text()).all()}
    step = loops[program.at]
    assert step.kernels.total() <= kernels and len(step.inner) <= waits
    assert not step.library


@pytest.mark.slow
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

    def of(arrays):
        return eqx.filter(program.__wrapped__(*eqx.combine(arrays, static)), eqx.is_array)

    assert compiled_for_h100(of, arrays, options=OLDER_EMITTER).as_text()


def test_options_of_a_compiler_are_given_in_one_place():
    """An option of one platform fails on another one."""
    files = (path for package in ("difsim", "inversion", "experiments") for path in (ROOT / package).rglob("*.py"))
    given = {path.name for path in files if "compiler_options=" in path.read_text(encoding="utf-8")}
    assert given == {"session.py", "gpu_target.py", "compile.py"}  # the last two measure what is compiled


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("jax_plugins") is None, reason="JAX's CUDA plugin is not installed")
def test_an_ensemble_of_hoppers_calls_no_library():
    program = gpu.PROGRAMS["hopper, 1024 members, values"]()
    loops = read(compiled_for_h100(*program[:1], *program.arguments).as_text()).all()
    assert sum((loop.library for loop in loops if loop.path), Counter()) == Counter()
