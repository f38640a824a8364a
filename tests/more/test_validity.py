"""What a derivative is worth: laws that jump are refused, growth is measured, doubts are statuses."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Ignore, safe, simulate
from difsim.contact import NoSmoothing
from difsim.contact.regularisation import Smoothing
from difsim.stepping.trust import Warn
from experiments.scenes.impacts import Line, LineState
from experiments.scenes.parts import EARTH
from tests.core.test_validity import LAX, TIMES, OwnLaw, fall


class OwnSmoothLaw(OwnLaw):
    is_discontinuous = False

    def force(self, depth, rate):
        return self.stiffness * safe.ramp(depth, 1e-3)


def bounce(law, **options):
    model, start = Line(law, gravity=EARTH, is_held=True), LineState((0.0, 0.2), (0.0, 0.0))
    return simulate(model, start, TIMES, **LAX, throw=False, **options).last.x[1]


def test_law_without_base_is_refused_unless_declared_continuous():
    stiffness = jnp.array(2e4)
    assert np.isfinite(bounce(OwnLaw(stiffness)))
    for derivative in (jax.jacfwd, lambda f: jax.jit(jax.jacfwd(f))):
        with pytest.raises(ValueError, match="the force of OwnLaw jumps at touch"):
            derivative(lambda k: bounce(OwnLaw(k)))(stiffness)
    assert np.isfinite(jax.jacfwd(lambda k: bounce(OwnSmoothLaw(k)))(stiffness))
    assert np.isfinite(jax.jacfwd(lambda k: bounce(OwnLaw(k), trust=Ignore()))(stiffness))


def test_jump_warns_or_is_ignored_and_smoothing_passes():
    def slope(regularisation, **options):
        return jax.jacfwd(lambda k: fall(k, regularisation, LAX, **options).last.x[1])(jnp.array(2e4))

    with pytest.warns(UserWarning, match="jumps at touch"):
        slope(NoSmoothing(), trust=Warn())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(slope(NoSmoothing(), trust=Ignore()))
        assert np.isfinite(slope(Smoothing(1e-3)))
