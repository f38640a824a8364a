"""One landing of an ensemble in space: the path and the attitude of the box, and the ground about it."""

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Bool
from scipy.spatial import ConvexHull

from difsim.contact import Vertices
from difsim.rotation import Rotation
from experiments.geometry import heights, line, map_ground, surface
from experiments.hera.ensemble import FATES, Landing
from experiments.hera.inputs import Inputs
from experiments.hera.world import surface_point
from experiments.variables import describe

FRAMES, BEFORE = 361, 60.0  # of the film; s before the first touch at which it begins
NODES, MARGIN = 81, 3.0  # of the ground along a side; m of ground beyond the path


def rests(table: xr.Dataset) -> Bool[np.ndarray, " cases"]:
    """Which members come to rest. **Arguments:** `table` of `ensemble.land_all`."""
    return table["fate"].values == FATES.index("rest")


def choose_landing(table: xr.Dataset) -> int:
    """A typical member: at rest, with the median number of bounces, and nearest to the median of the way from there.

    **Arguments:** `table` of `ensemble.land_all`, of which a member rests. **Returns:** its index.
    """
    here = np.flatnonzero(rests(table))
    bounces, moved = table["bounces"].values[here], table["moved"].values[here]
    off = np.abs(bounces - np.median(bounces)) * np.ptp(moved) + np.abs(moved - np.median(moved))
    return int(here[np.argmin(off)])


def film(inputs: Inputs, name: str, table: xr.Dataset) -> xr.Dataset:
    """The landing of the typical member, which `difsim view` shows.

    Axes are east, north and up at the first touch, the origin.

    **Arguments:** `inputs`; `name` of the lander; its `table` of `ensemble.land_all`. **Returns:** the dataset, with
    `track` [time, axis] m, `attitude` [time, quaternion], the corners of the box and heights of the ground.
    """
    lander, index = inputs.landers[name], choose_landing(table)
    row = table.isel(case=index)
    case = {k: jnp.asarray(row[k].values) for k in (*inputs.unknowns, "terrain")}
    times = np.linspace(float(row["touch_time"]) - BEFORE, float(row["rest_time"]), FRAMES).clip(0.0)
    follow = jax.jit(Landing(lander, inputs.longest).follow)
    model, end = follow(case, jnp.concatenate([jnp.zeros(1), jnp.asarray(times)]))
    body = end.states.body
    body = jax.tree.map(lambda x: x[1:], body)  # the release itself is not shown
    angles = [jnp.radians(float(row[f"touch_{k}"])) for k in ("longitude", "latitude")]
    point, axes = surface_point(case, *angles)
    here = jnp.zeros((1, 1))
    origin = point + axes[2] * heights(model.surface, point, axes, here, here, 0.0)[0, 0]
    track = (np.asarray(body.position) - np.asarray(origin)) @ np.asarray(axes).T
    turned = jax.vmap(lambda q: (Rotation.from_matrix(axes) @ Rotation(q)).quaternion)(body.attitude)
    middle, half = (track.min(axis=0) + track.max(axis=0)) / 2, np.ptp(track[:, :2], axis=0).max() / 2 + MARGIN
    corners = np.asarray(Vertices.box(lander.edges).points)
    film = xr.Dataset(
        {
            "track": (("time", "axis"), track, line()),
            "attitude": (("time", "quaternion"), np.asarray(turned), {"units": "1"}),
            "vertices": (("vertex", "axis"), corners, surface("faces", "track", "attitude")),
            "faces": (("face", "corner"), ConvexHull(corners).simplices),
            **map_ground(model.surface, origin, axes, (middle[:2], half, NODES)),
        },
        coords={"time": times, "axis": ["east", "north", "up"]},
        attrs={"lander": lander.title, "case": index, "bounces": int(row["bounces"])},
    )
    units = {"track": "m", "vertices": "m", "time": "s"}
    return describe(film, frame="east, north and up at the first touch", units=units)
