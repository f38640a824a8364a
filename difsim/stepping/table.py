"""The combinations of model, solver, derivative and stopping rules that can be run; others are refused by name.

`simulate` runs what a row of `ROWS` allows. docs/architecture.md shows the table, and tests/test_combinations.py tries
each combination, those that are refused too.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from difsim.dynamics import AbstractImpactModel, AbstractModel, Pair
from difsim.particles.model import AbstractParticles
from difsim.stepping.derivatives import AbstractDerivative, Forward, Reverse, Unrolled
from difsim.stepping.solvers import AbstractSolver, Adaptive, Courant, FixedSteps
from difsim.stepping.stops import AbstractStop, AtContact, AtRest, AtSample, MaxImpacts, Outside
from difsim.typing import came

Values = type(
    None
)  # of a derivative: values on the host, with neighbour lists that get more room; of a solver: none


class Row(NamedTuple):
    """A row of the table: one way to run models of a class.

    It has the class of its `solver`, and the `default` one that serves if none is given, made where it is needed: an
    array that a module makes as it is imported has the precision of that moment; `derivatives`, the first of which is
    taken if none is given (`Values`: there is none); and `stops`, of which any may be given, each at most once. Two
    stones have a solver of their own, None."""

    model: type
    name: str
    solver: type[AbstractSolver | None]
    default: Callable[[], AbstractSolver | None]
    derivatives: tuple[type[AbstractDerivative | None], ...]
    stops: tuple[type[AbstractStop], ...]


# The first row that fits the model has its default solver. Impacts are located to a tolerance at which steps of order
# 8 pay. Rest of hard contact is a phase of the model, which costs nothing: it needs no rule.
ROWS = (
    Row(
        AbstractImpactModel,
        "a model with impacts",
        Adaptive,
        partial(Adaptive, 1e-10, 1e-10, order=8, max_steps=1_000_000),
        (Forward, Reverse),
        (MaxImpacts,),
    ),
    Row(
        AbstractImpactModel,
        "a model with impacts",
        Adaptive,
        partial(Adaptive, 1e-10, 1e-10, order=8),
        (Forward, Reverse),
        (AtContact,),
    ),
    Row(
        AbstractModel,
        "a model without impacts",
        Adaptive,
        Adaptive,
        (Forward, Reverse),
        (AtContact, AtRest, Outside),
    ),
    Row(AbstractModel, "a model without impacts", FixedSteps, partial(FixedSteps, 1), (Unrolled,), ()),
    *(
        Row(AbstractParticles, "particles", solver, default, derivatives, stops)
        for solver, default in (
            (Courant, Courant),
            (FixedSteps, partial(FixedSteps, 1)),
            (Adaptive, partial(Adaptive, 1e-6, max_steps=10_000_000)),
        )
        for derivatives, stops in (((Values, Reverse), (AtRest,)), ((Values,), (AtSample,)))
    ),
    Row(AbstractParticles, "particles", FixedSteps, partial(FixedSteps, 1), (Unrolled,), ()),
    Row(Pair, "a pair of stones", Values, Values, (Forward,), (MaxImpacts,)),
)
IMPACTS = MaxImpacts(64)  # where a model with impacts is given no rule


class Rules(eqx.Module):
    """The stopping rules that were given, by their kind."""

    contact: AtContact | None = None
    rest: AtRest | None = None
    outside: Outside | None = None
    impacts: MaxImpacts | None = None
    sample: AtSample | None = None


class Choice(eqx.Module):
    """A valid combination."""

    solver: AbstractSolver | None
    derivative: AbstractDerivative | None
    rules: Rules

    def within(self, dtype: jnp.dtype) -> "Choice":
        """The same with numbers of this precision, and tolerances that it can hold."""
        both = self.solver.within(dtype), self.derivative
        solver, derivative = jax.tree.map(lambda x: jnp.asarray(x, dtype), both)
        return Choice(solver, derivative, self.rules)


def choose(model: Any, solver: AbstractSolver | None, derivative: AbstractDerivative | None, until: Any) -> Choice:
    """The combination that was asked for, with what was left open.

    **Arguments:** those of `simulate`.
    **Returns:** the choice.
    **Raises:** ValueError for a combination that no row of the table has, and for a rule that is given twice.
    """
    stops = () if until is None else tuple(until) if isinstance(until, tuple | list) else (until,)
    kinds = [type(stop) for stop in stops]
    if len(set(kinds)) < len(kinds):
        raise ValueError(f"simulate: until = {[k.__name__ for k in kinds]} has a rule twice: give each once")
    rows, given = _rows_of(model), solver
    if solver is None:
        solver = next((row for row in rows if set(kinds) <= set(row.stops)), rows[0]).default()
    for row in rows:
        fits = isinstance(solver, row.solver) and set(kinds) <= set(row.stops)
        if fits and (derivative is None or isinstance(derivative, row.derivatives)):
            return Choice(solver, derivative or row.derivatives[0](), _rules(row, stops))
    asked = [type(x).__name__ for x in (given, derivative, *stops) if x is not None]
    raise ValueError(
        f"simulate: {type(model).__name__} is {rows[0].name} and does not run with {' and '.join(asked)}; "
        f"give what runs: {'; '.join(_in_words(row) for row in rows)}"
    )


def _rows_of(model: Any) -> list[Row]:
    """The rows of the most special class of the table that the model belongs to."""
    found = [row for row in ROWS if isinstance(model, row.model)]
    if not found:
        raise ValueError(
            f"simulate: model: got {came(model)}, which is no model: give one of difsim.dynamics, difsim.dem or "
            "difsim.sph, or of your own subclass of difsim.dynamics.AbstractModel"
        )
    return [row for row in found if row.model is found[0].model]


def _rules(row: Row, stops: tuple[AbstractStop, ...]) -> Rules:
    if row.model is AbstractImpactModel and row.stops == (MaxImpacts,) and not stops:
        stops = (IMPACTS,)
    field = {AtContact: "contact", AtRest: "rest", Outside: "outside", MaxImpacts: "impacts", AtSample: "sample"}
    return Rules(**{field[type(stop)]: stop for stop in stops})


def _in_words(row: Row) -> str:
    until = f", until {' and/or '.join(stop.__name__ for stop in row.stops)}" if row.stops else ""
    derivatives = " or ".join("no derivative" if d is Values else d.__name__ for d in row.derivatives)
    solver = "no solver" if row.solver is Values else row.solver.__name__
    return f"{solver} with {derivatives}{until}"
