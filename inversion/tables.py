"""A posterior as a table of text."""

from typing import Any

from difsim.status import Status


def quality_of(posterior: Any) -> str:
    """The quality of the sample, and the agreement with the data. **Arguments:** `posterior`, a Posterior."""
    sample = "the sample is good" if posterior.fault is None else f"NO intervals: {posterior.fault}"
    size = f"effective size {posterior.effective_size:.0f} of {posterior.weights.size} draws"
    size += "" if posterior.k_hat is None else f", k-hat {posterior.k_hat:.2f}"
    model = "the model explains the data" if posterior.explains_data else "the model does NOT explain the data"
    return f"{sample}, {size}; {model}, p = {posterior.p_value:.2g}"


def table_of(posterior: Any) -> str:
    """The quality of a posterior, its intervals and the probabilities of its choices, one line each.

    **Arguments:** `posterior`, a Posterior. **Returns:** the lines.
    """
    width = max(len(name) for name in posterior.draws)
    lines = [f"posterior: {posterior.verdict}"]
    for name in posterior.draws:
        unit = posterior.component(name).unit
        if name in posterior.probabilities:
            labels = posterior.component(name).labels
            parts = zip(labels, posterior.marginal(name).values(), strict=True)
            shares = ", ".join(f"{label} {_share(*p)}" for label, p in parts)
            lines.append(f"  {name:{width}s}  probability of {shares}".rstrip())
        elif posterior.fault is None:
            narrow, wide = posterior.interval(name, 0.68), posterior.interval(name, 0.95)
            before = posterior.prior_range(name)
            ends = {"68 %": narrow, "95 %": wide, "prior": before}
            said = "   ".join(f"{k}: {low:.4g} ... {high:.4g}" for k, (low, high) in ends.items())
            lines.append(f"  {name:{width}s}  {float(posterior.quantile(name, 0.5)):.4g}   {said} {unit}".rstrip())
        else:
            lines.append(f"  {name:{width}s}  no interval")
    lines.append(
        f"  log evidence {posterior.log_evidence:.3f} +- {posterior.log_evidence_error:.2g}; {posterior.sampled.method}"
    )
    if set(posterior.statuses) - {Status.OK}:
        lines.append(Status.summary(posterior.statuses))
    return "\n".join(lines)


def _share(probability: float, error: float) -> str:
    return f"{probability:.3f} +- {error:.3f}" if probability > 0.0 else f"below {error:.2g}"
