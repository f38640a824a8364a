"""Thousands of releases of one lander until rest, each with its own draw of all unknowns."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from difsim import Adaptive, AtRest, Ignore, Outside, Solution, safe, simulate
from difsim.dynamics import AbstractFrame, Hopper
from difsim.shape import Sphere
from experiments.hera.inputs import Inputs, Lander, split_unit
from experiments.hera.world import Case, angles_of, librate, model_of, release_of, semi_axes
from experiments.variables import describe
from inversion import Checkpoint, sweep

SAMPLES = 721  # times at which the height is looked at: one a minute in 12 h
REST = AtRest(speed=5e-4, spin=3e-3, hold=60.0)  # longer than the top of a hop, 2 speed/g < 35 s
FAR = 4.0  # longest semi-axes from the centre: some 2.5 times as far as L1 and L2
TOLERANCE, STEPS = 1e-5, 20_000
HOP = 0.2  # m that the lowest point of the lander rises in a bounce that counts
LEVEL = np.cos(np.radians(20.0))  # of a face that lies on the ground; else the lander leans
CHUNK = 64  # members a call: what an interruption loses at most
TRACKS = 12  # members whose heights are kept
FATES = (
    "rest",
    "left",
    "missed",
    "moving",
)  # `missed` has left without a touch; `moving` neither rests nor has left
FACES = ("small face", "middle face", "large face", "leaning")
UNITS = {"touch_time": "s", "rest_time": "s", "touch_speed": "m/s", "touch_angle": "deg", "moved": "m"}
UNITS |= {f"{at}_{k}": "deg" for at in ("touch", "rest") for k in ("longitude", "latitude")}
UNITS |= {"energy_error": "1", "height": "m", "highest": "m"}
NAMES = {
    "touch_angle": "angle of the velocity at first touch to the smooth ground's normal",
    "moved": "distance from the first touch to the place of rest",
    "bounces": f"flights after the first touch in which the lowest point rises by more than {HOP} m",
    "highest": "greatest height of the lowest point after the first touch",
    "rest_time": "time from release to rest",
    "touch_time": "time from release to the first touch",
}


def land_all(
    inputs: Inputs,
    lander: str,
    members: int,
    seed: int,
    out: Path,
    executor: Executor | None = None,
    frame_of: Callable[[Case], AbstractFrame] = librate,
    tolerance: float = TOLERANCE,
) -> xr.Dataset:
    """All members of one lander until rest; goes on where it was interrupted.

    **Arguments:** `inputs`; `lander`, its name in them; `members`; `seed` of the draw; `out`, an existing folder;
    `executor`, as of `sweep`; `frame_of`, the rotation of the target; `tolerance` of the solver.
    **Returns:** the dataset with dimension `case`: unknowns and outcomes.
    """
    cases = inputs.draw(members, seed)
    rules = inputs, lander, seed, frame_of.__name__, tolerance, STEPS, SAMPLES
    table = sweep(
        Landing(inputs.landers[lander], inputs.longest, frame_of, tolerance),
        cases,
        chunk=min(CHUNK, members),
        checkpoint=Checkpoint(out / f"{lander}-checkpoint", repr(rules)),
        progress=True,
        executor=executor,
    )
    heights = table["height"].values[:TRACKS]
    table = table.drop_vars("height").assign(height=(("track", "sample"), heights))
    table = table.assign_coords(sample=("sample", np.linspace(0.0, inputs.longest, SAMPLES), {"units": "s"}))
    for name, unknown in inputs.unknowns.items():
        table[name].attrs = {"units": split_unit(name)[1], "law": unknown.law, "numbers": list(unknown.numbers)}
    return describe(table, units=UNITS, names=NAMES)


@dataclass(frozen=True)
class Landing:
    """The function of one case, from release to rest; equal for equal parts, so that it is compiled once.

    **Arguments:** `lander`; the `longest` time, s; `frame_of`, the rotation of the target; `tolerance` of the solver.
    """

    lander: Lander
    longest: float
    frame_of: Callable[[Case], AbstractFrame] = librate
    tolerance: float = TOLERANCE

    def follow(self, case: Case, times: Float[Array, " T"]) -> tuple[Hopper, Solution]:
        """The model of a case and its motion, looked at `times` [T] s after the release."""
        model = model_of(case, self.lander, self.frame_of)
        return model, simulate(
            model,
            release_of(case, model),
            times,
            solver=Adaptive(self.tolerance, self.tolerance, max_steps=STEPS),
            until=(REST, Outside(Sphere((0.0, 0.0, 0.0), FAR * semi_axes(case)[0]))),
            throw=False,
            trust=Ignore(),
        )

    def __call__(self, case: Case) -> dict:
        """The fate of a case and what is known of it, by name."""
        model, end = self.follow(case, jnp.linspace(0.0, self.longest, SAMPLES))

        def height(state):
            gap = model.contact.gap(model.surface, state.body.position, state.body.rotation.as_matrix())
            return gap * (1 + model.surface.gradient_bound())  # rough ground shows less (`Rough`)

        heights = jax.lax.map(height, end.states)
        touched = end.times > end.stats.contact_time  # false where nothing was touched: the time is NaN
        up = (heights > HOP) & touched
        touch, rest = end.stats.contact_state.body, end.last.body
        ground = model.surface.sdf
        normal, turn = ground.normal(rest.position), rest.rotation.as_matrix()
        upright = normal @ turn
        axis = jnp.argmax(jnp.abs(upright))  # x, y, z: the normals of the small, middle and large faces
        speed = safe.norm(touch.velocity)
        at_touch, at_rest = angles_of(touch.position), angles_of(rest.position)
        distance = safe.norm(rest.position)  # not finite where the limit of steps ended the run
        ended = jnp.isfinite(end.stats.rest_time), jnp.isfinite(distance) & (distance > FAR * semi_axes(case)[0])
        missed = jnp.isnan(end.stats.contact_time)
        return {
            "fate": jnp.where(ended[0], 0, jnp.where(ended[1] & ~missed, 1, jnp.where(ended[1], 2, 3))),
            "status": end.status,
            "steps": end.stats.steps,
            "energy_error": end.energy_error,
            "touch_time": end.stats.contact_time,
            "rest_time": end.stats.rest_time,
            "touch_speed": speed,
            "touch_angle": jnp.degrees(
                jnp.arccos(jnp.clip(-ground.normal(touch.position) @ touch.velocity / speed, -1, 1))
            ),
            "touch_longitude": at_touch[0],
            "touch_latitude": at_touch[1],
            "rest_longitude": at_rest[0],
            "rest_latitude": at_rest[1],
            "bounces": jnp.sum(up[1:] & ~up[:-1]),
            "highest": jnp.max(jnp.where(touched, heights, 0.0)),
            "moved": safe.norm(rest.position - touch.position),
            "face": jnp.where(jnp.abs(upright[axis]) < LEVEL, 3, axis),
            "height": heights,
        }
