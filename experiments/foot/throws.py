"""A sole with a lander's mass that falls into the bed and is stopped by it, and what stopped it."""

from collections.abc import Callable, Iterator, Mapping
from itertools import cycle, pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float
from matplotlib.figure import Figure

from difsim import Courant, Status
from difsim.contact import Regolith
from difsim.plot.style import BLUE, GREEN, ORANGE, PINK, RED, SKY
from difsim.sph import Continuum
from difsim.sph.continuum import ContinuumState
from difsim.stepping.marching import Progress, initialise
from difsim.stepping.running import next_step
from difsim.typing import Scalar
from experiments.foot.scene import COURANT, LAW, RADIUS, Foot, law
from experiments.variables import describe
from inversion import Checkpoint
from inversion.progress import Bar

FRAME = 5e-4  # s, over which force and motion are averaged
LONGEST = 0.6  # s
COLOURS = ORANGE, BLUE, GREEN, PINK, SKY, RED
COLUMNS = "time", "penetration", "speed", "pressure"  # of the table of a throw


class Fall(eqx.Module):
    """A tool that falls: `place` m of its particles, `velocity` m/s, the bed's `force` N and `impulse` N s so far
    (per m in the plane)."""

    progress: Progress
    place: Float[Array, "d m"]
    velocity: Float[Array, " d"]
    force: Scalar
    impulse: Scalar


def start_fall(model: Continuum, state: ContinuumState) -> Fall:
    """The last tool of `model` above the bed, with the velocity at which it slides."""
    tool, none = model.tools[-1], jnp.zeros(())
    return Fall(initialise(model, state), tool.reference, tool.path.velocity, none, none)


def carry_tool(model: Continuum, now: Fall) -> Continuum:
    """`model` with its last tool on the path that it is on now."""
    path = now.place - now.progress.motion.time * now.velocity[:, None], now.velocity
    return eqx.tree_at(lambda m: (m.tools[-1].reference, m.tools[-1].path.velocity), model, path)


@eqx.filter_jit
def fall(model: Continuum, mass: Scalar, now: Fall, until: Scalar) -> Fall:
    """On to `until` s: in each step the tool goes on uniformly, then its weight and the bed change its velocity."""

    def one(now: Fall) -> Fall:
        moving = carry_tool(model, now)
        gone = next_step(moving, now.progress, until, Courant(COURANT))
        dt = gone.motion.time - now.progress.motion.time
        # The list of the step's beginning sees by its skin what is near at its end.
        force = moving.load(gone.motion, gone.neighbours, moving.tools[-1]).force[-1]
        push = 0.5 * dt * (now.force + force)
        slower = now.velocity.at[-1].add(push / mass + dt * model.gravity[-1])  # it is guided: no tilt, no slip
        return Fall(gone, now.place + dt * now.velocity[:, None], slower, force, now.impulse + push)

    def is_unfinished(now):
        return (now.progress.status == Status.OK) & (now.progress.motion.time < until)

    return jax.lax.while_loop(is_unfinished, one, now)


def follow_fall(model: Continuum, mass: Scalar, state: ContinuumState, times: np.ndarray) -> Iterator[Fall]:
    """The fall of the last tool of a model, at its start and at some times, until it no longer goes down.

    **Arguments:** `model`; `mass` of the tool, kg; `state` of the bed; `times`, s. **Returns:** the falls. **Raises:**
    ValueError for a run that fails.
    """
    now = start_fall(model, state)
    yield now
    for time in times:
        now = fall(model, mass, now, jnp.asarray(time))
        while now.progress.status == Status.OVERFLOW:
            here = now.progress.motion
            roomy = initialise(carry_tool(model, now), here.state, float(here.time))
            now = fall(model, mass, eqx.tree_at(lambda f: f.progress, now, roomy), jnp.asarray(time))
        if now.progress.status != Status.OK:
            raise ValueError(f"at {time:.6g} s: {Status(int(now.progress.status))}")
        yield now
        if now.velocity[-1] >= 0:
            return


def throw(foot: Foot, speed: float, load: float, softening: float, alpha: float) -> xr.Dataset:
    """Penetration m, speed m/s downwards and pressure Pa against time s, until the sole stands.

    **Arguments:** `speed` m/s before it touches; `load`: mass over area, kg/m². **Raises:** ValueError for a run
    that fails.
    """
    model = foot.model(speed, softening, alpha)
    start, mass = model.tools[-1].reference[-1, 0], jnp.asarray(load * foot.area)
    times, rows = np.arange(FRAME, LONGEST, FRAME), []
    said = f"{speed:g} m/s, {foot.position.shape[1]} particles"
    with Bar(f"{said}, speed lost", speed) as bar:
        for before, now in pairwise(follow_fall(model, mass, foot.state(model), times)):
            down, sunk = -float(now.velocity[-1]), float(start - now.place[-1, 0])
            pressure = float(now.impulse - before.impulse) / FRAME / foot.area
            time = float(now.progress.motion.time)
            rows.append((time, foot.penetration(speed, 0.0) + sunk, down, pressure))
            bar.reach(speed - max(down, 0.0))
    return table(rows, load_kg_m2=load, thrown_m_s=speed)


def load_or_make(kept: Checkpoint, key: str, make: Callable[[], xr.Dataset]) -> xr.Dataset:
    """The `table` of a throw, from the checkpoint if it was finished there."""

    def columns():
        made = make()
        return {name: made[name].values for name in COLUMNS} | dict(made.attrs)

    found = kept.get_or(key, columns)
    about = {name: value.item() for name, value in found.items() if name not in COLUMNS}
    return table(list(zip(*(found[name] for name in COLUMNS), strict=True)), **about)


def table(rows: list[tuple[float, float, float, float]], **about: float) -> xr.Dataset:
    """Rows of time s, penetration m, speed m/s and pressure Pa, and what they are `about`."""
    columns = dict(zip(COLUMNS, np.array(rows).T, strict=True))
    units = {"penetration": "m", "speed": "m/s", "pressure": "Pa"}
    result = xr.Dataset(
        {name: ("time", columns[name], {"units": unit}) for name, unit in units.items()},
        coords={"time": ("time", columns["time"], {"units": "s"})},
        attrs=about,
    )
    return describe(result, names={"speed": "speed downwards", "pressure": "force over the area of the sole"})


def judge(result: xr.Dataset) -> dict[str, float | bool]:
    """The energy that the first hit took and its depth; the law's depth, for a disc.

    The hit is over where the soil has let go: the pressure is a twentieth of its peak.
    """
    speed, load = result.attrs["thrown_m_s"], result.attrs["load_kg_m2"]
    pressure = result["pressure"].values
    peak = int(pressure.argmax())
    gone = np.flatnonzero(pressure[peak:] < 0.05 * pressure[peak])
    after = peak + int(gone[0]) if gone.size else len(pressure) - 1
    left = float(result["speed"][after])
    return {
        "depth_m": float(result["penetration"].max()),
        "stands": bool(result["speed"][-1] <= 0),
        "ended_s": float(result["time"][-1]),
        "peak_pressure_Pa": float(pressure[peak]),
        "speed_left_by_the_hit": left / speed,
        "impulse_of_the_hit_over_rho_R_v": load * (speed - left) / (float(LAW.bulk_density) * RADIUS * speed),
        "depth_of_the_law_of_a_disc_m": float(law_fall(speed, load)[0][-1]),
    }


def law_fall(speed: float, load: float, ground: Regolith = LAW) -> tuple[np.ndarray, np.ndarray]:
    """Depths m and speeds m/s there of a disc of `load` kg/m² that comes at `speed` m/s, by the reduced law, until
    it stands: d(v²)/dz = -2 F/m."""
    depth, squared = (np.asarray(x) for x in _fall_by_law(jnp.asarray(speed), jnp.asarray(load), ground))
    moving = squared > 0
    return depth[moving], np.sqrt(squared[moving])


@eqx.filter_jit
def _fall_by_law(speed: Scalar, load: Scalar, ground: Regolith) -> tuple[Float[Array, " z"], Float[Array, " z"]]:
    mass, dz = load * np.pi * RADIUS**2, 1e-5 * ground.thickness

    def deeper(squared, z):
        force = law(z, jnp.sqrt(jnp.maximum(squared, 0.0)), ground)
        return jnp.where(squared > 0, squared - 2 * dz * force / mass, squared), squared

    depth = dz * jnp.arange(100_000)
    return depth, jax.lax.scan(deeper, speed**2, depth)[1]


def draw(results: Mapping[str, xr.Dataset], titles: tuple[str, str], averaged: int = 1) -> Figure:
    """The pressure and the speed of each throw against its penetration.

    **Arguments:** `results` by label; `titles` of both panels; `averaged`: samples of the pressure that are one point.
    """
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    for (label, result), colour in zip(results.items(), cycle(COLOURS), strict=False):
        depth, pressure = 100 * result["penetration"], result["pressure"] / 1e3
        left.plot(depth, pressure.rolling(time=averaged, center=True).mean(), color=colour, label=label)
        right.plot(depth, result["speed"], color=colour)
    left.set(xlabel="penetration, cm", ylabel="force over area, kPa", title=titles[0])
    right.set(xlabel="penetration, cm", ylabel="speed of the footpad, m/s", title=titles[1])
    left.legend(frameon=False)
    return figure
