"""Scenes of two bodies on a line that push each other apart by a normal law: impacts with a known end, and falls."""

from functools import partial
from math import gamma
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from difsim import contact
from difsim.contact import AbstractNormalForce, NormalForce, NoSmoothing
from difsim.declarations import quantity, variable
from difsim.dynamics import AbstractModel, Approach
from difsim.typing import Scalar
from experiments.scenes.closed import BOUNCE, EARTH
from experiments.scenes.draws import magnitude, uniform
from experiments.scenes.engines import Motion
from experiments.scenes.scene import Exact, Scene

# A ball of 1 kg falls 1.2 m and sinks 1 mm: k δ^2.5/2.5 = ½ m v²; ten contacts of 0.6 ms delay it little.
DEPTH, HERTZIAN = 1e-3, contact.PowerLaw(9.3e8, 1.5)
WIDTH = 0.05 * DEPTH


class LineState(eqx.Module):
    """The places on a line, m, and the speeds, m/s, of two bodies [2]."""

    x: Any = variable("m", "places on the line")
    v: Any = variable("m/s", "speeds")


class Line(AbstractModel):
    """Two bodies of equal mass on a line.

    **Arguments:** `law`; `distance` m of the centres at touch; `gravity` m/s² on the second; `mass` kg of each;
    `is_held`: the first is the ground, and stays.
    """

    law: AbstractNormalForce
    distance: Scalar = quantity("m", "distance of the centres at touch", default=0.0)
    gravity: Scalar = quantity("m/s²", "gravity on the second body", default=0.0)
    mass: Scalar = quantity("kg", "mass of each body", gt=0, default=1.0)
    is_held: bool = eqx.field(static=True, default=False)

    def vector_field(self, t, state):
        gap = state.x[1] - state.x[0] - self.distance
        push = self.law.force(-gap, state.v[0] - state.v[1]) / self.mass
        first = jnp.zeros_like(push) if self.is_held else -push
        return LineState(state.v, jnp.stack([first, push - self.gravity]))

    def approach(self, t, state):
        gap = state.x[1] - state.x[0] - self.distance
        return Approach(gap, jnp.abs(state.v[0] - state.v[1]), jnp.full_like(gap, 3e-5), self.gravity)


def place_of_second(state):
    """Return the place of the second body."""
    return state.x[1:]


# Impacts at a given speed against a law that is not smoothed.


def strike(law, duration, n):
    """Return a body that is about to touch the ground, and the times of a part of its contact and of all of it."""
    second = jnp.stack([jnp.asarray(1e-12), -n["speed"]])
    state = LineState(*(jnp.stack([0.0 * x, x]) for x in second))
    model = Line(law(n), mass=n["mass"], is_held=True)
    return model, state, duration(n) * jnp.array([0.0, 0.5, 1.0])


def spring(damping, n):
    """Return a spring with a damper of a ratio ζ of the critical one."""
    return NormalForce(contact.Hooke(n["stiffness"]), damping(critical(n) * n["ratio"]), NoSmoothing())


def critical(n):
    """Return the critical damping 2 √(k m), N s/m."""
    return 2 * jnp.sqrt(n["stiffness"] * n["mass"])


def spring_duration(n):
    """Return ten periods of the spring, s: a stiff damper lets go late."""
    return 20 * jnp.pi * jnp.sqrt(n["mass"] / n["stiffness"])


def frequency(ratio):
    """Return ζ/√|1 - ζ²|."""
    return ratio / jnp.sqrt(jnp.abs(1 - ratio**2))


def tensile_restitution(ratio):
    """Return e of a damper that pulls as it parts."""
    return jnp.exp(-jnp.pi * frequency(ratio))


def clipped_restitution(ratio):
    """Return e of a force that is clipped at zero."""
    angle = jnp.arctan2(2 * ratio * jnp.sqrt(1 - ratio**2), 1 - 2 * ratio**2)
    return jnp.exp(-frequency(ratio) * (jnp.pi - angle))


def compressive_restitution(ratio):
    """Return e of a damper that acts in compression only (the hopper paper)."""
    angle = jnp.where(ratio < 1, jnp.arccos(jnp.minimum(ratio, 1.0)), jnp.arccosh(jnp.maximum(ratio, 1.0)))
    return jnp.exp(-frequency(ratio) * angle)


def rebound(model, solution, n):
    """Return the speed after the impact over that before."""
    return solution.last.v[1] / n["speed"]


JUMPING_LAW = Motion(1e-11, 8, has_derivative=False)
IMPACT = {"mass": uniform(1, 1.6), "stiffness": magnitude(1e4, 4e4), "speed": magnitude(0.5, 2)}


def restitution(name, damping, exact, most, ratios):
    """Return a scene of an impact against a spring and a damper."""
    label = f"spring, {name}: e of an impact"
    return Scene(
        f"impact, {name}",
        IMPACT | {"ratio": uniform(0.05, most)},
        partial(strike, partial(spring, damping), spring_duration),
        JUMPING_LAW,
        exact=(Exact("Normal contact", label, rebound, lambda n: exact(n["ratio"]), 1e-6),),
        cases=tuple({"ratio": ratio, "speed": 1.0} for ratio in ratios),
    )


def clipped_power_law(exponent, n):
    """Return a power law whose damper returns `asked` while it may pull, and whose force is clipped at zero."""
    elastic = contact.PowerLaw(n["stiffness"], exponent)
    damping = contact.TensileDamping
    free = NormalForce.from_restitution(n["asked"], elastic, NoSmoothing(), mass=n["mass"], damping=damping)
    return NormalForce(elastic, contact.ClippedDamping(free.damping.coefficient), NoSmoothing())


def power_law_duration(p, n):
    """Return ten times the duration of a contact without damping, s."""
    depth = ((p + 1) * n["mass"] * n["speed"] ** 2 / (2 * n["stiffness"])) ** (1 / (p + 1))
    return 30 * depth / n["speed"]


def clipped_of_asked(n):
    """Return the restitution that is realised, the same for each exponent."""
    asked = -jnp.log(n["asked"]) / jnp.pi
    return clipped_restitution(asked / jnp.sqrt(1 + asked**2))


def power_law(exponent):
    """Return a scene of an impact against a power law, clipped."""
    label = f"power {exponent:g}, clipped damper: e"
    return Scene(
        f"impact, power law {exponent:g}, clipped",
        IMPACT | {"asked": uniform(0.3, 0.9)},
        partial(strike, partial(clipped_power_law, exponent), partial(power_law_duration, exponent)),
        JUMPING_LAW,
        exact=(Exact("Normal contact", label, rebound, clipped_of_asked, 5.1e-7),),
        cases=tuple({"asked": e, "speed": 1.0} for e in (0.3, 0.6, 0.9)),
    )


def hertz(n):
    """Return an elastic sphere."""
    return NormalForce(contact.Hertz(n["modulus"], n["radius"]), contact.Undamped(), NoSmoothing())


def hertz_depth(n):
    """Return the greatest depth, m: (15 m v²/(16 E √R))^(2/5)."""
    return (15 * n["mass"] * n["speed"] ** 2 / (16 * n["modulus"] * jnp.sqrt(n["radius"]))) ** 0.4


def hertz_duration(n):
    """Return the duration, s: 2.943 d/v."""
    return 2 * np.sqrt(np.pi) * gamma(1.4) / gamma(0.9) * hertz_depth(n) / n["speed"]


def hertz_force(n):
    """Return the greatest force, N: 4/3 E √R d^(3/2)."""
    return 4 / 3 * n["modulus"] * jnp.sqrt(n["radius"]) * hertz_depth(n) ** 1.5


def depth_at_middle(model, solution, n):
    """Return the depth at half of the duration."""
    return -solution.states.x[1, 1]


# An aluminium sphere of 0.1 m at 1 m/s against an equal sphere, a wall of aluminium and a rigid wall.
SPHERE, PLANE_STRAIN = 2700.0 * 4 / 3 * np.pi * 0.1**3, 70e9 / (1 - 0.3**2)
ALUMINIUM = tuple(
    {"modulus": modulus, "radius": radius, "mass": mass, "speed": 1.0}
    for modulus, radius, mass in (
        (PLANE_STRAIN / 2, 0.05, SPHERE / 2),
        (PLANE_STRAIN / 2, 0.1, SPHERE),
        (PLANE_STRAIN, 0.1, SPHERE),
    )
)
HERTZ_DEPTH = Exact("Normal contact", "Hertz: greatest depth", depth_at_middle, hertz_depth, 2e-6, "m", True)
HERTZ_FORCE = Exact(
    "Normal contact",
    "Hertz: greatest force",
    lambda model, solution, n: model.law.force(depth_at_middle(model, solution, n), jnp.zeros(())),
    hertz_force,
    2e-6,
    "N",
    True,
)
HERTZ_DURATION = Exact(
    "Normal contact",
    "Hertz: duration",
    lambda model, solution, n: solution.times[-1] - solution.last.x[1] / solution.last.v[1],
    hertz_duration,
    2e-6,
    "s",
    True,
)
HERTZ = Scene(
    "impact, Hertz",
    {
        "modulus": magnitude(2e10, 8e10),
        "radius": magnitude(0.05, 0.2),
        "mass": uniform(5, 12),
        "speed": magnitude(0.5, 2),
    },
    partial(strike, hertz, hertz_duration),
    JUMPING_LAW,
    exact=(HERTZ_DEPTH, HERTZ_FORCE, HERTZ_DURATION),
    cases=ALUMINIUM,
)

# Falls and collisions, whose derivatives the benchmark compares.


def smoothed(e):
    """Return a power law that is smoothed at its onset, and may pull."""
    return NormalForce.from_restitution(e, HERTZIAN, WIDTH, mass=1.0, damping=contact.TensileDamping)


def clipped(e):
    """Return the same, clipped at zero."""
    return NormalForce.from_restitution(e, HERTZIAN, WIDTH, mass=1.0)


def kinked(e):
    """Return a power law with a kink at touch."""
    return NormalForce.from_restitution(e, HERTZIAN, NoSmoothing(), mass=1.0, damping=contact.TensileDamping)


def proportional(e):
    """Return a damper in proportion to the force."""
    return NormalForce.from_restitution(e, HERTZIAN, NoSmoothing(), speed=np.sqrt(2 * EARTH * 1.2))


def jumping(e):
    """Return a damper that jumps at touch (the hopper paper)."""
    spring, damping = contact.Hooke(2.4e7), contact.CompressionDamping
    return NormalForce.from_restitution(e, spring, NoSmoothing(), mass=1.0, damping=damping)


def fall(law, n):
    """Return a ball of 1 kg that falls on a law."""
    state = LineState(jnp.stack([0.0 * n["height"], n["height"]]), (0.0, 0.0))
    model = Line(law(n["restitution"]), gravity=EARTH, is_held=True)
    return model, state, jnp.stack([0.0 * n["time"], n["time"]])


def falling_ball(name, law):
    """Return a scene of a ball that bounces on a law."""
    return Scene(name, BOUNCE, partial(fall, law), Motion(), place_of_second, lambda n: 1.0)


def collide(n):
    """Return two elastic balls of 1 kg that collide."""
    law = NormalForce.from_restitution(0.8, HERTZIAN, 1e-5, mass=0.5, damping=contact.TensileDamping)
    return Line(law, 0.2), LineState(n["place"], n["velocity"]), jnp.array([0.0, 1.0])


COLLIDING = Scene(
    "soft pair of balls",
    {"place": uniform([-0.05, 0.5], [0.05, 0.54]), "velocity": uniform([0.9, -0.1], [1.1, 0.1])},
    collide,
    Motion(),
    place_of_second,
    lambda n: 1.0,
)

SCENES = (
    restitution("attraction allowed", contact.TensileDamping, tensile_restitution, 0.9, (0.2, 0.5)),
    restitution("clipped at zero", contact.ClippedDamping, clipped_restitution, 0.9, (0.05, 0.2, 0.5, 0.9)),
    restitution(
        "damper in compression only",
        contact.CompressionDamping,
        compressive_restitution,
        1.5,
        (0.05, 0.2, 0.5, 0.9, 1.5),
    ),
    *(power_law(exponent) for exponent in (1.0, 1.5, 2.0)),
    HERTZ,
    falling_ball("smoothed", smoothed),
    falling_ball("clipped force", clipped),
    COLLIDING,
)
