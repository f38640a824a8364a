"""A deforming continuum as particles: its rates and its time steps."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from difsim import safe
from difsim.checks import numbers
from difsim.declarations import part, quantity, rule
from difsim.particles.model import AbstractEstimating, one_of
from difsim.particles.neighbours import Neighbours
from difsim.particles.sums import pair_sums
from difsim.particles.vectors import stack, upper
from difsim.sph.corrections import AbstractCorrection
from difsim.sph.density import AbstractDensity, Continuity
from difsim.sph.equations import Flow, Sample, Viscosity, interaction
from difsim.sph.kernel import AbstractKernel
from difsim.sph.losses import ContinuumLosses
from difsim.sph.material import AbstractMaterial
from difsim.sph.tools import Tool, ToolLoad
from difsim.sph.walls import mirror_image, sums_at, wall_term
from difsim.typing import Scalar, is_known, require_last

SUPPORT = 2.0  # spacings: the error of strain rates is some 3 % from here on, and 10 % at 1.8


class ContinuumState(eqx.Module):
    """Position m, velocity m/s, stress Pa (positive in tension) and density kg/m³ of n particles."""

    position: Float[Array, "d n"]
    velocity: Float[Array, "d n"]
    stress: Float[Array, "3 3 n"]
    density: Float[Array, " n"]


class ContinuumMotion(eqx.Module):
    """A state and its account.

    The `state` at a `time` s, its `rate` there or an estimate of it from the last step, and the `power` W by name that
    leaves it at that rate; the energies `lost` until there, J by name.
    """

    time: Scalar
    state: ContinuumState
    rate: ContinuumState
    power: dict[str, Scalar]
    lost: dict[str, Scalar]


class Continuum(AbstractEstimating):
    """A solid as particles, in plane strain (d = 2) or in space (d = 3).

    Particles of `tools` move as prescribed. On surfaces without slip they have a stress of their own, which
    follows from the relative motion of the solid; on surfaces with free slip they are the mirror image of the
    solid. The kernel's support is at least 2 spacings Δ = (m/ρ₀)^(1/d).
    """

    tag = "continuum"
    state_kinds: ClassVar = (ContinuumState,)
    material: AbstractMaterial = part("law of the stress, with the density ρ₀")
    kernel: AbstractKernel = part("smoothing kernel")
    viscosity: Viscosity = part("artificial viscosity")
    gravity: Float[Array, " d"] = quantity("m/s²", "gravity g", usual=(0, 10))
    mass: Float[Array, " n"] = quantity(
        "kg", "masses m of the particles (in the plane kg/m)", gt=0, usual=(1e-9, 1e3), slip="g"
    )
    tools: tuple[Tool, ...] = part("tuple of walls and tools", default=())
    damping: Float[Array, " n"] | Scalar = quantity(
        "1/s", "relative losses of velocity per second, for layers that absorb waves", ge=0, default=0.0
    )
    corrections: tuple[AbstractCorrection, ...] = part("tuple of corrections of the sums over pairs", default=())
    balance: AbstractDensity = part("equation of the density", default=Continuity())
    losses: ContinuumLosses | None = part("account by name of what leaves the energies", default=None)

    @rule("damping has shape {damping.shape}: give one number, or one for each particle")
    def _has_damping_of_its_particles(self):
        return self.damping.shape in ((), self.mass.shape)

    @rule("gravity has shape {gravity.shape}: give [2] or [3]")
    def _has_two_or_three_dimensions(self):
        return self.gravity.size in (2, 3)

    @rule("tools: a reference is not [d, m] with the d of gravity {gravity.shape}: give places of its dimensions")
    def _has_tools_of_its_dimensions(self):
        return all(tool.reference.shape[0] == self.gravity.size for tool in self.tools)

    # A scatter beyond the end is ignored without an error: such a part would never move.
    @rule("tools: members are not all particles: give integers from 0 to n - 1 for masses {mass.shape}")
    def _has_particles_as_members(self):
        known = [np.asarray(tool.members) for tool in self.tools if is_known(tool.members)]
        return all(np.all((x >= 0) & (x < self.mass.size)) for x in known)

    @rule(
        "the kernel's support h = {kernel.h} m is too short for the heaviest particles: give 2 spacings (m/ρ₀)^(1/d) "
        "or more (2.5 is tested). With 1.5 sums over neighbours fall short by a quarter, and stresses are some 30 % "
        "too large"
    )
    def _has_enough_neighbours(self):
        numbers = self.mass, self.material.density, self.kernel.h
        # NumPy: inside `jit` operations of JAX are traced, of known numbers too.
        there = np if all(map(is_known, numbers)) else jnp
        mass, density, h = map(there.asarray, numbers)
        return h >= SUPPORT * (there.max(mass) / density) ** (1 / self.gravity.size) * (1 - 1e-4)

    @property
    def reach(self) -> Scalar:
        """The distance, m, beyond which particles do not interact."""
        return self.kernel.h

    @property
    def rigid(self) -> Bool[Array, " n"]:
        """Particles of tools, which do not interact with each other."""
        rigid = jnp.zeros(self.mass.shape, bool)
        for tool in self.tools:
            rigid = rigid.at[tool.members].set(True)
        return rigid

    def at_rest(self, position: Float[Array, "d n"]) -> ContinuumState:
        """The state at rest, without stress.

        Positions may be float64 where all else is float32, as for `Grains.at_rest`.

        **Arguments:** `position` [d, n], m. **Returns:** the state.
        **Raises:** ValueError for positions of other particles, or where a free one is at another's place.
        """
        position = numbers("Continuum.at_rest: position", position, "d n")
        d, n = self.gravity.size, self.mass.size
        require_last("Continuum.at_rest: position", position, d, n)
        self._check_apart(position)
        position = position.astype(jnp.result_type(position, self.mass))
        zero = jnp.zeros((3, 3, n), self.mass.dtype)
        return ContinuumState(position, zero[0, :d], zero, jnp.full(n, self.material.density, zero.dtype))

    def _check_apart(self, position: Float[Array, "d n"]) -> None:
        """Refuse two particles at one place, of which one is free: no force would ever part them."""
        rigid = self.rigid
        if not is_known((position, rigid)):
            return
        x, rigid = np.asarray(position), np.asarray(rigid)
        order = np.lexsort((rigid, *x))  # of those at one place the free ones come first
        first, second = order[:-1], order[1:]
        same = (x[:, first] == x[:, second]).all(axis=0) & ~rigid[first]
        if same.any():
            one, other = first[same][0], second[same][0]
            raise ValueError(
                f"Continuum.at_rest: position: particles {one} and {other} are both at {x[:, one]} m: give each a "
                "place of its own"
            )

    def at_rest_under_weight(self, position: Float[Array, "d n"], depth: Float[Array, " n"]) -> ContinuumState:
        """The state of a bed at rest: σ = -ρ₀ g depth along the last axis, ν/(1-ν) of that along the others.

        **Arguments:** `position` [d, n], m; `depth` [n], m, of each particle. **Returns:** the state.
        """
        state = self.at_rest(position)
        depth = numbers("Continuum.at_rest_under_weight: depth", depth, "n")
        require_last("Continuum.at_rest_under_weight: depth", depth, self.mass.size)
        across = self.material.poisson / (1 - self.material.poisson)
        weight = self.material.density * self.gravity[-1] * depth
        shares = jnp.full(3, across).at[len(self.gravity) - 1].set(1.0)
        return eqx.tree_at(lambda s: s.stress, state, jnp.diag(shares)[:, :, None] * weight[None, None])

    def check_sizes(self, name, state):
        require_last(f"{name}: position of this Continuum", state.position, self.gravity.size, self.mass.size)

    def allocate(self, state: ContinuumState, skin: float, slack: float) -> Neighbours:
        reach = float(self.reach)
        return Neighbours.empty(state.position, reach, skin * reach, slack, self.rigid)

    def fastest(self, state: ContinuumState) -> tuple[Scalar, Scalar]:
        squares = jnp.where(self.rigid, 0.0, jnp.sum(state.velocity**2, axis=0))
        return jnp.sqrt(jnp.max(squares)), jnp.zeros_like(squares[0])

    def begin(self, time: Scalar, state: ContinuumState, neighbours: Neighbours) -> ContinuumMotion:
        placed = self._place(time, state)
        rate, power = self.field(time, placed, neighbours)
        names = () if self.losses is None else ("plastic", *power)
        lost = {name: jnp.zeros_like(time) for name in names}
        return ContinuumMotion(time, self._with_walls(time, placed, neighbours), rate, power, lost)

    def step(self, motion: ContinuumMotion, neighbours: Neighbours, dt: Scalar) -> ContinuumMotion:
        """One second-order step with one sum over pairs.

        It predicts by the last rate, and corrects by the mean with the new one.

        **Arguments:** `motion`; `neighbours`, at its start; `dt`, s. **Returns:** the motion `dt` later.
        """
        time, state, rate = motion.time + dt, motion.state, motion.rate
        dt = jnp.asarray(dt, state.velocity.dtype)
        predicted = self._admissible(time, jax.tree.map(lambda x, k: x + dt * k, state, rate))
        new, power = self.field(time, predicted, neighbours)
        corrected = jax.tree.map(lambda x, old, now: x + 0.5 * dt * (old + now), state, rate, new)
        taken = jax.tree.map(lambda old, now: 0.5 * dt * (old + now), motion.power, power)
        return self._finish_step(motion, time, corrected, new, power, taken)

    def _finish_step(self, motion, time, trial: ContinuumState, rate, power, taken) -> ContinuumMotion:
        """The motion after a step whose elastic end is `trial`, and which has `taken` energies J by name."""
        end = self._admissible(time, trial)
        if self.losses is not None:
            taken = taken | self.losses.plastic(self, motion.state, trial, end)
        lost = {name: x + taken[name] for name, x in motion.lost.items()}
        return ContinuumMotion(time, end, rate, power, lost)

    def attempt(
        self, motion: ContinuumMotion, neighbours: Neighbours, dt: Scalar
    ) -> tuple[ContinuumMotion, Float[Array, " n"]]:
        """A third-order Kutta step and its difference from the midpoint rule, with three sums over pairs.

        **Arguments:** as `step`. **Returns:** the motion, and for each particle the larger of two relative errors:
        distance over the kernel's support, and that of the density.
        """
        time, state, after = motion.time, motion.state, motion.time + dt

        half = time + 0.5 * dt
        dt = jnp.asarray(dt, state.velocity.dtype)
        first, *powers = self.field(time, state, neighbours)
        middle = self._admissible(half, jax.tree.map(lambda x, k: x + 0.5 * dt * k, state, first))
        second, power = self.field(half, middle, neighbours)
        powers.append(power)
        last = jax.tree.map(lambda x, k, m: x + dt * (2 * m - k), state, first, second)
        third, power = self.field(after, self._admissible(after, last), neighbours)
        end = jax.tree.map(lambda x, *k: x + dt / 6 * (k[0] + 4 * k[1] + k[2]), state, first, second, third)
        apart = jax.tree.map(lambda *k: dt / 6 * jnp.abs(2 * k[1] - k[0] - k[2]), first, second, third)
        # Tools are at their prescribed places, whatever the sums give.
        moved = jnp.where(self.rigid, 0.0, jnp.max(apart.position, axis=0)) / self.kernel.h
        error = jnp.maximum(moved, apart.density / state.density)
        taken = jax.tree.map(lambda *k: dt / 6 * (k[0] + 4 * k[1] + k[2]), *powers, power)
        return self._finish_step(motion, after, end, third, power, taken), error

    def stable_time_step(self, motion: ContinuumMotion) -> Scalar:
        """Half the support over the speed of signals: sound, viscosity and the fastest particle, s."""
        speed = safe.sqrt(jnp.max(jnp.sum(motion.state.velocity**2, axis=0)))
        sound = jnp.maximum(self.material.sound, self.viscosity.sound)
        viscous = 0.6 * (self.viscosity.alpha * self.viscosity.sound + self.viscosity.beta * speed)
        return 0.5 * self.kernel.h / (sound + viscous + speed)

    def nonfinite(self, motion: ContinuumMotion) -> Int[Array, ""]:
        state = motion.state
        each = jnp.sum(state.velocity, axis=0) + jnp.sum(state.stress, axis=(0, 1)) + state.density
        return one_of(~jnp.isfinite(each))

    def find_outside_validity(self, motion: ContinuumMotion) -> Int[Array, ""]:
        """A particle whose density has doubled or is a tenth, -1 for none; loose grains have half of it."""
        ratio = motion.state.density / self.material.density
        return one_of((ratio <= 0.1) | (ratio >= 2.0))

    def loads(self, motion: ContinuumMotion, near: Neighbours) -> tuple[ToolLoad, ...]:
        """The load of the solid on each tool.

        **Arguments:** `motion`; `near`, the list there. **Returns:** the loads, in the order of the tools.
        """
        return tuple(self.load(motion, near, tool) for tool in self.tools)

    def load(self, motion: ContinuumMotion, neighbours: Neighbours, tool: Tool) -> ToolLoad:
        """The load of the solid on one tool; tools exert none on each other.

        The force is Σ_a m_a dv_a/dt over its particles. Each term sums over the near particles of no tool, so the
        force is opposite to that on the solid.

        **Arguments:** `motion`; `neighbours`; `tool`. **Returns:** the load.
        """
        state = self._with_walls(motion.time, motion.state, neighbours)

        def acceleration(a, b):
            return interaction(self.kernel, self.viscosity, a, b).acceleration

        on_solid = sums_at(tool.members, acceleration, self._sample_of_solid(state), neighbours.index)
        force = self.mass[tool.members][None] * jnp.stack(on_solid)
        place, velocity = tool.at(motion.time)
        torque = jnp.cross(place - jnp.mean(place, axis=1, keepdims=True), force, axis=0)
        return ToolLoad(jnp.sum(force, axis=1), jnp.sum(torque, axis=-1), jnp.sum(velocity * force))

    def energy(self, t, state: ContinuumState) -> dict[str, Scalar]:
        """J (J/m in the plane): of motion and in gravity of all particles that are of no tool, and of elastic strain.

        **Arguments:** `t`, s, without effect; `state`. **Returns:** the parts by name.
        """
        del t
        free, strained = self.masses
        elastic = self.material.energy(state.stress, state.density)
        return {
            "kinetic": 0.5 * jnp.sum(free * jnp.sum(state.velocity**2, axis=0)),
            "potential": -jnp.sum(free * (self.gravity @ state.position)),
            "elastic": jnp.sum(strained * elastic),
        }

    @property
    def masses(self) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """The masses of the free particles, and of those with a stress of their own; others have 0."""
        free = strained = self.mass
        for tool in self.tools:
            free = free.at[tool.members].set(0.0)
            strained = strained if tool.normal is None else strained.at[tool.members].set(0.0)
        return free, strained

    def field(
        self, time: Scalar, placed: ContinuumState, neighbours: Neighbours
    ) -> tuple[ContinuumState, dict[str, Scalar]]:
        """The elastic rate of a state, before the material limits the stress, and the power that leaves its energies.

        **Arguments:** `time`, s; `placed`, the state with its tools at their places; `neighbours`. **Returns:** the
        rate, in the structure of the state, and W by name, without derivatives.
        """
        state = self._with_walls(time, placed, neighbours)
        plain, flow = self._flow(self._sample(state), neighbours)
        rate = self._elastic_rate(state, flow)
        if self.losses is None:
            return rate, {}
        return rate, self.losses.powers(self, placed.velocity, state, plain, flow, rate)

    def _elastic_rate(self, state: ContinuumState, flow: Flow) -> ContinuumState:
        d = state.position.shape[0]
        gradient = jnp.pad(flow.gradient, ((0, 3 - d), (0, 3 - d), (0, 0)))
        damped = jnp.atleast_1d(self.damping)[None] * state.velocity
        return ContinuumState(
            position=flow.velocity,
            velocity=flow.acceleration + self.gravity[:, None] - damped,
            stress=self.material.rate(state.stress, gradient),
            density=self.balance.rate(state.density, gradient[0, 0] + gradient[1, 1] + gradient[2, 2]),
        )

    def _sample(self, state: ContinuumState) -> Sample:
        d = state.position.shape[0]
        stress = state.stress[:d, :d] / state.density[None, None] ** 2
        return Sample(tuple(state.position), tuple(state.velocity), upper(stress), state.density, self.mass)

    def _flow(self, sample: Sample, neighbours: Neighbours) -> tuple[Flow, Flow]:
        """The sums over pairs, plain and with their corrections."""
        data = [jax.vmap(c.data, in_axes=-1, out_axes=-1)(sample) for c in self.corrections]

        def interact(a, b):
            (a, of_a), (b, of_b) = a, b
            further = [c.term(self.kernel, a, b, *s) for c, *s in zip(self.corrections, of_a, of_b, strict=True)]
            return interaction(self.kernel, self.viscosity, a, b), further

        sums, further = pair_sums(interact, (sample, data), neighbours)
        gradient = stack(sums.gradient)
        plain = flow = Flow(jnp.stack(sample.velocity), gradient, jnp.stack(sums.acceleration))
        for correction, sum_ in zip(self.corrections, further, strict=True):
            flow = jax.vmap(correction.correct, in_axes=-1, out_axes=-1)(flow, sum_)
        return plain, flow

    def _admissible(self, time: Scalar, state: ContinuumState) -> ContinuumState:
        """The state with the stress that the material can bear, and its tools at their places at `time`."""
        stress = self.material.admissible(state.stress, state.density)
        return self._place(time, eqx.tree_at(lambda s: s.stress, state, stress))

    def _place(self, time: Scalar, state: ContinuumState) -> ContinuumState:
        for tool in self.tools:
            x, v = tool.at(time)
            x, v = x.astype(state.position.dtype), v.astype(state.velocity.dtype)
            here = tool.members
            placed = state.position.at[:, here].set(x), state.velocity.at[:, here].set(v)
            state = eqx.tree_at(lambda s: (s.position, s.velocity), state, placed)
            if tool.normal is not None:
                # `_with_walls` computes these values at each rate: they must not drift by themselves.
                clean = state.stress.at[:, :, here].set(0.0), state.density.at[here].set(self.material.density)
                state = eqx.tree_at(lambda s: (s.stress, s.density), state, clean)
        return state

    def _sample_of_solid(self, state: ContinuumState) -> Sample:
        """The sample with massless tools, for sums over the solid alone."""
        mass = self.mass
        for tool in self.tools:
            mass = mass.at[tool.members].set(0.0)
        return eqx.tree_at(lambda s: s.mass, self._sample(state), mass)

    def _with_walls(self, time: Scalar, state: ContinuumState, neighbours: Neighbours) -> ContinuumState:
        """The state with the mirror image of the solid on walls with free slip."""
        walls = [tool for tool in self.tools if tool.normal is not None]
        if not walls:
            return state
        solid = self._sample_of_solid(state), state.stress

        def see(a, b):
            return wall_term(self.kernel, a[0], *b)

        velocity, stress = state.velocity, state.stress
        for tool in walls:
            sums = sums_at(tool.members, see, solid, neighbours.index)
            own = state.velocity[:, tool.members]
            normal = tool.normal_at(time).astype(own.dtype)
            image = jax.vmap(mirror_image, in_axes=-1, out_axes=-1)(own, normal, sums)
            velocity = velocity.at[:, tool.members].set(image[0])
            stress = stress.at[:, :, tool.members].set(image[1])
        return eqx.tree_at(lambda s: (s.velocity, s.stress), state, (velocity, stress))
