"""Cameras: equal to OpenCV, what is seen, derivatives, and calibrations from files."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from difsim.camera import Camera, read_cameras, write_cameras

# cv2.projectPoints of OpenCV 5.0.0: points m and their pixels with the camera `lens`.
POINTS = np.array(
    [
        [-0.24861049971382537, -0.15791369604234018, 0.18076467912383815],
        [0.04929722163862066, -0.24352281465576048, -0.04012383585811574],
        [-0.012569221115499574, -0.20415665121775284, 0.1407462908455287],
        [-0.23179678804715795, -0.06526308570260278, 0.010044109572818205],
        [-0.04162318775149332, 0.05207914286288445, 0.1427026723752961],
        [0.27376035290165907, -0.1294793017507251, 0.08912832424789502],
    ]
)

PIXELS = np.array(
    [
        [722.896732010198, 132.70826484563662],
        [1167.9200123440498, 161.75946724184905],
        [973.6498594717294, 167.27771945058902],
        [809.6695792565238, 280.6613248338218],
        [876.5747306873993, 430.14714653450926],
        [1172.6009587103822, 324.7700823591982],
    ]
)

RADIAL, ROTATION, TRANSLATION = [-0.12, 0.03, -0.004], [0.3, -0.7, 0.2], [0.05, -0.1, 0.9]

NUMBERS = {"fx": 1011.6, "fy": 1059.8, "cx": 960.0, "cy": 540.0, "radial": RADIAL}

NUMBERS |= {"rotation": ROTATION, "translation": TRANSLATION, "size": [1920.0, 1080.0]}

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


@pytest.mark.parametrize(
    "wrong",
    [
        {"fx": 0.0},
        {"fy": -1.0},
        {"size": [1920.0, 0.0]},
        {"rate": -240.0},
        {"rate": np.nan},
        {"radial": [0.1]},
        {"cx": np.nan},
        {"rotation": [np.nan, 0.0, 0.0]},
    ],
)
def test_impossible_cameras_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Camera(**NUMBERS | wrong)


def test_opencv_files(tmp_path, lens):
    path = tmp_path / "camera.yml"
    path.write_text(YAML)
    np.testing.assert_allclose(read_cameras(path)["camera"].project(jnp.asarray(POINTS)), PIXELS, rtol=1e-12)
    rows = np.asarray(lens.matrix).ravel().tolist()
    path.write_text(YAML.split("rvec")[0] + f"R: {rows}\nT: [ 0.05, -0.1, 0.9 ]\n")
    np.testing.assert_allclose(read_cameras(path)["camera"].project(jnp.asarray(POINTS)), PIXELS, rtol=1e-12)


@pytest.mark.parametrize(
    "old,new,complaint",
    [
        ("camera_matrix", "matrix", "no camera_matrix or K"),
        ("0., 960.", "3., 960.", "skew"),
        ("0.03, 0., 0., -0.004", "0.03, 0.001, 0., -0.004", "CALIB_ZERO_TANGENT_DIST"),
        ("1011.6", ".nan", "9 finite numbers"),
        ("1011.6", "-1011.6", "fx = -1011.6 px must be positive"),
        ("tvec: [ 0.05, -0.1, 0.9 ]", "tvec: [ 50, -100, 900 ]", "in mm?"),
        ("tvec: [ 0.05, -0.1, 0.9 ]", "", "no tvec or T"),
        ("image_width: 1920\n", "", "no image_width"),
        ("[ 0.3", "[ [ 0.3", "no YAML"),
    ],
)
def test_faulty_opencv_files(tmp_path, old, new, complaint):
    path = tmp_path / "camera.yml"
    assert old in YAML
    path.write_text(YAML.replace(old, new))
    with pytest.raises(ValueError, match=complaint) as error:
        read_cameras(path)
    assert str(path) in str(error.value)


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
    "no pose": (YAML.split("rvec")[0], IN_CAMERA),
    "a mark of the encoding": ("\ufeff" + YAML, None),
    "numbers that YAML takes as texts or octal": (
        YAML.replace("-0.004", "-4e-3").replace("0.03", "3E-2").replace("1920", "01920").replace("540.", '"540"'),
        None,
    ),
    "a matrix as rows": (
        YAML.replace("camera_matrix", "#")
        .replace("   rows: 3\n   cols: 3\n   dt: d\n   data: [ 1011.6", "K: [[ 1011.6")
        .replace("0., 0., 1059.8", "0.], [0., 1059.8")
        .replace("540., 0., 0., 1. ]", "540.], [0., 0., 1. ]]"),
        None,
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


def test_an_empty_list_is_no_distortion(tmp_path):
    """ROS writes it for a camera without one."""
    path = tmp_path / "camera.yaml"
    path.write_text(ROS.replace("D: [-0.12, 0.03, 0, 0.0, -4e-3]", "D: []"), encoding="utf-8")
    np.testing.assert_array_equal(read_cameras(path)["camera"].radial, [0, 0, 0])


@pytest.mark.parametrize(
    "old,new,complaint",
    [
        ('"plumb_bob"', "equidistant", "distortion_model = 'equidistant' is not that of Camera"),
        ('"plumb_bob"', "fisheye", "distortion_model = 'fisheye'"),
        ("binning_x: 0", "binning_x: 2", "binning_x = '2'"),
        ("x_offset: 0", "x_offset: 100", "roi = "),
        ("  width: 0", "  width: 960", "roi = "),
        ("0, 0.0, -4e-3]", "0, 0.0, -4e-3, 0.1, 0, 0]", "has more than k1, k2 and k3"),
        ("K: [1011.6", "K: [yes", "K = .*: give 9 finite numbers"),
        ("K: [1011.6", "K: [1_011.6", "K = .*: give 9 finite numbers"),
        ("K: [1011.6", "K: [1:30", "K = .*: give 9 finite numbers"),
        ("height: 1080", "height: 1080\nheight: 1080", "stands twice"),
        ("height: 1080", "height: 1080\nimage_height: 1080", "image_height and height say the same"),
        ("height: 1080", "height: 1080\nskew: 0.1", r"unknown \['skew'\]"),
        ("height: 1080", "height: 1080\nT: [0, 0, 1]", "name the pose rvec, tvec"),
        ("height: 1080", "height: 1080\ntvec: [0, 0, 1]", "no rvec"),
        ("---", "---\nK: [1]", "no calibration of one camera"),
        ('distortion_model: "plumb_bob"\n', "fisheye_model: 1\n", "fisheye_model = '1'"),
    ],
)
def test_what_changes_the_image_is_known_or_refused(tmp_path, old, new, complaint):
    path = tmp_path / "camera.yaml"
    assert old in ROS
    path.write_text(ROS.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=complaint) as refused:
        read_cameras(path)
    assert str(path) in str(refused.value)


def test_a_rotation_alone_is_no_pose(tmp_path):
    path = tmp_path / "camera.yaml"
    text = "".join(line for line in ROS.splitlines(True) if line[0] not in "P" and "model" not in line)
    path.write_text(text.replace("R: [0.99, -0.1, 0.1, 0.1, 0.99, 0.0, -0.1, 0.01, 0.99]", "R: [0.3, -0.7, 0.2]"))
    with pytest.raises(ValueError, match=r"no tvec or T.*R alone is no pose, a rectification is named"):
        read_cameras(path)


def test_a_matrix_has_the_size_that_it_states(tmp_path):
    path = tmp_path / "camera.yml"
    path.write_text(YAML.replace("cols: 3", "cols: 4"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"camera_matrix = .*give 9 finite numbers"):
        read_cameras(path)


def test_json_files(tmp_path, lens):
    path = tmp_path / "cameras.json"
    write_cameras(path, {"A": lens, "B": Camera(**NUMBERS)}, note="kept", arcs_s=[0, 1])
    with pytest.raises(ValueError, match=r"unknown \['arcs_s'\] beside"):
        read_cameras(path)
    found = read_cameras(path, ["arcs_s"])
    assert list(found) == ["A", "B"] and float(found["A"].rate) == 240 and np.isinf(found["B"].rate)
    np.testing.assert_allclose(found["A"].project(jnp.asarray(POINTS)), PIXELS, rtol=1e-12)


def test_cameras_that_could_not_be_read_are_not_written(tmp_path, lens):
    endless = Camera(**{k: v for k, v in NUMBERS.items() if k != "size"})
    with pytest.raises(ValueError, match="camera 'B' has no size of its image"):
        write_cameras(tmp_path / "cameras.json", {"A": lens, "B": endless})
    with pytest.raises(ValueError, match=r"\['arcs_s'\].*JSON has no such number"):
        write_cameras(tmp_path / "cameras.json", {"A": lens}, arcs_s=[0.0, np.nan])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "change,complaint",
    [
        ({"fx": None}, "camera 'A': fx = None: give 1 finite numbers in px"),
        ({"fx": "1011.6"}, "camera 'A': fx = '1011.6': give 1 finite numbers in px"),
        ({"radial": [0.1, 0.2]}, "give 3 finite numbers"),
        ({"radial": [True, 0.0, 0.0]}, "give 3 finite numbers"),
        ({"focal": 3.0}, r"unknown \['focal'\]"),
        ({"rotation": [90.0, 0.0, 0.0]}, "in degrees?"),
        ({"translation": [300.0, 0.0, 900.0]}, "in mm?"),
    ],
)
def test_faulty_json_files(tmp_path, change, complaint):
    path = tmp_path / "cameras.json"
    path.write_text(json.dumps({"cameras": {"A": NUMBERS | change}}))
    with pytest.raises(ValueError, match=complaint):
        read_cameras(path)


@pytest.mark.parametrize(
    "text,complaint",
    [
        (json.dumps({"cameras": {"A": NUMBERS, "B": NUMBERS}}), "camera 'B': is the same as 'A'"),
        ('{"cameras": {"A": {}, "A": {}}}', r"\['A'\] stand twice"),
    ],
)
def test_json_files_with_a_camera_twice(tmp_path, text, complaint):
    path = tmp_path / "cameras.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=complaint):
        read_cameras(path)


def test_json_files_without_cameras(tmp_path):
    path = tmp_path / "cameras.json"
    for text, complaint in (("{}", "no cameras"), ('{"cameras":\n{', "line 2: no JSON"), ("[1]", "no cameras")):
        path.write_text(text)
        with pytest.raises(ValueError, match=complaint):
            read_cameras(path)
    entry = {k: v for k, v in NUMBERS.items() if k != "cx"}
    path.write_text(json.dumps({"cameras": {"A": entry}}))
    with pytest.raises(ValueError, match=r"missing \['cx'\]"):
        read_cameras(path)


def test_files_that_are_no_calibration_are_refused_by_name(tmp_path):
    """A picture as calibration was an error that named no file; deep JSON ended the run with a traceback."""
    for content in (b"\xff\xd8\xff\xe0 a picture", b"[" * 100_000):
        for name in ("cameras.json", "cameras.yml"):
            path = tmp_path / name
            path.write_bytes(content)
            with pytest.raises(ValueError, match=f"^{path}: no "):
                read_cameras(path)
    with pytest.raises(ValueError, match="give a calibration as"):
        read_cameras(tmp_path / "camera.xml")
