"""Tracked markers of a real experiment: the files that `difsim cobbles --stage estimate` reads, and their faults.

tracks.csv, one row for each marker in each image, in any order; what was not seen has no row:

    time_s,camera,body,marker,u_px,v_px

cams.json: the cameras as `difsim.camera.read_cameras` reads them, and beside them

    "arcs_s": [[0.0, 0.65], [1.05, 2.5]],            the two arcs of free flight
    "bodies": {"a": {"mass_kg": 1.16, "markers_m": {"1": [x, y, z], ...}}, "b": ...}

with markers in the coordinates of the body's mesh. The first body is that of the first mesh.
"""

import io
import json
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pandas as pd

from difsim.body import RigidBody
from difsim.camera import Camera, read_cameras
from difsim.camera.files import has_boolean
from difsim.checks import instance
from difsim.mesh import TriMesh, load
from difsim.mesh.distance import signed_distance
from difsim.saving.texts import read_number, read_text
from experiments.cobbles.arcs import Tracks
from experiments.cobbles.stones import SIZES

KEYS = {"mass_kg", "markers_m"}
COLUMNS = ("time_s", "camera", "body", "marker", "u_px", "v_px")
OFF_SURFACE = 5e-3  # m: a marker is no further from the scanned surface; its own size is 2 mm
DENSITIES = 100.0, 2e4  # kg/m³, pumice to gold: outside, a mass is in grams or a mesh in other units
NUMBERS = "time_s", "u_px", "v_px"
SHOWN = 8  # faulty rows named in one message


class Experiment(NamedTuple):
    """Cameras by name, bodies with their markers [M, 3] m about the centre of mass (along the mesh's axes) by
    name, the arcs [2][start, end] s, and marker names by body."""

    cameras: dict[str, Camera]
    bodies: dict[str, tuple[RigidBody, np.ndarray]]
    markers: dict[str, list[str]]
    arcs: list[tuple[float, float]]


def read_experiment(calibration: str | PathLike, meshes: list[str | PathLike]) -> Experiment:
    """The world of an experiment: everything but its tracks; bodies are uniform.

    **Raises:** ValueError for missing or wrong entries, and for markers that are not on their mesh.
    """
    cameras = read_cameras(calibration, ("bodies", "arcs_s"))
    if Path(calibration).suffix.lower() != ".json":
        raise ValueError(f"{calibration}: bodies and arcs stand beside the cameras in one .json")
    content = json.loads(read_text(calibration, encoding="utf-8-sig"))
    table, arcs = content.get("bodies"), content.get("arcs_s")
    if not isinstance(table, dict) or len(table) != 2 or len(meshes) != 2:
        raise ValueError(f'{calibration}: give "bodies" with two entries, and a mesh for each (--mesh A --mesh B)')
    try:
        arcs = np.array(arcs, float).tolist()
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f'{calibration}: "arcs_s" = {arcs!r}: give [[start, end], [start, end]] in s') from None
    if np.shape(arcs) != (2, 2) or not (arcs[0][0] < arcs[0][1] <= arcs[1][0] < arcs[1][1]):
        raise ValueError(f'{calibration}: "arcs_s" = {arcs!r}: give [[start, end], [start, end]] in s, in order')
    bodies, names = {}, {}
    for (name, entry), path in zip(table.items(), meshes, strict=True):
        if isinstance(entry, dict) and (unknown := sorted(entry.keys() - KEYS)):
            raise ValueError(
                f"{calibration}: body {name!r}: unknown {unknown}: give {sorted(KEYS)}: a body is uniform"
            )
        try:
            mass, places = entry["mass_kg"], entry["markers_m"]
            markers = np.array(list(places.values()))
            if markers.dtype.kind not in "iuf" or type(mass) not in (int, float) or has_boolean(places):
                raise ValueError("a text or a Boolean")
            mass, markers = float(mass), markers.astype(float)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise ValueError(
                f'{calibration}: body {name!r}: give "mass_kg" and "markers_m": {{NAME: [3]}}'
            ) from None
        surface = load(path, "m", SIZES)
        density = mass / surface.volume
        if not DENSITIES[0] <= density <= DENSITIES[1]:
            raise ValueError(
                f"{calibration}: body {name!r}: {mass:g} kg in the {surface.volume:.3g} m³ of {path} are "
                f"{density:.3g} kg/m³: give kg and m"
            )
        _check_markers(f"{calibration}: body {name!r}", list(places), markers, surface, path)
        bodies[name] = RigidBody(mass, surface.inertia(density)), markers - surface.centroid
        names[name] = list(places)
    return Experiment(cameras, bodies, names, [tuple(arc) for arc in arcs])


def _check_markers(where: str, names: list[str], markers: np.ndarray, surface: TriMesh, path) -> None:
    if markers.ndim != 2 or markers.shape[1:] != (3,) or len(markers) < 3 or not np.isfinite(markers).all():
        raise ValueError(f"{where}: give at least three markers of three finite coordinates in m")
    off = np.abs(signed_distance(surface, markers))
    if off.max() > OFF_SURFACE:
        worst = int(off.argmax())
        raise ValueError(
            f"{where}: marker {names[worst]!r} is {1e3 * off[worst]:.1f} mm off the surface of {path}: give "
            "markers in m, in the coordinates of the mesh"
        )


def read_tracks(path: str | PathLike, experiment: Experiment) -> dict[str, tuple[Tracks, Tracks]]:
    """The tracks of each body on both arcs; rows between the arcs are left out.

    **Raises:** ValueError that names lines for wrong columns, numbers that are none or not finite, unknown
    cameras, bodies and markers, pixels outside the image, a marker twice in one image; and for an arc without
    rows.
    """
    instance("read_tracks: experiment", experiment, Experiment, "the result of read_experiment")
    table = _read_table(path)
    for name in NUMBERS:
        table[name] = [_number(text) for text in table[name]]
    faults = _find_faults(table, experiment)
    if len(faults):
        lines = "\n".join(f"  line {line}: {fault}" for line, fault in faults[:SHOWN].items())
        more = f"\n  and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
        raise ValueError(f"{path}: {len(faults)} faulty rows:\n{lines}{more}")
    if len(table) and table[["u_px", "v_px"]].max(axis=None) <= 2.0:
        raise ValueError(f"{path}: line 2 and all after: u_px and v_px are at most 2: give pixels, not shares")
    found = {
        body: [_tracks(path, table[table.body == body], body, arc, experiment) for arc in experiment.arcs]
        for body in experiment.bodies
    }
    longest = max(track.times.size for pair in found.values() for track in pair)
    return {body: tuple(_pad(track, longest) for track in pair) for body, pair in found.items()}


def _read_table(path: str | PathLike) -> pd.DataFrame:
    """The rows as texts, by the number of their line."""
    text = read_text(path, encoding="utf-8-sig")  # spreadsheets begin a file with a mark of its encoding
    try:
        table = pd.read_csv(
            io.StringIO(text), header=None, dtype=str, keep_default_na=False, skip_blank_lines=False
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ValueError(f"{path}: line 1 or after: {error}") from None
    table = table.fillna("").map(str.strip).set_axis(range(1, len(table) + 1))
    if tuple(table.loc[1]) != COLUMNS:
        raise ValueError(
            f"{path}: line 1: columns {','.join(table.loc[1])!r}: give {','.join(COLUMNS)!r} (seconds, pixels)"
        )
    table = table.set_axis(COLUMNS, axis=1).loc[2:]
    return table[(table != "").any(axis=1)]


def _number(text: str) -> float:
    try:
        return read_number(text)
    except ValueError:
        return np.nan


def _find_faults(table: pd.DataFrame, experiment: Experiment) -> pd.Series:
    """The first fault of each faulty row, by its line."""
    markers = [(body, marker) for body, names in experiment.markers.items() for marker in names]
    size = np.array([experiment.cameras[c].size if c in experiment.cameras else (0, 0) for c in table.camera])
    pixels = table[["u_px", "v_px"]].to_numpy()
    where = "the image of its camera, " + ", ".join(
        f"{name}: {camera.size[0]:g} x {camera.size[1]:g} px" for name, camera in experiment.cameras.items()
    )
    is_finite = np.isfinite(table[[*NUMBERS]]).all(axis=1)
    is_known = pd.Series(zip(table.body, table.marker, strict=True), table.index).isin(markers)
    checks = {
        "time_s, u_px and v_px must be finite numbers: leave out what was not seen": ~is_finite,
        f"no such camera: there are {sorted(experiment.cameras)}": ~table.camera.isin(experiment.cameras),
        f"no such body: there are {sorted(experiment.bodies)}": ~table.body.isin(experiment.bodies),
        f"no such marker on this body: there are {experiment.markers}": ~is_known,
        f"outside of {where}": ((pixels < 0) | (pixels > size.reshape(-1, 2))).any(axis=1),
        "this marker is in this image already, on a line before": table.duplicated([*COLUMNS[:4]]),
    }
    found = pd.Series("", table.index)
    for fault, is_faulty in checks.items():
        found[is_faulty & (found == "")] = fault
    return found[found != ""]


def _tracks(path, rows: pd.DataFrame, body: str, arc: tuple[float, float], experiment: Experiment) -> Tracks:
    """Rows of one body on one arc, as arrays."""
    inside = rows[rows.time_s.between(*arc)]
    if inside.empty:
        span = "it has none" if rows.empty else f"they run from {rows.time_s.min():g} to {rows.time_s.max():g} s"
        raise ValueError(
            f"{path}: body {body!r} has no rows in the arc {arc[0]:g} to {arc[1]:g} s: {span} (in s?)"
        )
    times, time = np.unique(inside.time_s, return_inverse=True)
    cameras, markers = list(experiment.cameras), experiment.markers[body]
    at = time, inside.camera.map(cameras.index), inside.marker.map(markers.index)
    pixels = np.zeros((times.size, len(cameras), len(markers), 2))
    seen = np.zeros(pixels.shape[:3], bool)
    pixels[at], seen[at] = inside[["u_px", "v_px"]], True
    return Tracks(times, pixels, jnp.asarray(seen))


def _pad(tracks: Tracks, length: int) -> Tracks:
    """The same tracks with the last time again and again, and nothing seen: one length, one compilation."""
    more = length - tracks.times.size
    pad = lambda leaf, mode: jnp.pad(leaf, [(0, more)] + [(0, 0)] * (leaf.ndim - 1), mode)  # noqa: E731
    return Tracks(pad(tracks.times, "edge"), pad(tracks.pixels, "constant"), pad(tracks.seen, "constant"))
