"""Contact against closed forms: restitution, Hertz, bounces, sliding, rolling, oblique impacts."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from difsim import Adaptive, Ignore, MaxImpacts, simulate
from difsim.body import RigidBody, RigidState
from difsim.contact import (
    AbstractNormalForce,
    Ball,
    ClippedDamping,
    CompressionDamping,
    Hertz,
    Hooke,
    Newton,
    NormalForce,
    NoSmoothing,
    PowerLaw,
    TensileDamping,
    Undamped,
)
from difsim.declarations import quantity, variable
from difsim.dynamics import AbstractModel, Approach, Bouncer, HardBody, HardState, PointState
from difsim.gravity import Uniform
from difsim.shape import Plane
from difsim.typing import Scalar
from experiments.validation.cases import Case

EARTH = 9.81  # m/s², of the cases that VALIDATION states with it
FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
STIFFNESS, MASS = 2e4, 1.3
# e of a spring with dampers of the ratio ζ.
RESTITUTION = (
    (TensileDamping, "attraction allowed", ((0.2, 0.5266206), (0.5, 0.1630335))),
    (ClippedDamping, "clipped at zero", ((0.05, 0.8587581), (0.2, 0.5717400), (0.5, 0.2984361), (0.9, 0.1552827))),
    (
        CompressionDamping,
        "damper in compression only",
        ((0.05, 0.9266920), (0.2, 0.7561349), (0.5, 0.5462930), (0.9, 0.3940594), (1.5, 0.2749333)),
    ),
)
# What a damper of the unclipped law with e realises when its force is clipped, the same for all exponents.
CLIPPED = ((0.3, 0.397140), (0.6, 0.632291), (0.9, 0.902026))
# An aluminium sphere of 0.1 m at 1 m/s against: depth m, force N, duration s.
HERTZ = (
    ("an equal sphere", 2.069916e-4, 3.414913e4, 6.092333e-4),
    ("a wall of aluminium", 2.377710e-4, 5.945708e4, 6.998253e-4),
    ("a rigid wall", 1.801967e-4, 7.845409e4, 5.303684e-4),
)


class Impact(eqx.Module):
    """The state of one impact."""

    depth: Scalar = variable("m", "penetration")
    rate: Scalar = variable("m/s", "rate of the penetration")


class Normal(AbstractModel):
    """A mass that moves against a normal force, without anything else."""

    law: AbstractNormalForce
    mass: Scalar = quantity("kg", "mass")

    def vector_field(self, t, state):
        return Impact(state.rate, -self.law.force(state.depth, state.rate) / self.mass)

    def approach(self, t, state):
        return Approach(gap=-state.depth, speed=jnp.abs(state.rate), resolution=jnp.array(1e-6))

    def scales(self, t, state):
        return Impact(0.0, 0.0), Impact(1e-4, 1.0)


def cases() -> list[Case]:
    """All of them."""
    return [*_restitutions(), *_hertz(), *_bounces(), *_rolling(), *_oblique()]


@eqx.filter_jit
def _impact(law, mass, end):
    """Penetration and rate at 2001 times of an impact at 1 m/s, until `end`."""
    times = jnp.linspace(0.0, 1.0, 2001) * end
    solver = Adaptive(1e-11, 1e-11, order=8, max_steps=100_000)
    run = simulate(Normal(law, mass), Impact(-1e-9, 1.0), times, solver=solver, throw=False, trust=Ignore())
    return times, run.states


def _restitutions() -> list[Case]:
    found = []
    for damping, name, numbers in RESTITUTION:
        for ζ, e in numbers:
            law = NormalForce(Hooke(STIFFNESS), damping(2 * ζ * np.sqrt(STIFFNESS * MASS)), NoSmoothing())
            _, states = _impact(law, MASS, 20 * np.pi * np.sqrt(MASS / STIFFNESS))
            label = f"spring, {name}, ζ = {ζ}: e of an impact"
            found.append(Case("Normal contact", label, e, -states.rate[-1], 1e-6))
    for exponent in (1.0, 1.5, 2.0):
        for asked, realised in CLIPPED:
            elastic = PowerLaw(STIFFNESS, exponent)
            free = NormalForce.from_restitution(asked, elastic, NoSmoothing(), mass=MASS, damping=TensileDamping)
            clipped = NormalForce(elastic, ClippedDamping(free.damping.coefficient), NoSmoothing())
            ours = clipped.restitution(mass=MASS)
            label = f"power {exponent:g}, damper for {asked}, clipped: e"
            found.append(Case("Normal contact", label, realised, ours, 5.1e-7))
    return found


def _hertz() -> list[Case]:
    found = []
    young, poisson, radius = 70e9, 0.3, 0.1
    sphere = 2700.0 * 4 / 3 * np.pi * radius**3
    plane_strain = young / (1 - poisson**2)
    for (name, depth, force, duration), modulus, curvature, mass in zip(
        HERTZ,
        (plane_strain / 2, plane_strain / 2, plane_strain),
        (radius / 2, radius, radius),
        (sphere / 2, sphere, sphere),
        strict=True,
    ):
        law = NormalForce(Hertz(modulus, curvature), Undamped(), NoSmoothing())
        times, states = _impact(law, mass, 1.5 * duration)
        depths = np.asarray(states.depth)
        greatest = depths.max()
        last = np.flatnonzero(depths > 0)[-1]
        ended = times[last] - depths[last] / states.rate[last]
        for label, expected, ours, unit in (
            ("greatest depth", depth, greatest, "m"),
            ("greatest force", force, law.force(greatest, 0.0), "N"),
            ("duration", duration, ended, "s"),
        ):
            found.append(Case("Normal contact", f"Hertz, {name}: {label}", expected, ours, 2e-6, unit, True))
    return found


def _bounces() -> list[Case]:
    """A ball from 1 m with e = 0.6: it rests after √(2h/g) (1+e)/(1-e), on a path of h (1+e²)/(1-e²)."""
    e, fall = 0.6, np.sqrt(2 / EARTH)
    tops = fall + 2 * fall * (np.cumsum(e ** np.arange(1, 13)) - 0.5 * e ** np.arange(1, 13))
    total = fall * (1 + e) / (1 - e)
    model = Bouncer(Uniform((0, 0, -EARTH)), FLOOR, e, rest_height=1e-14)
    times = jnp.array([0.0, *tops, total - 1e-6, total + 1e-6])
    run = simulate(model, PointState((0, 0, 1)), times, until=MaxImpacts(60))
    path = 1 + 2 * run.states.position[1:13, 2].sum() + 2 * e**26 / (1 - e**2)
    height = float(jnp.abs(run.states.position[-2:, 2]).max())
    return [
        Case("Normal contact", "bouncing ball: path", 2.125, path, 1e-9, "m"),
        Case(
            "Normal contact",
            "bouncing ball: height within 1e-6 s of 1.8060946 s",
            0.0,
            height,
            1e-11,
            "m",
        ),
    ]


def _rolling() -> list[Case]:
    """A ball that slips begins to roll; a point on level ground slides until it stops."""
    v0, μ, radius, mass = 1.0, 0.3, 0.1, 2.0
    body = RigidBody(mass, 0.4 * mass * radius**2 * jnp.eye(3))
    down = Uniform((0.0, 0.0, -EARTH))
    model = HardBody(body, Ball(radius), Newton(0.6, μ, turns=0), FLOOR, down, 1e-12)
    start = HardState(RigidState((0, 0, radius), (v0, 0, 0), (1, 0, 0, 0), (0, 0, 0)))
    stop = 2 * v0 / (7 * μ * EARTH)
    run = simulate(model, start, jnp.array([0.0, stop, 1.0]), until=MaxImpacts(4))
    where, speed = run.states.body.position[:, 0], run.states.body.velocity[:, 0]
    slide = Bouncer(down, FLOOR, 0.5, μ)
    slid = simulate(slide, PointState((0, 0, 0), (v0, 0, 0)), jnp.array([0.0, 1.0]), until=MaxImpacts(4))
    block = v0**2 / (2 * μ * EARTH)
    return [
        Case(
            "Friction",
            "ball: place where it begins to roll",
            12 / (49 * μ * EARTH),
            where[1],
            1e-9,
            "m",
        ),
        Case("Friction", "ball: speed as it rolls", 5 / 7, speed[-1], 1e-9, "m/s"),
        Case("Friction", "sliding point: way to the stop", block, slid.last.position[0], 5e-3, "m", True),
    ]


def _oblique() -> list[Case]:
    """Tangential speed and spin of a ball after an oblique impact, sliding throughout and not."""
    e, μ, mass, radius = 0.7, 0.3, 2.0, 0.1
    response = jnp.diag(jnp.array([3.5, 3.5, 1.0]) / mass)
    found = []
    for name, u_t, u_n in (("slides throughout", 4.0, 2.0), ("rolls", 1.0, 2.0)):
        impulse = Newton(e, μ, turns=0).impulse(response, jnp.array([0.0, 0.0, 1.0]), jnp.array([u_t, 0.0, -u_n]))
        after = u_t + impulse.total[0] / mass
        expected = u_t - μ * (1 + e) * u_n if u_t > 3.5 * μ * (1 + e) * u_n else 5 / 7 * u_t
        turning = -impulse.total[0] * radius / (0.4 * mass * radius**2) * radius
        label = f"oblique impact that {name}"
        found.append(Case("Friction", f"{label}: v_t", expected, after, 1e-12, "m/s"))
        spin = 2.5 * (u_t - expected)
        found.append(Case("Friction", f"{label}: ωR", spin, turning, 1e-12, "m/s"))
    return found
