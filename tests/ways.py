"""Combinations of solver, derivative and stopping rule that tests run one after the other."""

from difsim import Adaptive, AtContact, FixedSteps, Forward, MaxImpacts, Reverse


def forward(*tolerances, weight=1.0, **options):
    return {"solver": Adaptive(*tolerances, **options), "derivative": Forward(weight)}


def reverse(*tolerances, **options):
    return {"solver": Adaptive(*tolerances, **options), "derivative": Reverse()}


def equal(steps, **options):
    return {"solver": FixedSteps(steps, **options)}


def impacts(count, rtol=1e-10, atol=1e-10, derivative=None, max_steps=1_000_000):
    solver = Adaptive(rtol, atol, order=8, max_steps=max_steps)
    return {"solver": solver, "derivative": derivative, "until": MaxImpacts(count)}


def flight(rtol=1e-12, atol=1e-12, **options):
    return {"solver": Adaptive(rtol, atol, order=8, **options)}


def landing(derivative=None, slack=1e-6, **options):
    chosen = {} if derivative is None else {"derivative": derivative}
    return flight(**options) | chosen | {"until": AtContact(slack)}


def name(way):
    return "-".join(type(part).__name__ for part in way.values() if part is not None)
