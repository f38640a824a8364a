"""The one list of scenes, which tests, random searches, benchmarks and the validation share."""

from itertools import chain, zip_longest

from experiments.scenes import flights, hard, hops, impacts, landings, pairs, particles, tops
from experiments.scenes.scene import Scene

GROUPS = hard, hops, landings, flights, pairs, particles, impacts, tops
# One of each sort in turn: what a short search leaves out are variants.
TURNS = chain.from_iterable(zip_longest(*(group.SCENES for group in GROUPS)))
SCENES: tuple[Scene, ...] = tuple(scene for scene in TURNS if scene is not None)


def find(name: str) -> Scene:
    """Return the scene with this name. **Raises:** KeyError where there is none."""
    return {scene.name: scene for scene in SCENES}[name]
