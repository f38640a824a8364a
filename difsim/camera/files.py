"""Calibrations of cameras from files: the YAML of OpenCV and ROS, and a plain JSON."""

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from difsim.camera.opencv import read_opencv
from difsim.camera.pinhole import Camera
from difsim.saving.atomic import write_atomically
from difsim.saving.texts import read_text

REQUIRED = {"fx": 0, "fy": 0, "cx": 0, "cy": 0, "radial": 3, "rotation": 3, "translation": 3, "size": 2}
OPTIONAL = {"rate": 0}
UNIT = {"fx": "px", "fy": "px", "cx": "px", "cy": "px", "rotation": "rad", "translation": "m", "size": "px"}
NOTES = ("note", "notes", "comment", "description", "source")  # which a reader may leave out
FURTHEST = 100.0  # m: a laboratory camera is closer to the origin; a larger number is probably in mm


def read_cameras(path: str | PathLike, further: Sequence[str] = ()) -> dict[str, Camera]:
    """The cameras of a calibration file, by name: JSON (.json) of several, or the YAML of OpenCV (.yaml, .yml) of one.

    `write_cameras` shows the JSON: {"cameras": {NAME: {"fx": ..., "fy", "cx", "cy", "radial": [w1, w2, w3],
    "rotation": [3], "translation": [3], "size": [2], "rate": ...}}}, with the arguments of `Camera` in px, rad and m.

    The YAML is that of OpenCV's FileStorage, its calibration sample or ROS, and its camera has the name of the file.
    The entries are `camera_matrix` (K), `distortion_coefficients` (dist_coeffs, D) as (k₁, k₂, p₁, p₂[, k₃]),
    `image_width`, `image_height`, and the pose `rvec` or `R` with `tvec` or `T` in m. Without a pose the camera's
    frame is the frame. Pixels are those of the image that the camera took: P and R of ROS concern the rectified.

    **Arguments:** `path`; `further`, keys of a JSON file besides "cameras" that the caller reads itself; a note may
    stand there, too. **Returns:** name -> camera.
    **Raises:** ValueError for another suffix, for missing, unknown, misshapen or non-finite entries, skew,
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
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: no JSON: {error}") from None
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
            found[name] = _camera(entry)
        except ValueError as error:
            raise ValueError(f"{path}: camera {name!r}: {error}") from None
    return found


def write_cameras(path: str | PathLike, cameras: Mapping[str, Camera], **further: Any) -> None:
    """Write a file that `read_cameras` reads.

    **Arguments:** `path`; `cameras` by name; `further` keys of the file.
    **Raises:** ValueError for numbers that are not finite, such as the size of an image without one.
    """
    table = {}
    for name, camera in cameras.items():
        names = (*REQUIRED, *(key for key in OPTIONAL if np.isfinite(getattr(camera, key))))
        table[name] = {key: np.asarray(getattr(camera, key)).tolist() for key in names}
    text = json.dumps({"cameras": table, **further}, indent=1, allow_nan=False)
    with write_atomically(Path(path)) as whole:
        whole.write_text(text + "\n")


def _camera(entry: Mapping[str, Any]) -> Camera:
    missing, unknown = sorted(REQUIRED.keys() - entry), sorted(entry.keys() - REQUIRED - OPTIONAL.keys())
    if missing or unknown:
        raise ValueError(f"missing {missing}, unknown {unknown}: give {sorted(REQUIRED)}, perhaps rate")
    values = {}
    for name, value in entry.items():
        try:
            array = np.asarray(value, float)
        except (TypeError, ValueError, OverflowError):
            array = np.full(1, np.nan)
        shape = (REQUIRED | OPTIONAL)[name]
        if array.shape != ((shape,) if shape else ()) or not np.isfinite(array).all():
            raise ValueError(f"{name} = {value!r}: give {shape or 1} finite numbers in {UNIT.get(name, '1')}")
        values[name] = array
    if np.abs(values["translation"]).max() > FURTHEST:
        raise ValueError(f"translation = {values['translation'].tolist()} m is beyond {FURTHEST:g} m: in mm?")
    if np.linalg.norm(values["rotation"]) > 2 * np.pi:
        raise ValueError(f"rotation = {values['rotation'].tolist()} rad is more than a turn: in degrees?")
    return Camera(**values)
