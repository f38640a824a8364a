"""The works of `difsim benchmark gradients`, with the errors that it promises."""

from experiments.benchmark import gradients
from experiments.benchmark.gradients import error, reference

WORKS = {work.name: work for work in gradients.suite()}


def check_convergence(work, errors):
    """Errors at the default and the strict tolerance, and a tenfold fall between them (or to 1e-9); the solution at
    the default."""
    exact = reference(work)
    loose, solution = error(work, gradients.forward(1e-8), exact)
    strict, _ = error(work, gradients.forward(1e-10), exact)
    assert loose < errors[0] and strict < errors[1] and strict < max(0.1 * loose, 1e-9), (loose, strict)
    assert solution.ok and not solution.validity.is_past
    return solution


def test_one_soft_bounce():
    """1e-4 at the default, 1e-6 at 1e-10.

    The force is clipped as the ball leaves, so its tangents jump by some 1e7 /s²: a least step of 1e-9 s would
    leave them wrong by 2e-3.
    """
    check_convergence(WORKS["clipped force, 1 bounces"], (1e-4, 1e-6))
