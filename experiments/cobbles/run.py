"""`difsim cobbles`: two irregular stones that collide in microgravity, and what cameras tell of it (the paper)."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import tyro

from experiments.cobbles import collision, design, estimation, impact
from experiments.cobbles.stones import cobble
from experiments.records import record

StageName = Literal["collision", "estimate", "impact", "design", "all"]
Unknown = Literal["calibration", "markers", "compliance"]


@dataclass
class Cobbles:
    """Two irregular stones that collide in microgravity: the collision, and what it tells of the contact."""

    stage: StageName = "collision"
    """"collision": states, energies, restitution, and how they converge; "estimate": the motion before and after
    from the pixels of cameras, as in the paper, or from --tracks; "impact": one fit through the impact, from the
    pixels of cameras; "design": cameras, markers and release that tell most of restitution; "all": each into a
    folder of its own."""
    shape: str = "generated"
    """Both stones: "generated" (from --seed), "bennu" (the asteroid's shape, under DIFSIM_DATA), or a mesh file
    with vertices in m."""
    out: Path | None = None
    """Folder for summary.json, result.nc and the pictures (results/cobbles/STAGE)."""
    seed: int = 5
    """Which stone is generated."""
    tracks: Path | None = None
    """Tracked markers of an experiment (stage estimate), with --calibration and two --mesh: see the README."""
    calibration: Path | None = None
    """Cameras, arcs, masses and markers of the experiment, as JSON."""
    mesh: tyro.conf.UseAppendAction[tuple[Path, ...]] = ()
    """Surface of a body of the experiment, closed, in m; twice, in the order of the calibration's bodies."""
    unknowns: tuple[Unknown, ...] = ()
    """What stages impact and design take as unknown besides states, restitution and friction: "calibration" of
    the cameras (Table 13), places of "markers" (0.67 mm), "compliance" of the contact (to a factor of 2)."""
    fits: int = 100
    """How many fits of the nominal case stage impact makes, each to other noise."""
    quick: bool = False
    """A smoke test: a coarser table of the distance and fewer cases. Its answer is not to be quoted."""

    def __post_init__(self):
        if self.tracks and (self.stage != "estimate" or not self.calibration or len(self.mesh) != 2):
            raise ValueError("--tracks needs --stage estimate, --calibration FILE, --mesh A and --mesh B")
        if self.fits < 1:
            raise ValueError(f"--fits {self.fits}: at least one")
        if self.unknowns and self.stage not in ("impact", "design"):
            raise ValueError(f"--unknowns belongs to --stage impact or design, not {self.stage}")


STAGES = {
    "collision": lambda out, options, stone: collision.run(out, options.quick, stone),
    "estimate": lambda out, options, stone: estimation.run(out, options.quick, stone),
    "impact": lambda out, options, stone: impact.run(out, options.quick, stone, options.unknowns, options.fits),
    "design": lambda out, options, stone: design.run(out, options.quick, stone, options.unknowns),
}


def run(options: Cobbles) -> None:
    """Run one stage or all; a stage writes its tables and pictures, and hands back what it found."""
    if options.tracks:
        out = options.out or Path("results/cobbles/tracks")
        found = estimation.run_estimate(options.tracks, options.calibration, options.mesh, out)
        print(
            f"CoR_E {found['energy_ratio']:.4f} ± {found['energy_ratio_sigma']:.4f}; states in {out}/estimate.json"
        )
        return
    stone = cobble(options.shape, options.seed)
    for stage in STAGES if options.stage == "all" else (options.stage,):
        out = options.out or Path("results/cobbles")
        out = out if options.out and options.stage != "all" else out / stage
        work = partial(STAGES[stage], options=options, stone=stone)
        record(out, work, stage=stage, shape=options.shape, quick=options.quick)
