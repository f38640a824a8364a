"""Grains as soft spheres: their contacts with each other and with walls, and their steps."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from difsim import safe
from difsim.checks import numbers
from difsim.declarations import part, quantity, rule
from difsim.dem.clump import AbstractClump, check_state
from difsim.dem.contacts import ContactForces, pair_forces, remap_pairs, remap_walls, stored_energies, wall_forces
from difsim.dem.laws import AbstractGrainLaw
from difsim.dem.losses import LATE, ContactLosses
from difsim.dem.materials import DampedLaw, is_same_class, stack_laws
from difsim.dem.near import Near
from difsim.dem.state import GrainsMotion, GrainsState, PairMemory, Rates, WallMemory
from difsim.dem.touching import Grain
from difsim.particles.model import AbstractParticles, one_of
from difsim.shape import AbstractSDF
from difsim.typing import Scalar, require_last

PER_CONTACT = 10  # steps that a contact must have at the least

Memory = tuple[PairMemory, tuple[WallMemory, ...]]  # of pairs, and of each wall


class Grains(AbstractParticles):
    """Soft spheres under gravity, between walls.

    m v' = m g + Σ F, I ω' = Σ M with I = ⅖ m R². Steps are those of velocity Verlet; dampers and springs along the
    contact take the velocity half a step back.
    """

    tag = "grains"
    state_kinds: ClassVar = (GrainsState,)
    law: AbstractGrainLaw = part("law of the contacts of grains")
    radius: Float[Array, " n"] = quantity(
        "m", "radii of at least one grain", gt=0, usual=(1e-5, 1), slip="mm or micrometres"
    )
    density: Scalar = quantity("kg/m³", "density of one grain", gt=0, usual=(100, 1e4), slip="g/cm³")
    gravity: Float[Array, "3"] = quantity("m/s²", "gravity g", usual=(0, 10), default=(0.0, 0.0, 0.0))
    walls: tuple[AbstractSDF, ...] = part(
        "tuple of solids that grains and clumps bounce from (a `GrainWall`: grains alone)", default=()
    )
    clumps: tuple[AbstractClump, ...] = part("tuple of bodies among the grains", default=())
    wall_laws: tuple[AbstractGrainLaw | None, ...] = part(
        "tuple of the laws of all contacts with each wall; None, or no tuple, for the grains' own material",
        default=(),
    )
    clump_laws: tuple[AbstractGrainLaw | None, ...] = part(
        "tuple of the laws of each clump's contacts (of two, the later one's); None for the grains' own material",
        default=(),
    )
    losses: ContactLosses | None = part("account by name of the energy that contacts lose", default=None)

    @rule("radius has shape {radius.shape}: give at least one grain")
    def _has_grains(self):
        return self.radius.size > 0

    @rule("wall_laws are fewer or more than walls: give one for each wall, or none at all")
    def _has_laws_of_walls(self):
        return len(self.wall_laws) in (0, len(self.walls))

    # A body is seldom of the grains' material: its friction must not be theirs unless the user says so.
    @rule(
        "clump_laws are fewer or more than clumps: give the law of each clump's contacts, or None for a clump of the "
        "grains' own material"
    )
    def _has_laws_of_clumps(self):
        return len(self.clump_laws) == len(self.clumps)

    @rule(
        "wall_laws and clump_laws must be of the class of law, with resistances and attractions of the same classes: "
        "give one that is not there the length or the pull_off 0"
    )
    def _has_laws_of_one_class(self):
        return is_same_class(self._laws)

    @property
    def mass(self) -> Float[Array, " n"]:
        """kg."""
        return 4 / 3 * jnp.pi * self.density * self.radius**3

    @property
    def inertia(self) -> Float[Array, " n"]:
        """The moment of inertia of each grain about any axis, kg m²."""
        return 0.4 * self.mass * self.radius**2

    @property
    def gap(self) -> Scalar:
        """m, up to which two grains feel each other."""
        ranges = (sum((c.range for c in law.cohesion), jnp.zeros_like(self.density)) for law in self._laws)
        return jnp.max(jnp.stack(list(ranges)))

    @property
    def _laws(self) -> tuple[AbstractGrainLaw, ...]:
        """The law of grains, of each wall and of each clump, as far as they have their own."""
        return self.law, *(law for law in (*self.wall_laws, *self.clump_laws) if law is not None)

    @property
    def _table(self) -> DampedLaw:
        return stack_laws(self._laws)

    def prepare(self):
        return jax.tree.map(lambda x: DampedLaw.know(x) if _is_law(x) else x, self, is_leaf=_is_law)

    def _law_indices(self, pairs: PairMemory) -> tuple[Int[Array, " p"] | None, tuple[int, ...] | None]:
        """The place in the table of the law of each pair, and of that of each wall; none where there is one law."""
        if len(self._laws) == 1:
            return None, None
        later = iter(range(1, len(self._laws)))
        walls, clumps = (
            tuple(0 if law is None else next(later) for law in laws)
            for laws in (self.wall_laws or (None,) * len(self.walls), self.clump_laws)
        )
        sizes = [self.radius.size, *(clump.radius.size for clump in self.clumps)]
        body = jnp.asarray(np.repeat([0, *clumps], sizes))
        return jnp.maximum(body[pairs.first], body[pairs.second]), walls

    def at_rest(self, position: Any, clumps: Any = ()) -> GrainsState:
        """The state of grains at rest and of clumps that move as given, with contacts that remember nothing.

        Positions may be float64 where these grains are float32: then differences of positions lose no digits, however
        far from the origin, and all else is float32.

        **Arguments:** `position` [3, n], m; `clumps`, a tuple of their states. **Returns:** the state.
        **Raises:** ValueError unless there is one position for each grain, and as `with_clumps`.
        """
        position = numbers("Grains.at_rest: position", position)
        require_last("Grains.at_rest: position", position, 3, self.radius.size)
        position = position.astype(jnp.result_type(position, self.radius))
        zero = jnp.zeros(position.shape, self.radius.dtype)
        walls = (WallMemory.empty(zero.dtype),) * len(self.walls)
        return self.with_clumps(GrainsState(position, zero, zero, PairMemory.empty(zero.dtype), walls), clumps)

    def with_clumps(self, state: GrainsState, clumps: Any) -> GrainsState:
        """The state of the same grains with clumps that move as given.

        **Arguments:** `state` without clumps, such as a bed's; `clumps`, a tuple of their states. **Returns:** the
        state. **Raises:** ValueError for a state of other grains or walls, or one that has clumps; unless there is one
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
            check_state(clump, at)
        return eqx.tree_at(lambda s: s.clumps, state, tuple(clumps))

    def check_sizes(self, name, state):
        require_last(f"{name}: position of these grains", state.position, 3, self.radius.size)
        for parts in ("walls", "clumps"):
            found, needed = len(getattr(state, parts)), len(getattr(self, parts))
            if found != needed:
                raise ValueError(
                    f"{name}: it has {found} {parts}, and these Grains have {needed}: give Grains.at_rest(...) of "
                    "these, or Grains.with_clumps(...) of a state without clumps"
                )

    def spheres(self, state: GrainsState) -> Grain:
        """Grains, and after them the sub-spheres of the clumps."""
        grains = Grain(state.position, state.velocity, state.spin, self.radius, self.mass)
        sub_spheres = (clump.spheres(at) for clump, at in zip(self.clumps, state.clumps, strict=True))
        return jax.tree.map(lambda *parts: jnp.concatenate(parts, axis=-1), grains, *sub_spheres)

    def positions(self, state: GrainsState) -> Float[Array, "3 m"]:
        return self.spheres(state).position

    def fastest(self, state: GrainsState) -> tuple[Scalar, Scalar]:
        spheres = self.spheres(state)
        return jnp.sqrt(jnp.max(_squares(spheres.velocity))), jnp.sqrt(jnp.max(_squares(spheres.spin)))

    def allocate(self, state: GrainsState, skin: float, slack: float) -> Near:
        width = 2 * skin * float(jnp.max(self.radius))
        body = [k for k, clump in enumerate(self.clumps) for _ in range(clump.radius.size)]
        all_of_them = self.spheres(state)
        return Near.empty(
            all_of_them.position, all_of_them.radius, self.walls, float(self.gap), width, slack, body
        )

    def begin(self, time: Scalar, state: GrainsState, near: Near) -> GrainsMotion:
        # No time has passed: what the contacts remember stays.
        state = eqx.tree_at(lambda s: (s.pairs, s.walls), state, self._remap(state, near))
        state, rates, lost = self._apply_contacts(state, near, jnp.zeros_like(self.density))
        return GrainsMotion(time, state, rates, {name: jnp.zeros_like(time) for name in lost})

    def memory(self, motion: GrainsMotion) -> Memory:
        return motion.state.pairs, motion.state.walls

    def remap_memory(self, motion: GrainsMotion, near: Near) -> Memory:
        return self._remap(motion.state, near)

    def with_memory(self, motion: GrainsMotion, memory: Memory) -> GrainsMotion:
        return eqx.tree_at(lambda m: (m.state.pairs, m.state.walls), motion, memory)

    def step(self, motion: GrainsMotion, near: Near, dt: Scalar) -> GrainsMotion:
        after = motion.time + dt
        dt = jnp.asarray(dt, motion.state.velocity.dtype)
        kicked = self._kick(motion.state, motion.rates, 0.5 * dt)
        moved, rates, lost = self._apply_contacts(self._drift(kicked, dt), near, dt)
        end = self._kick(moved, rates, 0.5 * dt)
        for name, late in rates.late.items():
            lost[name] += dt * (motion.rates.late[name] - late)
        if lost and self.clumps:
            lost["clumps"] += self._release_springs(motion.state, kicked) + self._release_springs(moved, end)
        return GrainsMotion(after, end, rates, jax.tree.map(jnp.add, motion.lost, lost))

    def stable_time_step(self, motion: GrainsMotion) -> Scalar:
        """The longest time step that resolves contacts, s.

        It is at most a tenth of the duration of the shortest contact; at most the time in which the fastest two
        spheres approach by a tenth of a radius, so that no contact is missed; and short enough for friction to
        stick.
        """
        spheres = self.spheres(motion.state)
        # The floor: at rest it divides.
        past = 0.5 * jnp.min(spheres.radius) / safe.sqrt_floored(jnp.max(_squares(spheres.velocity)))
        each = zip(self.clumps, motion.state.clumps, strict=True)
        own = (clump.stable_time_step(at) for clump, at in each)
        sticks = (law.longest_sticking_step(*contact) for law, contact in self._stiffest(motion))
        lasts = self.shortest_contact(motion)
        return jnp.min(jnp.stack([lasts / PER_CONTACT, past / PER_CONTACT, *sticks, *own]))

    def shortest_contact(self, motion: GrainsMotion) -> Scalar:
        """The duration s of the shortest contact that there can be.

        Of the smallest spheres, as deep as the deepest is now, or as fast as the fastest two would meet after a
        fall through a radius. A clump counts as if six of its sub-spheres carried their share of the mass: all may
        touch, as the neighbours of a grain do.
        """
        return jnp.min(jnp.stack([law.duration(*contact) for law, contact in self._stiffest(motion)]))

    def _stiffest(self, motion: GrainsMotion) -> list[tuple[AbstractGrainLaw, tuple[Scalar, Scalar, Scalar]]]:
        """Each law, with effective radius m and mass kg, and depth m, of its stiffest contact that there can be."""
        spheres, rates = self.spheres(motion.state), motion.rates
        loads = zip(self.clumps, rates.clumps, strict=True)
        pulls = [
            safe.sqrt(jnp.max(_squares(rates.velocity))),
            *(clump.acceleration(load) for clump, load in loads),
        ]
        least = jnp.min(spheres.radius)
        fastest = jnp.max(_squares(spheres.velocity))
        speed = 2 * safe.sqrt(fastest + 2 * jnp.max(jnp.stack(pulls)) * least)
        lightest = jnp.min(jnp.stack([jnp.min(self.mass), *(clump.least_mass for clump in self.clumps)]))
        radius, mass = 0.5 * least, 0.5 * lightest
        return [(law, (radius, mass, law.deepest(radius, mass, rates.depth, speed))) for law in self._laws]

    def loads(self, motion: GrainsMotion, near: Near) -> tuple[Any, ...]:
        """The load of each clump: of a `Clump` the force, with its weight, and the torque about its centre of mass.

        **Arguments:** `motion`; `near`, without effect. **Returns:** the loads, in the order of the clumps.
        """
        return motion.rates.clumps

    def nonfinite(self, motion: GrainsMotion) -> Int[Array, ""]:
        """A sphere that is not finite, -1 for none: a clump that is not shows in its sub-spheres."""
        spheres = self.spheres(motion.state)
        return one_of(~jnp.isfinite(jnp.sum(spheres.velocity + spheres.spin, axis=0)))

    def find_outside_validity(self, motion: GrainsMotion) -> Int[Array, ""]:
        """A sphere that is in another or in a wall by more than half of the smaller radius, -1 for none."""
        return motion.rates.too_deep

    def energy(self, t, state: GrainsState) -> dict[str, Scalar]:
        """J: of motion, of spin, in gravity, stored in the contacts across and along, and (negative) in cohesion.

        Along a contact that slides the spring is let out until it and the damper are at the bound of friction
        together, so it holds up to (c_t u)²/(2 k_t) more than friction could, and loses that as the slip ends.
        Between spheres the last three are known of states that have been in a run, which lists their pairs.

        **Arguments:** `t`, s, without effect; `state`. **Returns:** the parts by name, J.
        """
        own = {
            "kinetic": 0.5 * jnp.sum(self.mass * _squares(state.velocity)),
            "rotation": 0.5 * jnp.sum(self.inertia * _squares(state.spin)),
            "potential": -jnp.sum(self.mass * (self.gravity @ state.position)),
        }
        spheres = self.spheres(state)
        bodies = spheres.radius.size - self.radius.size
        which = self._law_indices(state.pairs)
        own |= stored_energies(self._table, spheres, state.pairs, self.walls, state.walls, bodies, which)
        each = zip(self.clumps, state.clumps, strict=True)
        theirs = [clump.energy(at, self.gravity) for clump, at in each]
        return {name: sum((of[name] for of in theirs if name in of), value) for name, value in own.items()}

    def _remap(self, state: GrainsState, near: Near) -> Memory:
        walls = remap_walls(state.walls, near.at_walls, near.pairs.radius.size)
        return remap_pairs(state.pairs, near.pairs), walls

    def _kick(self, state: GrainsState, rates: Rates, dt: Scalar) -> GrainsState:
        """The state after `dt` s of these rates without motion."""
        each = zip(self.clumps, state.clumps, rates.clumps, strict=True)
        clumps = tuple(clump.kick(at, load, dt) for clump, at, load in each)
        new = state.velocity + dt * rates.velocity, state.spin + dt * rates.spin, clumps
        return eqx.tree_at(lambda s: (s.velocity, s.spin, s.clumps), state, new)

    def _drift(self, state: GrainsState, dt: Scalar) -> GrainsState:
        """The state after `dt` s of free motion."""
        clumps = tuple(clump.drift(at, dt) for clump, at in zip(self.clumps, state.clumps, strict=True))
        return eqx.tree_at(lambda s: (s.position, s.clumps), state, (state.position + dt * state.velocity, clumps))

    def _release_springs(self, before: GrainsState, after: GrainsState) -> Scalar:
        """The energy J that a kick, which moves no body, lets out of the clumps' springs: their dampers take it."""
        each = jax.lax.stop_gradient([(self.clumps, before.clumps), (self.clumps, after.clumps)])
        stored = (clump.energy(at, self.gravity)["elastic"] for of in each for clump, at in zip(*of, strict=True))
        old, new = np.split(jnp.stack(list(stored)), 2)
        return jnp.sum(old - new)

    def _apply_contacts(
        self, state: GrainsState, near: Near, dt: Scalar
    ) -> tuple[GrainsState, Rates, dict[str, Scalar]]:
        """The state with what contacts remember `dt` s later, its rates, and the energies J lost by name."""
        spheres = self.spheres(state)
        # A step that is a constant is hidden from the compiler, or it would see through `optimisation_barrier`.
        dt = jnp.where(jnp.isfinite(spheres.position[0, 0]), dt, jnp.nan)
        table, (by_pair, by_wall) = self._table, self._law_indices(state.pairs)
        forces, memory = pair_forces(table, self.losses, spheres, state.pairs.memory, near.pairs.ends, by_pair, dt)
        state = eqx.tree_at(lambda s: s.pairs.memory, state, memory)
        if self.walls:
            forces, walls = wall_forces(
                table, self.losses, spheres, self.walls, state.walls, near.by_walls, by_wall, dt, forces
            )
            state = eqx.tree_at(lambda s: s.walls, state, walls)
        lost, late = dict(forces.lost), {}
        if self.losses is not None:
            each = jax.lax.stop_gradient(list(zip(self.clumps, state.clumps, strict=True)))
            power = sum((clump.dissipation(at) for clump, at in each), jnp.zeros_like(dt))
            late = {"damping": lost.pop(LATE), "clumps": 0.25 * power}
            lost["clumps"] = dt * power
        return state, self._rates(state, forces, late), lost

    def _rates(self, state: GrainsState, by: ContactForces, late: dict[str, Scalar]) -> Rates:
        ends = np.cumsum([self.radius.size, *(clump.radius.size for clump in self.clumps)])
        (pushed, *on_clumps), (turned, *turns) = (jnp.split(x, ends[:-1], axis=1) for x in (by.force, by.moment))
        each = zip(self.clumps, state.clumps, on_clumps, turns, strict=True)
        loads = tuple(clump.load(at, f, m, self.gravity) for clump, at, f, m in each)
        velocity = self.gravity[:, None] + pushed / self.mass[None]
        return Rates(velocity, turned / self.inertia[None], loads, by.depth, by.too_deep, late)


def _is_law(part: Any) -> bool:
    return isinstance(part, AbstractGrainLaw)


def _squares(vectors: Float[Array, "3 q"]) -> Float[Array, " q"]:
    return jnp.sum(vectors**2, axis=0)
