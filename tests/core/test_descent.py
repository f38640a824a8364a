"""First-order and stochastic descents: many unknowns, noise, jumps, failures, and the same bits after a resumption."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import inversion
from difsim import Status
from inversion import Bounded, Checkpoint, Gaussian, Log, Observation, Observations, Problem
from tests import toys

COUNT = 200
SMOOTHED = np.exp(-np.abs(np.arange(COUNT)[:, None] - np.arange(COUNT)) / 3.0)


def field():
    """200 unknowns, each measured with its neighbours; the truth is inside the bounds."""
    truth = 0.5 + 0.3 * np.sin(np.arange(COUNT) / 15.0)
    data = Observations({"y": Observation(SMOOTHED @ truth, 0.05)})
    made = {"h": Bounded(0.0, 1.0, "m", shape=(COUNT,))}
    return Problem(made, lambda p: ({"y": jnp.asarray(SMOOTHED) @ p["h"]}, toys.always_problem()), data), truth


@pytest.mark.parametrize(("optimiser", "misfit"), [(None, 0.2), (optax.lbfgs(), 1e-3)], ids=["adam", "lbfgs"])
def test_two_hundred_unknowns_are_found(key, optimiser, misfit):
    problem, truth = field()
    found = inversion.descend(problem, key=key, optimiser=optimiser, steps=600)
    assert found.status == Status.MISFIT and found.value < misfit and found.error == 0.0
    assert np.abs(found.values["h"] - truth).max() < 0.02 and found.failed == 0
    assert found.history[-1] < found.history[0] / 1e3


NOISY = {"a": Bounded(-2.0, 3.0, shape=(2,)), "b": Log(0.1, 10.0)}


def noisy(p, key):
    """The expectation is least at a = (1, -1) and b = 2."""
    e = jax.random.normal(key, (3,))
    here = jnp.append(p["a"], jnp.log(p["b"]))
    return jnp.sum((here - jnp.array([1.0, -1.0, np.log(2.0)]) - 0.5 * e) ** 2)


def test_the_mean_of_the_iterates_meets_the_minimum_of_a_mean(key):
    found = inversion.descend(noisy, NOISY, key=key, seeds=4, steps=2000)
    assert found.status == Status.NOISE and found.status.is_converged and 100 <= found.steps < 2000
    np.testing.assert_allclose(found.values["a"], [1.0, -1.0], atol=0.1)
    np.testing.assert_allclose(found.values["b"], 2.0, rtol=0.1)
    assert abs(found.value - 0.75) < 5 * found.error < 0.5  # 3 times 0.5 squared is left


def test_a_killed_descent_goes_on_with_the_same_bits(key, tmp_path):
    def run(folder):
        kept = None if folder is None else Checkpoint(folder, "noisy")
        return inversion.descend(noisy, NOISY, key=key, seeds=2, steps=200, checkpoint=kept)

    whole, stored = run(None), run(tmp_path)
    files = sorted(tmp_path.rglob("*.arrays"))
    assert len(files) == whole.steps // 50 >= 2
    for file in files[1:]:
        file.unlink()
    for other in (stored, run(tmp_path), run(tmp_path)):
        np.testing.assert_array_equal(other.last, whole.last)
        np.testing.assert_array_equal(other.values["a"], whole.values["a"])
        assert other.status == whole.status and other.value == whole.value
    with pytest.raises(ValueError, match="holds other arrays"):
        inversion.descend(
            noisy,
            NOISY,
            key=key,
            seeds=2,
            steps=200,
            optimiser=optax.sgd(0.1),
            checkpoint=Checkpoint(tmp_path, "noisy"),
        )


def test_jumps_are_smoothed_over(key):
    """The derivative of the steps is zero everywhere; the smoothed objective is least at 0.3."""

    def steps(p, key):
        return jnp.abs(jnp.round(20.0 * (p["a"] - 0.3 + 0.02 * jax.random.normal(key)))) / 20.0

    blind = inversion.descend(steps, {"a": Bounded(0.0, 1.0)}, key=key, guess={"a": 0.8}, steps=100)
    assert abs(blind.values["a"] - 0.8) < 1e-9
    found = inversion.descend(
        steps, {"a": Bounded(0.0, 1.0)}, key=key, guess={"a": 0.8}, steps=600, spread=0.1, seeds=4
    )
    assert abs(found.values["a"] - 0.3) < 0.05 and found.status.is_converged


def test_failures_halve_the_step_and_are_counted(key):
    problem = toys.truncated_problem()  # no simulation beyond 1; the minimum is at 0.8
    found = inversion.descend(
        problem, key=key, guess={"p": 0.2}, optimiser=optax.adam(0.3), steps=400, tolerance=1e-6
    )
    assert found.failed > 0 and found.status == Status.MISFIT
    np.testing.assert_allclose(found.values["p"], 0.8, atol=1e-3)
    with pytest.raises(RuntimeError, match="not finite at the start"):
        inversion.descend(problem, key=key, guess={"p": 3.0}, steps=50)
    failed = inversion.descend(problem, key=key, guess={"p": 3.0}, steps=50, throw=False)
    assert failed.status == Status.FAILED and failed.value == np.inf and failed.failed == 50


def test_held_unknowns_stay_and_priors_count(key):
    problem = toys.linear(a=Gaussian(0.2, 0.05)).hold({"b": 1.0})
    best = inversion.fit(problem, key=key, starts=4, keep=1)
    found = inversion.descend(problem, key=key, guess={"a": 0.0, "b": 1.0}, steps=400, tolerance=1e-9)
    assert found.values["b"] == 1.0
    np.testing.assert_allclose(found.values["a"], best.values["a"], atol=1e-4)
    np.testing.assert_allclose(found.value, best.misfit, rtol=1e-6)
