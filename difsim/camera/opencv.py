"""Calibrations of one camera in YAML, as OpenCV and ROS write them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from difsim import rotation
from difsim.extras import require
from difsim.rotation import Rotation
from difsim.saving.texts import read_number, read_text

MATRICES = ("camera_matrix", "K", "k")
DISTORTIONS = ("distortion_coefficients", "dist_coeffs", "D", "d")
ROTATIONS = ("rvec", "R")  # a rotation vector or a matrix
TRANSLATIONS = ("tvec", "T")
WIDTHS, HEIGHTS = ("image_width", "width"), ("image_height", "height")
# Of the rectified image, which ROS makes from the one that the camera took; R is so, too, with one of these.
RECTIFIED = ("P", "p", "projection_matrix", "rectification_matrix", "distortion_model")
MODELS = ("plumb_bob", "rational_polynomial", "")  # of ROS: those whose first five coefficients are OpenCV's
# What calibration programs write as well: how they found the numbers, and the poses of the boards they looked at.
HARMLESS = {"calibration_time", "nframes", "nr_of_frames", "board_width", "board_height", "square_size"}
HARMLESS |= {"marker_size", "aspectRatio", "fix_aspect_ratio", "flags", "avg_reprojection_error", "image_points"}
HARMLESS |= {"per_view_reprojection_errors", "extrinsic_parameters", "grid_points", "camera_name", "header"}
HARMLESS |= {"note", "notes", "comment"}
MATRIX = {"rows", "cols", "sizes", "dt", "type_id", "data"}  # of OpenCV's FileStorage
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
    checked = _check_image(content)
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
    known = {*MATRICES, *DISTORTIONS, *WIDTHS, *HEIGHTS, *ROTATIONS, *TRANSLATIONS, *RECTIFIED, *HARMLESS}
    if unknown := sorted(content.keys() - known - checked - ({"r"} if is_ros else set())):
        raise ValueError(f"unknown {unknown}: leave out what does not change the image, and convert the rest")
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
    """Read the documents of a YAML text, without executing anything.

    All leaves are texts: YAML itself takes 1e-5 as a text, 0640 as octal, 1:30 as ninety and `yes` as a Boolean.
    **Raises:** ValueError for what is no YAML, for an alias, and for a key that stands twice.
    """
    yaml = require("import", "yaml")

    class Loader(yaml.BaseLoader):
        def compose_node(self, parent, index):
            # A few nested aliases stand for lists of any length; no calibration has one.
            if self.check_event(yaml.AliasEvent):
                raise ValueError("an alias (*name): write out what it stands for")
            return super().compose_node(parent, index)

        def construct_mapping(self, node, deep=False):
            table = super().construct_mapping(node, deep)
            if len(table) < len(node.value):
                raise ValueError(f"one of {sorted(map(str, table))} stands twice: leave one out")
            return table

    try:
        return [each for each in yaml.load_all(text, Loader) if each]  # `rostopic echo` ends one by ---
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


def _check_image(content: Mapping[str, Any]) -> set[str]:
    """Refuse another lens, and an image of which a part or every other pixel was kept. **Returns:** the keys seen."""
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
    return {*plain, "roi"}


def _entry(content: Mapping[str, Any], names: tuple[str, ...], sizes: tuple[int, ...]) -> np.ndarray:
    """The flat numbers under the one of `names` that is there."""
    there = [name for name in names if name in content]
    if len(there) > 1:
        raise ValueError(f"{' and '.join(there)} say the same: leave one out")
    if not there:
        more = ": R alone is no pose, a rectification is named rectification_matrix" if "R" in content else ""
        raise ValueError(f"no {' or '.join(names)}: there are {sorted(content)}{more}")
    (name,) = there
    value = content[name]
    sides = []
    if isinstance(value, dict):
        if unknown := sorted(value.keys() - MATRIX):
            raise ValueError(f"{name}: unknown {unknown}: there are {sorted(MATRIX)}")
        sides = [*([value["rows"], value["cols"]] if {"rows", "cols"} <= value.keys() else value.get("sizes", []))]
        value = value.get("data")
    try:
        array = np.array([read_number(each) for each in _leaves(value)])
        shape = np.prod([int(side) for side in sides]) if sides else array.size
    except (TypeError, ValueError, OverflowError):
        array, shape = np.zeros(0), -1
    if array.size not in sizes or array.size != shape or not np.isfinite(array).all():
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
