"""Tracked markers of a real experiment: the files that `difsim cobbles --stage estimate` reads, and their faults.

tracks.csv, one row for each marker in each image, in any order; what was not seen has no row:

    time_s,camera,body,marker,u_px,v_px

cams.json: the cameras as `difsim.camera.read_cameras` reads them, and beside them

    "arcs_s": [[0.0, 0.65], [1.05, 2.5]],            the two arcs of free flight
    "bodies": {"a": {"mass_kg": 1.16, "markers_m": {"1": [x, y, z], ...}}, "b": ...}

with markers in the coordinates of the body's mesh. The first body is that of the first mesh.
"""

import csv
import io
import json
import math
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

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
    rows, faults, lines = [], [], {}
    # Spreadsheets begin a file with a mark of its encoding.
    with io.StringIO(read_text(path, encoding="utf-8-sig"), newline="") as file:
        reader = _fields(path, csv.reader(file))
        _check_header(path, next(reader, (1, []))[1])
        for line, fields in reader:
            if not fields:
                continue
            try:
                row = _row(fields, experiment)
                if row[:4] in lines:
                    raise ValueError(f"marker {row[3]!r} is in this image already, on line {lines[row[:4]]}")
                lines[row[:4]] = line
                rows.append(row)
            except ValueError as error:
                faults.append(f"  line {line}: {error}")
    if faults:
        more = f"\n  and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
        raise ValueError(f"{path}: {len(faults)} faulty rows:\n" + "\n".join(faults[:SHOWN]) + more)
    if rows and max(max(row[4:]) for row in rows) <= 2.0:
        raise ValueError(f"{path}: line 2 and all after: u_px and v_px are at most 2: give pixels, not shares")
    of_body = {body: [row for row in rows if row[2] == body] for body in experiment.bodies}
    found = {
        body: [_tracks(path, mine, body, arc, experiment) for arc in experiment.arcs]
        for body, mine in of_body.items()
    }
    longest = max(track.times.size for pair in found.values() for track in pair)
    return {body: tuple(_padded(track, longest) for track in pair) for body, pair in found.items()}


def _fields(path, reader) -> Iterator[tuple[int, list[str]]]:
    """The number of each line and its fields. **Raises:** ValueError for a field that is too long for a reader."""
    try:
        for fields in reader:
            yield reader.line_num, fields
    except csv.Error as error:
        raise ValueError(f"{path}: line {reader.line_num}: {error}") from None


def _check_header(path, header: list[str]) -> None:
    if tuple(name.strip() for name in header) != COLUMNS:
        raise ValueError(
            f"{path}: line 1: columns {','.join(header)!r}: give {','.join(COLUMNS)!r} (seconds, pixels)"
        )


def _row(fields: list[str], experiment: Experiment) -> tuple[float, str, str, str, float, float]:
    if len(fields) != len(COLUMNS):
        raise ValueError(f"{len(fields)} fields, {len(COLUMNS)} wanted")
    camera, body, marker = (field.strip() for field in fields[1:4])
    numbers = {}
    for name, text in zip(("time_s", "u_px", "v_px"), (fields[0], *fields[4:]), strict=True):
        try:
            numbers[name] = read_number(text)
        except ValueError:
            raise ValueError(f"{name} = {text!r} is no number") from None
        if not math.isfinite(numbers[name]):
            raise ValueError(f"{name} = {text!r} is not finite: leave out the rows of what was not seen")
    if camera not in experiment.cameras:
        raise ValueError(f"no camera {camera!r}: there are {sorted(experiment.cameras)}")
    if body not in experiment.bodies:
        raise ValueError(f"no body {body!r}: there are {sorted(experiment.bodies)}")
    if marker not in experiment.markers[body]:
        raise ValueError(f"no marker {marker!r} on body {body!r}: there are {sorted(experiment.markers[body])}")
    u, v = numbers["u_px"], numbers["v_px"]
    width, height = np.asarray(experiment.cameras[camera].size)
    if not (0 <= u <= width and 0 <= v <= height):
        raise ValueError(f"({u:g}, {v:g}) px is outside the image of {camera!r}, {width:g} x {height:g} px")
    return numbers["time_s"], camera, body, marker, u, v


def _tracks(path, rows: list, body: str, arc: tuple[float, float], experiment: Experiment) -> Tracks:
    """Rows of one body on one arc, as arrays."""
    inside = [row for row in rows if arc[0] <= row[0] <= arc[1]]
    if not inside:
        span = f"they run from {min(rows)[0]:g} to {max(rows)[0]:g} s" if rows else "it has none"
        raise ValueError(
            f"{path}: body {body!r} has no rows in the arc {arc[0]:g} to {arc[1]:g} s: {span} (in s?)"
        )
    times = np.unique([row[0] for row in inside])
    cameras, markers = list(experiment.cameras), experiment.markers[body]
    pixels = np.zeros((times.size, len(cameras), len(markers), 2))
    seen = np.zeros(pixels.shape[:3], bool)
    for time, camera, _, marker, u, v in inside:
        at = np.searchsorted(times, time), cameras.index(camera), markers.index(marker)
        pixels[at], seen[at] = (u, v), True
    return Tracks(times, pixels, jnp.asarray(seen))


def _padded(tracks: Tracks, length: int) -> Tracks:
    """The same tracks with the last time again and again, and nothing seen: one length, one compilation."""
    more = length - tracks.times.size
    pad = lambda leaf, mode: jnp.pad(leaf, [(0, more)] + [(0, 0)] * (leaf.ndim - 1), mode)  # noqa: E731
    return Tracks(pad(tracks.times, "edge"), pad(tracks.pixels, "constant"), pad(tracks.seen, "constant"))
