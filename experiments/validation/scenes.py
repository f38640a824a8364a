"""Scenes whose end is known in closed form: values, and derivatives by each number."""

import numpy as np

from experiments.scenes.catalogue import SCENES
from experiments.scenes.scene import Scene, evaluate_exact, evaluate_slopes, measure, measure_slopes
from experiments.validation.cases import Case

DERIVATIVES = "Derivatives"  # the heading of those of which the derivatives are printed


def cases() -> list[Case]:
    """Return a case for each quantity and each of the numbers that a scene names."""
    return [case for scene in SCENES if scene.exact for numbers in scene.cases for case in compare(scene, numbers)]


def derivatives() -> list[Case]:
    """Return the cases of those scenes whose derivatives are printed."""
    scenes = [scene for scene in SCENES if any(each.subject == DERIVATIVES for each in scene.exact)]
    return [case for scene in scenes for numbers in scene.cases for case in compare(scene, numbers)]


def compare(scene: Scene, chosen: dict) -> list[Case]:
    """Return the cases of a scene, with the numbers that are not at its middle in their names."""
    numbers = scene.replace(chosen)
    label = ", ".join(
        f"{name} = {np.array2string(np.asarray(value), precision=4)}" for name, value in chosen.items()
    )
    found = []
    values, exact = measure(scene, numbers), evaluate_exact(scene, numbers)
    for each, ours, value in zip(scene.exact, values, exact, strict=True):
        name = f"{each.name} ({label})" if label else each.name
        found.append(Case(each.subject, name, value, ours, each.tolerance, each.unit, each.is_relative))
    if not any(each.subject == DERIVATIVES for each in scene.exact):
        return found
    slopes = measure_slopes(scene, numbers)
    exact = evaluate_slopes(scene, numbers)
    for i, each in enumerate(scene.exact):
        for key in numbers:
            for index in np.ndindex(np.shape(numbers[key])):
                name = f"{each.name}: ∂/∂{key}" + "".join(f"[{k}]" for k in index)
                theirs, ours = (float(slope[key][(i, *index)]) for slope in (exact, slopes))
                found.append(Case(each.subject, name, theirs, ours, each.slope))
    return found
