"""`difsim cobbles`: two irregular stones that collide in microgravity, and what cameras tell of it (the paper)."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from experiments.cobbles import collision
from experiments.cobbles.stones import cobble
from experiments.records import provenance, write_json

StageName = Literal["collision"]


@dataclass
class Cobbles:
    """Two irregular stones that collide in microgravity: the collision, and what it tells of the contact."""

    stage: StageName = "collision"
    """"collision": states, energies, restitution, and how they converge."""
    shape: str = "generated"
    """Both stones: "generated" (from --seed), "bennu" (the asteroid's shape, under DIFSIM_DATA), or a mesh file
    with vertices in m."""
    out: Path | None = None
    """Folder for summary.json, result.nc and the pictures (results/cobbles/STAGE)."""
    seed: int = 5
    """Which stone is generated."""
    quick: bool = False
    """A smoke test: a coarser table of the distance and fewer cases. Its answer is not to be quoted."""


def run(options: Cobbles) -> None:
    """Run one stage; a stage writes its tables and pictures, and hands back what it found."""
    stages = {"collision": collision.run}
    out = options.out or Path("results/cobbles") / options.stage
    out.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    found = stages[options.stage](out, options.quick, cobble(options.shape, options.seed))
    summary = {
        "stage": options.stage,
        "shape": options.shape,
        "quick": options.quick,
        "wall_seconds": time.perf_counter() - started,
        **provenance(),
        **found,
    }
    print(write_json(out / "summary.json", summary))
    print(f"\nwritten to {out}/ in {summary['wall_seconds']:.0f} s")
