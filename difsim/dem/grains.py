"""Grains as soft spheres: how they push each other and walls, and how they step."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from difsim import safe
from difsim.dem.laws import AbstractGrainLaw
from difsim.dem.near import Near
from difsim.dem.touching import Grain, Shear, at_wall, between, effective, met
from difsim.particles import AbstractParticles
from difsim.shape import AbstractSDF
from difsim.typing import Scalar, number, require, scalar

PER_CONTACT = 10  # steps that a contact must have at the least


class Touching(eqx.Module):
    """What pairs remember: pair p is of the grains `first` [p] and `second` [p]; one grain with itself is none."""

    first: Int[Array, " p"]
    second: Int[Array, " p"]
    memory: Shear


class GrainsState(eqx.Module):
    """Position m, velocity m/s and spin rad/s of n spheres, what their pairs remember, and what they remember of
    each of w walls."""

    position: Float[Array, "3 n"]
    velocity: Float[Array, "3 n"]
    spin: Float[Array, "3 n"]
    pairs: Touching
    walls: tuple[Shear, ...]


class Rates(eqx.Module):
    """Acceleration m/s² and spin's rate rad/s² of n spheres; `depth` m of the deepest contact."""

    velocity: Float[Array, "3 n"]
    spin: Float[Array, "3 n"]
    depth: Scalar


class GrainsMotion(eqx.Module):
    """A state at a time s, and its rates there."""

    time: Scalar
    state: GrainsState
    rates: Rates


class Grains(AbstractParticles):
    """Soft spheres under gravity, between walls.

    m v' = m g + Σ F, I ω' = Σ M with I = ⅖ m R². Steps are those of velocity Verlet; dampers and springs along the
    contact take the velocity half a step back.

    **Arguments:** `law` of their contacts; `radius` [n], m; `density` of one grain, kg/m³; `gravity` [3], m/s²;
    `walls`: solids that they bounce from, of the grains' own material. **Raises:** ValueError for a radius or a
    density that is not positive.
    """

    law: AbstractGrainLaw
    radius: Float[Array, " n"] = number()
    density: Scalar = scalar()
    gravity: Float[Array, "3"] = number(default=(0.0, 0.0, 0.0))
    walls: tuple[AbstractSDF, ...] = ()

    def __check_init__(self):
        require(self.radius > 0, "Grains: every radius must be positive")
        require(self.density > 0, f"Grains: density = {self.density} kg/m³ must be positive")

    @property
    def mass(self) -> Float[Array, " n"]:
        """kg."""
        return 4 / 3 * jnp.pi * self.density * self.radius**3

    @property
    def inertia(self) -> Float[Array, " n"]:
        """Of each about any axis, kg m²."""
        return 0.4 * self.mass * self.radius**2

    @property
    def gap(self) -> Scalar:
        """m, up to which two grains feel each other."""
        return sum((c.range for c in self.law.cohesion), jnp.zeros_like(self.density))

    def at_rest(self, position: Float[Array, "3 n"]) -> GrainsState:
        """The state at `position` m, at rest, with contacts that remember nothing."""
        position = jnp.asarray(position)
        zero = jnp.zeros_like(position)
        wall = Shear(zero, zero[0])
        one = jnp.zeros(1, jnp.int32)
        pairs = Touching(one, one, Shear(zero[:, :1], zero[0, :1]))
        return GrainsState(position, zero, zero, pairs, (wall,) * len(self.walls))

    def allocate(self, state: GrainsState, skin: float, slack: float) -> Near:
        width = 2 * skin * float(jnp.max(self.radius))
        return Near.allocate(state.position, self.radius, self.walls, float(self.gap), width, slack)

    def begin(self, time: Scalar, state: GrainsState, near: Near) -> GrainsMotion:
        # No time has passed: what the contacts remember stays.
        return GrainsMotion(time, *self._pushed(_remembered(state, near), near, jnp.zeros_like(self.density)))

    def memory(self, motion: GrainsMotion) -> Touching:
        return motion.state.pairs

    def relisted(self, motion: GrainsMotion, near: Near) -> GrainsMotion:
        return eqx.tree_at(lambda m: m.state, motion, _remembered(motion.state, near))

    def step(self, motion: GrainsMotion, near: Near, dt: Scalar) -> GrainsMotion:
        def kicked(state, rates):
            new = state.velocity + 0.5 * dt * rates.velocity, state.spin + 0.5 * dt * rates.spin
            return eqx.tree_at(lambda s: (s.velocity, s.spin), state, new)

        half = kicked(motion.state, motion.rates)
        moved = eqx.tree_at(lambda s: s.position, half, half.position + dt * half.velocity)
        moved, rates = self._pushed(moved, near, dt)
        return GrainsMotion(motion.time + dt, kicked(moved, rates), rates)

    def longest_step(self, motion: GrainsMotion) -> Scalar:
        """A tenth of the shortest contact that there can be, s: of the smallest grains, as deep as the deepest is
        now, or as fast as the fastest two would meet after a fall through a radius."""
        least = jnp.min(self.radius)
        pull = jnp.sqrt(jnp.max(jnp.sum(motion.rates.velocity**2, axis=0)))
        speed = 2 * jnp.sqrt(jnp.max(jnp.sum(motion.state.velocity**2, axis=0)) + 2 * pull * least)
        radius, mass = 0.5 * least, 0.5 * jnp.min(self.mass)
        return self.law.duration(radius, mass, motion.rates.depth, speed) / PER_CONTACT

    def broken(self, motion: GrainsMotion) -> Bool[Array, " n"]:
        return ~jnp.isfinite(jnp.sum(motion.state.velocity + motion.state.spin, axis=0))

    def energy(self, state: GrainsState) -> dict[str, Scalar]:
        """J: of motion, of spin, in gravity, and stored in the contacts across and along."""
        first, second = state.pairs.first, state.pairs.second
        a, b = self._grains(state, first), self._grains(state, second)
        contacts = [(effective(a.radius, b.radius), _met(a, b, first == second)[1])]
        away = (jax.vmap(wall.distance, in_axes=1)(state.position) for wall in self.walls)
        contacts += [(self.radius, self.radius - gap) for gap in away]
        memories = state.pairs.memory, *state.walls
        return {
            "kinetic": 0.5 * jnp.sum(self.mass * jnp.sum(state.velocity**2, axis=0)),
            "rotation": 0.5 * jnp.sum(self.inertia * jnp.sum(state.spin**2, axis=0)),
            "potential": -jnp.sum(self.mass * (self.gravity @ state.position)),
            "elastic": sum(jnp.sum(jax.vmap(self.law.stored)(*contact)) for contact in contacts),
            "tangential": sum(
                jnp.sum(safe.divide(0.5 * jnp.sum(m.force**2, axis=0), m.stiffness)) for m in memories
            ),
        }

    def _grains(self, state: GrainsState, who: Int[Array, " q"]) -> Grain:
        return _of(Grain(state.position, state.velocity, state.spin, self.radius, self.mass), who)

    def _pushed(self, state: GrainsState, near: Near, dt: Scalar) -> tuple[GrainsState, Rates]:
        """The state with what contacts remember `dt` s later, and its rates."""
        first, second = state.pairs.first, state.pairs.second
        push = _between(
            self.law,
            self._grains(state, first),
            self._grains(state, second),
            state.pairs.memory,
            dt,
            first == second,
        )
        none = jnp.zeros_like(state.position)
        force = none.at[:, first].add(push.force).at[:, second].add(-push.force)
        moment = none.at[:, first].add(push.moment).at[:, second].add(push.other_moment)
        depth, memories = jnp.max(push.depth, initial=0.0), []
        for wall, who, memory in zip(self.walls, near.at_walls, state.walls, strict=True):
            here = _at_wall(self.law, wall, self._grains(state, who), _of(memory, who), dt)
            force, moment = force.at[:, who].add(here.force), moment.at[:, who].add(here.moment)
            memories.append(jax.tree.map(lambda x, new, who=who: x.at[..., who].set(new), memory, here.memory))
            listed = who < self.radius.shape[0]
            depth = jnp.max(here.depth, initial=depth, where=listed)
        state = eqx.tree_at(lambda s: (s.pairs.memory, s.walls), state, (push.memory, tuple(memories)))
        spin = moment / self.inertia[None]
        return state, Rates(self.gravity[:, None] + force / self.mass[None], spin, depth)


_between = jax.vmap(between, in_axes=(None, -1, -1, -1, None, -1), out_axes=-1)
_met = jax.vmap(met, in_axes=-1, out_axes=-1)


def _at_wall(law, wall, grains, memory, dt):
    def one(grain, memory):
        return at_wall(law, grain, wall.distance(grain.position), wall.normal(grain.position), memory, dt)

    return jax.vmap(one, in_axes=-1, out_axes=-1)(grains, memory)


def _of(many: Grain | Shear, who: Int[Array, " q"]) -> Grain | Shear:
    # Room that is left in a list names grain n.
    return jax.tree.map(lambda x: x.at[..., who].get(mode="clip"), many)


def _remembered(state: GrainsState, near: Near) -> GrainsState:
    """The state with the pairs of a list, and what these remember of the pairs that there were."""
    found = near.pairs.carried(state.pairs.first, state.pairs.second)
    memory = jax.tree.map(lambda x: jnp.where(found >= 0, x[..., found], 0.0), state.pairs.memory)
    return eqx.tree_at(lambda s: s.pairs, state, Touching(near.pairs.first, near.pairs.second, memory))
