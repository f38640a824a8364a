"""Scenes whose end is known in closed form: values, and derivatives by each number."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim import Forward
from experiments.scenes.catalogue import SCENES
from experiments.scenes.scene import Scene, run, run_forward
from experiments.validation.cases import Case

DERIVATIVES = "Derivatives"  # the heading of those of which the derivatives are printed
SLOPE = 1e-8  # tolerance of these


def cases(subject: str | None = None) -> list[Case]:
    """Return a case for each quantity and each of the numbers that a scene names, of one subject or of all."""
    scenes = [scene for scene in SCENES if subject in (None, scene.exact.subject)]
    return [case for scene in scenes for chosen in scene.exact.cases for case in compare(scene, chosen)]


def compare(scene: Scene, chosen: dict) -> list[Case]:
    """Return the cases of a scene, with the numbers that are not at its middle in their names."""
    exact, numbers, tolerance = scene.exact, scene.replace(chosen), jnp.asarray(scene.engine.tolerance)
    label = ", ".join(f"{name} = {np.array2string(np.asarray(x), precision=4)}" for name, x in chosen.items())
    ours, values = scene.known(run(scene, numbers, numbers, tolerance)[0]), np.asarray(scene.expect(numbers))
    found = [
        Case(exact.subject, f"{name} ({label})" if label else name, value, x, tolerance, unit, bool(value != 0))
        for (name, (unit, tolerance)), value, x in zip(exact.quantities.items(), values, ours, strict=True)
    ]
    if exact.subject != DERIVATIVES:
        return found
    for key, value in numbers.items():
        for index in np.ndindex(np.shape(value)):
            direction = jax.tree.map(np.zeros_like, numbers)
            direction[key][index] = 1.0
            ours = scene.known(run_forward(scene, numbers, direction, tolerance, Forward())[1])
            expected = np.asarray(jax.jvp(scene.expect, (numbers,), (direction,))[1])
            entry = "".join(f"[{i}]" for i in index)
            for name, *both in zip(exact.quantities, expected, ours, strict=True):
                found.append(Case(exact.subject, f"{name}: ∂/∂{key}{entry}", *both, SLOPE))
    return found
