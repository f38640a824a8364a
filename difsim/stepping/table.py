"""The combinations of model, solver, derivative and stopping rules that can be run; others are refused by name.

`simulate` runs what a row of `ROWS` allows. docs/architecture.md shows the table, and tests/core/test_combinations.py
tries each combination, those that are refused too.
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
from difsim.stepping.integrals import Integrands
from difsim.stepping.solvers import AbstractSolver, Adaptive, Courant, FixedSteps
from difsim.stepping.stops import AbstractStop, AtContact, AtRest, MaxImpacts, Outside
from difsim.typing import describe

Values = type(None)  # no derivative; of a pair of stones no solver but its own


class Row(NamedTuple):
    """A row of the table: one way to run the models of a class.

    The first of `derivatives` is taken if none is given; any of `stops` may be given, each at most once. `default`
    makes the solver where none is given and this is the first row that fits: an array that a module makes as it is
    imported has the precision of that moment.
    """

    model: type
    name: str
    solver: type[AbstractSolver | None]
    derivatives: tuple[type[AbstractDerivative | None], ...]
    stops: tuple[type[AbstractStop], ...]
    default: Callable[[], AbstractSolver | None] = Values


# Impacts are located to a tolerance at which steps of order 8 pay. Rest of hard contact is a phase of the model, which
# costs nothing: it needs no rule.
_eighth = partial(Adaptive, 1e-10, 1e-10, order=8)
ROWS = (
    Row(
        AbstractImpactModel,
        "a model with impacts",
        Adaptive,
        (Forward, Reverse),
        (MaxImpacts,),
        partial(_eighth, max_steps=1_000_000),
    ),
    Row(AbstractImpactModel, "a model with impacts", Adaptive, (Forward, Reverse), (AtContact,), _eighth),
    Row(
        AbstractModel,
        "a model without impacts",
        Adaptive,
        (Forward, Reverse),
        (AtContact, AtRest, Outside),
        Adaptive,
    ),
    Row(AbstractModel, "a model without impacts", FixedSteps, (Unrolled,), ()),
    Row(AbstractParticles, "particles", Courant, (Values, Reverse), (AtRest,), Courant),
    Row(AbstractParticles, "particles", FixedSteps, (Values, Reverse), (AtRest,)),
    Row(AbstractParticles, "particles", Adaptive, (Values, Reverse), (AtRest,)),
    Row(AbstractParticles, "particles", FixedSteps, (Unrolled,), ()),
    Row(Pair, "a pair of stones", Values, (Forward,), (MaxImpacts,)),
)
IMPACTS, CONTACTS = MaxImpacts(64), MaxImpacts(4)  # where a model with impacts and a pair are given no rule


class Rules(eqx.Module):
    """The stopping rules that were given, by their kind."""

    contact: AtContact | None = None
    rest: AtRest | None = None
    outside: Outside | None = None
    impacts: Any = None  # `MaxImpacts`


class Choice(eqx.Module):
    """A valid combination, and the `integrals` with it."""

    solver: Any  # of the class in the row, as is the derivative
    derivative: Any
    rules: Rules
    integrals: Integrands | None = eqx.field(static=True, default=None)

    def with_precision(self, dtype: jnp.dtype) -> "Choice":
        """The same with numbers of this precision, and tolerances that it can hold."""
        both = self.solver.with_precision(dtype), self.derivative
        solver, derivative = jax.tree.map(lambda x: jnp.asarray(x, dtype), both)
        return Choice(solver, derivative, self.rules, self.integrals)


def choose(
    model: Any,
    solver: AbstractSolver | None,
    derivative: AbstractDerivative | None,
    until: Any,
    integrals: Integrands | None = None,
) -> Choice:
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
            _check_extras(model, solver, integrals)
            return Choice(solver, derivative or row.derivatives[0](), _rules(row, stops), integrals)
    asked = [type(x).__name__ for x in (given, derivative, *stops) if x is not None]
    raise ValueError(
        f"simulate: {type(model).__name__} is {rows[0].name} and does not run with {' and '.join(asked)}; "
        f"give what runs: {'; '.join(_describe(row) for row in rows)}"
    )


def _check_extras(model: Any, solver: AbstractSolver | None, integrals: Integrands | None) -> None:
    if not isinstance(model, AbstractParticles) and getattr(solver, "neighbours", None) is not None:
        raise ValueError(f"simulate: neighbours are of particles, and {type(model).__name__} has none")
    if integrals is not None and not isinstance(model, AbstractModel):
        raise ValueError("simulate: integrals are of models that are ordinary differential equations")


def _rows_of(model: Any) -> list[Row]:
    """The rows of the most special class of the table that the model belongs to."""
    found = [row for row in ROWS if isinstance(model, row.model)]
    if not found:
        raise ValueError(
            f"simulate: model: got {describe(model)}, which is no model: give one of difsim.dynamics, difsim.dem or "
            "difsim.sph, or of your own subclass of difsim.dynamics.AbstractModel"
        )
    return [row for row in found if row.model is found[0].model]


def _rules(row: Row, stops: tuple[AbstractStop, ...]) -> Rules:
    if row.stops == (MaxImpacts,) and not stops:
        stops = (CONTACTS,) if row.model is Pair else (IMPACTS,)
    field = {AtContact: "contact", AtRest: "rest", Outside: "outside", MaxImpacts: "impacts"}
    given: dict[str, Any] = {field[type(stop)]: stop for stop in stops}
    return Rules(**given)


def _describe(row: Row) -> str:
    until = f", until {' and/or '.join(stop.__name__ for stop in row.stops)}" if row.stops else ""
    derivatives = " or ".join("no derivative" if d is Values else d.__name__ for d in row.derivatives)
    solver = "no solver" if row.solver is Values else row.solver.__name__
    return f"{solver} with {derivatives}{until}"
