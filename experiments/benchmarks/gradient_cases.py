"""Cases of contact with known derivatives: models, closed forms and references. Tests and benchmark share them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from difsim import Adaptive, Ignore, Reverse, Solution, simulate
from difsim.body import RigidBody, RigidState
from difsim.contact import (
    AbstractNormalForce,
    AtEachPoint,
    Ball,
    CompressionDamping,
    Hooke,
    Newton,
    NormalForce,
    NoSmoothing,
    PowerLaw,
    RegularisedCoulomb,
    SurfaceContact,
    TensileDamping,
)
from difsim.declarations import quantity, variable
from difsim.dynamics import AbstractModel, Approach, Bouncer, Hopper, PointState, TwoBalls, TwoBallState
from difsim.gravity import Uniform
from difsim.shape import Plane
from difsim.typing import Scalar
from experiments.hopper.scenes import GRAVITY, Ground, cube, thrown

G, HEIGHT, RESTITUTION = 9.81, 1.2, 0.8
GROUND = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
# A ball of 1 kg falls 1.2 m and sinks 1 mm: k δ^2.5/2.5 = ½ m v²; ten contacts of 0.6 ms delay it little.
DEPTH, STIFFNESS = 1e-3, 9.3e8
WIDTH = 0.05 * DEPTH
MAX_STEPS = 100_000  # of all adaptive steps: a static number, and each other one would compile the case again
VALUES = {"solver": Adaptive(1e-13, 1e-15, max_steps=MAX_STEPS)}
STRICTEST = {"solver": Adaptive(1e-12, 1e-14, max_steps=MAX_STEPS)}

Way = dict[str, Any]  # solver, derivative and stopping rule: arguments of `simulate`


class LineState(eqx.Module):
    """Two heights, or places on a line, and speeds."""

    x: Any = variable("m", "places of both bodies")
    v: Any = variable("m/s", "speeds of both bodies")


class Pair(AbstractModel):
    """Two bodies of 1 kg on a line, which push each other apart by a normal law where they meet."""

    law: AbstractNormalForce
    distance: Scalar = quantity("m", "distance of the centres at touch", default=0.0)
    gravity: Scalar = quantity("m/s²", "gravity on the second body", default=0.0)
    held: bool = eqx.field(static=True, default=False)  # whether the first body is the ground, and stays

    def vector_field(self, t, state):
        gap = state.x[1] - state.x[0] - self.distance
        push = self.law.force(-gap, state.v[0] - state.v[1])
        first = jnp.zeros_like(push) if self.held else -push
        return LineState(state.v, jnp.stack([first, push - self.gravity]))

    def approach(self, t, state):
        gap = state.x[1] - state.x[0] - self.distance
        return Approach(gap, jnp.abs(state.v[0] - state.v[1]), jnp.full_like(gap, 3e-5), self.gravity)


@dataclass(frozen=True)
class Case:
    """A derivative to be found: of `watch(last state)` by `at` at `time` s, for `build(p)` = model and state.

    `exact`: the Jacobian of a closed form. Where it is None the reference is sixth-order differences of values
    at 1e-13 (`step`, relative to `at`, or to 0.1 where that is more: as long as one path allows, since values have
    noise), or, `by_tangents`, sensitivities at 1e-12 (after bounces of a tumbling body values are too noisy).
    """

    name: str
    build: Callable
    watch: Callable
    at: tuple[float, ...]
    time: float
    exact: np.ndarray | None = None
    by_tangents: bool = False
    step: float = 1e-4


@eqx.filter_jit
def end(build: Callable, watch: Callable, way: Way, p: Array, time: Array) -> tuple[Array, Solution]:
    """What is watched at the end, and the solution. Derivatives through anything are let through."""
    model, state = build(p)
    times = jnp.stack([jnp.zeros_like(time), time])
    solution = simulate(model, state, times, **way, throw=False, trust=Ignore())
    return watch(solution.last), solution


@eqx.filter_jit
def jacobian(build: Callable, watch: Callable, way: Way, p: Array, time: Array) -> tuple[Array, Solution]:
    """The derivative of `end` by p, and the solution. In reverse mode where that is the way."""
    derivative = jax.jacrev if isinstance(way.get("derivative"), Reverse) else jax.jacfwd
    return derivative(lambda p: end(build, watch, way, p, time), has_aux=True)(p)


def reference(case: Case) -> np.ndarray:
    """The Jacobian that a way's is compared with; see `Case`."""
    p, time = jnp.asarray(case.at), jnp.asarray(case.time)
    if case.exact is not None:
        return case.exact
    if case.by_tangents:
        return np.asarray(jacobian(case.build, case.watch, STRICTEST, p, time)[0])
    steps = case.step * np.maximum(np.abs(p), 0.1)

    def column(i):
        def at(k):
            return np.asarray(end(case.build, case.watch, VALUES, p.at[i].add(k * steps[i]), time)[0])

        # f' = (3/4 Δ₁ - 3/20 Δ₂ + 1/60 Δ₃)/h with Δ_k = f(x + kh) - f(x - kh): exact to h⁶.
        return sum(c * (at(k) - at(-k)) for k, c in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))) / steps[i]

    return np.stack([column(i) for i in range(len(case.at))], axis=1)


def error(case: Case, way: Way, exact: np.ndarray) -> tuple[float, Solution]:
    """Worst entry of the Jacobian's error over the largest entry, and the solution."""
    found, solution = jacobian(case.build, case.watch, way, jnp.asarray(case.at), jnp.asarray(case.time))
    return float(np.abs(found - exact).max() / np.abs(exact).max()), solution


# Hard contact, with closed forms.


def _hard_ball(p):
    return Bouncer(Uniform((0.0, 0.0, -G)), GROUND, p[1]), PointState(jnp.stack([0 * p[0], 0 * p[0], p[0]]))


def _hard_oblique(p):
    model = Bouncer(Uniform((0.0, 0.0, -G)), GROUND, p[1], p[2])
    return model, PointState((0.0, 0.0, 0.2), jnp.stack([p[0], 0 * p[0], jnp.full_like(p[0], -2.0)]))


def _rigid_pair(p):
    def along(x):
        return jnp.zeros((2, 3)).at[:, 0].set(x)

    return TwoBalls(Newton(1.0, turns=0), (1.0, 1.0), (0.1, 0.1)), TwoBallState(along(p[:2]), along(p[2:]))


def _place(state):
    return state.position[2:]


def _place_and_speed(state):
    return jnp.stack([state.position[0], state.velocity[0]])


def _second(state):
    return state.x[1:]


def _second_ball(state):
    return state.position[1, :1]


def bounces_until(n: int) -> float:
    """A time in the flight after the n-th bounce of the rigid ball, s."""
    fall = np.sqrt(2 * HEIGHT / G)
    return float(fall * (1 + 2 * sum(RESTITUTION**k for k in range(1, n))) + 0.8 * fall * RESTITUTION**n)


def _bounced(h, e, n, time):
    """Height of a rigid ball after n bounces, closed form (complex h or e for its derivative)."""
    t = np.sqrt(2 * h / G) * (1 + 2 * sum(e**k for k in range(1, n)))
    return e**n * np.sqrt(2 * G * h) * (time - t) - 0.5 * G * (time - t) ** 2


def hard_bounces(n: int) -> Case:
    """A rigid ball after n bounces, by height and restitution."""
    time, i = bounces_until(n), 1e-30j
    by = [_bounced(HEIGHT + i, RESTITUTION, n, time), _bounced(HEIGHT, RESTITUTION + i, n, time)]
    exact = np.array([[x.imag / 1e-30 for x in by]])
    return Case(f"hard ball, {n} bounces", _hard_ball, _place, (HEIGHT, RESTITUTION), time, exact)


def hard_oblique() -> Case:
    """A rigid point that slides through its impact, by v_x, e, μ: v_x' = v_x - μ (1 + e) v_n."""
    v, e, mu, time = 4.0, 0.6, 0.3, 0.2
    fast = np.sqrt(2.0**2 + 2 * G * 0.2)
    touch = (fast - 2.0) / G
    speed = np.array([1.0, -mu * fast, -(1 + e) * fast])
    exact = np.stack([touch * np.array([1.0, 0.0, 0.0]) + (time - touch) * speed, speed])
    return Case("hard oblique impact", _hard_oblique, _place_and_speed, (v, e, mu), time, exact)


def hard_pair() -> Case:
    """VALIDATION: place of the second ball by (x₁, x₂, v, u)."""
    exact = np.array([[1.0, 0.0, 1.0, 0.0]])
    return Case("hard pair of balls", _rigid_pair, _second_ball, (0.0, 0.52, 1.0, 0.0), 1.0, exact)


# Regularised contact.


def _falling(law):
    def build(p):
        model = Pair(law(p[1]), gravity=G, held=True)
        return model, LineState(jnp.stack([0 * p[0], p[0]]), (0.0, 0.0))

    return build


HERTZIAN = PowerLaw(STIFFNESS, 1.5)


def _smooth(e):
    return NormalForce.from_restitution(e, HERTZIAN, WIDTH, mass=1.0, damping=TensileDamping)


def _clipped(e):
    return NormalForce.from_restitution(e, HERTZIAN, WIDTH, mass=1.0)


def _kinked(e):
    return NormalForce.from_restitution(e, HERTZIAN, NoSmoothing(), mass=1.0, damping=TensileDamping)


def _proportional(e):
    return NormalForce.from_restitution(e, HERTZIAN, NoSmoothing(), speed=np.sqrt(2 * G * HEIGHT))


def _jumping(e):
    return NormalForce.from_restitution(e, Hooke(2.4e7), NoSmoothing(), mass=1.0, damping=CompressionDamping)


SMOOTH, CLIPPED = _falling(_smooth), _falling(_clipped)
KINKED, JUMPING, PROPORTIONAL = _falling(_kinked), _falling(_jumping), _falling(_proportional)


def soft_bounces(n: int, build: Callable = SMOOTH, name: str = "smoothed") -> Case:
    """A ball on a damped power law, or another, after n bounces, by height and restitution."""
    return Case(f"{name}, {n} bounces", build, _second, (HEIGHT, RESTITUTION), bounces_until(n))


def _soft_pair(p):
    law = NormalForce.from_restitution(RESTITUTION, HERTZIAN, 1e-5, mass=0.5, damping=TensileDamping)
    return Pair(law, 0.2), LineState(p[:2], p[2:])


def soft_pair() -> Case:
    """Two elastic balls of 1 kg that collide, by (x₁, x₂, v, u)."""
    return Case("soft pair of balls", _soft_pair, _second, (0.0, 0.52, 1.0, 0.0), 1.0, step=1e-3)


def _ball(p, depth, height, velocity):
    """A ball of 1 kg, r = 0.1 m, that rubs on the plane z = 0: friction p[0], speed along x p[1]."""
    spring = PowerLaw(G / depth**1.5, 1.5)
    law = NormalForce.from_restitution(0.6, spring, 0.05 * depth, mass=1.0, damping=TensileDamping)
    contact = SurfaceContact(Ball(0.1), law, AtEachPoint(RegularisedCoulomb(p[0], 1e-2)))
    body = RigidBody(1.0, 4e-3 * np.eye(3))
    model = Hopper(body, contact, GROUND, Uniform((0.0, 0.0, -G)), resolution=1e-3)
    along = jnp.stack([p[1], 0 * p[1], jnp.full_like(p[1], velocity)])
    return model, model.start(RigidState((0.0, 0.0, height), along, (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))


def _rolling(p):
    return _ball(p, 1e-3, 0.099, 0.0)


def _oblique(p):
    return _ball(p, 1e-5, 0.2, -2.0)


def _motion(state):
    body = state.body
    return jnp.stack([body.position[0], body.velocity[0], 0.1 * body.spin[1]])


def sliding_to_rolling() -> Case:
    """A ball that slides at 1 m/s and rolls after 2 v/(7 μ g) = 0.1 s, by μ and v."""
    return Case("sliding to rolling", _rolling, _motion, (0.3, 1.0), 0.3, step=1e-3)


def oblique_impact() -> Case:
    """A ball that slides through its impact on stiff ground, by μ and v_x."""
    return Case("oblique impact", _oblique, _motion, (0.1, 4.0), 0.12, step=1e-3)


def _thrown_cube(p, gravity, slower):
    model = cube(gravity, Ground(restitution=p[0], friction=p[1]))
    body = thrown(model).body
    place, motion = body.position.at[2].set(p[2]), (body.velocity * slower, body.spin * slower)
    return model, model.start(RigidState(place, motion[0], body.attitude, motion[1]))


def _cube(p):
    return _thrown_cube(p, GRAVITY["phobos"], 1.0)


def _slow_cube(p):
    return _thrown_cube(p, MICROGRAVITY, 0.1)


def _position(state):
    return state.body.position


# Flights after contacts of the cube thrown over Phobos, and in microgravity at a tenth of the speed.
CUBE_TIMES = {1: 7.0, 4: 25.0, 6: 40.0, 10: 50.0}
MICROGRAVITY, SLOW_TIMES = 6e-5, {1: 50.0, 4: 150.0, 8: 250.0}


def tumbling_cube(contacts: int) -> Case:
    """The hopper study's cube, whose corners touch one after the other, by e, μ and the height of release."""
    at = (0.6, 0.5, 0.5)
    return Case(f"cube, {contacts} contacts", _cube, _position, at, CUBE_TIMES[contacts], by_tangents=True)


def slow_cube(contacts: int) -> Case:
    """The same cube in 6e-5 m/s², thrown at a few mm/s."""
    name = f"cube in {MICROGRAVITY:.0e} m/s², {contacts} contacts"
    return Case(name, _slow_cube, _position, (0.6, 0.5, 0.2), SLOW_TIMES[contacts], by_tangents=True)
