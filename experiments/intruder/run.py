"""`difsim intruder`: a ball in a bed of grains; its derivatives, and what stands in for them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from experiments.cache import CACHE
from experiments.intruder import derivatives, surrogate
from experiments.intruder.scene import DT, Drop, recipe
from experiments.records import record


@dataclass
class IntruderStudy:
    """A ball thrown into a bed of grains: derivatives of its speed, and the grains from its rebound."""

    stage: Literal["derivatives", "surrogate"] = "derivatives"
    """"derivatives": of its speed, of one path, by differences, and of an ensemble's mean; "surrogate": friction,
    modulus and restitution of the grains from depths and rebounds, through a response surface."""
    time: float = 0.058
    """s."""
    parts: int = 24
    """At how many times derivatives are looked at; a multiple of 4."""
    samples: int = 256
    """Balls that are thrown for the mean, or the surface."""
    repeats: int = 40
    """How often the grains are found from new throws."""
    out: Path | None = None
    """Folder for summary.json, result.nc and the picture (results/intruder/STAGE)."""
    quick: bool = False
    """A smoke test. Its answer is not to be quoted."""

    def __post_init__(self):
        if self.quick:
            self.time, self.parts, self.samples, self.repeats = 0.004, 4, 24, 2
        if self.parts < 4 or self.parts % 4:
            raise ValueError(f"--parts {self.parts} must be a multiple of 4")
        if not self.time >= self.parts * DT:
            raise ValueError(f"--time {self.time} s must be at least {DT:g} s a part")
        if self.samples % 8 or self.samples < 24:
            raise ValueError(f"--samples {self.samples} must be a multiple of 8, and at least 24")
        if self.repeats < 2:
            raise ValueError(f"--repeats {self.repeats} must be at least 2")


def run(options: IntruderStudy) -> None:
    """Make the bed, or take it from the cache; throw, write and draw."""
    drop = Drop(recipe().bed(CACHE / "beds"), options.time, options.parts)
    out = options.out or Path("results/intruder") / options.stage
    record(
        out, lambda folder: STAGES[options.stage](folder, drop, options), stage=options.stage, time_s=options.time
    )


def _derivatives(out: Path, drop: Drop, options: IntruderStudy) -> dict[str, Any]:
    return derivatives.run(out, drop, options.samples)


def _surrogate(out: Path, drop: Drop, options: IntruderStudy) -> dict[str, Any]:
    return surrogate.run(out, drop, options.samples, options.repeats)


STAGES = {"derivatives": _derivatives, "surrogate": _surrogate}
