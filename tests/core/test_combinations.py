"""The table of what can be run with what: every combination runs, or is refused with what can be run."""

import itertools
import re
from pathlib import Path

import pytest

from difsim import (
    Adaptive,
    AtContact,
    AtRest,
    Courant,
    FixedSteps,
    Forward,
    MaxImpacts,
    Outside,
    Reverse,
    Unrolled,
)
from difsim.body import RigidState
from difsim.dynamics import Bouncer, PointState
from difsim.gravity import Uniform
from difsim.shape import Plane, Sphere
from difsim.stepping.table import ROWS, choose
from experiments.hopper.scenes import GRAVITY, Ground, cube

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"

REGION = Sphere((0.0, 0.0, 0.0), 100.0)

SOLVERS = (None, Adaptive(), Adaptive(order=8), FixedSteps(50), Courant())

DERIVATIVES = (None, Forward(), Reverse(), Unrolled())

STOPS = (AtContact(), AtRest(), Outside(REGION), MaxImpacts(3))

UNTIL = [stops for n in range(3) for stops in itertools.combinations(STOPS, n)]


def bouncer():
    floor = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    return Bouncer(Uniform((0.0, 0.0, -9.81)), floor, 0.6), PointState((0.0, 0.0, 0.3))


def hopper():
    model = cube(GRAVITY["67p"], Ground(restitution=0.4, friction=0.6))
    body = RigidState((0.0, 0.0, 0.101), (0.001, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    return model, model.start(body)


def is_allowed(model, solver, derivative, until):
    """Whether a row of the table has it, by the table itself, read another way than `choose` does."""
    own = [row for row in ROWS if isinstance(model, row.model)]
    own = [row for row in own if row.model is own[0].model]
    if solver is None:
        fit = [row for row in own if {type(s) for s in until} <= set(row.stops)]
        return bool(fit) and (derivative is None or any(type(derivative) in row.derivatives for row in fit[:1]))
    return any(
        type(solver) is row.solver
        and (derivative is None or type(derivative) in row.derivatives)
        and {type(s) for s in until} <= set(row.stops)
        for row in own
    )


@pytest.mark.parametrize("make", [bouncer, hopper])
def test_every_combination_is_chosen_or_refused_with_a_remedy(make):
    model, _ = make()
    chosen = 0
    for solver, derivative, until in itertools.product(SOLVERS, DERIVATIVES, UNTIL):
        if is_allowed(model, solver, derivative, until):
            choice = choose(model, solver, derivative, until)
            chosen += 1
            assert solver is None or choice.solver is solver
        else:
            with pytest.raises(ValueError, match=r"give what runs: .*(Adaptive|FixedSteps|Courant)"):
                choose(model, solver, derivative, until)
    assert chosen > 10


def test_the_page_has_the_table():
    text = PAGE.read_text()
    for row in ROWS:
        kinds = [k for k in (row.solver, *row.derivatives) if k is not type(None)]
        parts = [row.name, *(k.__name__ for k in kinds)]
        parts += [stop.__name__ for stop in row.stops]
        line = ".*".join(re.escape(part) for part in parts)
        assert re.search(line, text), f"docs/architecture.md has no row for {parts}"
