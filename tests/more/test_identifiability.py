"""Fisher information and profiles against closed forms, and verdicts on what cannot be known."""

import dataclasses

import numpy as np

import inversion
from inversion.identifiability import LOCAL
from tests import toys


def test_no_verdict_at_a_local_minimum_that_a_profile_shows(key):
    """Intervals about a minimum that is 3.84 or more above another one are those of no likelihood."""
    problem = toys.multimodal()
    local = inversion.fit(problem, key=key, starts=0, keep=1, guesses=[{"x": -0.4}])
    assert local.status.is_converged and local.explains_data and local.misfit > 0.3
    found = inversion.profile(problem, local, "x", np.linspace(-4.0, 5.0, 200))
    assert found.best < local.misfit - 0.3
    deeper = dataclasses.replace(found, best=local.misfit - 4.0)
    assert inversion.identify(problem, local, {"x": found}).verdicts["x"] != LOCAL
    assert inversion.identify(problem, local, {"x": deeper}).verdicts["x"] == LOCAL
