"""Make the example of `--stage estimate`: data/cobbles/, simulated tracks of scenario 2 with gaps and slips.

python -m experiments.cobbles.example_tracks
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from difsim.camera import write_json
from difsim.mesh import TriMesh, simplify
from experiments.cobbles.arcs import images
from experiments.cobbles.cameras import scenario
from experiments.cobbles.montecarlo import World, times, world
from experiments.cobbles.paper import PHANTOM
from experiments.cobbles.paper_estimation import ARCS
from experiments.cobbles.stones import cobble
from experiments.cobbles.tracks_file import write_tracks

FOLDER = Path("data/cobbles")
PIXEL = 1.0  # px
MISSING, SLIPPED, SLIP = 0.1, 0.01, 40.0  # share of images without a marker, with a wrong one, by px
FACES = 300
BODIES, CAMERAS = ("a", "b"), ("A", "B", "C")


def rows(truth: World, rng: np.random.Generator) -> list[tuple]:
    """What a tracker would write: noise, gaps, slips."""
    found = []
    for arc in (0, 1):
        t = times(arc)
        for b, body in enumerate(BODIES):
            pixels = np.asarray(images(truth.known[b], truth.states[arc][b], jnp.asarray(t)))
            pixels = pixels + PIXEL * rng.standard_normal(pixels.shape)
            pixels += SLIP * (rng.random(pixels.shape[:3]) < SLIPPED)[..., None]
            kept = np.asarray(truth.seen[arc][b]) & (rng.random(pixels.shape[:3]) > MISSING)
            kept &= ((pixels > 0) & (pixels < PHANTOM)).all(axis=-1)
            found += [
                (t[k], CAMERAS[c], body, str(m + 1), *pixels[k, c, m])
                for k, c, m in zip(*np.nonzero(kept), strict=True)
            ]
    return sorted(found)


def write(folder: Path) -> World:
    """Write tracks.csv, cams.json and stone.obj; give the truth behind them."""
    folder.mkdir(parents=True, exist_ok=True)
    stone = cobble("generated", 5)
    truth = world(2, stone)
    rig = scenario(2)
    cameras = {name: jax.tree.map(lambda leaf, i=i: leaf[i], rig) for i, name in enumerate(CAMERAS)}
    # The outline alone: its mass is given, and its moments are within 1 % of those of the truth.
    surface: TriMesh = simplify(stone.mesh, FACES)
    markers = {str(m + 1): place for m, place in enumerate(np.asarray(truth.known[0].markers).round(6).tolist())}
    bodies = {name: {"mass_kg": stone.mass, "markers_m": markers} for name in BODIES}
    write_json(folder / "cams.json", cameras, arcs_s=ARCS, bodies=bodies)
    lines = [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in surface.vertices]
    lines += [f"f {a} {b} {c}" for a, b, c in surface.faces + 1]
    (folder / "stone.obj").write_text("\n".join(lines) + "\n")
    write_tracks(folder / "tracks.csv", rows(truth, np.random.default_rng(0)))
    return truth


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    write(FOLDER)
