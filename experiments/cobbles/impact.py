"""`difsim cobbles --stage impact`: one fit through the impact, from all pixels, beside the paper's two arcs.

Unknown are both states at the start, restitution and friction: 26 numbers; derivatives go through the collision.
The contact is part of the model, so the .4 s around it need not be dropped, and the motion before and after it is
one. The two arcs of the paper have 48 unknowns, and take CoR_E from the energies of both.
"""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Bool, Float

from difsim.body import Stone
from difsim.dynamics import Pair, PairState
from difsim.stepping import collide
from difsim.typing import Scalar, number
from experiments.cobbles import impact_pictures, paper
from experiments.cobbles.arcs import (
    Known,
    State12,
    images,
    images_along,
    kinetic_energy,
    to_state,
    to_vector,
    visible_along,
)
from experiments.cobbles.cameras import scenario
from experiments.cobbles.laws import hard
from experiments.cobbles.markers import chosen
from experiments.cobbles.nominal import released
from experiments.cobbles.stones import Cobble, stone
from inversion import AbstractProblem, Evaluation, Stops, levenberg_marquardt, map_batched

SCENARIO, PIXEL = 1, 1.0  # cameras; px
TIMES = np.linspace(0.0, paper.DURATION, 51)  # s: one in .05 s as in the paper's arcs
DROPPED = 0.2  # s, before and after the impact, that two arcs leave out
PRIOR = (0.5, 0.5)  # of friction, mean and standard deviation: where the contact sticks, nothing else tells it
START = (0.8, 0.5)  # of restitution and friction, for fits
FITS = 100


class ThroughImpact(AbstractProblem):
    """Pixels of both stones' markers over the whole flight, r = (pixels(θ) - measured)/σ, and friction's prior.

    θ = (r, v, MRP, ω of both bodies; e, μ) = centre + scale s.
    """

    body: Stone
    known: Known
    seen: Bool[Array, "2 T C M"]
    measured: Float[Array, "2 T C M 2"]
    sigma: Scalar = number()
    centre: Float[Array, "26"] = number()
    scale: Float[Array, "26"] = number()

    @property
    def free_mask(self) -> Bool[Array, "26"]:
        return jnp.ones(26, bool)

    @property
    def rows(self) -> int:
        return self.measured.size + 1

    def fold(self, x: Float[Array, "26"]) -> Float[Array, "26"]:
        return x

    def evaluate(self, s: Float[Array, "26"]) -> Evaluation:
        residual = self.residual(s)
        ok = jnp.all(jnp.isfinite(residual))
        misfit = jnp.where(ok, jnp.sum(residual**2), jnp.inf)
        return Evaluation(jnp.where(ok, residual, jnp.nan), misfit, ok, {})

    def linearise(self, s: Float[Array, "26"]) -> Float[Array, "rows 26"]:
        return jax.jacfwd(self.residual)(s)

    def residual(self, s: Float[Array, "26"]) -> Float[Array, " rows"]:
        theta = self.centre + self.scale * s
        pixels, _ = flown(self.body, self.known, theta)
        error = jnp.where(self.seen[..., None], (pixels - self.measured) / self.sigma, 0.0)
        return jnp.append(error.ravel(), (theta[25] - PRIOR[0]) / PRIOR[1])


def flown(body: Stone, known: Known, theta: Float[Array, "26"]) -> tuple[Float[Array, "2 T C M 2"], Scalar]:
    """Pixels of all markers, seen or not, and CoR_E in the laboratory frame."""
    found = _collided(body, theta)
    return _images(known, found.states), found.energy_restitution


def _images(known: Known, states: PairState) -> Float[Array, "2 T C M 2"]:
    return jnp.stack([images_along(known, path) for path in (states.first, states.second)])


def _collided(body: Stone, theta: Float[Array, "26"]):
    state = PairState(to_state(theta[:12]), to_state(theta[12:24]))
    # Values that a search may try, not those that are found, can be out of bounds.
    law = hard(jnp.clip(theta[24], 0.0, 1.0), jnp.maximum(theta[25], 0.0), None)
    return collide(Pair(body, body, law), state, jnp.asarray(TIMES), contacts=2, throw=False)


class Case(eqx.Module):
    """The truth at one inclination: θ, time of contact, states [arc, body, 12] of the two flights, both continued
    to t = 0, and what is seen of the whole, and of [arc, body]."""

    theta: Float[Array, "26"]
    contact_time: Scalar
    arcs: Float[Array, "2 2 12"]
    seen: Bool[Array, "2 T C M"]
    seen_arcs: Bool[Array, "2 2 T C M"]
    pixels: Float[Array, "2 T C M 2"]


@eqx.filter_jit
def truth(body: Stone, known: Known, theta: Float[Array, "26"]) -> Case:
    """Fly, and look."""
    found = _collided(body, theta)
    pair, times = Pair(body, body, hard(theta[24], theta[25], None)), jnp.asarray(TIMES)
    last = jax.tree.map(lambda x: x[-1], found.states)
    back = pair.coasted(last, -times[-1])
    arcs = jnp.stack([theta[:24].reshape(2, 12), jnp.stack([to_vector(back.first), to_vector(back.second)])])

    seen = jnp.stack([visible_along(known, path) for path in (found.states.first, found.states.second)])
    within = jnp.stack([times <= found.contact_time - DROPPED, times >= found.contact_time + DROPPED])
    seen_arcs = seen[None] & within[:, None, :, None, None]
    return Case(theta, found.contact_time, arcs, seen, seen_arcs, _images(known, found.states))


@eqx.filter_jit
def told(body: Stone, known: Known, case: Case, sigma: Scalar) -> dict[str, Array]:
    """Standard deviations that the pixels leave: one fit through the impact, and two arcs, at the truth."""

    def both(theta):
        pixels, ratio = flown(body, known, theta)
        return jnp.append(pixels.ravel(), ratio)

    jacobian = jax.jacfwd(both)(case.theta)
    rows = jnp.where(
        jnp.broadcast_to(case.seen[..., None], (*case.seen.shape, 2)).ravel()[:, None], jacobian[:-1], 0.0
    )
    prior = jnp.zeros((26, 26)).at[25, 25].set(1 / PRIOR[1] ** 2)
    covariance = _inverse(rows.T @ rows / sigma**2 + prior)
    by_theta = jacobian[-1]
    variance, gradient = _two_arcs(known, case, sigma)
    return {
        "restitution_sigma": jnp.sqrt(covariance[24, 24]),
        "friction_sigma": jnp.sqrt(covariance[25, 25]),
        "energy_ratio_sigma": jnp.sqrt(by_theta @ covariance @ by_theta),
        "energy_ratio_by_restitution": by_theta[24],
        "two_arcs_energy_ratio_sigma": jnp.sqrt(jnp.einsum("abi,abij,abj", gradient, variance, gradient)),
        "start_sigma": jnp.sqrt(jnp.diagonal(variance[0], axis1=1, axis2=2)),
        "start_covariance": variance[0],
    }


def _two_arcs(known: Known, case: Case, sigma: Scalar) -> tuple[Array, Array]:
    """Covariances [arc, body, 12, 12] of four fits, and the gradient of CoR_E by what they find."""

    def one(x: State12, seen):
        j = jax.jacfwd(lambda x: images(known, x, jnp.asarray(TIMES)))(x)
        j = jnp.where(seen[..., None, None], j, 0.0).reshape(-1, 12)
        return _inverse(j.T @ j / sigma**2)

    def ratio(arcs):
        energy = jax.vmap(jax.vmap(lambda x: kinetic_energy(known.body, x)))(arcs)
        return jnp.sum(energy[1]) / jnp.sum(energy[0])

    return jax.vmap(jax.vmap(one))(case.arcs, case.seen_arcs), jax.grad(ratio)(case.arcs)


def _inverse(information: Array) -> Array:
    """Of a matrix whose elements differ by many powers of ten."""
    scale = 1 / jnp.sqrt(jnp.diagonal(information))
    return jnp.linalg.inv(information * scale[:, None] * scale[None, :]) * scale[:, None] * scale[None, :]


@eqx.filter_jit
def fits(
    body: Stone, known: Known, case: Case, start_covariance: Array, sigma: Scalar, keys: Array
) -> dict[str, Array]:
    """Fits to noisy pixels [N], from states as the arc before the impact leaves them and START."""
    factor = jax.vmap(jnp.linalg.cholesky)(start_covariance)
    width = jnp.concatenate([jnp.sqrt(jnp.diagonal(c)) for c in start_covariance] + [jnp.array([0.1, 0.3])])

    def one(key):
        noise, guess = jax.random.split(key)
        measured = case.pixels + sigma * jax.random.normal(noise, case.pixels.shape)
        off = jnp.einsum("bij,bj->bi", factor, jax.random.normal(guess, (2, 12))).ravel()
        centre = jnp.concatenate([case.theta[:24] + off, jnp.array(START)])
        problem = ThroughImpact(body, known, case.seen, measured, sigma, centre, width)
        found = levenberg_marquardt(problem, jnp.zeros(26), Stops(misfit=1e-7))
        j = found.jacobian / width[None]
        covariance = _inverse(j.T @ j)
        return {
            "fit": problem.centre + width * found.x,
            "fit_sigma": jnp.sqrt(jnp.diagonal(covariance)),
            "misfit": found.misfit,
            "status": found.status,
            "iterations": found.iteration,
        }

    return map_batched(one, keys)


def run(out: Path, quick: bool, cobble: Cobble) -> dict[str, Any]:
    """What both ways tell of restitution, for the paper's inclinations; fits of the nominal case to noisy pixels;
    writes result.nc and impact.png. `quick`: a coarser table of the distance and few fits."""
    body = stone(cobble, 30 if quick else 80)
    known = Known(scenario(SCENARIO), body.body, jnp.asarray(chosen(cobble.mesh.vertices)))
    sigma = jnp.asarray(PIXEL)
    rows, cases = [], {}
    for inclination in paper.INCLINATIONS:
        state = released(inclination)
        theta = jnp.concatenate(
            [to_vector(state.first), to_vector(state.second), jnp.array([paper.RESTITUTION, paper.FRICTION])]
        )
        cases[inclination] = case = truth(body, known, theta)
        rows.append(told(body, known, case, sigma) | {"contact_time": case.contact_time})
    names = [k for k in rows[0] if np.ndim(rows[0][k]) == 0]
    result = xr.Dataset(
        {k: ("inclination", [float(row[k]) for row in rows]) for k in names},
        coords={"inclination": ("inclination", list(paper.INCLINATIONS), {"unit": "deg"})},
    )
    # Two arcs know nothing of e: it follows from CoR_E by the slope that the collision has.
    result["two_arcs_restitution_sigma"] = (
        result["two_arcs_energy_ratio_sigma"] / result["energy_ratio_by_restitution"]
    )
    names.append("two_arcs_restitution_sigma")
    nominal = paper.INCLINATIONS.index(paper.INCLINATION)
    keys = jax.random.split(jax.random.PRNGKey(0), 4 if quick else FITS)
    found = fits(body, known, cases[paper.INCLINATION], rows[nominal]["start_covariance"], sigma, keys)
    result = result.assign({k: (("sample", "unknown")[: np.ndim(v)], np.asarray(v)) for k, v in found.items()})
    result["truth"] = "unknown", np.asarray(cases[paper.INCLINATION].theta)
    result.attrs["cobble"] = cobble.name
    result.to_netcdf(out / "result.nc", engine="h5netcdf")
    impact_pictures.draw(result, out)
    return {
        "pixel_sigma": PIXEL,
        "cameras": f"scenario {SCENARIO}",
        "inclination_deg": list(paper.INCLINATIONS),
        **{k: result[k].values.tolist() for k in names},
        "fits": _judge(result, body, cases[paper.INCLINATION]),
    }


def _judge(result: xr.Dataset, body: Stone, case: Case) -> dict[str, Any]:
    """How the fits of the nominal case ended, and how often their intervals hold the truth."""
    off = (result["fit"] - result["truth"]).values
    z = off / result["fit_sigma"].values
    count = int(np.asarray(case.seen).sum()) * 2
    good = result["misfit"].values < count + 6 * np.sqrt(2 * count)
    known = z[good][:, :25]  # friction is known by its prior only
    return {
        "count": len(good),
        "converged": float(good.mean()),
        "iterations_mean": float(result["iterations"].values.mean()),
        "restitution_mean": float(result["fit"].values[good, 24].mean()),
        "restitution_scatter": float(result["fit"].values[good, 24].std(ddof=1)),
        "restitution_sigma": float(np.median(result["fit_sigma"].values[good, 24])),
        "restitution_within_1_96_sigma": float((np.abs(z[good, 24]) < 1.96).mean()),
        "states_within_1_96_sigma": float((np.abs(known) < 1.96).mean()),
        "friction_scatter": float(result["fit"].values[good, 25].std(ddof=1)),
    }
