"""What a result holds in space: read from its marks, written for ParaView and spreadsheets, and drawn."""

import csv
import importlib.util
import json

import numpy as np
import pytest
import xarray as xr

from experiments.export import choose, export_csv, export_vtk
from experiments.geometry import line, parts, relief, spheres, surface
from experiments.view import View

TURN = np.array([0.5**0.5, 0.0, 0.0, 0.5**0.5])  # a quarter about z
needs_pyvista = pytest.mark.skipif(importlib.util.find_spec("pyvista") is None, reason="the extra view")


@pytest.fixture
def result():
    """Two bodies that move, grains in the plane, a track and a ground."""
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    at = np.zeros((2, 3, 3))
    at[1, :, 0] = 5.0
    turns = np.tile(np.array([1.0, 0.0, 0.0, 0.0]), (2, 3, 1))
    turns[1, 2] = TURN
    x, y = np.meshgrid(np.arange(3.0), np.arange(2.0))
    metre = {"units": "m"}
    return xr.Dataset(
        {
            "vertices": (("vertex", "axis"), corners, metre | surface("faces", "position", "attitude")),
            "faces": (("face", "corner"), [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]),
            "position": (("body", "time", "axis"), at, metre),
            "attitude": (("body", "time", "part"), turns, {"units": "1"}),
            "grains": (("time", "xy_axis", "grain"), np.ones((3, 2, 7)), metre),
            "radius": ("grain", np.full(7, 0.25), metre),
            "track": (("time", "axis"), np.arange(9.0).reshape(3, 3), metre | line()),
            "east": (("i", "j"), x, metre),
            "north": (("i", "j"), y, metre),
            "ground": (("i", "j"), x + y, metre | relief("east", "north")),
            "speed": ("time", [1.0, 2.0, 3.0], {"units": "m/s"}),
            "mass": ((), 2.0, {"units": "kg", "long_name": "mass of a body"}),
        },
        coords={"time": ("time", [0.0, 0.5, 1.0], {"units": "s"}), "axis": ["x", "y", "z"], "body": [1, 2]},
    )


def test_parts_follow_from_marks(result):
    flat = result["grains"].rename(xy_axis="axis").drop_vars("axis", errors="ignore")
    seen = xr.Dataset({"grains": flat, "radius": result["radius"]}).drop_vars("axis", errors="ignore")
    seen["grains"].attrs |= spheres("radius")
    (grains,) = parts(seen)
    assert grains.points.shape == (3, 7, 3) and not grains.points[..., 2].any()  # the plane z = 0
    assert grains.times.tolist() == [0.0, 0.5, 1.0] and grains.data["radius"].tolist() == [0.25] * 7
    found = {part.name: part for part in parts(result)}
    assert set(found) == {"vertices_1", "vertices_2", "track", "ground"}
    np.testing.assert_allclose(found["vertices_2"].points[0, 1], [6.0, 0.0, 0.0])
    np.testing.assert_allclose(found["vertices_2"].points[2, 1], [5.0, 1.0, 0.0], atol=1e-15)  # turned about z
    assert found["track"].is_line and found["track"].points.shape == (1, 3, 3)
    assert found["ground"].faces.shape == (4, 3)
    np.testing.assert_allclose(found["ground"].points[0, :, 2], found["ground"].points[0, :, :2].sum(axis=1))


@needs_pyvista
def test_vtk_and_csv_hold_what_the_result_holds(result, tmp_path):
    opened = export_vtk(result, tmp_path, "stones", frames=2)
    names = [
        "stones_vertices_1.vtp.series",
        "stones_vertices_2.vtp.series",
        "stones_track.vtp",
        "stones_ground.vtp",
    ]
    assert [path.name for path in opened] == names
    rows = json.loads(opened[1].read_text())["files"]
    assert [row["time"] for row in rows] == [0.0, 1.0]  # two of three instants
    assert all((tmp_path / row["name"]).is_file() for row in rows)
    files = export_csv(result, tmp_path, "stones")
    written = {path.name: list(csv.reader(path.read_text(encoding="utf-8").splitlines())) for path in files}
    assert not {"stones_axis.csv", "stones_part.csv"} & set(written)
    head, *lines = written["stones_time.csv"]
    assert {"time [s]", "speed [m/s]", "track_y [m]", "position_2_x [m]"} <= set(head)
    assert [line[head.index("speed [m/s]")] for line in lines] == ["1.0", "2.0", "3.0"]
    assert ["mass", "2.0", "kg", "mass of a body"] in written["stones_numbers.csv"]
    assert choose(10, 3) == [0, 4, 9] and choose(2, 5) == [0, 1]


@needs_pyvista
def test_vtk_reads_what_was_written(result, tmp_path):
    """Seconds past J2000, and a place on Earth: nine digits would make one instant and one point of them."""
    import pyvista

    far = result.assign_coords(time=("time", 4.7e8 + np.array([0.0, 0.1, 0.2]), {"units": "s"}))
    far["position"] = (far["position"] + 6.4e6).assign_attrs(result["position"].attrs)
    known = {part.name: part for part in parts(far)}
    for path in export_vtk(far, tmp_path, "far"):
        part = known[path.name.removeprefix("far_").split(".")[0]]
        rows = [{"name": path.name, "time": 0.0}]
        if path.suffix == ".series":
            rows = json.loads(path.read_text())["files"]
            assert [row["time"] for row in rows] == far["time"].values.tolist()
        read_back = pyvista.read(tmp_path / rows[-1]["name"])
        np.testing.assert_array_equal(read_back.points, part.points[-1])
        if part.faces is not None:
            np.testing.assert_array_equal(read_back.regular_faces, part.faces)


@needs_pyvista
def test_pictures_and_an_animation_of_a_result(result, tmp_path, capsys):
    from PIL import Image

    result.to_netcdf(tmp_path / "result.nc", engine="h5netcdf")
    View(result=tmp_path / "result.nc", out=tmp_path / "out", frames=3, size=(200, 150), follow="vertices_2").run()
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"result_begin.png", "result_middle.png", "result_end.png", "result.gif"}
    with Image.open(tmp_path / "out" / "result.gif") as animation:
        assert animation.n_frames == 3
    with Image.open(tmp_path / "out" / "result_end.png") as file:
        picture = np.asarray(file.convert("RGB"))
    assert picture.shape == (150, 200, 3) and (picture != 255).any(axis=2).mean() > 0.02  # something is there
    with pytest.raises(ValueError, match="--follow rocket: there are vertices_1, vertices_2"):
        View(result=tmp_path / "result.nc", out=tmp_path / "out", follow="rocket").run()
