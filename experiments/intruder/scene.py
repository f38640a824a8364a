"""A ball thrown into a bed of grains, as a function of what the grains are like, which can be differentiated."""

from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from difsim import Courant, FixedSteps, Unrolled, allocate, simulate
from difsim.beds import BedSpecification, BoxContainer, GaussianSizes
from difsim.beds.specification import Bed
from difsim.body import RigidBody
from difsim.dem import Clump, Grains, HertzMindlin
from difsim.dem.state import GrainsState
from difsim.stepping.marching import NeighbourList
from difsim.stepping.solution import Solution
from experiments.beds import falling_state, relax

BASE = {"speed": 0.5, "friction": 0.5, "modulus": 1e7, "restitution": 0.5}  # of the impact, m/s; of grains, Pa
DENSITY, POISSON = 2500.0, 0.25
DIAMETER, WIDTH = 0.01, 0.07  # of a grain, and of the bed, m
RADIUS = 0.013  # of the ball, m
SCATTER = 0.5 * DIAMETER  # of where it comes down, m: other grains are hit, and no wall within four of these
GAP = 1e-3  # m, above the highest grain below the ball: it has not yet touched
COURANT = 0.7
STOPS, PAUSE = 3, 0.1  # how often a bed that is hardened is stopped; the time between over √(d/g): some contacts
DT = 2e-5  # s: a 59th of the contact of two grains at the speed of the impact


def box_of_glass(size: float, width: float, depth: float, modulus: float = BASE["modulus"]) -> BedSpecification:
    """The specification of grains of `size` m and a `modulus` Pa, in a square box of a `width` m and a `depth` m."""
    law = HertzMindlin(modulus, POISSON, BASE["restitution"], BASE["friction"])
    return BedSpecification(law, GaussianSizes(size, 0.1 * size), DENSITY, BoxContainer((width, width)), depth)


def recipe() -> BedSpecification:
    """The specification of a bed in the laboratory, 329 grains."""
    return box_of_glass(DIAMETER, WIDTH, 0.06)


class Drop(eqx.Module):
    """Speed and fall of a ball, `parts` times in `time` s, as a function of BASE times some factors, and of where
    it comes down.

    **Arguments:** `bed`; `time`; `parts`.
    """

    grains: Grains
    state: GrainsState
    near: NeighbourList
    steps: int = eqx.field(static=True)
    parts: int = eqx.field(static=True)

    def __init__(self, bed: Bed, time: float, parts: int):
        self.grains = replace(bed.grains, clumps=(ball(RADIUS, DENSITY),), clump_laws=(None,))
        middle = place_above(bed.state.position, bed.grains.radius, jnp.zeros(2))
        self.state = self.grains.with_clumps(bed.state, (falling_state(middle, 0.0),))
        self.near = allocate(self.grains, self.state)
        self.steps, self.parts = round(time / DT / parts), parts

    @property
    def times(self) -> Float[np.ndarray, " part"]:
        """s, after each part."""
        return DT * self.steps * np.arange(1, self.parts + 1)

    def __call__(
        self, factors: Float[Array, "4"], place: Float[Array, "2"]
    ) -> tuple[Float[Array, "part 2"], Int[Array, ""]]:
        """Upward speed m/s of the ball, and how far it has come up, m; the status. `place` m: where, from the
        bed's middle."""
        speed, friction, modulus, restitution = factors * jnp.array(list(BASE.values()))
        grains = eqx.tree_at(
            lambda g: (g.law.friction, g.law.modulus, g.law.restitution),
            self.grains,
            (friction, modulus, restitution),
        )
        state = scale_memory(self.state, factors[2], factors[2])
        above = place_above(state.position, grains.radius, place)
        state = eqx.tree_at(lambda s: s.clumps, state, (falling_state(above, speed),))

        unrolled = {"solver": FixedSteps(self.steps, neighbours=self.near), "derivative": Unrolled()}
        run = simulate(grains, state, jnp.append(0.0, self.times), **unrolled, throw=False)
        (path,) = run.states.clumps
        return jnp.stack([path.velocity[1:, 2], path.position[1:, 2] - above[2]], axis=1), run.status


def scale_memory(state: GrainsState, factor: Float[Array, ""], on_walls: Float[Array, ""]) -> GrainsState:
    """A bed whose contacts remember to have been stiffer by a `factor`, and those `on_walls` by another: softer grains
    than those that it settled with would be taken for contacts that are relieved, stiffer ones not, and derivatives
    would be of one side."""

    def stiffnesses(s):
        return [memory.stiffness for memory in (s.pairs.memory, *(at.memory for at in s.walls))]

    factors = (factor, *(on_walls for _ in state.walls))
    return eqx.tree_at(stiffnesses, state, [f * k for f, k in zip(factors, stiffnesses(state), strict=True)])


def harden(bed: Bed, law: HertzMindlin, wall: HertzMindlin) -> Bed:
    """The bed with grains of a stiffer law.

    Moduli at most double at a time, and the grains are then stopped STOPS times: all at once the contacts, which are
    too deep for it, would throw the bed up.

    **Arguments:** `bed`, poured with one law for grains and walls; `law` of its grains; `wall`, that with its walls.
    **Returns:** the bed, with the figures of the softer one.
    """
    begun, gravity = float(bed.grains.law.modulus), -float(bed.grains.gravity[2])
    pause = PAUSE * np.sqrt(2 * float(jnp.mean(bed.grains.radius)) / gravity)
    ratios = np.array([float(end.modulus) / begun for end in (law, wall)])
    stages = max(1, int(np.ceil(np.log2(ratios.max()))))
    grains, state = bed.grains, bed.state
    for stage in range(1, stages + 1):
        state = scale_memory(state, *ratios ** (1 / stages))
        now = begun * ratios ** (stage / stages)
        walls = (replace(wall, modulus=now[1]),) * len(grains.walls)
        grains = replace(grains, law=replace(law, modulus=now[0]), wall_laws=walls)
        state = relax(grains, state, gravity, pause, STOPS)
    return Bed(grains, state, bed.figures)


def throw_ball(
    grains: Grains, bed: GrainsState, near: NeighbourList, speed: Array, place: Array, times: Array
) -> Solution:
    """The motion of a ball that comes down above `place` m at a speed, m/s.

    **Arguments:** `grains` with the ball; the state of their `bed`; `near`; `speed`; `place`; `times`, s.
    **Returns:** the solution.
    """
    start = place_above(bed.position, grains.radius, place, grains.clumps[0].radius[0])
    state = eqx.tree_at(lambda s: s.clumps, bed, (falling_state(start, speed),))
    return simulate(grains, state, times, solver=Courant(COURANT, neighbours=near), throw=False)


def ball(radius: float, density: float) -> Clump:
    """A ball as one sub-sphere, of the grains' material unless it is given a law of its own."""
    mass = 4 / 3 * np.pi * density * radius**3
    return Clump(RigidBody(mass, 0.4 * mass * radius**2 * np.eye(3)), np.zeros((1, 3)), np.array([radius]))


def place_above(
    position: Float[Array, "3 n"], radius: Float[Array, " n"], place: Float[Array, "2"], ball: float = RADIUS
) -> Float[Array, "3"]:
    """The centre of a `ball` of that radius above `place` m, GAP above where it would touch the first grain, m."""
    reach = radius + ball
    aside = jnp.sum((position[:2] - place[:, None]) ** 2, axis=0)
    under = aside < reach**2
    height = position[2] + jnp.sqrt(jnp.where(under, reach**2 - aside, 1.0))
    return jnp.append(place, GAP + jnp.max(jnp.where(under, height, 0.0)))
