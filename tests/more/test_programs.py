"""What the library's programs contain, read from their text before they are compiled: no calls of the host, and no
library of linear algebra in a step."""

import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.dem import Grains, HertzMindlin
from difsim.shape import Plane
from difsim.sph import Continuum, CubicSpline, DruckerPrager, Viscosity
from difsim.stepping.marching import EqualSteps, advance, initialise
from experiments.benchmark import compile


def grains():
    """A few spheres over a floor, and a step."""
    places = 0.011 * np.stack(np.meshgrid(*3 * [np.arange(2.0)])).reshape(3, -1) + 0.006
    law = HertzMindlin(1e7, 0.25, 0.5, 0.5)
    floor = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    return Grains(law, np.full(8, 5e-3), 2500.0, (0.0, 0.0, -9.81), (floor,)), places, 2e-5


def march_text(model, begun, dt):
    """The text of steps of particles."""
    arrays, static = eqx.partition((model, begun), eqx.is_array)

    def run(arrays):
        model, begun = eqx.combine(arrays, static)
        end = jnp.full_like(begun.motion.time, jnp.inf)
        rule = EqualSteps(jnp.asarray(dt, begun.motion.time.dtype))
        return eqx.filter(advance(model, begun, end, rule, jnp.asarray(100)), eqx.is_array)

    return jax.jit(run).lower(arrays).as_text()


def grains_text():
    model, places, dt = grains()
    return march_text(model, initialise(model, model.at_rest(jnp.asarray(places))), dt)


def soil_text():
    """A block of soil and a step."""
    spacing = 0.01
    x = spacing * np.stack(np.meshgrid(*2 * [np.arange(4.0)])).reshape(2, -1)
    material = DruckerPrager(1e5, 0.3, 0.4, density=2000.0)
    parts = CubicSpline(2.5 * spacing), Viscosity(0.3, 0.7, material.sound)
    model = Continuum(material, *parts, np.array([0.0, -9.81]), np.full(16, 0.2))
    return march_text(model, initialise(model, model.at_rest(jnp.asarray(x))), 1e-5)


def case_text(name):
    work = compile.WORKLOADS[name]()
    return jax.jit(jax.vmap(work.function)).lower(jnp.tile(work.at, (2, 1))).as_text()


TEXTS = {
    name: lambda name=name: case_text(name)
    for name in ("bounce of a point", "hopper", "touchdown", "pair of stones")
} | {"grains": grains_text, "soil": soil_text}


@pytest.mark.parametrize("name", TEXTS)
def test_a_program_calls_neither_host_nor_lapack(name):
    text = TEXTS[name]()
    assert "callback" not in text
    assert set(re.findall(r"custom_call @([\w.]+)", text)) == set(), name


def products_of_three(text):
    """The products with a 3 x 3 matrix in a program before it is compiled, which a GPU gives to a library."""
    return [line for line in re.findall(r"stablehlo\.dot_general.*", text) if "3x3xf64>" in line]


def test_products_with_3_x_3_matrices_are_written_out():
    """A hopper turns its corners and its inertia at each stage."""
    by_library = jax.jit(jax.vmap(jnp.matmul)).lower(jnp.zeros((2, 8, 3)), jnp.zeros((2, 3, 3)))
    assert products_of_three(by_library.as_text()) and products_of_three(case_text("hopper")) == []
