"""`difsim view RESULT`: the bodies, particles and paths of a result in space, on the screen or as pictures.

It needs the extra `view` (PyVista).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from difsim.extras import require
from difsim.saving.atomic import write_atomically
from experiments.geometry import Part, parts, read

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7")
GROUND, STONE, SOIL = "#B8A98F", "#7A7468", "#C2A878"
SECONDS = 6.0  # of an animation
ROUND = 10  # corners along a sphere's circle: of thousands, no more can be seen


@dataclass(kw_only=True)
class View:
    """Look at what a result holds in space: on the screen, or with --out as pictures and an animation (GIF)."""

    result: tyro.conf.Positional[Path]
    """A NetCDF file of a run, or the folder that a run has written."""
    out: Path | None = None
    """Folder of the pictures; without it a window opens."""
    frames: int = 60
    """Instants of the animation, at most."""
    follow: str = ""
    """The name of a part, or its beginning, to which the camera keeps close."""
    size: tuple[int, int] = (960, 640)
    """Width and height of a picture, pixels."""

    def run(self) -> None:
        """Draw each dataset that holds something to be seen."""
        require("view", "pyvista")
        seen = {name: found for name, data in read(self.result).items() if (found := parts(data))}
        if not seen:
            raise ValueError(
                f"{self.result} holds no paths, surfaces or particles: see docs/view.md for those that do"
            )
        for name, found in seen.items():
            scene = Scene3D(found, self.size, self.follow, off_screen=self.out is not None)
            if self.out is None:
                scene.show()
                continue
            self.out.mkdir(parents=True, exist_ok=True)
            for file in scene.write(self.out, name, self.frames):
                print(file)


def mesh_of(part: Part, i: int):
    """Return one instant of a part as PyVista's PolyData: triangles, a line, or points with their numbers.

    Points have double precision: single precision has steps of 0.03 m at 400 km from the origin.
    """
    pyvista = require("view", "pyvista")
    points = part.points[i].astype(float)
    if part.faces is not None:
        mesh = pyvista.PolyData.from_regular_faces(points, part.faces)
    else:
        mesh = pyvista.lines_from_points(points) if part.is_line else pyvista.PolyData(points)
    for name, values in part.data.items():
        mesh[name] = values
    return mesh


class Scene3D:
    """Parts in a plotter, at one instant at a time."""

    def __init__(self, seen: list[Part], size: tuple[int, int], follow: str = "", off_screen: bool = True):
        pyvista = require("view", "pyvista")
        self.pyvista, self.parts = pyvista, seen
        self.followed = next((p for p in seen if follow and p.name.startswith(follow)), None)
        if follow and self.followed is None:
            raise ValueError(f"--follow {follow}: there are {', '.join(p.name for p in seen)}")
        self.times = np.unique(np.concatenate([p.times for p in seen if len(p.times) > 1] or [np.zeros(1)]))
        self.plotter = pyvista.Plotter(off_screen=off_screen, window_size=list(size))
        self.plotter.set_background("white")
        self.actors = [self._add(part, i) for i, part in enumerate(seen)]
        self.plotter.add_axes(color="black")
        self.is_flat = all(np.ptp(p.points[..., 2]) == 0 for p in seen)
        self.at(self.times[0])
        self._aim()

    def at(self, time: float) -> None:
        """Show the instant that is nearest to `time` s."""
        for part, actor in zip(self.parts, self.actors, strict=True):
            if len(part.times) > 1:
                i = int(np.abs(part.times - time).argmin())
                actor.mapper.dataset.copy_from(self._mesh(part, i))
        if len(self.times) > 1:
            self.plotter.add_text(
                f"{time:.4g} s", name="time", font_size=10, color="black", position="upper_left", render=False
            )
        if self.followed is not None:
            self._aim(time)
        self.plotter.render()

    def show(self) -> None:
        """Open a window, with a slider for the time."""
        if len(self.times) > 1:
            ends = [float(self.times[0]), float(self.times[-1])]
            self.plotter.add_slider_widget(self.at, ends, title="time, s", color="black")
        self.plotter.show()

    def write(self, out: Path, name: str, frames: int) -> list[Path]:
        """Pictures of the first, the middle and the last instant, and an animation of all that moves."""
        from PIL import Image

        if len(self.times) == 1:
            return [self._picture(out / f"{name}.png")]
        ends = (self.times[0], self.times[len(self.times) // 2], self.times[-1])
        written = []
        for label, time in zip(("begin", "middle", "end"), ends, strict=True):
            self.at(time)
            written.append(self._picture(out / f"{name}_{label}.png"))
        images = []
        spread = np.linspace(self.times[0], self.times[-1], min(frames, len(self.times)))
        for time in spread:
            self.at(time)
            images.append(Image.fromarray(self.plotter.screenshot(return_img=True)).quantize(128))
        written.append(out / f"{name}.gif")
        pace = {"duration": 1e3 * SECONDS / len(images), "loop": 0}
        with write_atomically(written[-1]) as whole:
            images[0].save(whole, save_all=True, append_images=images[1:], **pace)
        return written

    def _picture(self, path: Path) -> Path:
        with write_atomically(path) as whole:
            self.plotter.screenshot(whole)
        return path

    def _add(self, part: Part, i: int):
        mesh, fixed = self._mesh(part, 0), [p for p in self.parts if p.faces is not None and len(p.times) == 1]
        colour = SOIL if _is_many(part) else COLOURS[i % len(COLOURS)]
        if any(part is each for each in fixed):
            colour = GROUND if part is fixed[0] else STONE
        actor = self.plotter.add_mesh(mesh, color=colour, line_width=3)
        if _is_many(part):
            actor.prop.interpolation = "Gouraud"  # round, with the few corners that they have
        return actor

    def _mesh(self, part: Part, i: int):
        mesh = mesh_of(part, i)
        if not _is_many(part):
            return mesh
        mesh["diameter"] = 2 * mesh["radius"]
        ball = self.pyvista.Sphere(radius=0.5, theta_resolution=ROUND, phi_resolution=ROUND)
        return mesh.glyph(scale="diameter", orient=False, geom=ball)

    def _aim(self, time: float | None = None) -> None:
        """The camera looks at everything, or stays near the part that it follows."""
        if self.followed is None or time is None:
            self.plotter.view_xy() if self.is_flat else self.plotter.view_isometric()
            self.plotter.reset_camera(bounds=_bounds(self.parts))
            self.plotter.camera_set = True  # else the first picture aims at what is there at its time
            return
        part = self.followed
        points = part.points[int(np.abs(part.times - time).argmin())]
        centre, reach = points.mean(axis=0), 6 * max(np.ptp(points, axis=0).max(), 1e-6)
        self.plotter.camera.focal_point = centre
        self.plotter.camera.position = centre + reach * np.array([1.0, -1.0, 0.7])
        self.plotter.camera.up = (0.0, 0.0, 1.0)
        self.plotter.reset_camera_clipping_range()
        self.plotter.camera_set = True


def _bounds(seen: list[Part]) -> list[float]:
    """Around everything at all times, but for the few of many spheres that fly away."""
    ends = []
    for part in seen:
        points = part.points.reshape(-1, 3)
        ends.append(np.percentile(points, (1, 99) if _is_many(part) else (0, 100), axis=0))
    low, high = np.min(ends, axis=(0, 1)), np.max(ends, axis=(0, 1))
    return np.stack([low, high], axis=1).ravel().tolist()


def _is_many(part: Part) -> bool:
    return part.faces is None and not part.is_line
