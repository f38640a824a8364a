"""Statements of an ensemble: probabilities with their sampling errors, by each assumption, and sensitivities."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Bool, Float
from scipy.stats import norm, rankdata

from experiments.hera.ensemble import FACES, FATES
from experiments.hera.world import pull_at
from inversion.smoothed import regression

BOUNCES = 6  # and more: the last bin
TIME_EDGES = (0.0, 900.0, 1800.0, 3600.0, 7200.0, 14_400.0, 28_800.0, 43_200.0)  # s, from the first touch to rest
LONGITUDES, SINES = 12, 6  # cells of equal area: 30 deg of longitude, a third in the sine of the latitude
TOUCH_SPEEDS = (0.0, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5)  # m/s
MASSES = {"1540 kg/m3": 2.71e9, "JPL s547": 4.54e9}  # kg, two claims of Dimorphos
NEAR = 0.08  # of a mass: how near to it a member counts as conditional on it
BINS = 12  # of an unknown, for its share of the variance

Chosen = Bool[np.ndarray, " cases"]


def proportion(hits: Chosen) -> dict[str, float]:
    """The share of true `hits`, and its sampling error, which half a hit on either side keeps above zero."""
    n, k = len(hits), int(np.sum(hits))
    return {"value": k / n, "error": float(np.sqrt((k + 0.5) * (n - k + 0.5) / (n + 1) ** 3)), "members": n}


def histogram(bins: np.ndarray, count: int) -> list[float]:
    """The shares of the bins 0 to `count` - 1 among `bins`."""
    return (np.bincount(bins, minlength=count)[:count] / max(len(bins), 1)).tolist()


def settling(table: xr.Dataset) -> np.ndarray:
    """The time from the first touch to rest, s."""
    return (table["rest_time"] - table["touch_time"]).values


def time_bin(seconds: Any) -> np.ndarray:
    """The bin of a time from the first touch to rest, s."""
    return np.clip(np.searchsorted(TIME_EDGES, seconds, side="right") - 1, 0, len(TIME_EDGES) - 2)


def cell(longitude: Any, latitude: Any) -> np.ndarray:
    """The cell of equal area of a place, deg."""
    east = np.floor(np.asarray(longitude) % 360 / 360 * LONGITUDES).astype(int) % LONGITUDES
    north = np.floor((np.sin(np.radians(latitude)) + 1) / 2 * SINES).astype(int)
    return east * SINES + np.clip(north, 0, SINES - 1)


def forecast(table: xr.Dataset) -> dict[str, Any]:
    """The forecast of one lander: fate; and, of those that rest, bounces, time, place and the face that is down."""
    fate = table["fate"].values
    rest = table.isel(case=fate == 0)
    bounces = np.minimum(rest["bounces"].values, BOUNCES)
    place = cell(rest["rest_longitude"].values, rest["rest_latitude"].values)
    time = settling(rest)
    return {
        "members": len(fate),
        "fate": {name: proportion(fate == i) for i, name in enumerate(FATES)},
        "bounces": {_bounces(n): proportion(bounces == n) for n in range(BOUNCES + 1)},
        "face_down": {name: proportion(rest["face"].values == i) for i, name in enumerate(FACES)},
        "settling_s": quantiles(time),
        "moved_m": quantiles(rest["moved"].values),
        "highest_m": quantiles(rest["highest"].values),
        "rest_ellipse": ellipse(rest),
        "time_shares": histogram(time_bin(time), len(TIME_EDGES) - 1),
        "place_shares": histogram(place, LONGITUDES * SINES),
    }


def _bounces(n: int) -> str:
    return f"{n} or more" if n == BOUNCES else str(n)


def quantiles(values: Float[np.ndarray, " n"]) -> dict[str, float]:
    """The 5, 50 and 95 % quantiles, and the sampling error of the median, from its binomial ranks."""
    n = len(values)
    shift = 0.5 / np.sqrt(n)
    low, high = np.quantile(values, np.clip([0.5 - shift, 0.5 + shift], 0, 1))
    found = np.quantile(values, [0.05, 0.5, 0.95])
    return dict(zip(("5 %", "median", "95 %"), found.tolist(), strict=True)) | {"error": float(high - low) / 2}


def ellipse(table: xr.Dataset) -> dict[str, float]:
    """The centre and the standard deviations of the places of rest in longitude and latitude, deg."""
    east = np.exp(1j * np.radians(table["rest_longitude"].values))
    middle = np.angle(east.mean())
    longitude = np.degrees(np.angle(east * np.exp(-1j * middle)))
    latitude, root = table["rest_latitude"].values, np.sqrt(len(east))
    return {
        "longitude_deg": float(np.degrees(middle) % 360),
        "latitude_deg": float(latitude.mean()),
        "sigma_longitude_deg": float(longitude.std()),
        "sigma_latitude_deg": float(latitude.std()),
        "error_longitude_deg": float(longitude.std() / root),
        "error_latitude_deg": float(latitude.std() / root),
    }


def compare_halves(table: xr.Dataset) -> dict[str, float]:
    """The differences of the probabilities of the two halves of the members, in their errors: rms (1 is due), most."""
    half = table.sizes["case"] // 2
    one, other = (forecast(table.isel(case=s)) for s in (slice(half), slice(half, 2 * half)))
    apart = [
        (one[k][name]["value"] - other[k][name]["value"])
        / np.hypot(one[k][name]["error"], other[k][name]["error"])
        for k in ("fate", "bounces", "face_down")
        for name in one[k]
    ]
    return {
        "rms": float(np.sqrt(np.mean(np.square(apart)))),
        "most": float(np.max(np.abs(apart))),
        "of": len(apart),
    }


def compare_pairs(one: xr.Dataset, other: xr.Dataset) -> dict[str, Any]:
    """P(rest) of the same members in two worlds, and its change with the error that pairs have."""
    stays = [(table["fate"].values == 0).astype(float) for table in (one, other)]
    change = stays[1] - stays[0]
    return {
        "before": proportion(stays[0] > 0),
        "after": proportion(stays[1] > 0),
        "change": {"value": float(change.mean()), "error": float(change.std() / np.sqrt(len(change)))},
        "settling_s": {
            "before": quantiles(settling(one)[stays[0] > 0]),
            "after": quantiles(settling(other)[stays[1] > 0]),
        },
    }


def by_assumption(table: xr.Dataset) -> dict[str, dict[str, dict[str, float]]]:
    """P(rest) of all members in each third of each unknown, or for each value of a choice; and by the speed at touch
    of those that touch."""
    stays, found = table["fate"].values == 0, {}
    for name in unknowns(table):
        values = table[name].values
        levels = np.unique(values)
        if len(levels) > 3:
            low, high = thirds(table[name].attrs["law"], table[name].attrs["numbers"])
            which = (values >= low).astype(int) + (values >= high)
            labels = [f"below {low:.4g}", "between", f"above {high:.4g}"]
        else:
            which, labels = np.searchsorted(levels, values), [f"{level:g}" for level in levels]
        found[name] = {
            label: proportion(stays[which == i]) for i, label in enumerate(labels) if (which == i).any()
        }
    speed = table["touch_speed"].values
    found["touch_speed_m_per_s"] = {
        f"{a:g} to {b:g}": proportion(stays[chosen])
        for a, b in pairwise(TOUCH_SPEEDS)
        if (chosen := (speed >= a) & (speed < b)).any()
    }
    return found


def thirds(law: str, numbers: Sequence[float]) -> tuple[float, float]:
    """The values below and above which a law of the inputs has a third of its members."""
    a, b = numbers
    if law == "normal":
        return a + b * float(norm.ppf(1 / 3)), a + b * float(norm.ppf(2 / 3))
    if law == "log_uniform":
        return a * (b / a) ** (1 / 3), a * (b / a) ** (2 / 3)
    return a + (b - a) / 3, a + 2 * (b - a) / 3


def by_pull(table: xr.Dataset) -> dict[str, Any]:
    """P(rest) of those that touch where the ground pulls and where it does not: there the spin throws off what is loose
    and only cohesion holds a lander."""
    touched = table.isel(case=np.isfinite(table["touch_time"].values))
    cases = {k: jnp.asarray(touched[k].values) for k, v in touched.data_vars.items() if "law" in v.attrs}
    up = jax.vmap(pull_at)(cases, touched["touch_longitude"].values, touched["touch_latitude"].values)[:, 2]
    stays = touched["fate"].values == 0
    sides = {"the ground pulls": np.asarray(up < 0), "the ground throws off": np.asarray(up >= 0)}
    return {name: proportion(stays[side]) for name, side in sides.items() if side.any()}


def by_mass(table: xr.Dataset) -> dict[str, Any]:
    """The fate, the speed at touch and the time, conditional on each of two masses."""
    if "mass_kg" not in table:
        return {}
    mass, found = table["mass_kg"].values, {}
    for name, value in MASSES.items():
        near = table.isel(case=np.abs(mass / value - 1) < NEAR)
        if near.sizes["case"] < 20 or not (near["fate"].values == 0).any():
            continue
        all_of = forecast(near)
        touched = near["touch_speed"].values
        found[name] = {k: all_of[k] for k in ("members", "fate", "settling_s", "moved_m")}
        found[name] |= {"mass_kg": value, "touch_speed_m_per_s": quantiles(touched[np.isfinite(touched)])}
    return found


def unknowns(table: xr.Dataset) -> list[str]:
    """The names of what differs between members by a law of the inputs."""
    return [str(k) for k, v in table.data_vars.items() if v.attrs.get("law", "value") != "value"]


def outputs(table: xr.Dataset) -> dict[str, tuple[Chosen, np.ndarray]]:
    """Each output, with the members that have it."""
    fate = table["fate"].values
    rest = fate == 0
    time = settling(table)
    return {
        "stays": (np.ones(len(fate), bool), rest.astype(float)),
        "bounces": (rest, table["bounces"].values.astype(float)),
        "log_settling": (rest, np.log(np.where(rest, time, 1.0))),
        "moved": (rest, table["moved"].values),
    }


def sensitivities(table: xr.Dataset) -> dict[str, dict[str, dict[str, float]]]:
    """The effect of each unknown on each output.

    `share`: its first-order Sobol index, the share of the output's variance that vanishes when the unknown is known,
    from the means of the output in bins of the unknown, with its bootstrap error. `slope`: the change of the output by
    one standard deviation of the unknown (of its normal score), by regression on all of them.
    """
    names = unknowns(table)
    scores = np.stack([norm.ppf((rankdata(table[k].values) - 0.5) / table.sizes["case"]) for k in names], axis=1)
    random, found = np.random.default_rng(0), {}
    for output, (has, value) in outputs(table).items():
        z, f = scores[has], value[has]
        if len(f) < 4 * len(names):
            continue
        z = (z - z.mean(axis=0)) / z.std(axis=0)
        slope, error = regression(jnp.asarray(np.column_stack([np.ones(len(z)), z])), jnp.asarray(f[:, None]))
        rows = {}
        for i, name in enumerate(names):
            bins = bins_of(table[name].values[has])
            again = [sobol(bins[pick], f[pick]) for pick in random.integers(0, len(f), (100, len(f)))]
            rows[name] = {
                "share": sobol(bins, f),
                "share_error": float(np.std(again)),
                "slope": float(slope[0, i + 1]),
                "slope_error": float(error[0, i + 1]),
            }
        found[output] = dict(sorted(rows.items(), key=lambda row: -row[1]["share"]))
    return found


def bins_of(values: Float[np.ndarray, " n"]) -> np.ndarray:
    """BINS bins of equal numbers, or one for each value where they are few."""
    levels, inverse = np.unique(values, return_inverse=True)
    return inverse if len(levels) <= BINS else (rankdata(values, method="ordinal") - 1) * BINS // len(values)


def sobol(bins: np.ndarray, f: Float[np.ndarray, " n"]) -> float:
    """The share of the variance of `f` between `bins`, less what chance puts there (as of a one-way F test)."""
    counts = np.bincount(bins)
    sums = np.bincount(bins, f)
    kept = counts > 0
    counts, means = counts[kept], sums[kept] / counts[kept]
    n, total = len(f), np.sum((f - f.mean()) ** 2)
    between = np.sum(counts * (means - f.mean()) ** 2)
    within = (total - between) / (n - len(counts))
    return float((between - (len(counts) - 1) * within) / total) if total > 0 else 0.0
