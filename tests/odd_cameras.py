"""Calibrations drawn at random, as OpenCV, ROS and difsim write them, with pixels by NumPy."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import trimesh

from difsim.camera import read_cameras
from tests.odd_drawn import Drawn, pick, replaced, row

PLACES = np.random.default_rng(1).uniform(-0.3, 0.3, (5, 3)) + np.array([0, 0, 4.0])


def read_camera(path: Path) -> list[np.ndarray]:
    (camera,) = read_cameras(path).values()
    points = np.asarray(camera.project(jnp.asarray(PLACES)))
    return [points, np.asarray(camera.size)]


def projected(k, radial, turn, shift) -> np.ndarray:
    x, y, z = (PLACES @ matrix_of(turn).T + shift).T
    a, b = x / z, y / z
    s = a * a + b * b
    d = 1 + radial[0] * s + radial[1] * s**2 + radial[2] * s**3
    return np.stack([k[0] * d * a + k[2], k[1] * d * b + k[3]], axis=1)


def matrix_of(turn) -> np.ndarray:
    angle = np.linalg.norm(turn)
    return trimesh.transformations.rotation_matrix(angle, turn)[:3, :3] if angle else np.eye(3)


def matrix_text(rng, name: str, values, rows: int, cols: int) -> str:
    """A matrix as OpenCV or ROS write it, or as lists."""
    values = np.ravel(values)
    flat = f"[{row(rng, values, ', ')}]"
    if rng.integers(2):
        tag = pick(rng, " !!opencv-matrix", "")
        return (
            f"{name}:{tag}\n  rows: {rows}\n  cols: {cols}\n{pick(rng, '  dt: d' + chr(10), '')}  data: {flat}\n"
        )
    if rng.integers(2) and rows > 1:
        inner = ", ".join(f"[{row(rng, each, ', ')}]" for each in values.reshape(rows, cols))
        return f"{name}: [{inner}]\n"
    return f"{name}: {flat}\n"


def a_yaml(rng, folder: Path) -> Drawn:
    k, radial = rng.uniform(500, 1500, 4), rng.uniform(-0.1, 0.1, 3) * rng.integers(2, size=3)
    size = rng.integers(400, 2000, 2)
    turn, shift = np.zeros(3), np.zeros(3)
    matrix = [k[0], 0, k[2], 0, k[1], k[3], 0, 0, 1]
    d = [*radial[:2], 0, 0, *([radial[2]] if radial[2] or rng.integers(2) else [])]
    if len(d) == 5 and rng.integers(3) == 0:
        d += [0, 0, 0]
    is_ros = rng.integers(2)
    names = pick(rng, ("K", "D"), ("k", "d"), ("camera_matrix", "distortion_coefficients"))
    entries = [
        matrix_text(rng, names[0], matrix, 3, 3),
        matrix_text(rng, names[1], d, 1, len(d)) if np.any(d) or not is_ros else f"{names[1]}: []\n",
    ]
    sides = pick(rng, ("image_width", "image_height"), ("width", "height"))
    entries += [f"{name}: {value}\n" for name, value in zip(sides, size, strict=True)]
    if is_ros:
        model = "rational_polynomial" if len(d) == 8 else pick(rng, "plumb_bob", '"plumb_bob"')
        entries += [f"distortion_model: {model}\n", pick(rng, "", "binning_x: 0\n", "binning_x: 1\n")]
        rectified = matrix_of(rng.uniform(-0.1, 0.1, 3))
        entries.append(matrix_text(rng, pick(rng, "R", "rectification_matrix"), rectified, 3, 3))
        entries.append(matrix_text(rng, pick(rng, "P", "projection_matrix"), rng.uniform(0, 900, 12), 3, 4))
        entries += [
            pick(rng, "", "roi: {x_offset: 0, y_offset: 0, height: 0, width: 0, do_rectify: False}\n"),
            "camera_name: left\n",
        ]
    else:
        entries.append(
            pick(rng, "", "nframes: 12\nflags: 8\navg_reprojection_error: 2.5e-1\n", "fisheye_model: 0\n")
        )
        if rng.integers(2):
            turn, shift = rng.uniform(-0.2, 0.2, 3), rng.uniform(-0.2, 0.2, 3)
            if rng.integers(2):
                entries += [matrix_text(rng, "rvec", turn, 3, 1), matrix_text(rng, "tvec", shift, 3, 1)]
            else:
                entries += [
                    matrix_text(rng, "R", matrix_of(turn), 3, 3),
                    matrix_text(rng, "T", shift, 3, 1),
                ]
    rng.shuffle(entries)
    text = "".join(entries)
    damage = ""
    if rng.integers(2):
        extra = {
            "another lens": pick(
                rng, "distortion_model: equidistant\n", "distortion_model: fisheye\n", "fisheye_model: 1\n"
            ),
            "an unknown key": pick(rng, "units: mm\n", "xi: 0.9\n", "skew: 0.1\n", "tangential: [0, 0.1]\n"),
            "a binned image": "binning_y: 2\n",
            "a cut image": "roi: {x_offset: 30, y_offset: 0, height: 100, width: 100}\n",
            "a matrix twice": matrix_text(rng, names[0], np.array(matrix) * 2, 3, 3),
            "a second name": "dist_coeffs: [0.5, 0, 0, 0]\n",
            "a pose in mm": "rvec: [0, 0, 0]\ntvec: [0, 0, 1500]\n",
            "half a pose": pick(rng, "rvec: [0, 0.5, 0]\n", "tvec: [0, 0, 1]\n"),
        }
        changes = {
            "not a number": (f"{sides[0]}: ", f"{sides[0]}: {pick(rng, 'nan', '1_0', 'yes', '1:3')} #"),
            "no size": (sides[1], "#"),
            "no matrix": (names[0] + ":", "lens:"),
            "one number less": (" 1.0]", " ]") if " 1.0]" in text else (sides[0], "x"),
            "an open list": ("]", ""),
        }
        damage = pick(rng, *extra, *changes)
        if damage in extra:
            model = "distortion_model" in text and "distortion_model" in extra[damage]
            text = (
                "\n".join(x for x in text.split("\n") if not (model and "distortion_model" in x)) + extra[damage]
            )
        else:
            text = replaced(rng, text, *changes[damage])
    path = folder / f"camera{rng.integers(10**9)}{pick(rng, '.yaml', '.yml', '.YAML')}"
    head, end = (
        pick(rng, "", "%YAML:1.0\n---\n", "%YAML 1.2\n---\n", "# by hand\n"),
        pick(rng, "", "---\n", "...\n"),
    )
    path.write_text(pick(rng, "", "\ufeff") + head + text + end, encoding="utf-8")
    return Drawn(path, read_camera, [projected(k, radial, turn, shift), size], damage)


def a_json(rng, folder: Path) -> Drawn:
    k, radial = rng.uniform(500, 1500, 4), rng.uniform(-0.1, 0.1, 3)
    turn, shift, size = rng.uniform(-0.2, 0.2, 3), rng.uniform(-0.2, 0.2, 3), rng.integers(400, 2000, 2)
    entries = [f'"{name}": {x!r}' for name, x in zip(("fx", "fy", "cx", "cy"), k.tolist(), strict=True)]
    lists = {"radial": radial, "rotation": turn, "translation": shift, "size": size}
    entries += [f'"{name}": {x.tolist()}' for name, x in lists.items()] + ['"rate": 2.5e+2'] * int(rng.integers(2))
    rng.shuffle(entries)
    inner = pick(rng, ", ", ",\n   ").join(entries)
    text = f'{{"cameras": {{"A": {{{inner}}}}}{pick(rng, "", ", " + chr(34) + "note" + chr(34) + ": [true]")}}}'
    damage = ""
    if rng.integers(2):
        changes = {
            "a Boolean": ('"radial": [', '"radial": [true, '),
            "a Boolean in its place": ('"size": [', '"size": [true, 3], "was": ['),
            "an unknown key": ('"fx"', '"focal_mm": 35, "fx"'),
            "a unit": ('{"cameras"', '{"units": "mm", "cameras"'),
            "a key twice": ('"fx"', '"fx": 3.0, "fx"'),
            "a text": ('"fx": ', '"fx": "1000", "was": '),
            "a number less": ('"rotation": [', '"rotation": [0, 0], "was": ['),
            "not a number": ('"cx": ', '"cx": NaN, "was": '),
            "a missing key": ('"cy"', '"cyy"'),
            "an open list": ("]", ""),
            "a trailing comma": ("]", "],,"),
        }
        damage = pick(rng, *changes)
        text = replaced(rng, text, *changes[damage])
    path = folder / f"camera{rng.integers(10**9)}{pick(rng, '.json', '.JSON')}"
    path.write_text(pick(rng, "", "\ufeff") + text, encoding="utf-8")
    return Drawn(path, read_camera, [projected(k, radial, turn, shift), size], damage)
