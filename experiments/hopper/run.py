"""`difsim hopper`: hoppers that bounce on small bodies and come to rest (paper 003)."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import tyro

from experiments.hopper import cube, ensemble, hop, minerva, tracks
from experiments.records import record

SceneName = Literal["cube", "minerva", "ensemble", "tracks", "hop"]


@dataclass
class Hopper:
    """Hoppers on small bodies: release, bounces and rest; what they end at, and what that depends on."""

    scene: SceneName = "cube"
    """"cube": a cube on a plane in three gravities; "minerva": MINERVA-II released over Imhotep on 67P;
    "ensemble": thousands of such releases, where they end and when; "tracks": restitution, friction and rolling
    resistance from tracks of a bouncing cube; "hop": wheels that throw a cube to a target."""
    out: Path | None = None
    """Folder for summary.json, result.nc and the pictures (results/hopper/SCENE)."""
    shape: str = "analogue"
    """The comet (minerva, ensemble): "analogue" (made of published numbers), "shap5" (downloaded once), or a mesh
    file with vertices in km. Its distances and field are kept in the cache folder."""
    members: Annotated[int, tyro.conf.arg(metavar="N")] = 2048
    """Releases of the ensemble."""
    quick: bool = False
    """A smoke test: fewer samples and 64 members. Its answer is not to be quoted."""

    def __post_init__(self):
        least = 4 * len(ensemble.INPUTS)  # each half of the members fits a slope of each input
        if self.members < least:
            raise ValueError(f"--members {self.members} must be at least {least}")


def run(options: Hopper) -> None:
    """Run one scene; a scene writes its tables and pictures, and hands back what it found."""
    scenes = {
        "cube": cube.run,
        "minerva": partial(minerva.run, shape=options.shape),
        "ensemble": partial(ensemble.run, shape=options.shape, members=options.members),
        "tracks": tracks.run,
        "hop": hop.run,
    }
    out = options.out or Path("results/hopper") / options.scene
    work = partial(scenes[options.scene], quick=options.quick)
    record(out, work, scene=options.scene, quick=options.quick)
