"""What the posterior says of each unknown: intervals, probabilities of discrete choices, and a verdict."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments.agilkia.solve import Answer
from inversion import Discrete, Fixed
from inversion.identifiability import FIXED, MISSED, NOT_FIXED, ONE_SIDED
from inversion.posterior import Posterior

GIVEN = "known: given by the lander's file"
UNSURE = "no verdict: the sample is too small"
# The prior's own interval of 95 % leaves 0.025 at either side: an end that excludes this share tells something.
EXCLUDED = 0.1


def parameter_rows(answer: Answer) -> dict[str, dict[str, Any]]:
    """Best `value`, `median`, `lo68`, `hi68`, `lo95`, `hi95`, `unit`, `verdict` of every unknown.

    Discrete ones have `probabilities`, label -> probability and standard error, and the range of the fewest values
    that hold 95 %. Ends are None where the posterior gives none.
    """
    return {name: _row(answer, name, q) for name, q in answer.problem.parameters.items()}


def _row(answer: Answer, name: str, q: Any) -> dict[str, Any]:
    value, posterior = answer.fit.values[name], answer.posterior
    row = {"value": value, "median": None} | dict.fromkeys(("lo68", "hi68", "lo95", "hi95"))
    row |= {"unit": q.unit, "verdict": UNSURE}
    if isinstance(q, Fixed):
        return row | {"median": value, "lo95": value, "hi95": value, "verdict": GIVEN}
    if isinstance(q, Discrete):
        found = posterior.probabilities[name]
        row |= {"probabilities": dict(zip(q.labels, map(list, found.values()), strict=True))}
    if not posterior.explains_data:
        return row | {"verdict": MISSED}
    if posterior.fault is not None:
        return row
    row["median"] = posterior.median[name]
    if isinstance(q, Discrete):
        return row | _choices({v: p for v, (p, _) in found.items()})
    for share in (68, 95):
        row[f"lo{share}"], row[f"hi{share}"] = posterior.interval(name, share / 100)
    return row | {"verdict": _verdict(q, row["lo95"], row["hi95"])}


def _verdict(q: Any, low: float, high: float) -> str:
    """The verdict by the number of ends of the interval that exclude a tenth of the prior or more."""
    s = [float(q.scaled(jnp.asarray(end))) for end in (low, high)]
    below, above = (float(jax.scipy.special.ndtr(x)) if np.isinf(q.limits[1]) else x for x in s)
    return (NOT_FIXED, ONE_SIDED, FIXED)[(below >= EXCLUDED) + (above <= 1.0 - EXCLUDED)]


def _choices(probability: dict[float, float]) -> dict[str, Any]:
    """The fewest values that hold 95 %, most probable first."""
    kept, total = [], 0.0
    for value in sorted(probability, key=lambda v: -probability[v]):
        if total < 0.95:
            kept.append(value)
        total += probability[value]
    verdict = (FIXED, ONE_SIDED, NOT_FIXED)[(len(kept) > 1) + (len(kept) == len(probability))]
    return {"lo95": min(kept), "hi95": max(kept), "verdict": verdict}


def posterior_numbers(posterior: Posterior) -> dict[str, Any]:
    """How good the sample is, and the evidence of each combination of discrete values, as plain numbers."""
    return {
        "verdict": posterior.verdict,
        "is_good": posterior.fault is None,
        "effective_size": posterior.effective_size,
        "draws": posterior.weights.size,
        "k_hat": posterior.k_hat,
        "drift": posterior.drift,
        "p_value": posterior.p_value,
        "method": posterior.sampled.method,
        "simulations": posterior.calls.forward,
        "log_evidence": posterior.log_evidence,
        "log_evidence_error": posterior.log_evidence_error,
        "leaves": [
            {
                **leaf.assignment,
                "probability": leaf.probability,
                "error": leaf.error,
                "log_evidence": leaf.log_evidence if np.isfinite(leaf.log_evidence) else None,
            }
            for leaf in posterior.leaves
        ],
    }


def table(summary: dict[str, Any]) -> list[str]:
    """The unknowns as lines of text: best fit, posterior, verdict; and the quality of the sample."""
    lines = [f"{'unknown':15s}{'best fit':>10s}{'median':>10s}  {'68 %':22s}{'95 %':22s}{'unit':7s}verdict"]
    for name, row in summary["parameters"].items():
        if "probabilities" in row:
            shares = (f"{k} {p:.2f} ± {e:.2f}" for k, (p, e) in row["probabilities"].items())
            text = f"probability of {', '.join(shares)}"
            lines.append(f"{name:15s}{row['value']:>10.4g}  {text:54s}  {row['unit']:7s}{row['verdict']}")
            continue
        median = "" if row["median"] is None else f"{row['median']:.4g}"
        narrow, wide = (_between(row[f"lo{share}"], row[f"hi{share}"]) for share in (68, 95))
        lines.append(
            f"{name:15s}{row['value']:>10.4g}{median:>10s}  {narrow:22s}{wide:22s}{row['unit']:7s}{row['verdict']}"
        )
    p = summary["posterior"]
    evidence = f"log evidence {p['log_evidence']:.2f} ± {p['log_evidence_error']:.2f}"
    return [*lines, "", f"posterior: {p['verdict']}", f"{evidence}; {p['simulations']} simulations, {p['method']}"]


def _between(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.3g} ... {high:.3g}"
