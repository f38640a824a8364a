"""The sensitivity of the collected area to friction, cohesion and speed, from many runs that differ in all of them.

The area is a count, which jumps, and a fluctuating one: the same soil, shifted by a part of the spacing, gives
another. So runs come in antithetic pairs of normal inputs, each with the same random shift of the bed, and the
slopes are those of the linear regression of half the difference: the gradient of the area smoothed over the spread
of the inputs (`inversion.smoothed`), with an error bar that holds the fluctuation too.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from experiments.sampling.collect import collect
from experiments.sampling.scene import PHOBOS, Case, Scene
from inversion.smoothed import regression

BASE = Case(PHOBOS, 400, 42, 500)
SPREAD = {"rpm": 60.0, "friction": 5.0, "cohesion": 150.0}  # turns per minute, degrees, Pa


@dataclass(frozen=True)
class Design:
    """Pairs of cases, each with a shift of the bed m, and the normal numbers [pair, 3] that made them."""

    xi: np.ndarray
    shift: np.ndarray

    @classmethod
    def draw(cls, pairs: int, spacing: float, seed: int = 0) -> "Design":
        """The first pairs are the same whatever their number: a study may be made larger.

        **Raises:** ValueError for fewer pairs than slopes and one more.
        """
        if pairs <= len(SPREAD):
            raise ValueError(f"--pairs {pairs} must be more than {len(SPREAD)}")
        # Within two σ: no negative cohesion, no friction beyond what the soil holds.
        drawn = [np.random.default_rng((seed, pair)) for pair in range(pairs)]
        xi = np.stack([np.clip(random.standard_normal(len(SPREAD)), -2.0, 2.0) for random in drawn])
        return cls(xi, spacing * np.array([random.random() for random in drawn]))

    def cases(self, pair: int) -> tuple[Case, Case]:
        """The case at p + σ ξ and that at p - σ ξ."""
        away = {k: x * spread for x, (k, spread) in zip(self.xi[pair], SPREAD.items(), strict=True)}
        return tuple(
            replace(BASE, **{k: float(getattr(BASE, k) + way * v) for k, v in away.items()}) for way in (1, -1)
        )


def runs(
    design: Design, spacing: float, softening: float, times: np.ndarray, out: Path
) -> dict[str, Callable[[], float]]:
    """Both runs of each pair, by names: each returns the area at the end, cm², NaN where the run failed."""
    return {
        (name := f"pair{i:02d}_{sign}"): partial(
            _area, case, Scene.build(case, spacing, float(shift)), softening, times, out.resolve() / f"{name}.run"
        )
        for i, shift in enumerate(design.shift)
        for sign, case in zip("+-", design.cases(i), strict=True)
    }


def _area(case: Case, scene: Scene, softening: float, times: np.ndarray, checkpoint: Path) -> float:
    run, found = collect(case, scene, softening, times, checkpoint)
    return found["tray_at_end_cm2"] if run.status == 0 else np.nan


def sensitivity(design: Design, found: Sequence[float]) -> dict[str, Any]:
    """Slopes of the area at the end by each input, per its unit and per its spread, with their errors, cm²."""
    areas = np.reshape(found, (-1, 2))
    whole = np.isfinite(areas).all(axis=1)
    half = 0.5 * (areas[whole, 0] - areas[whole, 1])
    fit = regression(jnp.asarray(design.xi[whole]), jnp.asarray(half)[:, None])
    slope, error = (np.asarray(values)[0] for values in fit)
    rest = half - design.xi[whole] @ slope
    return {
        "base": asdict(BASE),
        "pairs": int(whole.sum()),
        "failed_pairs": int((~whole).sum()),
        "mean_cm2": float(areas[whole].mean()),
        # A half difference of two runs scatters by a single run's over √2.
        "scatter_of_a_run_cm2": float(np.sqrt(2 * (rest**2).sum() / max(whole.sum() - len(SPREAD), 1))),
        "slopes": {
            name: {
                "spread": spread,
                "cm2_per_spread": float(s),
                "error_cm2": float(e),
                "cm2_per_unit": float(s / spread),
            }
            for (name, spread), s, e in zip(SPREAD.items(), slope, error, strict=True)
        },
        "areas_cm2": areas.tolist(),
    }
