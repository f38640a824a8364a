"""The works of `difsim benchmark gradients`, with the errors that it promises."""

import pytest

from experiments.benchmark import gradients
from experiments.benchmark.gradients import error, reference
from tests.more.test_gradient_cases import WORKS, check_convergence


@pytest.mark.parametrize("bounces", [2, 3, 4, 6, 8, 10])
def test_hard_bounces(bounces):
    work = WORKS[f"hard ball, {bounces} bounces"]
    assert error(work, work.ways["impacts"], reference(work))[0] < 1e-8


@pytest.mark.parametrize(
    "name",
    [
        "smoothed, 1 bounces",
        "smoothed, 4 bounces",
        "smoothed, 10 bounces",
        "soft pair of balls",
        "oblique impact",
        "sliding to rolling",
    ],
)
def test_single_point_contacts(name):
    check_convergence(WORKS[name], (1e-4, 1e-6))


@pytest.mark.parametrize("contacts, most", [(1, 1e-4), (4, 1e-2)])
def test_a_tumbling_cube(contacts, most):
    """Its corners let go one by one, each with a kink: the error falls with the tolerance all the same."""
    work = WORKS[f"cube, {contacts} contacts"]
    assert check_convergence(work, (most, most)).validity.contacts == contacts


@pytest.mark.parametrize("name", ["kink", "jump"])
def test_plain_derivatives_stay_wrong(name):
    """Through a kink or a jump the plain derivative does not fall with the tolerance as the value does."""
    work = WORKS[f"{name} at touch, 1 bounces"]
    exact = reference(work)
    found = [error(work, gradients.forward(t, 1e-12), exact)[0] for t in (1e-6, 1e-10)]
    assert found[1] > 1e-5
    if name == "jump":
        assert min(found) > 0.1
