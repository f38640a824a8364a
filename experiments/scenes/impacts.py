"""Scenes of a body that strikes the ground, with a normal law whose restitution is known."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from difsim import contact
from difsim.contact import AbstractNormalForce, NormalForce, NoSmoothing
from difsim.declarations import quantity, variable
from difsim.dynamics import AbstractModel, Approach
from difsim.typing import Scalar
from experiments.scenes.draws import magnitude, uniform
from experiments.scenes.engines import Motion
from experiments.scenes.scene import Exact, Scene

LONG = 20 * np.pi  # times that of a depth at the speed of impact: a stiff damper lets go late
IMPACT = uniform(mass=(1, 1.6)) | magnitude(stiffness=(1e4, 4e4), speed=(0.5, 2))


class LineState(eqx.Module):
    """The places on a line, m, and the speeds, m/s, of two bodies [2]."""

    x: Any = variable("m", "places on the line")
    v: Any = variable("m/s", "speeds")


class Line(AbstractModel):
    """Two bodies of equal mass on a line, the second of which has weight; the first may be the ground, and stays."""

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


def strike(n, law, end):
    """Return a body that is about to touch the ground, and the times at half of an impact and after it."""
    state = LineState(jnp.array([0.0, 1e-12]), jnp.array([0.0, -n["speed"]]))
    return Line(law, mass=n["mass"], is_held=True), state, end * jnp.array([0.0, 0.5, 1.0])


def scene(name, draws, build, exact):
    engine = Motion(1e-11, 8, has_derivative=False)  # these laws jump at touch
    return Scene(f"impact, {name}", draws, build, engine, exact=exact)


def make_damped(name, label, draws, law, cases):
    """Return a scene of a law with a damper: its restitution is that of the law's closed form."""

    def build(n):
        return strike(n, law(n), LONG * law(n).elastic.max_depth(n["mass"], n["speed"]) / n["speed"])

    exact = Exact(
        "Normal contact",
        {label: ("1", 5e-7)},
        lambda s, n: [s.last.v[1] / n["speed"]],
        lambda n: [law(n).restitution(mass=n["mass"])],
        tuple(case | {"speed": 1.0} for case in cases),
    )
    return scene(name, IMPACT | draws, build, exact)


def spring(name, damping, most, ratios):
    """Return a scene of a spring with a damper of a ratio ζ of the critical one."""

    def law(n):
        elastic = contact.Hooke(n["stiffness"])
        return NormalForce(elastic, damping.from_ratio(n["ratio"], elastic, mass=n["mass"]), NoSmoothing())

    cases = [{"ratio": ratio} for ratio in ratios]
    return make_damped(name, f"spring, {name}: e of an impact", uniform(ratio=(0.05, most)), law, cases)


def power_law(exponent):
    """Return a scene of a damper that returns `asked` while it may pull, and whose force is clipped at zero."""

    def law(n):
        elastic = contact.PowerLaw(n["stiffness"], exponent)
        free = contact.TensileDamping.from_restitution(n["asked"], elastic, mass=n["mass"])
        return NormalForce(elastic, contact.ClippedDamping(free.coefficient), NoSmoothing())

    name, label = f"power law {exponent:g}, clipped", f"power {exponent:g}, clipped damper: e"
    return make_damped(name, label, uniform(asked=(0.3, 0.9)), law, [{"asked": e} for e in (0.3, 0.6, 0.9)])


def elastic(n):
    return contact.Hertz(n["modulus"], n["radius"])


def strike_elastically(n):
    law = NormalForce(elastic(n), contact.Undamped(), NoSmoothing())
    return strike(n, law, elastic(n).duration(n["mass"], n["speed"]))


def depth_force_duration(solution, n):
    """Return the depth and the force at half of the impact, and when it ends."""
    place = solution.states.x[:, 1]
    return -place[1], elastic(n).force(-place[1]), solution.times[-1] - place[-1] / solution.last.v[1]


def expected_depth_force_duration(n):
    depth = elastic(n).max_depth(n["mass"], n["speed"])
    return depth, elastic(n).force(depth), elastic(n).duration(n["mass"], n["speed"])


# Spheres of aluminium of 0.1 m against an equal sphere, a wall of aluminium and a rigid wall.
SPHERE, PLANE_STRAIN = 2700.0 * 4 / 3 * np.pi * 0.1**3, 70e9 / (1 - 0.3**2)
ALUMINIUM = (
    {"modulus": PLANE_STRAIN / 2, "radius": 0.05, "mass": SPHERE / 2, "speed": 1.0},
    {"modulus": PLANE_STRAIN / 2, "radius": 0.1, "mass": SPHERE, "speed": 1.0},
    {"modulus": PLANE_STRAIN, "radius": 0.1, "mass": SPHERE, "speed": 1.0},
)
HERTZ = scene(
    "Hertz",
    magnitude(modulus=(2e10, 8e10), radius=(0.05, 0.2), speed=(0.5, 2)) | uniform(mass=(5, 12)),
    strike_elastically,
    Exact(
        "Normal contact",
        {
            "Hertz: greatest depth": ("m", 2e-6),
            "Hertz: greatest force": ("N", 2e-6),
            "Hertz: duration": ("s", 2e-6),
        },
        depth_force_duration,
        expected_depth_force_duration,
        ALUMINIUM,
    ),
)
SCENES = (
    spring("attraction allowed", contact.TensileDamping, 0.9, (0.2, 0.5)),
    spring("clipped at zero", contact.ClippedDamping, 0.9, (0.05, 0.2, 0.5, 0.9)),
    spring("damper in compression only", contact.CompressionDamping, 1.5, (0.05, 0.2, 0.5, 0.9, 1.5)),
    power_law(1.0),
    power_law(1.5),
    power_law(2.0),
    HERTZ,
)
