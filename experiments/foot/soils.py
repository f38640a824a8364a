"""Soils all over the inversion's box, and the settled beds whose grains become any of them."""

from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from scipy.stats import qmc

from difsim.beds.specification import Bed
from difsim.contact import Regolith
from experiments.beds import relax, settle
from experiments.foot.grains import RELIEVED, recipe
from experiments.foot.scene import GRAVITY

# The ranges of data/philae.toml but for two: layers above half a metre, since a bed of 1 m costs four of 0.25 m and
# a floor so deep is hardly felt; and grains above 4 cm, for which those of the bed cannot stand.
THICKNESSES = 0.25, 0.4, 0.5  # m
MODULI = 1e7, 1e8, 1e9  # Pa
FRICTIONS = 0.2, 0.6, 1.0
DIAMETERS = 1e-4, 4e-2  # m
DENSITIES = 500.0, 3000.0  # kg/m³
SOFT = 1e7  # Pa: modulus of the grains that are poured, whose steps are the longest
POURED = 0.905  # depth of a `BedSpecification` over how high its bed lies in 0.6 m; in 1.2 m 3 to 5 % lower
LET = 0.02  # s: some forty contacts for which new grains are left to themselves, twice


class Soil(NamedTuple):
    """The five unknowns of Wu et al. (2019); the thickness is a level, the bed's own is measured."""

    thickness: float
    grain_diameter: float
    grain_density: float
    grain_modulus: float
    friction: float


OPTIMUM = Soil(0.25, 1.4e-4, 1443.0, MODULI[0], 0.6)  # about Wu et al.'s, but soft: for repeats


def design(count: int, seed: int) -> list[Soil]:
    """That many soils by a Latin hypercube that reaches the ends of its ranges; each level is there equally often
    where `count` is a multiple of three."""
    cube = qmc.LatinHypercube(5, scramble=False, optimization="random-cd", rng=seed).random(count)
    even = (cube - cube.min()) / (cube.max() - cube.min())
    diameters = np.exp(np.interp(even[:, 1], (0, 1), np.log(DIAMETERS)))
    densities = np.interp(even[:, 2], (0, 1), DENSITIES)
    levels = (3 * cube).astype(int)
    return [
        Soil(THICKNESSES[i], float(d), float(ρ), MODULI[j], FRICTIONS[k])
        for d, ρ, (i, _, _, j, k) in zip(diameters, densities, levels, strict=True)
    ]


def pour_bed(diameter: float, thickness: float, width: float, seed: int = 0) -> Bed:
    """Dry grains of `diameter` m in a drum `width` m wide, about `thickness` m deep; kept in the cache."""
    made = recipe(diameter, width, 0.0)
    made = replace(
        made,
        law=eqx.tree_at(lambda law: law.modulus, made.law, jnp.asarray(SOFT)),
        depth=round(POURED * thickness, 3),
        seed=seed,
    )
    return settle(made)


def ground_of(soil: Soil, thickness: float) -> Regolith:
    """The reduced law of a soil, in a layer of its measured `thickness` m."""
    return Regolith(thickness, *soil[1:], gravity=GRAVITY)


def convert_soil(bed: Bed, ground: Regolith) -> tuple[Bed, float]:
    """The bed with grains of another soil, at rest again, and what is left of motion: the mean speed, m/s.

    They are as large and lie as before, so the packing is that of dry grains with a friction of 0.6 whatever the
    soil. Their density and cohesion are those that give the soil its bulk density and, by Rumpf's sum, its
    tensile strength in this packing.
    """
    packed, diameter = bed.figures.solid_fraction, 2 * jnp.mean(bed.grains.radius)
    pull_off = ground.tensile_strength * (1 - packed) / packed * diameter**2
    grains = eqx.tree_at(
        lambda g: (g.law.modulus, g.law.friction, g.law.cohesion[0].pull_off, g.density),
        bed.grains,
        (ground.grain_modulus, ground.friction, pull_off, ground.bulk_density / packed),
    )
    state = relax(grains, bed.state, RELIEVED, LET, 2)
    motion = grains.energy(jnp.asarray(LET), state)
    unrest = jnp.sqrt(2 * (motion["kinetic"] + motion["rotation"]) / jnp.sum(grains.mass))
    return Bed(grains, state, bed.figures), float(unrest)
