"""A collision of two irregular bodies: free flight to touch, contact by the pair's law, and on.

Touch is found by conservative advancement: nothing closes a gap faster than a bound on the closing speed, so the
flight goes on by gap/bound. Near the surface steps get no shorter than `_REACH`; where one ends inside, touch lies
within it, and the root of the gap is found. Touch is then an implicit function of all that led to it, and is
differentiated as such; the search is not.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from difsim import safe
from difsim.conditional import compute_if
from difsim.dynamics import Pair, PairState
from difsim.dynamics.pair import ContactEpisode, Record
from difsim.dynamics.pair_touch import NearestFeatures, least_gap, nearest_features, separation, touches
from difsim.status import Status
from difsim.stepping.modes import STONES, allow_one_forward
from difsim.stepping.outcome import Outcome
from difsim.stepping.solution import Stats
from difsim.stepping.table import Choice
from difsim.stepping.validity import tangent_growth
from difsim.typing import Scalar, Vec3

_REACH = 0.02  # of the smaller radius: the shortest way of a step; a graze is missed if shallower than 5e-5 of it
_STEPS = 1000  # of one flight
_ROOT = 1e-13  # of the radius: the gap that is left at touch
WITHOUT_BALANCE = "what two stones lose in a contact is not counted"


class Impacts(eqx.Module):
    """The contacts of two stones.

    For each contact, in order: the time of touch `times` [I] s (inf for those that did not happen), `points` [I, 3] m,
    unit `normals` [I, 3] from the first body to the second and `impulses` [I, 3] N s on the second; `count`, the
    number of contacts. Before the first contact and after the last one: `kinetic_energy` [2] J in the frame of the
    states, and `kinetic_energy_cm` [2] J in that of the common centre of mass. `normal_speed` [2] m/s of approach
    before the first contact and of parting after it, along its normal, of the material that touched. `vmap` gives all
    of them, and the quantities below, leading axes.
    """

    times: Float[Array, " I"]
    points: Float[Array, "I 3"]
    normals: Float[Array, "I 3"]
    impulses: Float[Array, "I 3"]
    count: Int[Array, ""]
    kinetic_energy: Float[Array, "2"]
    kinetic_energy_cm: Float[Array, "2"]
    normal_speed: Float[Array, "2"]

    @property
    def time(self) -> Float[Array, "*batch"]:
        """Time of the first touch, s."""
        return self.times[..., 0]

    @property
    def point(self) -> Float[Array, "*batch 3"]:
        """Point of the first touch, m."""
        return self.points[..., 0, :]

    @property
    def normal(self) -> Float[Array, "*batch 3"]:
        """Normal of the first contact, from the first body to the second."""
        return self.normals[..., 0, :]

    @property
    def impulse(self) -> Float[Array, "*batch 3"]:
        """Impulse of the first contact on the second body, N s."""
        return self.impulses[..., 0, :]

    @property
    def energy_restitution(self) -> Float[Array, "*batch"]:
        """Kinetic energy after the last contact over that before the first; NaN where the bodies did not meet."""
        return self._ratio(self.kinetic_energy)

    @property
    def energy_restitution_cm(self) -> Float[Array, "*batch"]:
        """The same ratio in the frame of the common centre of mass."""
        return self._ratio(self.kinetic_energy_cm)

    @property
    def normal_restitution(self) -> Float[Array, "*batch"]:
        """Speed of parting over that of approach at the first contact; NaN where the bodies did not meet."""
        return self._ratio(self.normal_speed)

    def _ratio(self, pair: Float[Array, "*batch 2"]) -> Float[Array, "*batch"]:
        # A pair that did not meet has no restitution: 1, as a mean over a batch would have it, is none.
        return jnp.where(self.count > 0, safe.divide(pair[..., 1], pair[..., 0]), jnp.nan)


def collide(pair: Pair, state: PairState, times: Float[Array, " T"], choice: Choice) -> Outcome:
    """Fly two bodies from `state` at `times[0]` to the last of the times, through their contacts.

    Derivatives by anything but the meshes are first ones in forward mode (`jax.jacfwd`, `jax.jvp`). It may be batched
    by `vmap`, or faster on a CPU by `jax.lax.map`.

    The status is INSIDE where the bodies overlap at the start, NO_CONTACT where they miss each other, IMPACT_LIMIT
    where they touch again after the last contact that is allowed, STEP_LIMIT where a search or a contact needs too
    many steps, STEP_TOO_LONG where a contact was over in fewer than 20 of its law's.

    **Arguments:** those of `simulate`; `choice`, with how many contacts there may be.
    **Returns:** the outcome with its `impacts`, and with the `energy` [T] J of both: "kinetic" and "potential".
    """
    # The search has no reverse derivative, and a touch is an implicit function to first order.
    pair, state, times = allow_one_forward((pair, state, times), STONES)
    contacts = choice.rules.impacts.count
    flat, unravel = ravel_pytree(state)
    fixed_pair = jax.lax.stop_gradient(pair)

    def arc(carry, count):
        t, state, axis, alive, recorded, status = carry
        found = _search(fixed_pair, *jax.lax.stop_gradient((t, state, axis, times[-1])), count == 0, alive)
        status = jnp.maximum(status, jnp.where(found.steps >= _STEPS, int(Status.STEP_LIMIT), int(Status.OK)))
        inside = found.hit & (found.steps == 1) & (count == 0)
        status = jnp.where(inside, int(Status.INSIDE), status)
        # What follows the last contact is a flight like any other, and must not end in one more.
        status = jnp.where(found.hit & (count == contacts), jnp.maximum(status, int(Status.IMPACT_LIMIT)), status)
        hit = found.hit & ~inside & (count < contacts)

        def contact():
            near = nearest_features(fixed_pair, found.state)
            dt, *where = _touch(fixed_pair, *jax.lax.stop_gradient((state, t)), near, found)
            later, touched = _refine_touch(pair, pair.free_flight(state, dt), *where)
            touch = t + dt + later
            record = Record(times - touch, recorded)
            episode, record = pair.law.episode(pair, touched, near, touches(pair, touched, near), record)
            return touch, touched, episode, record.states

        def miss():
            zero = jnp.zeros(3, flat.dtype)
            duration = jnp.zeros_like(t)
            no = jnp.asarray(False)
            return t, state, ContactEpisode(state, duration, zero, zero, zero, no, no), recorded

        touch, touched, episode, recorded = compute_if(hit, contact, miss())
        status = jnp.maximum(status, jnp.where(episode.unfinished, int(Status.STEP_LIMIT), int(Status.OK)))
        status = jnp.maximum(status, jnp.where(episode.coarse, int(Status.STEP_TOO_LONG), int(Status.OK)))
        after = touch + episode.duration
        return (after, episode.state, episode.normal, hit, recorded, status), (
            touch,
            touched,
            episode,
            after,
            hit,
            found.steps,
        )

    nowhere = jnp.full((times.shape[0], flat.size), jnp.nan, flat.dtype)
    towards = safe.unit(state.second.position - state.first.position)
    begin = (times[0], state, towards, jnp.asarray(True), nowhere, jnp.asarray(int(Status.OK)))
    (_, last, _, _, recorded, status), out = jax.lax.scan(arc, begin, jnp.arange(contacts + 1))
    *out, searched = out
    touch, touched, episodes, after, happened = jax.tree.map(lambda x: x[:-1], tuple(out))
    missed = (status == int(Status.OK)) & ~happened[0]
    status = jnp.where(missed, int(Status.NO_CONTACT), status)

    starts = jnp.concatenate([times[:1], jnp.where(happened, after, jnp.inf)])
    arcs = jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), state, episodes.state)
    during = jnp.any(jax.vmap(lambda time: (time >= touch) & (time < after) & happened)(times), axis=1)
    states = _sample(pair, times, starts, arcs)
    flat_states = jnp.where(during[:, None], recorded, states)
    states = jax.vmap(unravel)(flat_states)

    before, episode = jax.tree.map(lambda x: x[0], (touched, episodes))
    ends = jax.tree.map(lambda *x: jnp.stack(x), before, last)
    impacts = Impacts(
        times=jnp.where(happened, touch, jnp.inf),
        points=episodes.point,
        normals=episodes.normal,
        impulses=episodes.impulse,
        count=jnp.sum(happened),
        kinetic_energy=jax.vmap(pair.kinetic_energy)(ends),
        kinetic_energy_cm=jax.vmap(pair.kinetic_energy_cm)(ends),
        normal_speed=_normal_speeds(before, episode),
    )
    return Outcome(
        times=times,
        states=states,
        last=jax.tree.map(lambda x: x[-1], states),
        status=status,
        is_finite=jnp.all(jnp.isfinite(flat_states)),
        stats=Stats(jnp.sum(searched), contacts=impacts.count),
        energy=jax.vmap(pair.energy)(times, states),
        energy_unit=jnp.full((), jnp.nan),
        growth=tangent_growth((pair, state), flat_states),
        without_balance=WITHOUT_BALANCE,
        impacts=impacts,
    )


class _Search(eqx.Module):
    """A flight so far: time and state, those one step before, the gap, steps taken, and whether it `hit`."""

    t: Scalar
    state: PairState
    t_before: Scalar
    gap: Scalar
    steps: Int[Array, ""]
    hit: Array


def _search(
    pair: Pair, t: Scalar, state: PairState, axis: Vec3, end: Scalar, begins: Array, alive: Array
) -> _Search:
    """Fly on until the bodies overlap, or will not meet any more, or the time is up.

    Where the flight `begins` the first step is none: it finds the gap. After a contact the gap is 0, and `axis` is
    its normal, along which the stones part.
    """
    speed = pair.closing_bound(state)
    reach = _REACH * jnp.minimum(pair.first.radius, pair.second.radius)

    def is_unfinished(now: _Search):
        apart = now.state.second.position - now.state.first.position
        way = now.state.second.velocity - now.state.first.velocity
        gone = (safe.norm(apart) > pair.first.radius + pair.second.radius) & (apart @ way >= 0)
        return alive & ~now.hit & ~gone & (now.t < end) & (now.steps < _STEPS) & jnp.isfinite(now.gap)

    def step(now: _Search):
        # Bodies without relative motion never meet: the step is infinite, and cut off.
        dt = jnp.where(begins & (now.steps == 0), 0.0, jnp.maximum(now.gap, reach) / speed)
        dt = jnp.minimum(dt, end - now.t)
        state = pair.free_flight(now.state, dt)
        # Above `reach`: hulls and tabulated distances differ by a part of the table's spacing.
        hulls = separation(pair, state, axis)
        gap = compute_if(hulls <= reach, lambda: least_gap(pair, state, reach), hulls)
        return _Search(jnp.minimum(now.t + dt, end), state, now.t, gap, now.steps + 1, gap < 0)

    start = _Search(t, state, t, jnp.zeros_like(t), jnp.asarray(0), jnp.asarray(False))
    return jax.lax.while_loop(is_unfinished, step, start)


def _touch(
    pair: Pair, state: PairState, t: Scalar, near: NearestFeatures, found: _Search
) -> tuple[Scalar, Scalar, Vec3, Vec3]:
    """The time s from `state` at t to touch, within the last step of a search.

    With it come the gap's rate m/s there, its slope, and the place, m. Not differentiable.
    """

    def gap_at(dt):
        there = pair.free_flight(state, dt)
        features = touches(pair, there, near)
        one = jnp.argmin(features.gap)
        slope, point = features.slope[one], features.point[one]
        return features.gap[one], slope @ pair.relative_velocity(there, point), slope, point

    low, high = found.t_before - t, found.t - t
    small = _ROOT * jnp.minimum(pair.first.radius, pair.second.radius)

    def is_unfinished(now):
        count, _, _, _, gap, *_ = now
        return (count == 0) | ((count < 60) & (jnp.abs(gap) > small))

    def step(now):
        count, dt, low, high, gap, rate, *_ = now
        guess = dt - gap / rate
        dt = jnp.where((rate < 0) & (guess > low) & (guess < high), guess, 0.5 * (low + high))
        gap, *where = gap_at(dt)
        return count + 1, dt, jnp.where(gap > 0, dt, low), jnp.where(gap > 0, high, dt), gap, *where

    # A first guess that no rate is known for: the end of the step, by way of high - 0/(-1).
    nowhere = jnp.zeros_like(state.first.position)
    start = (0, high, low, 2 * high - low, jnp.zeros_like(high), -jnp.ones_like(high), nowhere, nowhere)
    _, dt, _, _, _, rate, slope, point = jax.lax.while_loop(is_unfinished, step, start)
    return dt, rate, slope, point


def _refine_touch(
    pair: Pair, touched: PairState, rate: Scalar, slope: Vec3, point: Vec3
) -> tuple[Scalar, PairState]:
    """The delay s after which, and the state in which, the bodies touch.

    They are 0 and `touched`, with the derivatives of the touch.

    What moves the material of the second body at the place by dx over that of the first moves the gap by slope·dx,
    and the touch by -slope·dx/rate: the derivative of the implicit function, without another look at the surfaces.
    """

    def material(state):
        fixed = jax.lax.stop_gradient(state)
        return state.point(fixed.rotation.inverse @ (point - fixed.position))

    moved = slope @ (material(touched.second) - material(touched.first))
    later = -safe.divide(moved - jax.lax.stop_gradient(moved), rate)
    return later, jax.tree.map(lambda x, by_time: x + later * by_time, touched, pair.flight(touched))


def _sample(pair: Pair, times, starts, arcs) -> Float[Array, "T 26"]:
    """The flights at the wanted times, each from the last start or the last time before it."""

    def sample(carry, time):
        t, state = carry
        k = jnp.sum(starts <= time) - 1
        fresh = starts[k] >= t
        t = jnp.where(fresh, starts[k], t)
        state = jax.tree.map(lambda new, old: jnp.where(fresh, new[k], old), arcs, state)
        state = pair.free_flight(state, time - t)
        return (time, state), ravel_pytree(state)[0]

    first = jax.tree.map(lambda x: x[0], arcs)
    return jax.lax.scan(sample, (times[0], first), times)[1]


def _normal_speeds(before: PairState, episode: ContactEpisode) -> Float[Array, "2"]:
    """Speeds m/s of approach and of parting of the two material points that were at the point of touch."""

    def speed(was, now):
        local = was.rotation.inverse @ (episode.point - was.position)
        return episode.normal @ was.velocity_at(episode.point), episode.normal @ now.velocity_at(now.point(local))

    (first, first_after), (second, second_after) = map(
        speed, (before.first, before.second), (episode.state.first, episode.state.second)
    )
    return jnp.stack([first - second, second_after - first_after])
