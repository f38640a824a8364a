"""The one list of scenes, which tests, random searches, benchmarks and the validation share."""

import itertools

from experiments.scenes import closed, cubes, flights, free, hard, landings, line, particles, soft, stones
from experiments.scenes.scene import Scene

GROUPS = (
    hard.SCENES,
    soft.SCENES,
    landings.SCENES,
    flights.SCENES,
    stones.SCENES,
    particles.SCENES,
    line.SCENES,
    closed.SCENES + free.SCENES,
    cubes.SCENES,
)
# One of each sort in turn: what a short search leaves out are variants.
SCENES: tuple[Scene, ...] = tuple(
    scene for turn in itertools.zip_longest(*GROUPS) for scene in turn if scene is not None
)


def find(name: str) -> Scene:
    """Return the scene with this name. **Raises:** KeyError where there is none."""
    return {scene.name: scene for scene in SCENES}[name]
