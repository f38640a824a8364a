"""What the library's programs contain, read from their text before they are compiled: no calls of the host, no
library of linear algebra in a step, and nothing of float64 in float32."""

import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import initialise
from difsim.dem import Grains, HertzMindlin
from difsim.shape import Plane
from difsim.stepping.marching import EqualSteps, advance
from experiments.benchmarks import compile
from tests.helpers import single


def grains():
    """A few spheres over a floor, and a step."""
    places = 0.011 * np.stack(np.meshgrid(*3 * [np.arange(2.0)])).reshape(3, -1) + 0.006
    law = HertzMindlin(1e7, 0.25, 0.5, 0.5)
    floor = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    return Grains(law, np.full(8, 5e-3), 2500.0, (0.0, 0.0, -9.81), (floor,)), places, 2e-5


def marched(model, begun, dt):
    """The text of steps of particles."""
    arrays, static = eqx.partition((model, begun), eqx.is_array)

    def run(arrays):
        model, begun = eqx.combine(arrays, static)
        end = jnp.full_like(begun.motion.time, jnp.inf)
        rule = EqualSteps(jnp.asarray(dt, begun.motion.time.dtype))
        return eqx.filter(advance(model, begun, end, rule, jnp.asarray(100)), eqx.is_array)

    return jax.jit(run).lower(arrays).as_text()


def grains_text(of=lambda tree: tree):
    model, places, dt = grains()
    model = of(model)
    return marched(model, initialise(model, model.at_rest(of(jnp.asarray(places)))), dt)


def case_text(name):
    work = compile.WORKLOADS[name]()
    return jax.jit(jax.vmap(work.function)).lower(jnp.tile(work.at, (2, 1))).as_text()


TEXTS = {
    name: lambda name=name: case_text(name)
    for name in ("bounce of a point", "hopper", "touchdown", "pair of stones")
} | {"grains": grains_text}


SLOW = "pair of stones"  # to trace


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n == SLOW)) for n in TEXTS])
def test_a_program_calls_neither_host_nor_lapack(name):
    text = TEXTS[name]()
    assert "callback" not in text
    assert set(re.findall(r"custom_call @([\w.]+)", text)) == set(), name


def test_grains_in_float32_have_no_float64():
    """In a session of float64: a Python number in `jnp.where` is a constant that is converted, and nothing else."""
    text = grains_text(single)
    lines = [line.strip() for line in text.splitlines() if "f64" in line]
    passing = r"stablehlo\.constant|stablehlo\.convert .*-> tensor<f32>|call @|func\.func|return "
    assert [line for line in lines if not re.search(passing, line) or "xf64" in line] == []
