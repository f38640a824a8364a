"""A posterior that is known in closed form comes back from both samplers, with its evidence."""

import numpy as np
import pytest

from inversion import Tempered
from tests import toys
from tests.toys import PRIOR, QUICK, exact, posterior


@pytest.mark.parametrize("method", [QUICK, Tempered(800, 8)], ids=["importance", "tempered"])
def test_linear_posterior_is_that_of_the_closed_form(method):
    mean, covariance, evidence = exact()
    found = posterior(toys.linear(**PRIOR), method, effective_size=300)
    for i, name in enumerate("ab"):
        value, error = found.estimate(found.draws[name])
        assert abs(value - mean[i]) < 4 * error < np.sqrt(covariance[i, i])
    assert abs(found.log_evidence - evidence) < 4 * found.log_evidence_error and found.log_evidence_error < 0.5
