"""Cameras: equal to OpenCV, what is seen, derivatives, and calibrations from files."""

import jax.numpy as jnp
import numpy as np
import pytest

from difsim.camera import Camera, looking_at
from tests.helpers import check_gradients

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


@pytest.fixture(scope="module")
def lens():
    return Camera(**NUMBERS, rate=240.0)


def test_pixels_are_those_of_opencv(lens):
    np.testing.assert_allclose(lens.project(jnp.asarray(POINTS)), PIXELS, rtol=1e-12)
    np.testing.assert_allclose(lens.project(jnp.asarray(POINTS[0])), PIXELS[0], rtol=1e-12)


def test_derivatives_by_every_parameter_and_the_point(lens):
    check_gradients(lambda camera, point: camera.project(point), lens, jnp.asarray(POINTS[0]))


def test_a_camera_looks_where_it_is_pointed():
    turn, shift = looking_at([0.0, 0.2, 1.5], [0.0, 0.0, 0.0], up=[0.0, 1.0, 0.0])
    field = np.radians([87.0, 54.0])
    camera = Camera.from_field_of_view(field, (1920, 1080), (0.0, 0.0, 0.0), turn, shift, 240.0)
    np.testing.assert_allclose(camera.position, [0.0, 0.2, 1.5], atol=1e-14)
    np.testing.assert_allclose(camera.field_of_view, field, rtol=1e-14)
    np.testing.assert_allclose(camera.project(jnp.zeros(3)), [960, 540], rtol=1e-12)
    up, right = camera.project(jnp.array([[0.0, 0.1, 0.0], [0.1, 0.0, 0.0]]))
    assert up[1] < 540 and right[0] > 960  # rows are counted from the top
    # The edge of the field is the edge of the image.
    edge = camera.position + camera.matrix.T @ jnp.array([np.tan(field[0] / 2), 0.0, 1.0])
    axis = camera.position + camera.matrix.T @ jnp.array([0.0, 0.0, 1.0])
    assert camera.sees(axis + 0.999 * (edge - axis)) and not camera.sees(axis + 1.001 * (edge - axis))


def test_what_is_behind_or_folded_into_the_image_is_not_seen(lens):
    ahead = lens.position + lens.matrix.T @ jnp.array([0.1, 0.1, 1.0])
    behind = lens.position - lens.matrix.T @ jnp.array([0.1, 0.1, 1.0])
    assert lens.sees(ahead) and not lens.sees(behind) and not lens.sees(lens.position)
    np.testing.assert_allclose(lens.project(behind), lens.project(ahead), rtol=1e-12)  # the mirror image
    barrel = Camera(**NUMBERS | {"radial": [-0.3, 0.0, 0.0]})  # ρ(1 - 0.3ρ²) is 0 again at ρ = 1.83
    folded = barrel.position + barrel.matrix.T @ jnp.array([1.8, 0.0, 1.0])
    u, v = barrel.project(folded)
    assert 0 <= u < 1920 and 0 <= v < 1080 and not barrel.sees(folded)


def test_a_marker_on_the_far_side_is_hidden(lens):
    centre = lens.position + lens.matrix.T @ jnp.array([0.1, 0.0, 1.0])
    towards = (lens.position - centre) / 10
    across = jnp.cross(towards, jnp.array([0.0, 1.0, 0.0]))
    seen = lens.faces(jnp.stack([centre + towards, centre - towards, centre + across - 1e-6 * towards]), centre)
    assert seen.tolist() == [True, False, False]


def test_frames(lens):
    times = lens.frames(1.0, 1.5)
    assert times.size == 121 and times[0] == 1.0 and times[-1] == 1.5
    with pytest.raises(ValueError, match="give a rate, end > start"):
        Camera(**NUMBERS).frames(0.0, 1.0)
    with pytest.raises(ValueError, match="end > start"):
        lens.frames(1.0, 1.0)
