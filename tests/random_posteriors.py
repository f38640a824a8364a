"""Random posteriors with known evidence and quantiles: `python tests/random_posteriors.py 200` draws so many.

A seed and names of kinds may follow.
Each is right within the errors that it states, says that it is not good, or is wrong without a word.
"""

import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from inversion import Bounded, Discrete, Gaussian, Observation, Observations, Problem, sample

SHARES = (0.05, 0.5, 0.95)  # of the posterior, at whose true quantiles of the first unknown it is judged
ERRORS = 4.5  # stated standard errors, of the largest of some in each of some hundred posteriors


@dataclass(frozen=True)
class Case:
    """A problem with its true log evidence, the true share of the posterior below a value of its first unknown, and the
    true probabilities of the values of its discrete unknowns."""

    problem: Problem
    evidence: float
    below: Any
    guesses: tuple = ()
    shares: dict = field(default_factory=dict)


def pose(log_likelihood, top, unknowns):
    """A problem of one datum with this log-likelihood, which is at most `top`."""

    def predict(p):
        return {"r": jnp.sqrt(2 * jnp.maximum(top - log_likelihood(p), 0.0) + 1e-12)}, jnp.array(True)

    return Problem(unknowns, predict, Observations({"r": Observation(0.0, 1.0)}))


def box_problem(heights, centres, widths, guesses=()):
    """Gaussians [parts, d] along the axes in a uniform prior from -1 to 1."""
    h, c, w = (np.asarray(x, float) for x in (heights, centres, widths))
    cut = ndtr((1 - c) / w) - ndtr((-1 - c) / w)
    mass = h + np.log(np.sqrt(2 * np.pi) * w / 2 * cut).sum(axis=1)
    top = float(np.logaddexp.reduce(h))
    share = np.exp(mass - np.logaddexp.reduce(mass))

    def evaluate(x):
        return share @ ((ndtr((x - c[:, 0]) / w[:, 0]) - ndtr((-1 - c[:, 0]) / w[:, 0])) / cut[:, 0])

    def log_likelihood(p):
        return jax.scipy.special.logsumexp(h - 0.5 * jnp.sum(((p["x"][None] - c) / w) ** 2, axis=1))

    problem = pose(log_likelihood, top, {"x": Bounded(-1.0, 1.0, shape=(c.shape[1],))})
    return Case(problem, float(np.logaddexp.reduce(mass)) - top, evaluate, guesses)


def gaussian(rng):
    """One peak anywhere."""
    d = rng.integers(1, 7)
    return box_problem([0.0], [rng.uniform(-0.7, 0.7, d)], [10 ** rng.uniform(-2, 0, d)])


def edge(rng):
    """One peak whose middle is on a face or a corner of the prior, or beyond."""
    d = rng.integers(1, 7)
    middle = np.where(
        rng.random(d) < 0.4, rng.choice([-1, 1], d) * rng.uniform(0.98, 1.02, d), rng.uniform(-1, 1, d)
    )
    return box_problem([0.0], [middle], [10 ** rng.uniform(-1.5, 0, d)])


def modes(rng):
    """Two or three peaks of like size."""
    d, parts = rng.integers(1, 5), rng.integers(2, 4)
    return box_problem(
        rng.normal(size=parts), rng.uniform(-0.8, 0.8, (parts, d)), 10 ** rng.uniform(-1.2, -0.5, (parts, d))
    )


def spike(rng):
    """One or two narrow peaks in a broad one, which a search has found to half their width."""
    d, parts = rng.integers(1, 7), rng.integers(1, 3)
    widths = 10 ** rng.uniform(-3.5, -1.0, (parts, 1)) * np.ones((parts, d))
    centres = rng.choice([0.0, 1.0], (parts, 1), p=[0.3, 0.7]) * rng.uniform(-1.0, 1.0, (parts, d))
    widths, centres = np.vstack([widths, np.full(d, 0.3)]), np.vstack([centres, np.zeros(d)])
    # Of the evidence all parts have some: heights by their volumes.
    heights = np.log(rng.uniform(0.1, 1.0, parts + 1)) - np.log(widths).sum(axis=1)
    found = np.clip(centres[:-1] + 0.5 * widths[:-1] * rng.normal(size=(parts, d)), -1.0, 1.0)
    return box_problem(heights - heights.max(), centres, widths, tuple({"x": x} for x in found))


def correlated_problem(rng):
    """A normal prior, and data that are linear in the unknowns."""
    d = rng.integers(2, 7)
    turned = np.linalg.qr(rng.normal(size=(d, d)))[0] / 10 ** rng.uniform(-1.5, 0.5, d)[:, None]
    data = turned @ rng.normal(size=d) + rng.normal(size=d)
    spread = np.linalg.inv(np.eye(d) + turned.T @ turned)
    mean, noise = spread @ turned.T @ data, np.eye(d) + turned @ turned.T
    evidence = -0.5 * data @ np.linalg.solve(noise, data) - 0.5 * np.linalg.slogdet(noise)[1]
    problem = Problem(
        {"x": Gaussian(0.0, 1.0, shape=(int(d),))},
        lambda p: ({"y": jnp.asarray(turned) @ p["x"]}, jnp.array(True)),
        Observations({"y": Observation(data, 1.0)}),
    )
    return Case(problem, float(evidence), lambda x: ndtr((x - mean[0]) / np.sqrt(spread[0, 0])))


def curved_problem(rng):
    """A parabola with a width across, in two to four dimensions: volumes are those of a Gaussian."""
    d, bend = rng.integers(2, 5), rng.uniform(0.5, 3.0)
    along, across = rng.uniform(0.05, 0.2), 10 ** rng.uniform(-2, -1, d - 1)

    def log_likelihood(p):
        x = p["x"]
        off = x[1:] - bend * (x[0] ** 2 - along**2)
        return -0.5 * (x[0] / along) ** 2 - 0.5 * jnp.sum((off / across) ** 2)

    problem = pose(log_likelihood, 0.0, {"x": Bounded(-1.0, 1.0, shape=(int(d),))})
    evidence = 0.5 * d * np.log(2 * np.pi) + np.log(along * across.prod()) - d * np.log(2.0)
    return Case(problem, float(evidence), lambda x: ndtr(x / along))


def discrete(rng):
    """Two choices, which shift and sharpen a peak."""
    shifts, widths = rng.uniform(-0.6, 0.6, 3), 10 ** rng.uniform(-1.5, -0.5, 2)
    heights, d = rng.normal(size=(3, 2)), rng.integers(1, 4)
    top = float(heights.max())

    def log_likelihood(p):
        i, j = p["shift"].astype(int), p["width"].astype(int)
        at, wide, height = (jnp.asarray(a)[k] for a, k in ((shifts, i), (widths, j), (heights, (i, j))))
        return height - 0.5 * jnp.sum(((p["x"] - at) / wide) ** 2)

    unknowns = {"x": Bounded(-1.0, 1.0, shape=(int(d),))}
    unknowns |= {"shift": Discrete((0.0, 1.0, 2.0)), "width": Discrete((0.0, 1.0))}
    at, wide = shifts[:, None], widths[None]
    cut = ndtr((1 - at) / wide) - ndtr((-1 - at) / wide)
    mass = heights + d * np.log(np.sqrt(2 * np.pi) * wide / 2 * cut)
    share = np.exp(mass - np.logaddexp.reduce(mass.ravel()))

    def evaluate(x):
        return float(np.sum(share * (ndtr((x - at) / wide) - ndtr((-1 - at) / wide)) / cut))

    evidence = float(np.logaddexp.reduce(mass.ravel())) - np.log(6) - top
    shares = {"shift": share.sum(axis=1), "width": share.sum(axis=0)}
    return Case(pose(log_likelihood, top, unknowns), evidence, evaluate, shares=shares)


def rare(rng):
    """Three choices, each with a parabola of its own as of `curved_problem`; one of them has some per cent or less."""
    d, least = rng.integers(2, 5), 10 ** rng.uniform(-2.5, -1.0)
    share = np.array([least, 0.65, 0.35 - least])
    bend, along, across = (
        rng.uniform(0.5, 3.0, 3),
        rng.uniform(0.05, 0.2, 3),
        10 ** rng.uniform(-1.5, -0.7, (3, d - 1)),
    )
    middle = rng.uniform(-0.3, 0.3, (3, d))
    volume = 0.5 * d * np.log(2 * np.pi) + np.log(along) + np.log(across).sum(axis=1) - d * np.log(2.0)
    heights = np.log(share) - volume
    top = float(heights.max())

    def log_likelihood(p):
        at, b, a, w, h = (jnp.asarray(x)[p["choice"].astype(int)] for x in (middle, bend, along, across, heights))
        x = p["x"] - at
        return h - 0.5 * (x[0] / a) ** 2 - 0.5 * jnp.sum(((x[1:] - b * (x[0] ** 2 - a**2)) / w) ** 2)

    unknowns = {"x": Bounded(-1.0, 1.0, shape=(int(d),)), "choice": Discrete((0.0, 1.0, 2.0))}
    evidence = -float(np.log(3.0)) - top
    below = lambda x: float(share @ ndtr((x - middle[:, 0]) / along))  # noqa: E731
    return Case(pose(log_likelihood, top, unknowns), evidence, below, shares={"choice": share})


KINDS = (gaussian, edge, modes, spike, correlated_problem, curved_problem, discrete, rare)


def judge(case, key):
    """What a posterior is ("right", "not good" or "wrong"), the largest difference in stated errors, and the result."""
    found = sample(case.problem, key=key, effective_size=500, batch_size=250, guesses=list(case.guesses))
    off = [abs(found.log_evidence - case.evidence) / found.log_evidence_error]
    first = found.draws["x[0]"]
    for share in SHARES:
        at = brentq(lambda x, share=share: case.below(x) - share, -9.0, 9.0)
        got, error = found.estimate(first < at)
        off.append(abs(got - share) / max(error, 1e-3))
    for name, shares in case.shares.items():
        stated = found.marginal(name).values()
        off += [abs(got - share) / max(error, 1e-3) for (got, error), share in zip(stated, shares, strict=True)]
    verdict = "not good" if found.fault else "right" if max(off) < ERRORS else "wrong"
    return verdict, off, found


def search(count, seed, kinds=KINDS):
    """Judge so many random posteriors of `kinds` in turn; lines of what is not right, and counts by kind."""
    counts, lines = Counter(), []
    for i in range(count):
        kind = kinds[i % len(kinds)]
        verdict, off, found = judge(kind(np.random.default_rng([seed, i])), jax.random.PRNGKey(i))
        counts[kind.__name__, verdict] += 1
        if verdict != "right":
            lines.append(f"{kind.__name__} {i}: {verdict}, off by {np.round(off, 1)} errors; {found.verdict}")
    return counts, lines


def table(counts):
    """The counts as a table."""
    rows = ["| kind | posteriors | right | not good, and says so | wrong without a word |", "| --- " * 5 + "|"]
    for name in sorted({kind for kind, _ in counts}):
        row = [counts[name, verdict] for verdict in ("right", "not good", "wrong")]
        rows.append(f"| {name} | {sum(row)} | {' | '.join(map(str, row))} |")
    return rows


if __name__ == "__main__":
    import difsim

    difsim.configure()
    chosen = [kind for kind in KINDS if kind.__name__ in sys.argv[3:]] or KINDS
    counts, lines = search(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, chosen)
    sys.stdout.write("\n".join([*lines, *table(counts), ""]))
