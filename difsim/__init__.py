"""difsim: a differentiable simulator of small-body contact."""
