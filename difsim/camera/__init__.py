"""Cameras: a pinhole with radial distortion, its images, and calibrations read from files."""

from difsim.camera.files import read_cameras
from difsim.camera.pinhole import Camera, looking_at

__all__ = ["Camera", "looking_at", "read_cameras"]
