"""`difsim cobbles`: two irregular stones that collide in microgravity, and what cameras tell of it (the paper)."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from experiments.cobbles import collision, impact
from experiments.cobbles.stones import cobble
from experiments.records import provenance, write_json

StageName = Literal["collision", "impact", "all"]


@dataclass
class Cobbles:
    """Two irregular stones that collide in microgravity: the collision, and what it tells of the contact."""

    stage: StageName = "collision"
    """"collision": states, energies, restitution, and how they converge; "impact": one fit through the impact,
    from the pixels of cameras; "all": each into a folder of its own."""
    shape: str = "generated"
    """Both stones: "generated" (from --seed), "bennu" (the asteroid's shape, under DIFSIM_DATA), or a mesh file
    with vertices in m."""
    out: Path | None = None
    """Folder for summary.json, result.nc and the pictures (results/cobbles/STAGE)."""
    seed: int = 5
    """Which stone is generated."""
    quick: bool = False
    """A smoke test: a coarser table of the distance and fewer cases. Its answer is not to be quoted."""


STAGES = {"collision": collision.run, "impact": impact.run}


def run(options: Cobbles) -> None:
    """Run one stage or all; a stage writes its tables and pictures, and hands back what it found."""
    stone = cobble(options.shape, options.seed)
    for stage in STAGES if options.stage == "all" else (options.stage,):
        out = options.out or Path("results/cobbles")
        out = out if options.out and options.stage != "all" else out / stage
        out.mkdir(parents=True, exist_ok=True)
        started = time.perf_counter()
        found = STAGES[stage](out, options.quick, stone)
        summary = {
            "stage": stage,
            "shape": options.shape,
            "quick": options.quick,
            "wall_seconds": time.perf_counter() - started,
            **provenance(),
            **found,
        }
        print(write_json(out / "summary.json", summary))
        print(f"\nwritten to {out}/ in {summary['wall_seconds']:.0f} s")
