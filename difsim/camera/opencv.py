"""Calibrations of one camera in YAML, as OpenCV and ROS write them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from difsim import rotation
from difsim.extras import require
from difsim.rotation import Rotation
from difsim.saving.texts import read_text

MATRICES = ("camera_matrix", "K", "k")
DISTORTIONS = ("distortion_coefficients", "dist_coeffs", "D", "d")
ROTATIONS = ("rvec", "R")  # a rotation vector or a matrix
TRANSLATIONS = ("tvec", "T")
WIDTHS, HEIGHTS = ("image_width", "width"), ("image_height", "height")
# Of the rectified image, which ROS makes from the one that the camera took; R is so, too, with one of these.
RECTIFIED = ("P", "p", "projection_matrix", "rectification_matrix", "distortion_model")
MODELS = ("plumb_bob", "rational_polynomial", "")  # of ROS: those whose first five coefficients are OpenCV's
LARGEST_YAML = 2**18  # bytes: one camera has a thousand, and a reader in Python takes seconds for more


def read_opencv(path: Path) -> dict[str, Any]:
    """The arguments of a camera from a file of OpenCV or ROS, as `difsim.camera.read_cameras` describes it.

    **Arguments:** `path`. **Returns:** arguments of `Camera` by name.
    **Raises:** ValueError, which names the file where it is no YAML, and what is wrong in it otherwise.
    """
    text = read_text(path, LARGEST_YAML, encoding="utf-8-sig")
    # FileStorage wrote "%YAML:1.0" for long, which is not YAML.
    text = "\n".join(line for line in text.splitlines() if not line.startswith("%YAML"))
    try:
        contents = _load(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: no YAML: {error}") from None
    if len(contents) != 1 or not isinstance(contents[0], dict):
        raise ValueError(
            f"{path}: no calibration of one camera: give camera_matrix, distortion and size of the image"
        )
    content = contents[0]
    is_ros = any(name in content for name in RECTIFIED)
    _check_image(content)
    k = _entry(content, MATRICES, (9,)).reshape(3, 3)
    if not np.array_equal(k[[0, 1, 2, 2, 2], [1, 0, 0, 1, 2]], [0, 0, 0, 0, 1]):
        raise ValueError(f"camera_matrix {k.tolist()} is not [fx 0 cx; 0 fy cy; 0 0 1] (no skew)")
    d = np.zeros(14)
    given = _entry(content, DISTORTIONS, (0, 4, 5, 8, 12, 14))
    d[: given.size] = given
    if d[[2, 3, *range(5, 14)]].any():
        raise ValueError(
            f"distortion {given.tolist()} has more than k1, k2 and k3: calibrate with CALIB_ZERO_TANGENT_DIST"
        )
    turn, shift = np.zeros(3), np.zeros(3)
    if is_ros and "T" in content:
        raise ValueError(
            "R with T is a pose, and with P or a distortion_model a rectification: name the pose rvec, tvec"
        )
    rotations = ("rvec",) if is_ros else ROTATIONS
    if any(name in content for name in rotations + TRANSLATIONS):
        turn, shift = _entry(content, rotations, (3, 9)), _entry(content, TRANSLATIONS, (3,))
    size = [float(_entry(content, names, (1,))[0]) for names in (WIDTHS, HEIGHTS)]
    return {
        "fx": k[0, 0],
        "fy": k[1, 1],
        "cx": k[0, 2],
        "cy": k[1, 2],
        "radial": d[[0, 1, 4]],
        "rotation": _vector(turn),
        "translation": shift,
        "size": size,
    }


def _load(text: str) -> list[Any]:
    """Read the documents of a YAML text, without executing anything. All leaves are texts.

    YAML itself takes 1e-5 as a text, 0640 as octal, 1:30 as ninety and `yes` as a Boolean.
    """
    yaml = require("import", "yaml")
    try:
        return [each for each in yaml.load_all(text, yaml.BaseLoader) if each]  # `rostopic echo` ends one by ---
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


def _check_image(content: Mapping[str, Any]) -> None:
    """Refuse another lens, and an image of which a part or every other pixel was kept."""
    if (model := content.get("distortion_model", "")) not in MODELS:
        raise ValueError(f"distortion_model = {model!r} is not that of Camera: calibrate with {MODELS[0]!r}")
    plain = {"fisheye_model": "0", "binning_x": "01", "binning_y": "01"}  # 0 stands for 1 in ROS
    for name in plain.keys() & content.keys():
        if content[name] not in list(plain[name]):
            raise ValueError(
                f"{name} = {content[name]!r}: give a calibration of the whole image of a pinhole camera"
            )
    cut = content.get("roi", {})
    whole = {"x_offset": ["0"], "y_offset": ["0"]} | {
        name: ["0", content.get(name)] for name in ("width", "height")
    }
    if not isinstance(cut, dict) or any(value not in whole.get(name, [value]) for name, value in cut.items()):
        raise ValueError(f"roi = {cut!r}: give a calibration of the whole image")


def _entry(content: Mapping[str, Any], names: tuple[str, ...], sizes: tuple[int, ...]) -> np.ndarray:
    """The flat numbers under the one of `names` that is there."""
    name = next((name for name in names if name in content), None)
    if name is None:
        raise ValueError(f"no {' or '.join(names)}: there are {sorted(content)}")
    value = content[name]
    try:
        array = np.array(
            [float(each) for each in _leaves(value.get("data") if isinstance(value, dict) else value)]
        )
    except (TypeError, ValueError, OverflowError):
        array = np.full(1, np.nan)
    if array.size not in sizes or not np.isfinite(array).all():
        raise ValueError(f"{name} = {content[name]!r}: give {' or '.join(map(str, sizes))} finite numbers")
    return array


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


def _vector(turn: np.ndarray) -> np.ndarray:
    """A rotation vector [3] rad, from one or from a matrix [9]."""
    if turn.size == 3:
        return turn
    matrix = turn.reshape(3, 3)
    near = rotation.nearest_rotation(matrix)
    # 1e-4: matrices are printed with five digits or more.
    if np.abs(near - matrix).max() > 1e-4 or np.linalg.det(near) < 0:
        raise ValueError(f"R = {matrix.tolist()} is not a rotation")
    return np.asarray(Rotation.from_matrix(jnp.asarray(near)).as_rotation_vector())
