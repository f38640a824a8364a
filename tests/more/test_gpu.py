"""The benchmark of a GPU: what is read from a compiled program, and counts of the programs themselves."""

from collections import Counter
from pathlib import Path

import pytest

from experiments.benchmark.gpu_program import BANDWIDTH, LAUNCH, read

ROOT = Path(__file__).parents[2]

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


def test_options_of_a_compiler_are_given_in_one_place():
    """An option of one platform fails on another one."""
    files = (path for package in ("difsim", "inversion", "experiments") for path in (ROOT / package).rglob("*.py"))
    given = {path.name for path in files if "compiler_options=" in path.read_text(encoding="utf-8")}
    assert given == {"session.py", "gpu_target.py", "compile.py"}  # the last two measure what is compiled
