"""The inversion of a case whose ground is simulated, by grains or SPH: through a response surface of some runs.

A run takes seconds to minutes, and no derivative goes through grains. So the runs are few, at values all over the prior
and at places that scatter, and the sampler works on the surface through what was measured. What one run scatters about
the surface is added to the variance of the data.
"""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from difsim.declarations import quantities
from experiments.contact.case import GROUNDS, Case
from experiments.contact.pictures import trace
from experiments.contact.throws import Thrown, Track, end_at_stop, follow_path
from experiments.contact.world import Motion
from inversion import Checkpoint, Problem, response_problem
from inversion.progress import Bar

RUNS, QUICK_RUNS = 3, 2  # for each term of the surface
FRAME, LASTS = 0.1, 100.0  # of the time in which the body moves its radius: between looks, and at most
BEYOND = 20  # looks after the last time that is read: a body comes to a soil from above, and to that time later
NARROW = 4.0  # radii of the body: in a bed that is less wide it touches the walls
SCATTER = 0.5  # of a grain or a spacing: of where the body comes down


class Runs:
    """Runs of a case, whose `motions` are kept. **Arguments:** `case`; `kept`, the checkpoint of their paths."""

    def __init__(self, case: Case, kept: Checkpoint):
        if case.shapes[0].solid is None:
            raise ValueError("a lander in simulated ground is of another study: difsim agilkia --regolith grains")
        self.case, self.kept = case, kept
        self.motions: list[Motion] = []
        self.lists: dict[Any, Any] = {}
        self.until = max(case.times.get(name, np.inf) for name in case.data.names)
        if self.until <= 0:
            raise ValueError(f"{case.title}: the last time that is read must be after the touch")

    def __call__(self, p: Mapping[str, Any], key: Array) -> tuple[dict[str, Array], Bool[Array, ""]]:
        """The numbers that a run gives, and whether it came to its end.

        **Arguments:** `p`, parameters by name; `key` of the place. **Returns:** both.
        """
        path = self.kept.get_or(f"run-{len(self.motions)}", lambda: {"path": self.throw(p, key)})["path"]
        motion = follow_path(path, float(p["gravity"]))
        self.motions.append(motion)
        return self.measure(motion), motion.has_stopped | (motion.time[-1] > self.until)

    def measure(self, motion: Motion) -> dict[str, Array]:
        """The numbers of a motion that were measured. **Arguments:** `motion`. **Returns:** these by name."""
        found = motion.measure(self.case.times)
        return {name: found[name] for name in self.case.data.names}

    def throw(self, p: Mapping[str, Any], key: Array) -> Track:
        """The path of a run. **Arguments:** as above."""
        kind = GROUNDS[self.case.law]
        ground = kind(**{name: float(p[name]) for name in quantities(kind)})
        body = Thrown(self.case.shapes[0].solid, *(float(p[name]) for name in Thrown._fields[1:]))
        if ground.bed_width < NARROW * body.radius:
            raise ValueError(
                f"bed_width_m = {float(ground.bed_width):g} is too narrow for {body.radius:g} m: take more"
            )
        frame = FRAME * body.radius / body.speed
        frames = min(self.until / frame, LASTS / FRAME)
        times = frame * np.arange(int(frames) + BEYOND)
        place = SCATTER * np.asarray(jax.random.normal(key, (2,)))
        return end_at_stop(ground.throw(body, times, place, self.lists))

    def pose(self, key: Array, is_quick: bool) -> Problem:
        """The inversion of the case, by its `surface`. **Arguments:** `key`; `is_quick`, with fewer runs."""
        n = len(self.case.unknown)
        count = (QUICK_RUNS if is_quick else RUNS) * (n + 1) * (n + 2) // 2

        def loop(f: Callable, rows: tuple[Array, Array]) -> Array:
            found = []
            with Bar("runs", count) as bar:
                for row in zip(*rows, strict=True):
                    found.append(f(row))
                    bar.advance()
            return jnp.stack(found)

        posed = response_problem(self.case.parameters, self, self.case.data, key=key, samples=count, map_rows=loop)
        problem, self.surface = posed
        return problem

    def try_fit(self, values: Mapping[str, Any], key: Array) -> tuple[dict[str, Array], dict[str, Array]]:
        """The courses of one more run, at the best fit, and of those before.

        **Arguments:** `values` of the fit; `key` of the place. **Returns:** both.
        """
        self(values, key)
        courses = [trace(motion) for motion in self.motions]
        return courses[-1], jax.tree.map(lambda *rows: np.stack(rows), *courses[:-1])

    def account(self, name: str) -> dict[str, float]:
        """The scatter of a run in a number, and its value in the last one. **Arguments:** its `name`."""
        scatter = float(self.surface.error[self.case.data.names.index(name)])
        return {"scatter of a run": scatter, "run at the fit": float(self.measure(self.motions[-1])[name])}
