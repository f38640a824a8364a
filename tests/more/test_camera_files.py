"""Cameras: equal to OpenCV, what is seen, derivatives, and calibrations from files."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from difsim.camera import Camera, read_cameras
from tests.core.test_camera import NUMBERS, PIXELS, POINTS

# As OpenCV 4 writes it; 5 calls the last two opencv-nd-matrix and the version "%YAML 1.2".
YAML = """%YAML:1.0
---
image_width: 1920
image_height: 1080
camera_matrix: !!opencv-matrix
   rows: 3
   cols: 3
   dt: d
   data: [ 1011.6, 0., 960., 0., 1059.8, 540., 0., 0., 1. ]
distortion_coefficients: !!opencv-matrix
   rows: 1
   cols: 5
   dt: d
   data: [ -0.12, 0.03, 0., 0., -0.004 ]
rvec: !!opencv-nd-matrix
   sizes: [ 3 ]
   dt: d
   data: [ 0.3, -0.7, 0.2 ]
tvec: [ 0.05, -0.1, 0.9 ]
"""


@pytest.fixture(scope="module")
def lens():
    return Camera(**NUMBERS, rate=240.0)


def test_opencv_files(tmp_path, lens):
    path = tmp_path / "camera.yml"
    path.write_text(YAML)
    np.testing.assert_allclose(read_cameras(path)["camera"].project(jnp.asarray(POINTS)), PIXELS, rtol=1e-12)
    rows = np.asarray(lens.matrix).ravel().tolist()
    path.write_text(YAML.split("rvec")[0] + f"R: {rows}\nT: [ 0.05, -0.1, 0.9 ]\n")
    np.testing.assert_allclose(read_cameras(path)["camera"].project(jnp.asarray(POINTS)), PIXELS, rtol=1e-12)


ROS = """header:
  seq: 0
  frame_id: "left"
height: 1080
width: 1920
distortion_model: "plumb_bob"
D: [-0.12, 0.03, 0, 0.0, -4e-3]
K: [1011.6, 0.0, 960.0, 0.0, 1059.8, 540.0, 0.0, 0.0, 1.0]
R: [0.99, -0.1, 0.1, 0.1, 0.99, 0.0, -0.1, 0.01, 0.99]
P: [900.0, 0.0, 950.0, -63.0, 0.0, 900.0, 530.0, 0.0, 0.0, 0.0, 1.0, 0.0]
binning_x: 0
binning_y: 0
roi:
  x_offset: 0
  y_offset: 0
  height: 0
  width: 0
  do_rectify: False
---
"""

IN_CAMERA = Camera(**NUMBERS | {"rotation": np.zeros(3), "translation": np.zeros(3)})

ODD = {
    "rostopic echo": (ROS, IN_CAMERA),
    "ROS 2": (ROS.replace("D:", "d:").replace("K:", "k:").replace("R:", "r:").replace("P:", "p:"), IN_CAMERA),
    "the file of camera_calibration": (
        YAML.split("rvec")[0]
        + "camera_name: left\ndistortion_model: plumb_bob\nrectification_matrix:\n  rows: 3\n  cols: 3\n"
        "  data: [1, 0, 0, 0, 1, 0, 0, 0, 1]\nprojection_matrix:\n  rows: 3\n  cols: 4\n"
        "  data: [900, 0, 950, 0, 0, 900, 530, 0, 0, 0, 1, 0]\n",
        IN_CAMERA,
    ),
    "the notes of OpenCV's sample": (
        YAML + 'calibration_time: "Thu 12 Nov"\nnframes: 9\nflags: 8\nfisheye_model: 0\n'
        "avg_reprojection_error: 3.1e-01\nper_view_reprojection_errors: !!opencv-matrix\n   rows: 1\n   cols: 1\n"
        "   dt: f\n   data: [ 0.3 ]\n",
        None,
    ),
    "a rational model with zeros": (
        YAML.replace("cols: 5", "cols: 8").replace("-0.004 ]", "-0.004, 0., 0., 0. ]"),
        None,
    ),
}


@pytest.mark.parametrize("case", ODD)
def test_calibrations_in_odd_forms_are_read(tmp_path, lens, case):
    text, right = ODD[case]
    right = right or lens
    path = tmp_path / "camera.yaml"
    path.write_text(text, encoding="utf-8")
    found = read_cameras(path)["camera"]
    shift = np.asarray(lens.translation - right.translation)  # between the frames of the two poses
    points = (POINTS @ np.asarray(lens.matrix).T + shift) @ np.asarray(right.matrix)
    np.testing.assert_allclose(found.project(jnp.asarray(points)), PIXELS, rtol=1e-12)
    np.testing.assert_array_equal(found.size, [1920, 1080])


@pytest.mark.parametrize(
    "old,new,complaint",
    [
        ('"plumb_bob"', "equidistant", "distortion_model = 'equidistant' is not that of Camera"),
        ("binning_x: 0", "binning_x: 2", "binning_x = '2'"),
        ("0, 0.0, -4e-3]", "0, 0.0, -4e-3, 0.1, 0, 0]", "has more than k1, k2 and k3"),
        ("height: 1080", "height: 1080\nskew: 0.1", r"unknown \['skew'\]"),
    ],
)
def test_what_changes_the_image_is_known_or_refused(tmp_path, old, new, complaint):
    path = tmp_path / "camera.yaml"
    assert old in ROS
    path.write_text(ROS.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=complaint) as refused:
        read_cameras(path)
    assert str(path) in str(refused.value)


def test_json_files(tmp_path, lens):
    path = tmp_path / "cameras.json"
    cameras = {"A": NUMBERS | {"rate": 240.0}, "B": NUMBERS}
    path.write_text(json.dumps({"cameras": cameras, "note": "left out", "arcs_s": [0, 1]}))
    with pytest.raises(ValueError, match=r"unknown \['arcs_s'\] beside"):
        read_cameras(path)
    found = read_cameras(path, ["arcs_s"])
    assert list(found) == ["A", "B"] and float(found["A"].rate) == 240 and np.isinf(found["B"].rate)
    np.testing.assert_allclose(found["A"].project(jnp.asarray(POINTS)), PIXELS, rtol=1e-12)


@pytest.mark.parametrize(
    "change,complaint",
    [
        ({"fx": "1011.6"}, "camera 'A': fx = '1011.6': give 1 finite numbers in px"),
        ({"translation": [300.0, 0.0, 900.0]}, "in mm?"),
    ],
)
def test_faulty_json_files(tmp_path, change, complaint):
    path = tmp_path / "cameras.json"
    path.write_text(json.dumps({"cameras": {"A": NUMBERS | change}}))
    with pytest.raises(ValueError, match=complaint):
        read_cameras(path)
