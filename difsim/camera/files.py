"""Calibrations of cameras from files: the YAML of OpenCV and ROS, and a plain JSON."""

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from difsim.camera.opencv import read_opencv
from difsim.camera.pinhole import Camera
from difsim.saving.texts import read_text

REQUIRED = {"fx": 0, "fy": 0, "cx": 0, "cy": 0, "radial": 3, "rotation": 3, "translation": 3, "size": 2}
OPTIONAL = {"rate": 0}
UNIT = {"fx": "px", "fy": "px", "cx": "px", "cy": "px", "rotation": "rad", "translation": "m", "size": "px"}
NOTES = ("note", "notes", "comment", "description", "source")  # which a reader may leave out
FURTHEST = 100.0  # m: a laboratory camera is closer to the origin; a larger number is probably in mm


def read_cameras(path: str | PathLike, further: Sequence[str] = ()) -> dict[str, Camera]:
    """The cameras of a calibration file, by name: JSON (.json) of several, or the YAML of OpenCV (.yaml, .yml) of one.

    The JSON is {"cameras": {NAME: {"fx": ..., "fy", "cx", "cy", "radial": [w1, w2, w3],
    "rotation": [3], "translation": [3], "size": [2], "rate": ...}}}, with the arguments of `Camera` in px, rad and m.

    The YAML is that of OpenCV's FileStorage, its calibration sample or ROS, and its camera has the name of the file.
    The entries are `camera_matrix` (K), `distortion_coefficients` (dist_coeffs, D) as (k₁, k₂, p₁, p₂[, k₃]),
    `image_width`, `image_height`, and the pose `rvec` or `R` with `tvec` or `T` in m. Without a pose the camera's
    frame is the frame. Pixels are those of the image that the camera took: P and R of ROS concern the rectified.

    **Arguments:** `path`; `further`, keys of a JSON file besides "cameras" that the caller reads itself; a note may
    stand there, too. **Returns:** name -> camera.
    **Raises:** ValueError for another suffix, for missing, unknown, repeated, misshapen or non-finite entries, skew,
    binned or cut images, and distortion that `Camera` does not have (tangential, rational, thin prism, fisheye);
    FileNotFoundError.
    """
    path = Path(path)
    match path.suffix.lower():
        case ".json":
            return _read_json(path, further)
        case ".yaml" | ".yml":
            try:
                return {path.stem: _camera(read_opencv(path))}
            except ValueError as error:
                raise ValueError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None
    raise ValueError(f"{path}: give a calibration as .json, or as .yaml or .yml of OpenCV")


def _read_json(path: Path, further: Sequence[str]) -> dict[str, Camera]:
    text = read_text(path, encoding="utf-8-sig")
    try:
        content = json.loads(text, object_pairs_hook=_require_unique_keys)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: line {error.lineno}: no JSON: {error.msg}") from None
    except RecursionError:
        raise ValueError(f"{path}: no calibration: its JSON is nested too deep") from None
    except ValueError as error:  # a number with more digits than Python reads
        raise ValueError(f"{path}: no calibration: {error}") from None
    table = content.get("cameras") if isinstance(content, dict) else None
    if not isinstance(table, dict) or not table:
        raise ValueError(f'{path}: no cameras: give {{"cameras": {{NAME: {{"fx": ...}}}}}}')
    if unknown := sorted(content.keys() - {"cameras", *further, *NOTES}):
        raise ValueError(f'{path}: unknown {unknown} beside "cameras": leave them out, or read them as `further`')
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


def _require_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A table of a JSON file. **Raises:** ValueError for a key that it has twice: the last would count alone."""
    table = dict(pairs)
    if len(table) < len(pairs):
        twice = sorted({name for name, _ in pairs if [key for key, _ in pairs].count(name) > 1})
        raise ValueError(f"{twice} stand twice in one table: give each a name of its own")
    return table


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


def _numbers(value: Any) -> np.ndarray:
    """The array that a JSON file holds; NaN for what is no number, such as a text or a Boolean."""
    try:
        array = np.asarray(value)
        return array.astype(float) if array.dtype.kind in "iuf" and not has_boolean(value) else np.array(np.nan)
    except (TypeError, ValueError, OverflowError):
        return np.array(np.nan)


def has_boolean(value: Any) -> bool:
    """Whether a Boolean is in a value of a JSON file, which NumPy would take as 0 or 1 among numbers.

    **Arguments:** `value`, with its lists and tables. **Returns:** the answer.
    """
    if isinstance(value, dict):
        value = list(value.values())
    return any(map(has_boolean, value)) if isinstance(value, list) else isinstance(value, bool)
