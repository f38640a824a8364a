"""Grains as soft spheres: how they push each other and walls, and how they step."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from difsim import safe
from difsim.body import RigidState
from difsim.dem.clump import AbstractClump
from difsim.dem.laws import AbstractGrainLaw
from difsim.dem.near import Near
from difsim.dem.state import GrainsMotion, GrainsState, Rates, Touching
from difsim.dem.touching import Grain, Shear, at_wall, between, effective, met
from difsim.particles import AbstractParticles, pair_map
from difsim.shape import AbstractSDF
from difsim.typing import Scalar, all_of, as_float, number, require, require_finite, require_last, scalar

PER_CONTACT = 10  # steps that a contact must have at the least
TOO_DEEP = 0.5  # of the smaller radius: far past the small strains of any contact's law


def _walls(given: Any) -> tuple[AbstractSDF, ...]:
    return all_of("Grains: walls", given, AbstractSDF)


def _clumps(given: Any) -> tuple[AbstractClump, ...]:
    return all_of("Grains: clumps", given, AbstractClump)


class Grains(AbstractParticles):
    """Soft spheres under gravity, between walls.

    m v' = m g + Σ F, I ω' = Σ M with I = ⅖ m R². Steps are those of velocity Verlet; dampers and springs along the
    contact take the velocity half a step back.

    **Arguments:** `law` of their contacts; `radius` [n], m, of at least one; `density` of one grain, kg/m³;
    `gravity` [3], m/s²; `walls`: a tuple of solids that they bounce from, of the grains' own material, as are the
    `clumps`, rigid bodies among them. **Raises:** ValueError for radii that are none, or a radius or density that
    is not positive, gravity that is not [3] or not finite, walls or clumps that are not a tuple of such.
    """

    law: AbstractGrainLaw
    radius: Float[Array, " n"] = number()
    density: Scalar = scalar()
    gravity: Float[Array, "3"] = number(default=(0.0, 0.0, 0.0))
    walls: tuple[AbstractSDF, ...] = eqx.field(converter=_walls, default=())
    clumps: tuple[AbstractClump, ...] = eqx.field(converter=_clumps, default=())

    def __check_init__(self):
        several = self.radius.ndim == 1 and self.radius.size > 0
        require(several, f"Grains: radius has shape {self.radius.shape}: give [n], of one grain at least")
        require(self.radius > 0, "Grains: every radius must be positive")
        require(self.density > 0, f"Grains: density = {self.density} kg/m³ must be positive")
        require_last("Grains: gravity", self.gravity, 3)
        require_finite("Grains: gravity", self.gravity)

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

    def at_rest(self, position: Any, clumps: Any = ()) -> GrainsState:
        """Grains at `position` [3, n] m, at rest, and clumps that move as given; contacts that remember nothing.

        **Raises:** ValueError unless there is one position for each grain, and as `joined`.
        """
        position = as_float(position)
        require_last("Grains.at_rest: position", position, 3, self.radius.size)
        zero = jnp.zeros_like(position)
        wall, one = Shear(zero, zero[0]), jnp.zeros(1, jnp.int32)
        pairs = Touching(one, one, Shear(zero[:, :1], zero[0, :1]))
        return self.joined(GrainsState(position, zero, zero, pairs, (wall,) * len(self.walls)), clumps)

    def joined(self, state: GrainsState, clumps: Any) -> GrainsState:
        """A state of the same grains without clumps, such as a bed's, and clumps that move as given: a tuple.

        **Raises:** ValueError for a state of other grains or walls, or one that has clumps; unless there is one
        state for each clump, of its own kind, with finite places and attitudes that are unit quaternions.
        """
        require_last("Grains: position of a state", state.position, 3, self.radius.size)
        if len(state.walls) != len(self.walls) or state.clumps:
            raise ValueError(
                f"Grains: a state with {len(state.walls)} walls and {len(state.clumps)} clumps: give one with "
                f"these grains' {len(self.walls)} walls, and without clumps"
            )
        if not isinstance(clumps, tuple | list):
            raise ValueError(f"Grains: states of clumps is {type(clumps).__name__}: give a tuple of states")
        if len(clumps) != len(self.clumps):
            raise ValueError(f"Grains: {len(clumps)} states for {len(self.clumps)} clumps: give one for each")
        for clump, at in zip(self.clumps, clumps, strict=True):
            _check(clump, at)
        pebbles = sum(clump.radius.size for clump in self.clumps)
        walls = jax.tree.map(lambda x: jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, pebbles)]), state.walls)
        return eqx.tree_at(lambda s: (s.walls, s.clumps), state, (walls, tuple(clumps)))

    def spheres(self, state: GrainsState) -> Grain:
        """Grains, and after them the pebbles of the clumps."""
        grains = Grain(state.position, state.velocity, state.spin, self.radius, self.mass)
        pebbles = (clump.spheres(at) for clump, at in zip(self.clumps, state.clumps, strict=True))
        return jax.tree.map(lambda *parts: jnp.concatenate(parts, axis=-1), grains, *pebbles)

    def places(self, state: GrainsState) -> Float[Array, "3 m"]:
        return self.spheres(state).position

    def allocate(self, state: GrainsState, skin: float, slack: float) -> Near:
        width = 2 * skin * float(jnp.max(self.radius))
        body = [k for k, clump in enumerate(self.clumps) for _ in range(clump.radius.size)]
        all_of_them = self.spheres(state)
        return Near.allocate(
            all_of_them.position, all_of_them.radius, self.walls, float(self.gap), width, slack, body
        )

    def begin(self, time: Scalar, state: GrainsState, near: Near) -> GrainsMotion:
        # No time has passed: what the contacts remember stays.
        return GrainsMotion(time, *self._pushed(_remembered(state, near), near, jnp.zeros_like(self.density)))

    def memory(self, motion: GrainsMotion) -> Touching:
        return motion.state.pairs

    def relisted(self, motion: GrainsMotion, near: Near) -> GrainsMotion:
        return eqx.tree_at(lambda m: m.state, motion, _remembered(motion.state, near))

    def step(self, motion: GrainsMotion, near: Near, dt: Scalar) -> GrainsMotion:
        moved = self._drifted(self._kicked(motion.state, motion.rates, 0.5 * dt), dt)
        moved, rates = self._pushed(moved, near, dt)
        return GrainsMotion(motion.time + dt, self._kicked(moved, rates, 0.5 * dt), rates)

    def longest_step(self, motion: GrainsMotion) -> Scalar:
        """A tenth of the shortest contact, and no more than takes the fastest two a tenth of a radius on, so that
        none is passed by, s."""
        contact, past = self._shortest(motion)
        each = zip(self.clumps, motion.state.clumps, strict=True)
        own = (clump.longest_step(at) for clump, at in each)
        return jnp.min(jnp.stack([contact / PER_CONTACT, past / PER_CONTACT, *own]))

    def shortest_contact(self, motion: GrainsMotion) -> Scalar:
        """How long the shortest contact lasts that there can be, s.

        Of the smallest spheres, as deep as the deepest is now, or as fast as the fastest two would meet after a
        fall through a radius. A clump counts as if six of its pebbles carried their share of the mass: all may
        touch, as the neighbours of a grain do.
        """
        return self._shortest(motion)[0]

    def _shortest(self, motion: GrainsMotion) -> tuple[Scalar, Scalar]:
        """The shortest contact, and how long the fastest two take for a radius, s."""
        spheres, rates = self.spheres(motion.state), motion.rates
        loads = zip(self.clumps, rates.clumps, strict=True)
        pulls = [jnp.sqrt(jnp.max(_squares(rates.velocity))), *(clump.acceleration(load) for clump, load in loads)]
        least = jnp.min(spheres.radius)
        speed = 2 * jnp.sqrt(jnp.max(_squares(spheres.velocity)) + 2 * jnp.max(jnp.stack(pulls)) * least)
        lightest = jnp.min(jnp.stack([jnp.min(self.mass), *(clump.share for clump in self.clumps)]))
        contact = self.law.duration(0.5 * least, 0.5 * lightest, rates.depth, speed)
        # Without weight and at rest there is no speed to divide by.
        return contact, least / jnp.maximum(speed, jnp.finfo(speed.dtype).tiny)

    def broken(self, motion: GrainsMotion) -> Bool[Array, " m"]:
        """Of the spheres: a clump that is not finite shows in its pebbles."""
        spheres = self.spheres(motion.state)
        return ~jnp.isfinite(jnp.sum(spheres.velocity + spheres.spin, axis=0))

    def beyond(self, motion: GrainsMotion) -> Bool[Array, " m"]:
        """The sphere that is deepest in another or in a wall, if by more than half of the smaller radius."""
        rates = motion.rates
        everyone = jnp.arange(self.places(motion.state).shape[1])
        return (everyone == rates.deepest) & (rates.overlap > TOO_DEEP)

    def energy(self, state: GrainsState) -> dict[str, Scalar]:
        """J: of motion, of spin, in gravity, stored in the contacts across and along, and (negative) in cohesion.

        Between spheres the last three are known of states that have been in a run, which lists their pairs.
        """
        spheres, first, second = self.spheres(state), state.pairs.first, state.pairs.second
        a, b = _of(spheres, first), _of(spheres, second)
        contacts = [(effective(a.radius, b.radius), _met(a, b, first == second)[1])]
        away = (jax.vmap(wall.distance, in_axes=1)(spheres.position) for wall in self.walls)
        contacts += [(spheres.radius, spheres.radius - gap) for gap in away]
        # Room in the list is told as a grain with itself, which an attraction of a long range would count.
        real = first != second, *(True for _ in self.walls)
        held = (
            jnp.sum(jax.vmap(c.energy)(-depth), where=at)
            for c in self.law.cohesion
            for (_, depth), at in zip(contacts, real, strict=True)
        )
        memories = state.pairs.memory, *state.walls
        own = {
            "kinetic": 0.5 * jnp.sum(self.mass * _squares(state.velocity)),
            "rotation": 0.5 * jnp.sum(self.inertia * _squares(state.spin)),
            "potential": -jnp.sum(self.mass * (self.gravity @ state.position)),
            "elastic": sum(jnp.sum(jax.vmap(self.law.stored)(*contact)) for contact in contacts),
            "tangential": sum(jnp.sum(safe.divide(0.5 * _squares(m.force), m.stiffness)) for m in memories),
            "cohesive": sum(held, jnp.zeros_like(self.density)),
        }
        each = zip(self.clumps, state.clumps, strict=True)
        theirs = [clump.energy(at, self.gravity) for clump, at in each]
        return {name: sum((of[name] for of in theirs if name in of), value) for name, value in own.items()}

    def _kicked(self, state: GrainsState, rates: Rates, dt: Scalar) -> GrainsState:
        """After `dt` s of these rates without motion."""
        each = zip(self.clumps, state.clumps, rates.clumps, strict=True)
        clumps = tuple(clump.kicked(at, load, dt) for clump, at, load in each)
        new = state.velocity + dt * rates.velocity, state.spin + dt * rates.spin, clumps
        return eqx.tree_at(lambda s: (s.velocity, s.spin, s.clumps), state, new)

    def _drifted(self, state: GrainsState, dt: Scalar) -> GrainsState:
        """After `dt` s of free motion."""
        clumps = tuple(clump.drifted(at, dt) for clump, at in zip(self.clumps, state.clumps, strict=True))
        return eqx.tree_at(lambda s: (s.position, s.clumps), state, (state.position + dt * state.velocity, clumps))

    def _pushed(self, state: GrainsState, near: Near, dt: Scalar) -> tuple[GrainsState, Rates]:
        """The state with what contacts remember `dt` s later, and its rates."""
        spheres, first, second = self.spheres(state), state.pairs.first, state.pairs.second

        def push(a, b, own):
            memory, itself = own
            return between(self.law, a, b, memory, dt, itself)

        push = pair_map(push, spheres, (state.pairs.memory, first == second), first, second)
        none = jnp.zeros_like(spheres.position)
        force = none.at[:, first].add(push.force).at[:, second].add(-push.force)
        moment = none.at[:, first].add(push.moment).at[:, second].add(push.other_moment)
        contacts = first, push.depth, push.overlap
        state = eqx.tree_at(lambda s: s.pairs.memory, state, push.memory)
        if self.walls:
            who, here = self._at_walls(spheres, near, state.walls, dt)
            force, moment = force.at[:, who].add(here.force), moment.at[:, who].add(here.moment)
            inside = who < spheres.radius.shape[0]
            theirs = who, *(jnp.where(inside, x, 0.0) for x in (here.depth, here.overlap))
            contacts = jax.tree.map(lambda *x: jnp.concatenate(x), contacts, theirs)
            state = eqx.tree_at(lambda s: s.walls, state, _told(state.walls, near.at_walls, here.memory))
        return state, self._rates(state, force, moment, *contacts)

    def _at_walls(self, spheres: Grain, near: Near, memories: tuple[Shear, ...], dt: Scalar):
        """Who is near a wall, one wall after the other, and how it is pushed: all together, as one program."""
        met = []
        for wall, who, memory in zip(self.walls, near.at_walls, memories, strict=True):
            place = _of(spheres.position, who)
            away = jax.vmap(wall.distance, in_axes=1)(place), jax.vmap(wall.normal, in_axes=1, out_axes=1)(place)
            met.append((who, *away, _of(memory, who)))
        who, gap, normal, memory = jax.tree.map(lambda *parts: jnp.concatenate(parts, axis=-1), *met)
        return who, _at_wall(self.law, _of(spheres, who), gap, normal, memory, dt)

    def _rates(self, state: GrainsState, force, moment, who, depth, overlap) -> Rates:
        """From the forces N and moments N m on the spheres, and who is how deep in contacts."""
        ends = np.cumsum([self.radius.size, *(clump.radius.size for clump in self.clumps)])
        (pushed, *pushes), (turned, *turns) = (jnp.split(x, ends[:-1], axis=1) for x in (force, moment))
        each = zip(self.clumps, state.clumps, pushes, turns, strict=True)
        loads = tuple(clump.load(at, f, m, self.gravity) for clump, at, f, m in each)
        velocity = self.gravity[:, None] + pushed / self.mass[None]
        deepest = jnp.argmax(overlap)
        depths = jnp.max(depth, initial=0.0), overlap[deepest], who[deepest]
        return Rates(velocity, turned / self.inertia[None], loads, *depths)


def _check(clump: AbstractClump, state: Any) -> None:
    """Raise ValueError for a state that is none of the clump's, or with which pebbles are not where they seem."""
    name = type(clump).__name__
    try:
        places = _places(clump, state)
    except (AttributeError, TypeError) as error:  # a state may be any object: only the clump knows its own
        raise ValueError(f"Grains: {type(state).__name__} is no state of a {name}") from error
    require(jnp.isfinite(places), f"Grains: pebbles of a {name} are at no finite place: look at it and its state")
    for at in jax.tree.leaves(state, is_leaf=lambda x: isinstance(x, RigidState)):
        if isinstance(at, RigidState):
            # The first step makes it one of length 1: the pebbles would jump.
            unit = jnp.abs(safe.norm(at.attitude) - 1) < 1e-5
            require(unit, f"Grains: attitude = {at.attitude} is no unit quaternion: divide it by its length")


@eqx.filter_jit
def _places(clump: AbstractClump, state: Any) -> Float[Array, "3 p"]:
    return clump.spheres(state).position


_at_wall = jax.vmap(at_wall, in_axes=(None, -1, -1, -1, -1, None), out_axes=-1)
_met = jax.vmap(met, in_axes=-1, out_axes=-1)


def _squares(vectors: Float[Array, "3 q"]) -> Float[Array, " q"]:
    return jnp.sum(vectors**2, axis=0)


def _of(many: Any, who: Int[Array, " q"]) -> Any:
    # Room that is left in a list names grain n.
    return jax.tree.map(lambda x: x.at[..., who].get(mode="clip"), many)


def _told(walls: tuple[Shear, ...], at_walls: tuple[Int[Array, " _"], ...], now: Shear) -> tuple[Shear, ...]:
    """What walls remember, with what those at them remember `now`, one wall after the other."""
    ends = np.cumsum([who.size for who in at_walls])[:-1]
    parts = zip(*(jnp.split(x, ends, axis=-1) for x in (now.force, now.stiffness)), strict=True)
    return tuple(
        Shear(old.force.at[:, who].set(force), old.stiffness.at[who].set(stiffness))
        for old, who, (force, stiffness) in zip(walls, at_walls, parts, strict=True)
    )


def _remembered(state: GrainsState, near: Near) -> GrainsState:
    """The state with the pairs of a list, and what these remember of the pairs that there were."""
    found = near.pairs.carried(state.pairs.first, state.pairs.second)
    memory = jax.tree.map(lambda x: jnp.where(found >= 0, x[..., found], 0.0), state.pairs.memory)
    return eqx.tree_at(lambda s: s.pairs, state, Touching(near.pairs.first, near.pairs.second, memory))
