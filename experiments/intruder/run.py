"""`difsim intruder`: a ball in a bed of grains, beside published drops; its derivatives, and what replaces them."""

from dataclasses import dataclass
from typing import Literal

from experiments.beds import settle
from experiments.harness import Study
from experiments.intruder import codes, derivatives, exponents, friction, katsuragi, media, published, stochastic
from experiments.intruder.scene import DT, Drop, recipe

REBOUND = 0.024  # s, until which the ball has rebounded


@dataclass
class IntruderStudy(Study):
    """A ball thrown into a bed of grains: derivatives of its speed, and the grains from its rebound."""

    stage: Literal[
        "derivatives", "published", "codes", "katsuragi", "soil", "friction", "exponents", "descent"
    ] = "derivatives"
    """"derivatives": of its speed, of one path, by differences, and of an ensemble's mean; "published": depths
    beside the published formula; "codes": a ball beside seven codes; "katsuragi": the friction that fits a published
    law, and stopping times that were not fitted; "soil": the same of a soil by SPH; "friction": that of the grains
    from the depths of five balls, through a response surface; "exponents": powers of speed and gravity in depth and
    duration, beside published ones; "descent": friction and restitution from mean rebounds, by a stochastic descent
    beside such a surface, over the first 24 ms."""
    time: float = 0.058
    """s."""
    parts: int = 24
    """At how many times derivatives are looked at; a multiple of 4."""
    samples: int = 256
    """Balls that are thrown for the mean."""
    repeats: int = 2
    """Repetitions of each friction by new throws, and throws of each speed and gravity."""
    coarse: float = 2.0
    """Size of the grains beside the codes, over theirs; 1 takes 25 000."""
    beds: int = 1
    """Beds beside the codes, each poured by itself."""

    def __post_init__(self):
        if self.quick:
            self.time, self.parts, self.samples, self.repeats = 0.004, 4, 24, 1
        if self.parts < 4 or self.parts % 4:
            raise ValueError(f"--parts {self.parts} must be a multiple of 4")
        if not self.time >= self.parts * DT:
            raise ValueError(f"--time {self.time} s must be at least {DT:g} s a part")
        if self.samples % 8 or self.samples < 24:
            raise ValueError(f"--samples {self.samples} must be a multiple of 8, and at least 24")
        for name in ("repeats", "beds"):
            if getattr(self, name) < 1:
                raise ValueError(f"--{name} {getattr(self, name)} must be at least 1")
        if not 1 <= self.coarse <= 2.9:
            raise ValueError(
                f"--coarse {self.coarse} must be from 1 to 2.9: the bed is 29 mm deep, five grains at least"
            )

    def drop(self, time: float | None = None) -> Drop:
        """The ball above the bed, which is made or taken from the cache, for a time in s."""
        return Drop(settle(recipe()), min(time or self.time, self.time), self.parts)


IntruderStudy.stages = {
    "derivatives": lambda options, out: derivatives.compare(options.drop(), options.samples),
    "descent": lambda options, out: stochastic.compare(
        options.drop(REBOUND), out, *((24, 24, 20, 2) if options.quick else (64, 96, 80, 4))
    ),
    "published": lambda options, out: published.compare(options.quick),
    "codes": lambda options, out: codes.compare(options.coarse, options.beds, out, options.quick),
    "katsuragi": lambda options, out: katsuragi.compare(media.GRAINS, out, options.quick),
    "soil": lambda options, out: katsuragi.compare(media.SOIL, out, options.quick),
    "exponents": lambda options, out: exponents.compare(
        settle(friction.recipe()), *((1, 0.08) if options.quick else (options.repeats,))
    ),
    "friction": lambda options, out: friction.estimate(
        settle(friction.recipe()), options.repeats, *((6, 0.002) if options.quick else ())
    ),
}
