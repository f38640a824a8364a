"""What happens to somebody who forgets to enable float64: a warning that names it, and answers with a stated
error."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import MaxImpacts, Status, simulate
from difsim.body import RigidBody, RigidState
from difsim.contact import (
    AtEffectivePoint,
    Hooke,
    NormalForce,
    RollingForceAndTorque,
    StickSlip,
    SurfaceContact,
    Vertices,
)
from difsim.dynamics import Bouncer, Hopper, PointState
from difsim.gravity import Uniform
from inversion import Bounded, Observation, Observations, Problem, fit
from tests.helpers import approx
from tests.more.test_precision import (
    floor,
    single_session,  # noqa: F401  # of fixtures
)


def bounce(p):
    model = Bouncer(Uniform((0.0, 0.0, -1e-4)), floor(), p["e"])
    end = simulate(model, PointState((0.0, 0.0, 1.0)), jnp.array([0.0, 200.0]), until=MaxImpacts(3), throw=False)
    return {"height": end.states.position[-1, 2]}, end.ok


def test_the_first_example_without_float64(single_session):
    """It is fitted all the same, and says once what was forgotten."""
    problem = Problem({"e": Bounded(0.05, 0.95)}, bounce, Observations({"height": Observation(0.408, 0.001)}))
    with pytest.warns(UserWarning, match=r"difsim\.configure") as said:
        found = fit(problem, key=jax.random.PRNGKey(0), starts=8, keep=2)
        bounce({"e": jnp.array(0.6)})
    assert sum(str(w.message).startswith("simulate: the state is float32") for w in said) == 1
    assert found.values["e"] == pytest.approx(0.6996, abs=1e-4)
    assert found.sigma["e"] == pytest.approx(0.0012, rel=0.02)


def box(p):
    contact = SurfaceContact(
        Vertices.box((0.2, 0.2, 0.2)),
        NormalForce.from_restitution(p[0], Hooke(1e3), 1e-4, mass=1.0),
        AtEffectivePoint(StickSlip(p[1], p[1], 1e-3)),
        (RollingForceAndTorque(2e-3, 1e-3),),
    )
    return Hopper(RigidBody(1.0, np.eye(3) * 0.04 / 6), contact, floor(), Uniform((0.0, 0.0, -5.7e-3)))


@pytest.mark.filterwarnings("ignore:simulate. the state is float32")
def test_a_jacobian_in_float32_states_its_error():
    """The box of docs/examples.md: what `validity.error` says is an upper bound, and no more than 30 times too
    much."""

    def slope():
        @eqx.filter_jit
        @lambda f: jax.jacfwd(f, has_aux=True)
        def place(p):
            model = box(p)
            state = RigidState((0.0, 0.0, 0.5), (0.05, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.1, 0.2, 0.05))
            solution = simulate(model, model.start(state), jnp.array([0.0, 20.0]), throw=False)
            return solution.last.body.position, solution

        return place(jnp.array([0.6, 0.5]))

    wide, exact = slope()
    with jax.enable_x64(False):
        narrow, found = slope()
    assert found.status == Status.OK and narrow.dtype == jnp.float32
    error = float(jnp.abs(narrow - wide).max() / jnp.abs(wide).max())
    assert error < found.validity.error < 30 * error
    assert exact.validity.error == approx(1e-4, rel=0.1)
