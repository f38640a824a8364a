"""The benchmark of a GPU: what is read from a compiled program, and counts of the programs themselves."""

import importlib.util
from collections import Counter

import pytest

from experiments.benchmarks import gpu
from experiments.benchmarks.gpu_program import BANDWIDTH, LAUNCH, read
from experiments.benchmarks.gpu_target import compiled_for_h100

TEXT = """HloModule jit_run, is_scheduled=true

%stage (p: (s32[], f64[8])) -> (s32[], f64[8]) {
  %p = (s32[], f64[8]{0}) parameter(0)
  %g = f64[8]{0} get-tuple-element(%p), index=1
  %fused.2 = f64[8]{0} fusion(%g), kind=kLoop, calls=%add
  %solve = (f64[8]{0}, s32[1]{0}) custom-call(%fused.2), custom_call_target="cusolver_getrf"
  ROOT %t = (s32[], f64[8]{0}) tuple(%p, %fused.2)
}

%step (q: (s32[], f64[8], pred[])) -> (s32[], f64[8], pred[]) {
  %q = (s32[], f64[8]{0}, /*index=2*/pred[]) parameter(0)
  %h = f64[8]{0} get-tuple-element(%q), index=1
  %fused.1 = (f64[8]{0}, pred[]) fusion(%h), kind=kLoop, calls=%add
  %copy.1 = f64[8]{0} copy(%h)
  %inner = (s32[], f64[8]{0}) while(%t0), condition=%c, body=%stage, backend_config={"known_trip_count":{"n":"6"}}
  %one = f64[8]{0} conditional(%pr, %a, %b), branch_computations={%yes, %no}
  ROOT %u = (s32[], f64[8]{0}, pred[]) tuple(%q, %one)
}

ENTRY %main (x: f64[8]) -> f64[8] {
  %x = f64[8]{0} parameter(0)
  %wrapped = f64[8]{0} fusion(%x), kind=kLoop, calls=%add
  %outer = (s32[], f64[8]{0}, pred[]) while(%s0), condition=%d, body=%step, metadata={op_name="jit(run)/while"}
  ROOT %r = f64[8]{0} get-tuple-element(%outer), index=1
}
"""


def test_a_program_is_read_by_its_loops():
    program = read(TEXT)
    assert program.kernels == Counter({"fusion": 1}) and program.moved == 128
    (step,) = program.inner
    assert step.path == (1,) and step.turns is None and step.conditionals == 1
    # A fusion reads 64 bytes and writes 65, a copy 64 and 64.
    assert step.kernels == Counter({"fusion": 1, "copy": 1}) and step.moved == 129 + 128
    (stage,) = step.inner
    assert stage.path == (1, 1) and stage.turns == 6 and stage.library == Counter({"cusolver_getrf": 1})
    assert stage.kernels == Counter({"fusion": 1, "custom-call": 1}) and stage.moved == 128 + 64 + 68
    # Two kernels and a condition; six turns of two kernels and the loop's own condition.
    assert step.launches == 3 + 6 * 3 and step.seconds == pytest.approx(LAUNCH * 21)
    step.moved = int(1e12)
    assert step.seconds == pytest.approx((1e12 + 6 * 260) / BANDWIDTH)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("jax_plugins") is None, reason="JAX's CUDA plugin is not installed")
@pytest.mark.parametrize(
    ("name", "kernels", "waits"),
    [
        ("grains, 10000 spheres", 42, 0),
        ("grains, 10000 spheres, positions in float64, else float32", 48, 0),
        ("soil, a heap of 38 rows", 31, 0),
        ("soil, a heap of 38 rows, positions in float64, else float32", 31, 0),
    ],
)
def test_a_step_launches_as_many_kernels_as_stated(name, kernels, waits):
    """The numbers of docs/scaling.md: fewer are welcome, and change it."""
    program = gpu.PROGRAMS[name]()
    loops = {loop.path: loop for loop in read(compiled_for_h100(*program[:1], *program.arguments).as_text()).all()}
    step = loops[program.at]
    assert step.kernels.total() <= kernels and step.conditionals + len(step.inner) <= waits
    assert not step.library


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("jax_plugins") is None, reason="JAX's CUDA plugin is not installed")
def test_an_ensemble_of_hoppers_calls_no_library():
    program = gpu.PROGRAMS["hopper, 1024 members, values"]()
    loops = read(compiled_for_h100(*program[:1], *program.arguments).as_text()).all()
    assert sum((loop.library for loop in loops if loop.path), Counter()) == Counter()
