"""Sums by particle: each one's own entries against one entry after the other, and a GPU's step without a scatter."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.dem import Grains, HertzMindlin
from difsim.particles.entries import BLANK, Rows, one_by_one, sort_entries, sum_rows
from difsim.shape import Plane
from difsim.sph import Continuum, CubicSpline, DruckerPrager, Viscosity
from difsim.stepping.marching import initialise, take_step
from tests.helpers import close

COUNT, WIDE, ENTRIES = 50, 2, 400


@pytest.fixture(scope="module")
def lists():
    """Entries in the order of their particles, and others in none; the last particles have many. A fifth is padding."""
    random = np.random.default_rng(4)
    made = []
    for is_ordered in (True, False):
        who = random.integers(0, COUNT, ENTRIES)
        who[: ENTRIES // 3] = random.integers(COUNT - WIDE, COUNT, ENTRIES // 3)
        who = np.sort(who) if is_ordered else random.permutation(who)
        real = np.arange(ENTRIES) < 4 * ENTRIES // 5
        rows = Rows.empty(ENTRIES, (COUNT - WIDE, WIDE), is_ordered).with_room(who[real], 1.0)
        who, real = jnp.asarray(np.where(real, who, 0), jnp.int32), jnp.asarray(real)
        order, begin, full = sort_entries(rows.groups, is_ordered, rows.ranks, who, real)
        assert rows.ranks[1].size > 2 * rows.ranks[0].size and not full
        made.append((replace(rows, who=who, order=order, begin=begin), real))
    return made


def test_each_particle_adds_up_its_own(lists):
    random = np.random.default_rng(5)
    rows, real = zip(*lists, strict=True)
    other = {"a": (2, 3), "b": ()}

    def make_list(shape, real):
        return jnp.asarray(np.where(real, random.normal(size=(*shape, ENTRIES)), 0.0))

    values = tuple({k: make_list(shape, np.asarray(mask)) for k, shape in other.items()} for mask in real)
    before = {k: jnp.asarray(random.normal(size=(*shape, COUNT))) for k, shape in other.items()}
    for others in (None, before):
        ways = (jax.jit(lambda rows, values, others, f=f: f(others, rows, values)) for f in (sum_rows, one_by_one))
        close(*(f(rows, values, others) for f in ways))


def test_a_row_that_is_too_short_is_seen(lists):
    (rows, real), _ = lists
    short = (rows.ranks[0], rows.ranks[1][:-1])
    assert sort_entries(rows.groups, True, short, rows.who, real)[2]


def lower_for_gpu(function, *arguments) -> str:
    """The program for a GPU before XLA sees it, on any machine, of what was not traced before for a CPU alone."""
    jax.clear_caches()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("difsim.wide.accelerators", lambda: ("a GPU",))
        return jax.jit(function).trace(*arguments).lower(lowering_platforms=("cuda",)).as_text()


def grains():
    law = HertzMindlin(1e7, 0.25, 0.5, 0.5)
    model = Grains(law, np.full(3, 0.1), 2000.0, (0.0, 0.0, -9.81), (Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),))
    return model, model.at_rest(0.1 * np.array([[0.0, 1.99, 1.0], [0.0, 0.0, 1.7], [0.99, 0.99, 0.99]]))


def soil():
    """Without tools, whose few particles are put in their places by a scatter that adds nothing up."""
    material = DruckerPrager(1e5, 0.3, 0.4, density=2000.0)
    kernel, viscosity = CubicSpline(0.025), Viscosity(0.3, 0.7, material.sound)
    model = Continuum(material, kernel, viscosity, np.array([0.0, -9.81]), np.full(12, 0.2))
    return model, model.at_rest(0.01 * jnp.stack(jnp.meshgrid(jnp.arange(4.0), jnp.arange(3.0))).reshape(2, -1))


@pytest.mark.parametrize("particles", [grains, soil])
def test_a_step_has_no_scatter_on_a_gpu(particles):
    """Nor has its reverse derivative."""
    model, state = particles()
    arrays, static = eqx.partition(initialise(model, state), eqx.is_array)

    def step(friction, arrays):
        of = (lambda m: m.law.friction) if particles is grains else (lambda m: m.material.friction)
        after = take_step(eqx.tree_at(of, model, friction), eqx.combine(arrays, static), jnp.asarray(1e-5))
        return jnp.sum(after.motion.state.velocity**2)

    for way in (step, jax.grad(step)):
        text = lower_for_gpu(way, jnp.asarray(0.4), arrays)
        assert "stablehlo.gather" in text and "scatter" not in text


def test_a_list_from_a_cpu_is_made_again_on_a_gpu():
    """There its rows are blank."""
    model, state = grains()
    near = initialise(model, state).neighbours
    assert (near.pairs.ends[0].begin[0] == BLANK).all() and not near.is_stale(state.position)
    text = lower_for_gpu(
        lambda begin: replace(near.pairs.ends[0], begin=(begin,)).is_blank, near.pairs.ends[0].begin[0]
    )
    assert "compare EQ" in text
