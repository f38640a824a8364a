"""Calibrations of cameras from files: OpenCV's YAML, and a plain JSON."""

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import yaml

from difsim import rotation
from difsim.camera.pinhole import Camera
from difsim.checks import instance
from difsim.saving.atomic import atomically
from difsim.saving.texts import read_text

REQUIRED = {"fx": 0, "fy": 0, "cx": 0, "cy": 0, "radial": 3, "rotation": 3, "translation": 3, "size": 2}
OPTIONAL = {"rate": 0}
UNIT = {"fx": "px", "fy": "px", "cx": "px", "cy": "px", "rotation": "rad", "translation": "m", "size": "px"}
MATRICES = ("camera_matrix", "K")
DISTORTIONS = ("distortion_coefficients", "dist_coeffs", "D")
ROTATIONS = ("rvec", "R")  # a rotation vector or a matrix
TRANSLATIONS = ("tvec", "T")
LARGEST_YAML = 2**18  # bytes: one camera has a thousand, and a reader in Python takes seconds for more
FURTHEST = 100.0  # m: a laboratory camera is closer to the origin; a larger number is probably in mm


class _Loader(yaml.SafeLoader):
    """A YAML loader without code execution that reads OpenCV's matrices."""

    def compose_node(self, parent, index):
        # A few nested aliases stand for lists of any length; no calibration has one.
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias (*name): write out what it stands for")
        return super().compose_node(parent, index)


for _tag in ("opencv-matrix", "opencv-nd-matrix"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", lambda loader, node: loader.construct_mapping(node, True))


def read_cameras(path: str | PathLike) -> dict[str, Camera]:
    """The cameras of a calibration file, by name: JSON (.json) of several, or the YAML of OpenCV (.yaml, .yml) of one.

    `write_cameras` shows the JSON: {"cameras": {NAME: {"fx": ..., "fy", "cx", "cy", "radial": [w1, w2, w3],
    "rotation": [3], "translation": [3], "size": [2], "rate": ...}}}, with the arguments of `Camera` in px, rad and m.
    Other keys beside "cameras" are ignored.

    The YAML is that of OpenCV's FileStorage, its calibration sample or ROS, and its camera has the name of the file.
    The entries are `camera_matrix` (K), `distortion_coefficients` (dist_coeffs, D) as (k₁, k₂, p₁, p₂[, k₃]),
    `image_width`, `image_height`, and the pose `rvec` or `R` with `tvec` or `T` in m. Without a pose the camera's
    frame is the frame.

    **Arguments:** `path`. **Returns:** name -> camera.
    **Raises:** ValueError for another suffix, for missing, unknown, misshapen or non-finite entries, skew, and
    distortion that `Camera` does not have (tangential, rational, thin prism); FileNotFoundError.
    """
    path = Path(instance("read_cameras: path", path, str | PathLike, "the path of a file"))
    match path.suffix.lower():
        case ".json":
            return _read_json(path)
        case ".yaml" | ".yml":
            return {path.stem: _read_opencv(path)}
    raise ValueError(f"{path}: give a calibration as .json, or as .yaml or .yml of OpenCV")


def _read_opencv(path: Path) -> Camera:
    text = read_text(path, LARGEST_YAML)
    # FileStorage wrote "%YAML:1.0" for long, which is not YAML.
    text = "\n".join(line for line in text.splitlines() if not line.startswith("%YAML"))
    try:
        content = yaml.load(text, _Loader)
    # ValueError: a date that is none, and a number with more digits than Python reads.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: no YAML: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path}: no calibration: give camera_matrix, distortion and size of the image")
    try:
        k = _entry(content, MATRICES, (9,)).reshape(3, 3)
        if not np.array_equal(k[[0, 1, 2, 2, 2], [1, 0, 0, 1, 2]], [0, 0, 0, 0, 1]):
            raise ValueError(f"camera_matrix {k.tolist()} is not [fx 0 cx; 0 fy cy; 0 0 1] (no skew)")
        d = np.zeros(14)
        given = _entry(content, DISTORTIONS, (4, 5, 8, 12, 14))
        d[: given.size] = given
        if d[[2, 3, *range(5, 14)]].any():
            raise ValueError(
                f"distortion {given.tolist()} has more than k1, k2 and k3: calibrate with CALIB_ZERO_TANGENT_DIST"
            )
        posed = any(name in content for name in ROTATIONS + TRANSLATIONS)
        turn, shift = np.zeros(3), np.zeros(3)
        if posed:
            turn, shift = _entry(content, ROTATIONS, (3, 9)), _entry(content, TRANSLATIONS, (3,))
        size = [float(_entry(content, (name,), (1,))[0]) for name in ("image_width", "image_height")]
        return _camera(
            {
                "fx": k[0, 0],
                "fy": k[1, 1],
                "cx": k[0, 2],
                "cy": k[1, 2],
                "radial": d[[0, 1, 4]],
                "rotation": _vector(turn),
                "translation": shift,
                "size": size,
            }
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _read_json(path: Path) -> dict[str, Camera]:
    text = read_text(path)
    try:
        content = json.loads(text, object_pairs_hook=_each_once)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: line {error.lineno}: no JSON: {error.msg}") from None
    except RecursionError:
        raise ValueError(f"{path}: no calibration: its JSON is nested too deep") from None
    except ValueError as error:  # a number with more digits than Python reads
        raise ValueError(f"{path}: no calibration: {error}") from None
    table = content.get("cameras") if isinstance(content, dict) else None
    if not isinstance(table, dict) or not table:
        raise ValueError(f'{path}: no cameras: give {{"cameras": {{NAME: {{"fx": ...}}}}}}')
    found = {}
    for name, entry in table.items():
        try:
            if not isinstance(entry, dict):
                raise ValueError(f"{entry!r} is not a table of {sorted(REQUIRED)}")
            if twin := next((known for known in found if table[known] == entry), None):
                raise ValueError(f"is the same as {twin!r}: leave one out, for its pixels would count twice")
            found[name] = _camera(entry)
        except ValueError as error:
            raise ValueError(f"{path}: camera {name!r}: {error}") from None
    return found


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A table of a JSON file. **Raises:** ValueError for a key that it has twice: the last would count alone."""
    table = dict(pairs)
    if len(table) < len(pairs):
        twice = sorted({name for name, _ in pairs if [key for key, _ in pairs].count(name) > 1})
        raise ValueError(f"{twice} stand twice in one table: give each a name of its own")
    return table


def write_cameras(path: str | PathLike, cameras: Mapping[str, Camera], **further: Any) -> None:
    """Write a file that `read_cameras` reads.

    **Arguments:** `path`; `cameras` by name; `further` keys of the file.
    """
    names = (*REQUIRED, *OPTIONAL)
    table = {
        key: {n: np.asarray(getattr(camera, n)).tolist() for n in names if np.isfinite(getattr(camera, n)).all()}
        for key, camera in cameras.items()
    }
    with atomically(Path(path)) as whole:
        whole.write_text(json.dumps({"cameras": table, **further}, indent=1) + "\n")


def _camera(entry: Mapping[str, Any]) -> Camera:
    missing, unknown = sorted(REQUIRED.keys() - entry), sorted(entry.keys() - REQUIRED - OPTIONAL.keys())
    if missing or unknown:
        raise ValueError(f"missing {missing}, unknown {unknown}: give {sorted(REQUIRED)}, perhaps rate")
    values = {}
    for name, value in entry.items():
        array = _numbers(value)
        shape = (REQUIRED | OPTIONAL)[name]
        if array.shape != ((shape,) if shape else ()) or not np.isfinite(array).all():
            raise ValueError(f"{name} = {value!r}: give {shape or 1} finite numbers in {UNIT.get(name, '1')}")
        values[name] = array
    if np.abs(values["translation"]).max() > FURTHEST:
        raise ValueError(f"translation = {values['translation'].tolist()} m is beyond {FURTHEST:g} m: in mm?")
    if np.linalg.norm(values["rotation"]) > 2 * np.pi:
        raise ValueError(f"rotation = {values['rotation'].tolist()} rad is more than a turn: in degrees?")
    return Camera(**values)


def _entry(content: Mapping[Any, Any], names: tuple[str, ...], sizes: tuple[int, ...]) -> np.ndarray:
    """The flat numbers under the first of `names` that exists."""
    found = next((name for name in names if name in content), None)
    if found is None:
        raise ValueError(f"no {' or '.join(names)}: there are {sorted(map(str, content))}")
    value = content[found]
    value = value.get("data") if isinstance(value, dict) else value
    try:
        array = np.asarray(value, float).ravel()  # a text too: "1e-5" is one to YAML, which wants 1.e-5
    except (TypeError, ValueError, OverflowError):
        array = np.zeros(0)
    if array.size not in sizes or not np.isfinite(array).all():
        raise ValueError(f"{found} = {value!r}: give {' or '.join(map(str, sizes))} finite numbers")
    return array


def _numbers(value: Any) -> np.ndarray:
    """The array that a JSON file holds; NaN for what is no number, such as a text or a Boolean."""
    try:
        array = np.asarray(value)
        return array.astype(float) if array.dtype.kind in "iuf" else np.array(np.nan)
    except (TypeError, ValueError, OverflowError):
        return np.array(np.nan)


def _vector(turn: np.ndarray) -> np.ndarray:
    """A rotation vector [3] rad, from one or from a matrix [9]."""
    if turn.size == 3:
        return turn
    matrix = turn.reshape(3, 3)
    near = rotation.nearest_rotation(matrix)
    # 1e-4: matrices are printed with five digits or more.
    if np.abs(near - matrix).max() > 1e-4 or np.linalg.det(near) < 0:
        raise ValueError(f"R = {matrix.tolist()} is not a rotation")
    return np.asarray(rotation.to_rotation_vector(rotation.from_matrix(jnp.asarray(near))))
