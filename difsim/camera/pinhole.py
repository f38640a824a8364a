"""A pinhole camera with radial distortion: the image of a point, and the test whether there is one."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float

from difsim import safe
from difsim.checks import numbers
from difsim.declarations import quantity
from difsim.rotation import Rotation
from difsim.typing import Mat3, Scalar, Vec2, Vec3, as_float, is_known, require, require_last

Vector = ArrayLike | Sequence[float | int]
# Places between the axis and a point where the growth of the image radius is tested: a cubic in ρ² has at most two
# extrema, which for real lenses do not fall between nine points.
FRACTIONS = np.linspace(0.0, 1.0, 9)


class Camera(eqx.Module):
    """A pinhole with three radial terms; all of its numbers can be differentiated.

    r_C = R(φ) r_N + t,  (a, b) = (x_C, y_C)/z_C,  ρ² = a² + b²,  d = 1 + w₁ρ² + w₂ρ⁴ + w₃ρ⁶, (u, v) = (f_x d a +
    c_x, f_y d b + c_y).

    x points to the right of the image, y down, z forward. It equals OpenCV's projectPoints with D = (w₁, w₂, 0, 0,
    w₃).

    **Source:** Zhang, IEEE Trans. PAMI 22, 1330 (2000).
    """

    fx: Scalar = quantity("px", "focal length f_x", gt=0, usual=(100, 1e5), slip="mm")
    fy: Scalar = quantity("px", "focal length f_y", gt=0, usual=(100, 1e5), slip="mm")
    cx: Scalar = quantity("px", "principal point c_x", usual=(0, 1e4))
    cy: Scalar = quantity("px", "principal point c_y", usual=(0, 1e4))
    radial: Vec3 = quantity("", "distortion w₁, w₂ and w₃")
    rotation: Vec3 = quantity(
        "rad", "rotation vector φ from the frame to the camera (OpenCV's rvec)", slip="degrees"
    )
    translation: Vec3 = quantity("m", "origin t of the frame in camera coordinates", slip="mm")
    size: Vec2 = quantity(
        "px",
        "width and height of the image, infinite for no border",
        gt=0,
        usual=(10, 1e5),
        is_finite=False,
        default=(np.inf, np.inf),
    )
    rate: Scalar = quantity(
        "1/s", "frames per second, infinite if unknown", gt=0, usual=(0.01, 1e4), is_finite=False, default=np.inf
    )

    @classmethod
    def from_field_of_view(
        cls,
        field: Vector,
        size: Vector,
        radial: Any,
        rotation: Any,
        translation: Any,
        rate: Any = np.inf,
    ) -> "Camera":
        """A camera without distortion whose axis is in the middle of the image, f = size / (2 tan(field/2)).

        **Arguments:** `field` [2] rad, of width and height; the others as of `Camera`. **Returns:** the camera.
        **Raises:** ValueError for angles out of (0, π).
        """
        field, size = as_float(field), as_float(size)
        require((field > 0) & (field < jnp.pi), f"Camera: field of view {field} rad must be between 0 and pi")
        fx, fy = size / 2 / jnp.tan(field / 2)
        return cls(fx, fy, size[0] / 2, size[1] / 2, radial, rotation, translation, size, rate)

    @property
    def field_of_view(self) -> Vec2:
        """The angles [2] rad of width and height of the image at the axis, without distortion."""
        return 2 * jnp.arctan(self.size / 2 / jnp.stack([self.fx, self.fy]))

    @property
    def matrix(self) -> Mat3:
        """R [3,3], from components in the frame to components in the camera."""
        return Rotation.from_rotation_vector(self.rotation).as_matrix()

    @property
    def position(self) -> Vec3:
        """The centre of projection in the frame, -Rᵀ t, in m."""
        return -self.matrix.T @ self.translation

    def project(self, points: Float[Array, "*n 3"]) -> Float[Array, "*n 2"]:
        """Pixels [..., 2] of points [..., 3] m of the frame.

        A point in the plane of the pinhole (z_C = 0) gets the principal point, and one behind the camera its
        mirror image: `sees` tells whether there is an image.
        """
        points = numbers("Camera.project: points", points, is_finite=False)
        require_last("Camera.project: points", points, 3)
        return jnp.vectorize(lambda p: self._image(self._plane(p)), signature="(i)->(j)")(points)

    def sees(self, points: Float[Array, "*n 3"]) -> Bool[Array, "*n"]:
        """True for points [..., 3] m in front of the camera and within its image.

        Far off the axis the polynomial of the distortion decreases and would map points outside into the image: a
        point is seen only if the radius in the image grows all the way from the axis to it.
        """
        return jnp.vectorize(self._sees, signature="(i)->()")(points)

    def faces(self, points: Float[Array, "*n 3"], centre: Vec3) -> Bool[Array, "*n"]:
        """True for points on the side of their own body that is turned towards the camera.

        (r - r_centre)·(r_camera - r_centre) > 0. The rule printed in the paper (an angle below 90° between the
        directions from the camera to marker and centre) holds for every marker of a body in the image.

        **Arguments:** `points` [..., 3], m; `centre` [3] of the body, m. **Returns:** booleans [...].
        """
        towards = self.position - centre
        return jnp.vectorize(lambda p: (p - centre) @ towards > 0, signature="(i)->()")(points)

    def frames(self, start: float, end: float) -> np.ndarray:
        """On the host: the times of the frames in an interval, the first at its start.

        **Arguments:** `start`, `end`, s. **Returns:** times, s.
        **Raises:** ValueError for an unknown rate or an empty interval.
        """
        rate = float(self.rate)
        if not (np.isfinite(rate) and end > start):
            raise ValueError(f"Camera: frames from {start} to {end} s at {rate} 1/s: give a rate, end > start")
        return start + np.arange(int((end - start) * rate * (1 + 1e-12)) + 1) / rate  # 1e-12: the end counts

    def _plane(self, point: Vec3) -> Vec3:
        """(a, b, z_C): the image on the plane at unit distance, and the depth m."""
        x, y, z = Rotation.from_rotation_vector(self.rotation) @ point + self.translation
        return jnp.stack([safe.divide(x, z), safe.divide(y, z), z])

    def _image(self, plane: Vec3) -> Vec2:
        a, b, _ = plane
        s = a * a + b * b
        w1, w2, w3 = self.radial
        d = 1 + s * (w1 + s * (w2 + s * w3))
        return jnp.stack([self.fx * d * a + self.cx, self.fy * d * b + self.cy])

    def _sees(self, point: Vec3) -> Bool[Array, ""]:
        plane = self._plane(point)
        s = (plane[0] ** 2 + plane[1] ** 2) * FRACTIONS
        w1, w2, w3 = self.radial
        growth = 1 + s * (3 * w1 + s * (5 * w2 + s * (7 * w3)))  # d(ρ d)/dρ
        image = self._image(plane)
        return (plane[2] > 0) & jnp.all(growth > 0) & jnp.all((image >= 0) & (image < self.size))


def looking_at(position: Vector, target: Vector, up: Vector) -> tuple[Vec3, Vec3]:
    """The pose of a camera at `position` that looks at `target`.

    **Arguments:** `position`, `target` [3], m; `up` [3], upwards in the image, of any length.
    **Returns:** rotation vector [3] rad and translation [3] m of the camera.
    **Raises:** ValueError if `up` is along the line of sight, or target and position coincide.
    """
    given = {"position": position, "target": target, "up": up}
    position, target, up = (jnp.asarray(numbers(f"looking_at: {k}", v, "3"), float) for k, v in given.items())
    forward = safe.unit(target - position)
    right = jnp.cross(forward, up)
    require(
        not is_known(right) or safe.norm(right) > 1e-6 * safe.norm(up),
        f"looking_at: from {position} to {target} with up = {up}: give another target, or an up across the view",
    )
    right = safe.unit(right)
    matrix = jnp.stack([right, jnp.cross(forward, right), forward])
    return Rotation.from_matrix(matrix).as_rotation_vector(), -matrix @ position
