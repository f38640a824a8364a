"""`difsim cobbles`: two irregular stones that collide in microgravity, and what cameras tell of it (the paper)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from experiments.cobbles import collision, design, estimation, impact, posterior, tracks
from experiments.cobbles.stones import Cobble, bennu, cobble
from experiments.harness import SEED, Found, Study

Unknown = Literal["calibration", "markers", "compliance"]


@dataclass
class Cobbles(Study):
    """Two irregular stones that collide in microgravity: the collision, and what it tells of the contact."""

    stage: Literal["collision", "estimate", "impact", "design", "all"] = "collision"
    """"collision": states, energies, restitution, and how they converge; "estimate": the motion before and after
    from the pixels of cameras, as in the paper, or from --tracks; "impact": one fit through the impact, from the
    pixels of cameras; "design": cameras, markers and release that tell most of restitution; "all": each into a
    folder of its own."""
    shape: str = "generated"
    """Both stones: "generated" (from --seed), "bennu" (the asteroid's shape, under DIFSIM_DATA), or a mesh file
    with vertices in m."""
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
    posterior: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """Of "impact": the posterior of restitution and friction too, by the pixels of the first of its fits; of more than
    one, how often the intervals of the first N hold the truth."""

    cluster_stages = ("estimate",)

    def __post_init__(self):
        if self.tracks and (self.stage != "estimate" or not self.calibration or len(self.mesh) != 2):
            raise ValueError("--tracks needs --stage estimate, --calibration FILE, --mesh A and --mesh B")
        if self.fits < 1:
            raise ValueError(f"--fits {self.fits}: at least one")
        if self.unknowns and self.stage not in ("impact", "design"):
            raise ValueError(f"--unknowns belongs to --stage impact or design, not {self.stage}")
        if not 0 <= self.posterior <= self.fits:
            raise ValueError(f"--posterior {self.posterior}: between 0 and the number of --fits, {self.fits}")
        if self.posterior and (self.stage != "impact" or self.unknowns):
            raise ValueError(
                "--posterior belongs to --stage impact, without --unknowns: it is of the contact alone"
            )

    def inputs(self) -> list[Path]:
        """The user's files, or the shape's."""
        return super().inputs() + ([bennu()] if self.shape == "bennu" else [])

    def stone(self) -> Cobble:
        """Both stones."""
        return cobble(self.shape, self.seed)


def _estimate(options: Cobbles, out: Path) -> Found:
    if options.tracks:
        return tracks.estimate_tracks(options.tracks, options.calibration, options.mesh)
    return estimation.estimate(options.quick, options.stone(), out, options.executor)


def _impact(options: Cobbles, out: Path) -> Found:
    found = impact.estimate(options.quick, options.stone(), options.unknowns, options.fits)
    if not options.posterior:
        return found
    known = impact.pose(options.quick, options.stone(), ())
    return posterior.with_posterior(
        found, known, options.quick, min(options.posterior, found.data["result"].sizes["sample"])
    )


Cobbles.ranges = {"seed": SEED}
Cobbles.stages = {
    "collision": lambda options, out: collision.collide_all(options.quick, options.stone()),
    "estimate": _estimate,
    "impact": _impact,
    "design": lambda options, out: design.improve_all(options.quick, options.stone(), options.unknowns),
}
