"""Comet 67P: the analogue against the published shape, and the download with its failures."""

import functools
import hashlib
import http.server
import threading

import numpy as np
import pytest
from scipy.spatial import cKDTree

from difsim import mesh
from difsim.mesh import surface_points
from difsim.shape import bodies, comet_67p, shap5
from tests.helpers import find_published

analogue = functools.cache(comet_67p)


def test_the_analogue_has_the_published_volume_and_centroid():
    body = analogue()
    assert body.volume == pytest.approx(18.752e9, rel=1e-9)
    np.testing.assert_allclose(body.centroid, (12.7, -28.8, 4.1), atol=1e-6)
    assert 4000 < len(body.faces) < 7000
    edges = body.vertices[body.faces] - body.vertices[np.roll(body.faces, 1, axis=1)]
    lengths = np.linalg.norm(edges, axis=2)
    area = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1) / 2
    # 1 is an equilateral triangle; marching cubes alone leaves slivers of some 1e-3.
    assert (4 * np.sqrt(3) * area / (lengths**2).sum(axis=1)).min() > 0.4


def test_a_finer_analogue_is_the_same_body():
    fine, coarse = analogue(), comet_67p(300.0)
    apart = cKDTree(surface_points(fine, 40_000, seed=0).points).query(coarse.vertices)[0]
    assert apart.max() < 60  # m: a chord of 300 m over the neck's radius of 250 m is 50 m off


def test_the_analogue_is_as_far_from_the_real_shape_as_it_says():
    real = mesh.load(find_published("67P/67p_shap5_cheops_8000f.obj"), "km", size=(4.5e3, 5.5e3))
    body = analogue()
    samples = cKDTree(surface_points(body, 100_000, seed=0).points)
    distance = samples.query(real.vertices)[0]
    assert np.sqrt((distance**2).mean()) == pytest.approx(100, abs=5)
    assert distance.max() == pytest.approx(340, abs=10)
    ours, theirs = (np.linalg.eigvalsh(b.inertia(1.0)) / b.volume for b in (body, real))
    np.testing.assert_array_less(0.94, ours / theirs)
    np.testing.assert_array_less(ours / theirs, 0.97)
    short = np.ptp(real.vertices, axis=0) - np.ptp(body.vertices, axis=0)
    assert short.min() > 250 and short.max() < 350


def test_shap5_from_the_folder_of_data():
    expected = mesh.load(find_published("67P/67p_shap5_cheops_96834f.obj"), "km")
    find_published("67P/67p-spc.ply")
    body = shap5()
    assert len(body.faces) == len(expected.faces) == 96834
    assert body.volume == pytest.approx(18.752e9, rel=1e-5)
    apart = cKDTree(body.vertices).query(expected.vertices)[0]
    assert apart.max() < 1e-3  # m, the digits of the .obj


@pytest.fixture
def server(tmp_path):
    """A folder that is served on this machine: its path and address."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(folder))

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()


def test_a_download_is_checked_and_kept(server, tmp_path, monkeypatch):
    folder, address = server
    (folder / "body.obj").write_bytes(b"a body")
    digest = hashlib.sha256(b"a body").hexdigest()
    monkeypatch.setenv("DIFSIM_DATA", str(tmp_path / "kept"))
    path = bodies.fetch(bodies.Download(f"{address}/body.obj", digest, "some/body.obj"))
    assert path == tmp_path / "kept" / "some" / "body.obj" and path.read_bytes() == b"a body"
    (folder / "body.obj").unlink()
    assert bodies.fetch(bodies.Download(f"{address}/body.obj", digest, "some/body.obj")) == path


def test_a_download_with_another_hash_is_refused(server, tmp_path, monkeypatch):
    folder, address = server
    (folder / "body.obj").write_bytes(b"another body")
    monkeypatch.setenv("DIFSIM_DATA", str(tmp_path / "kept"))
    with pytest.raises(ValueError, match="hash"):
        bodies.fetch(bodies.Download(f"{address}/body.obj", "0" * 64, "body.obj"))
    assert not list((tmp_path / "kept").iterdir())


def test_offline_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("DIFSIM_DATA", str(tmp_path))
    nowhere = bodies.Download("http://127.0.0.1:9/67p-spc.ply", "0" * 64, "67P/67p-spc.ply")
    monkeypatch.setattr(bodies, "SHAP5", nowhere)
    with pytest.raises(ConnectionError, match=r"put the file .* by hand; or set DIFSIM_DATA .* comet_67p"):
        shap5()
