"""`difsim hopper`: hoppers that bounce on small bodies and come to rest (the hopper paper)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from experiments.agilkia.worlds import files_of
from experiments.harness import Study
from experiments.hopper import cube, ensemble, field, hop, minerva, tracks


@dataclass
class Hopper(Study):
    """Hoppers on small bodies: release, bounces and rest; what they end at, and what that depends on."""

    stage: Literal["cube", "minerva", "ensemble", "tracks", "hop", "field"] = "cube"
    """"cube": a cube on a plane in three gravities; "minerva": MINERVA-II released over Imhotep on 67P;
    "ensemble": thousands of such releases, where they end and when; "tracks": restitution, friction and rolling
    resistance from tracks of a bouncing cube; "hop": wheels that throw a cube to a target; "field": the shape of
    the ground, 200 heights, from tracks of balls that roll over it."""
    shape: str = "analogue"
    """The comet (minerva, ensemble): "analogue" (made of published numbers), "shap5" (downloaded once), or a mesh
    file with vertices in km. Its distances and field are kept in the cache folder."""
    members: Annotated[int, tyro.conf.arg(metavar="N")] = 2048
    """Releases of the ensemble."""

    cluster_stages = ("ensemble",)

    def __post_init__(self):
        if self.members < ensemble.LEAST:
            raise ValueError(f"--members {self.members} must be at least {ensemble.LEAST}")

    def inputs(self) -> list[Path]:
        """The shape's file, where a stage flies about the comet."""
        return super().inputs() + (files_of(self.shape) if self.stage in ("minerva", "ensemble") else [])


Hopper.stages = {
    "cube": lambda options, out: cube.throw(options.quick),
    "minerva": lambda options, out: minerva.release(options.quick, options.shape),
    "ensemble": lambda options, out: ensemble.release_all(
        out, options.quick, options.shape, options.members, options.executor
    ),
    "tracks": lambda options, out: tracks.compare(out, options.quick),
    "hop": lambda options, out: hop.search(options.quick),
    "field": lambda options, out: field.recover(out, options.quick),
}
