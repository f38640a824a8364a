"""Meshes with closed forms, broken meshes, and the real ones under DIFSIM_DATA."""

import os
from pathlib import Path

import numpy as np
import pytest
import trimesh

from difsim import mesh

SIDES = np.array([1.0, 2.0, 3.0])
FAR = np.array([1e4, -2e4, 3e4])


def box(offset=0.0, sides=SIDES):
    shape = trimesh.creation.box(sides)
    return np.array(shape.vertices + offset), np.array(shape.faces)


@pytest.mark.parametrize("offset", [np.zeros(3), FAR])
def test_box(offset):
    body = mesh.TriMesh(*box(offset))
    assert body.volume == pytest.approx(6, rel=1e-10)
    np.testing.assert_allclose(body.centroid, offset, atol=1e-10)
    a, b, c = SIDES**2
    expected = 500 * 6 / 12 * np.diag([b + c, a + c, a + b])
    np.testing.assert_allclose(body.inertia(500.0), expected, rtol=1e-9, atol=1e-7)


def test_icosphere_approaches_the_sphere():
    """Chords make it too small by a relative error that falls four times with each subdivision."""
    errors = []
    for level in (2, 3, 4):
        shape = trimesh.creation.icosphere(subdivisions=level, radius=2.0)
        body = mesh.TriMesh(np.array(shape.vertices), np.array(shape.faces))
        volume = 4 / 3 * np.pi * 8
        inertia = body.inertia(1.0)
        np.testing.assert_allclose(inertia, np.eye(3) * inertia[0, 0], atol=1e-9)
        errors.append([1 - body.volume / volume, 1 - inertia[0, 0] / (0.4 * volume * 4)])
    ratios = np.array(errors[:-1]) / np.array(errors[1:])
    np.testing.assert_allclose(ratios, 4, rtol=0.05)
    assert np.max(errors[-1]) < 5e-3


@pytest.mark.parametrize("suffix", ["obj", "ply", "stl", "off"])
def test_load(tmp_path, suffix):
    path = tmp_path / f"box.{suffix}"
    trimesh.Trimesh(*box()).export(path)
    metres, kilometres = mesh.load(path, unit="m"), mesh.load(str(path), unit="km")
    assert metres.vertices.shape == (8, 3) and metres.faces.shape == (12, 3)
    assert metres.volume == pytest.approx(6, rel=1e-6)
    assert kilometres.volume == pytest.approx(6e9, rel=1e-6)
    np.testing.assert_allclose(kilometres.vertices, 1000 * metres.vertices)


def test_load_refuses(tmp_path):
    path = tmp_path / "box.obj"
    trimesh.Trimesh(*box()).export(path)
    with pytest.raises(ValueError, match='unit is \'mm\': give "m" or "km"'):
        mesh.load(path, unit="mm")
    with pytest.raises(TypeError, match="unit"):
        mesh.load(path)
    with pytest.raises(FileNotFoundError, match=r"absent\.obj"):
        mesh.load(tmp_path / "absent.obj", unit="m")
    path.write_text(path.read_text().replace("v ", "v nan ", 1))
    with pytest.raises(ValueError, match=r"box\.obj: .*not finite"):
        mesh.load(path, unit="m")


def with_nan(v, f):
    v[3, 1] = np.nan
    return v, f


def with_a_wrong_index(v, f):
    f[0, 0] = 8
    return v, f


def with_an_edge_of_three_faces(v, f):
    return np.vstack([v, [[9.0, 9.0, 9.0]]]), np.vstack([f, [[*f[0, :2], 8]]])


def with_a_flat_face(v, f):
    f[0, 1] = f[0, 0]
    return v, f


def with_a_flipped_face(v, f):
    f[5] = f[5, ::-1]
    return v, f


def twice(v, f):
    return np.vstack([v, v + 10]), np.vstack([f, f + 8])


@pytest.mark.parametrize(
    "spoil,message",
    [
        (with_nan, r"1 vertices are not finite, the first is number 3"),
        (with_a_wrong_index, r"indices 0 to 8 do not fit 8 vertices"),
        (lambda v, f: (v, f[:0]), r"0 faces"),
        (lambda v, f: (v, f[1:]), r"3 edges .* fill the holes"),
        (with_an_edge_of_three_faces, r"edges do not belong to exactly two faces"),
        (with_a_flat_face, r"face 0 has no area"),
        (with_a_flipped_face, r"wound against"),
        (lambda v, f: (v, f[:, ::-1]), r"volume is -6 m3.*reverse the faces"),
        (twice, r"2 separate pieces, of \[12, 12\] faces"),
    ],
)
def test_broken(spoil, message):
    with pytest.raises(ValueError, match=message):
        mesh.TriMesh(*spoil(*box()))


@pytest.mark.parametrize("density", [0.0, -1.0, np.nan, np.inf])
def test_density(density):
    with pytest.raises(ValueError, match="density"):
        mesh.TriMesh(*box()).inertia(density)


# --- published shapes, in km: file, volume [km3], centroid [m]
REAL = [
    ("67P/67p_shap5_cheops_2000f.obj", 18.7371, (12.65, -28.75, 4.406)),
    ("67P/67p_shap5_cheops_96834f.obj", 18.752, (12.7, -28.77, 4.062)),
    ("67P/67p-spc.ply", 18.752, (15.5, -30.1, 21.0)),
    ("Bennu/bennu_osirisrex2019_20000f.obj", 0.0615511, (1.377, -0.448, -0.103)),
    ("Itokawa/itokawa_sbgat_q16_3072f.obj", 0.017616, (-0.314, -0.122, 0.12)),
    ("Phobos/phobos_thomas_4000f.obj", 5745.16, (66.04, -61.91, -52.14)),
    ("Ryugu/ryugu_sfm49k_reduced_5932f.obj", 0.376881, (0.379, 0.235, -0.034)),
]


def real(name, unit):
    folder = os.environ.get("DIFSIM_DATA")
    if not folder or not (Path(folder) / name).is_file():
        pytest.skip(f"{name} is not under DIFSIM_DATA: set it to the folder with the published shapes")
    return mesh.load(Path(folder) / name, unit=unit)


@pytest.mark.parametrize("name,volume,centroid", REAL)
def test_real_bodies(name, volume, centroid):
    body = real(name, "km")
    assert body.volume == pytest.approx(volume * 1e9, rel=1e-5)
    np.testing.assert_allclose(body.centroid, centroid, atol=0.06)
    a, b, c = np.linalg.eigvalsh(body.inertia(1000.0))
    assert 0 < a <= b <= c < a + b  # what any real body obeys


def test_inertia_of_67p_from_its_tetrahedra():
    body = real("67P/67p_shap5_cheops_96834f.obj", "km")
    corners = body.vertices[body.faces] - body.centroid
    six_volumes, sums = np.linalg.det(corners), corners.sum(axis=1)
    second = np.einsum("f,fai,faj->ij", six_volumes, corners, corners)
    second = (second + np.einsum("f,fi,fj->ij", six_volumes, sums, sums)) / 120
    expected = np.trace(second) * np.eye(3) - second
    np.testing.assert_allclose(body.inertia(1.0), expected, rtol=1e-9, atol=1e-9 * expected.max())


def test_real_cobble_in_metres():
    body = real("cobbles/chrono_regolith_particle_1_480f.obj", "m")
    assert body.volume == pytest.approx(8.32244e-8, rel=1e-5)
