"""Stepping: the guard, statuses, and which derivative each method offers."""

import equinox as eqx
import jax
import numpy as np

from difsim import Status
from tests.bodies import P, rebound
from tests.ways import equal, forward, reverse


def test_all_methods_give_the_same_derivative():
    """Reverse through adaptive steps, forward under error control, both through equal steps, differences."""
    methods = {
        "sensitivities": (jax.jacfwd, forward(1e-10, 1e-10)),
        "checkpointed": (jax.jacrev, reverse(1e-10, 1e-10)),
        "fixed forward": (jax.jacfwd, equal(1000)),
        "fixed reverse": (jax.jacrev, equal(1000)),
    }
    found = {}
    for key, (derivative, method) in methods.items():
        jac, status = eqx.filter_jit(derivative(lambda p: rebound(p, method), has_aux=True))(P)  # noqa: B023
        assert status == Status.OK, key
        found[key] = np.asarray(jac) * np.asarray(P)
    size = np.abs(found["sensitivities"]).max()
    for key, jac in found.items():
        np.testing.assert_allclose(jac, found["sensitivities"], rtol=0, atol=1e-7 * size, err_msg=key)
    np.testing.assert_allclose(found["fixed forward"], found["fixed reverse"], rtol=0, atol=1e-11 * size)
    f = eqx.filter_jit(lambda p: rebound(p, equal(1000))[0])
    steps = 1e-5 * np.diag(P)
    differences = np.stack([(f(P + s) - f(P - s)) / 2e-5 for s in steps], axis=1)
    np.testing.assert_allclose(found["fixed forward"], differences, rtol=0, atol=1e-7 * size)
