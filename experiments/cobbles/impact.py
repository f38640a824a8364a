"""`difsim cobbles --stage impact`: one fit through the impact, from all pixels, beside the paper's two arcs.

Unknown are both states at the start, restitution and friction: 26 numbers, and calibration, markers and compliance
if asked. The contact is part of the model (through.py), so the 0.4 s around it need not be dropped, and the motion
before and after it is one. The two arcs of the paper have 48 unknowns, and take CoR_E from the energies of both.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Bool, Float
from scipy.stats import chi2

from difsim.dynamics import Pair, PairState
from difsim.typing import Scalar
from experiments.cobbles import paper, pictures
from experiments.cobbles.arcs import Known, State12, energy_ratio, to_vector
from experiments.cobbles.arcs import images as images_of_arc
from experiments.cobbles.cameras import scenario
from experiments.cobbles.scene import release
from experiments.cobbles.stones import Cobble, stone
from experiments.cobbles.through import (
    FRICTION,
    RESTITUTION,
    STATES,
    TIMES,
    Sensitivity,
    Setup,
    ThroughImpact,
    images,
    information,
    inverse,
    is_facing,
    is_hidden,
    sensitivity,
    setup,
)
from experiments.harness import Found
from experiments.variables import describe
from inversion import Stops, map_batched
from inversion.marquardt import levenberg_marquardt

SCENARIO, PIXEL = 1, 1.0  # cameras; px
DROPPED = 0.2  # s, before and after the impact, that two arcs leave out
START = (0.8, 0.5)  # of restitution and friction, for fits
AWAY = (0.1, 0.3, 0.5)  # how far restitution, friction and ln C may be off
STARTS = 6  # of a fit: pixels tell the normal at the touch, and a rough stone has it at several places
EQUAL = 20.0  # above the least misfit: a motion further up than this has odds below e^-10
SAME = 0.3  # σ: ends that differ by less in all numbers are one mode


class Case(eqx.Module):
    """The truth at one inclination: θ, the motion, states [arc, body, 12] of the two flights, both continued to
    t = 0, what is seen of the whole, and of [arc, body], and the share that the other body hides."""

    theta: Float[Array, " k"]
    moved: Sensitivity
    arcs: Float[Array, "2 2 12"]
    seen: Bool[Array, "2 T C M"]
    seen_arcs: Bool[Array, "2 2 T C M"]
    hidden: Scalar


@eqx.filter_jit
def theta_of(known: Setup, state: PairState) -> Float[Array, " k"]:
    """θ of a release, with the contact of Table 3 and the prior's compliance."""
    contact = jnp.array([paper.RESTITUTION, paper.FRICTION])
    return jnp.concatenate([to_vector(state.first), to_vector(state.second), contact, known.centre[26:]])


@eqx.filter_jit
def case_of(known: Setup, theta: Float[Array, " k"], moved: Sensitivity) -> Case:
    """Look at what has moved."""
    times, path = jnp.asarray(TIMES), moved.path
    last = jax.tree.map(lambda x: x[-1], path)
    back = Pair(known.stone, known.stone, known.law(theta)).free_flight(last, -times[-1])
    arcs = jnp.stack([theta[:STATES].reshape(2, 12), jnp.stack([to_vector(back.first), to_vector(back.second)])])
    turned = is_facing(known.view, path)
    seen = turned & ~is_hidden(known.stone, known.view, path)
    within = jnp.stack([times <= moved.contact_time - DROPPED, times >= moved.contact_time + DROPPED])
    share = 1 - jnp.sum(seen) / jnp.sum(turned)
    return Case(theta, moved, arcs, seen, seen[None] & within[:, None, :, None, None], share)


@eqx.filter_jit
def predict_errors(known: Setup, case: Case, sigma: Scalar) -> dict[str, Array]:
    """Standard deviations that the pixels leave: one fit through the impact, and two arcs, at the truth."""
    moved = case.moved
    covariance = inverse(information(known, moved, case.seen.astype(float), sigma))
    k = case.theta.size
    # CoR_E is that of the motion: what is unknown of the view does not change it.
    variance, gradient = _two_arcs(known, case, sigma)
    return {
        "restitution_sigma": jnp.sqrt(covariance[RESTITUTION, RESTITUTION]),
        "friction_sigma": jnp.sqrt(covariance[FRICTION, FRICTION]),
        "other_sigma": jnp.sqrt(jnp.diagonal(covariance)[26:]),
        "energy_ratio_sigma": jnp.sqrt(moved.ratio_by_theta @ covariance[:k, :k] @ moved.ratio_by_theta),
        "energy_ratio_by_restitution": moved.ratio_by_theta[RESTITUTION],
        "two_arcs_energy_ratio_sigma": jnp.sqrt(jnp.einsum("abi,abij,abj", gradient, variance, gradient)),
        "start_covariance": variance[0],
    }


def _two_arcs(known: Setup, case: Case, sigma: Scalar) -> tuple[Array, Array]:
    """Covariances [arc, body, 12, 12] of four fits that know the view, and the gradient of CoR_E by what they
    find."""
    body, view = known.stone.body, known.view

    def one(x: State12, seen, markers):
        j = jax.jacfwd(lambda x: images_of_arc(Known(view.rig, body, markers), x, jnp.asarray(TIMES)))(x)
        j = jnp.where(seen[..., None, None], j, 0.0).reshape(-1, 12)
        return inverse(j.T @ j / sigma**2)

    covariances = jax.vmap(jax.vmap(one), in_axes=(0, 0, None))(case.arcs, case.seen_arcs, view.markers)
    return covariances, jax.grad(energy_ratio)(case.arcs, (body, body))


def observe(known: Setup, case: Case, sigma: Scalar, key: Array) -> tuple[Float[Array, "2 T C M 2"], Array]:
    """Noisy pixels of all markers in a world whose view is off, and the errors of the view that made it so."""
    noise, _, view = jax.random.split(key, 3)
    errors = jax.random.normal(view, (len(known.loose),))
    pixels = images(known.perturb(errors), case.moved.path)
    return pixels + sigma * jax.random.normal(noise, pixels.shape), errors


@eqx.filter_jit
def fits(known: Setup, case: Case, start_covariance: Array, sigma: Scalar, keys: Array) -> dict[str, Array]:
    """Fits to noisy pixels [N] of a world whose view is off, each from STARTS starts: states as the arc before the
    impact leaves them and START, and states drawn about that by the arc's covariance."""
    factor = jax.vmap(jnp.linalg.cholesky)(start_covariance)
    k = case.theta.size
    states = [jnp.sqrt(jnp.diagonal(c)) for c in start_covariance]
    width = jnp.concatenate([*states, jnp.array(AWAY[: k - STATES])])
    told = _is_informative(k, k + len(known.loose))

    def one(key):
        measured, errors = observe(known, case, sigma, key)
        guess = jax.random.split(key, 3)[1]
        off = jnp.einsum("bij,nbj->nbi", factor, jax.random.normal(guess, (STARTS, 2, 12)))
        off = off.reshape(STARTS, STATES)
        centre = jnp.concatenate([case.theta[:STATES] + off[0], jnp.array(START), case.theta[26:]])
        problem = ThroughImpact(known, case.seen, measured, jnp.asarray(TIMES), sigma, centre, width)
        scale = jnp.concatenate([width, jnp.ones(len(known.loose))])

        def search(start):
            found = levenberg_marquardt(problem, start, Stops(misfit=1e-7))
            covariance = inverse(found.jacobian.T @ found.jacobian) * scale[:, None] * scale[None, :]
            fit = jnp.concatenate(problem.physical(found.x))
            error = fit - jnp.concatenate([case.theta, errors])
            part = covariance[told][:, told]
            by = 1 / jnp.sqrt(jnp.diagonal(part))
            z = error[told] * by
            return {
                "fit": fit,
                "error": error,
                "fit_sigma": jnp.sqrt(jnp.diagonal(covariance)),
                "nees": z @ jnp.linalg.solve(part * by[:, None] * by[None, :], z),
                "misfit": found.misfit,
                "status": found.status,
                "iterations": found.iteration,
            }

        moved = off.at[0].set(0.0) / width[None, :STATES]
        return jax.lax.map(search, jnp.pad(moved, ((0, 0), (0, problem.count - STATES))))

    return map_batched(one, keys)


def _is_informative(k: int, count: int) -> np.ndarray:
    """Which unknowns have a truth that their prior does not favour: friction and ln C are known by theirs only."""
    return np.delete(np.arange(count), np.r_[FRICTION, 26:k])


def pose(quick: bool, cobble: Cobble, unknowns: tuple[str, ...]) -> Setup:
    """The known setup of two such stones; `quick`: a coarser table of the distance."""
    body = stone(cobble, 30 if quick else 80)
    return setup(body, scenario(SCENARIO), np.tile(cobble.markers, (2, 1, 1)), unknowns)


def truth(known: Setup, angle: float) -> Case:
    """The truth at an inclination, deg."""
    theta = theta_of(known, release(angle))
    return case_of(known, theta, sensitivity(known.stone, known.law, theta, jnp.asarray(TIMES)))


def noise_keys(count: int) -> Array:
    """The keys of so many draws of the noise."""
    return jax.random.split(jax.random.PRNGKey(0), count)


def estimate(quick: bool, cobble: Cobble, unknowns: tuple[str, ...], count: int) -> Found:
    """What both ways tell of restitution, for the paper's inclinations; `count` fits of the nominal case to noisy
    pixels. `quick`: a coarser table of the distance and few fits."""
    known, sigma = pose(quick, cobble, unknowns), jnp.asarray(PIXEL)
    cases = {angle: truth(known, angle) for angle in paper.INCLINATIONS}
    rows = [
        predict_errors(known, case, sigma) | {"contact_time": case.moved.contact_time} for case in cases.values()
    ]
    names = [k for k in rows[0] if np.ndim(rows[0][k]) == 0]
    result = xr.Dataset(
        {k: ("inclination", [float(row[k]) for row in rows]) for k in names},
        coords={"inclination": ("inclination", list(paper.INCLINATIONS), {"units": "degree"})},
    )
    # Two arcs know nothing of e: it follows from CoR_E by the slope that the collision has.
    result["two_arcs_restitution_sigma"] = (
        result["two_arcs_energy_ratio_sigma"] / result["energy_ratio_by_restitution"]
    )
    names.append("two_arcs_restitution_sigma")
    nominal = cases[paper.INCLINATION]
    start = rows[paper.INCLINATIONS.index(paper.INCLINATION)]["start_covariance"]
    found = fits(known, nominal, start, sigma, noise_keys(4 if quick else count))
    result = result.assign(
        {k: (("sample", "start", "unknown")[: np.ndim(v)], np.asarray(v)) for k, v in found.items()}
    )
    result["truth"] = "unknown_of_motion", np.asarray(nominal.theta)
    if unknowns:
        result["other_sigma"] = ("inclination", "other"), np.array([row["other_sigma"] for row in rows])
    result.attrs |= {"cobble": cobble.name, "unknowns": ", ".join(unknowns)}
    mixed = "m, m/s, 1, rad/s (states), 1 (restitution, friction), then of the other unknowns"
    units = dict.fromkeys(("fit", "error", "fit_sigma", "truth", "other_sigma"), mixed)
    units |= {"nees": "1", "misfit": "1", "contact_time": "s"} | dict.fromkeys(names, "1")
    result = describe(result, units=units, names={"nees": "normalised error squared"})
    summary = {
        "pixel_sigma": PIXEL,
        "cameras": f"scenario {SCENARIO}",
        "unknowns": ["states", "restitution", "friction", *unknowns],
        "inclination_deg": list(paper.INCLINATIONS),
        **{k: result[k].values.tolist() for k in names},
        "share_hidden_by_the_other_body": [float(case.hidden) for case in cases.values()],
        "fits": _judge(result, nominal),
    }
    return Found(summary, {"result": result}, {"impact": pictures.draw_impact(result)})


def modes(
    misfit: Float[np.ndarray, " S"], fit: Float[np.ndarray, "S n"], sigma: Float[np.ndarray, "S n"]
) -> list[int]:
    """Which ends of the searches from several starts are different motions that fit the pixels alike, best
    first."""
    kept: list[int] = []
    for i in np.argsort(misfit):
        if misfit[i] - misfit.min() <= EQUAL and all(
            np.abs((fit[i] - fit[j]) / sigma[j]).max() > SAME for j in kept
        ):
            kept.append(int(i))
    return kept


def _judge(result: xr.Dataset, case: Case) -> dict[str, Any]:
    """The ends of the fits of the nominal case, and how often intervals of the best mode hold the truth, and ellipsoids
    of it and of any that fits alike."""
    told = _is_informative(case.theta.size, result.sizes["unknown"])
    count = int(np.asarray(case.seen).sum()) * 2
    limit, ellipsoid = count + 6 * np.sqrt(2 * count), chi2.ppf(0.95, len(told))
    fits = [
        {k: result[k].values[i] for k in ("fit", "error", "fit_sigma", "nees", "misfit")}
        for i in range(result.sizes["sample"])
    ]
    kept = [modes(f["misfit"], f["fit"][:, told], f["fit_sigma"][:, told]) for f in fits]
    good = [(f, m) for f, m in zip(fits, kept, strict=True) if f["misfit"][m[0]] < limit]
    best = {k: np.array([f[k][m[0]] for f, m in good]) for k in fits[0]}
    held = np.abs(best["error"] / best["fit_sigma"]) < 1.96
    fit, sigma = best["fit"], best["fit_sigma"]
    return {
        "count": len(fits),
        "starts": result.sizes["start"],
        "converged": len(good) / len(fits),
        "searches_converged": float((result["misfit"].values < limit).mean()),
        "iterations_mean": float(result["iterations"].values.mean()),
        "modes": np.bincount([len(m) for _, m in good]).tolist(),
        "restitution_mean": float(fit[:, RESTITUTION].mean()),
        "restitution_scatter": float(fit[:, RESTITUTION].std(ddof=1)),
        "restitution_sigma": float(np.median(sigma[:, RESTITUTION])),
        "restitution_within_1_96_sigma": float(held[:, RESTITUTION].mean()),
        "told_within_1_96_sigma": float(held[:, told].mean()),
        "nees_median": float(np.median(best["nees"])),
        "nees_degrees": len(told),
        "ellipsoid_95_holds": float((best["nees"] < ellipsoid).mean()),
        "ellipsoid_95_of_a_mode_holds": float(np.mean([(f["nees"][m] < ellipsoid).any() for f, m in good])),
        "compliance_ln_sigma": float(np.median(sigma[:, 26])) if case.theta.size > 26 else None,
    }
