"""The checks of each random scene, and the verdict."""

import itertools
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from difsim import Status
from experiments.soak.kinds import FORWARD, REVERSE, UNROLLED, Kind, Numbers, Told, forward, reverse, sizes, values

BROKEN = {Status.NOT_FINITE, Status.INVALID_STATE, Status.INVALID_MODEL}  # what no valid scene may end with
FINER = 1e-2  # of the tolerance, in the run that is compared
FINEST = 1e-12  # tolerance of the runs that differences are taken of
MARGIN = 10.0  # the bound of `Validity` is one to an order of magnitude
DRIFT = 1e-6  # of what is conserved, relative to its size
STEPS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)  # of differences, relative, times the linear range
ROUNDING = 1e-9  # of a difference
SURE = 1e-4  # own relative error with which differences are a reference


@dataclass
class Verdict:
    """The findings of one scene.

    **Arguments:** `status`, its name; `faults`, by the name of the check, in words; `errors`, by the name of the check:
    the energy's drift as a share; the difference of the end from that with a finer tolerance ("tighter"), of the
    forward derivative from differences ("derivative"), of the reverse from the forward one ("reverse"), relative; and
    `shares`, these of what is allowed. `unsure`: no differences that agree with each other were found, as where a
    contact comes or goes within the step.
    """

    status: str
    faults: dict[str, str] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)
    unsure: bool = False

    def measured(self, check: str, error: float, allowed: float, words: str) -> None:
        """Note an error, and a fault in these words if it is not within what is allowed."""
        self.errors[check], self.shares[check] = float(error), float(error / allowed)
        if not error <= allowed:
            self.faults[check] = f"{words} {error:.3g}, {allowed:.3g} is allowed"


def judge(kind: Kind, numbers: Numbers, index: int, whole: bool) -> Verdict:
    """Run one scene, and check it. **Arguments:** `index`, which gives the ways; `whole`, derivatives too."""
    prepared = kind.prepare(numbers)
    tolerance = jnp.asarray(kind.tolerance)
    end, told = values(kind, numbers, prepared, tolerance)
    again = values(kind, numbers, prepared, tolerance)
    verdict = Verdict(Status(int(told.status)).name)
    if not all(
        np.array_equal(a, b, equal_nan=True)
        for a, b in zip(*map(jax.tree.leaves, ((end, told), again)), strict=True)
    ):
        verdict.faults["determinism"] = f"two runs differ: {np.asarray(end)} and {np.asarray(again[0])}"
    if Status(int(told.status)) in BROKEN:
        verdict.faults["status"] = str(Status(int(told.status)))
    if told.status != Status.OK:
        return verdict
    _check_account(verdict, end, told)
    if verdict.faults:
        return verdict
    rng = np.random.default_rng(index)
    way = {name: size * rng.normal(size=np.shape(size)) for name, size in sizes(numbers).items()}
    way, is_one_sided = kind.inwards(numbers, way)
    end, slope, told = forward(kind, numbers, way, prepared, tolerance, FORWARD)
    verdict.status = Status(int(told.status)).name  # PAST_VALIDITY is known of tangents only
    if told.status != Status.OK:
        return verdict
    if not np.isfinite(slope).all():
        verdict.faults["derivative"] = f"not finite: {np.asarray(slope)}"
        return verdict
    if kind.has_tolerance:
        _check_tighter(verdict, kind, numbers, prepared, end, told)
    if whole:
        _check_differences(verdict, kind, numbers, way, prepared, slope, told, is_one_sided)
        if kind.reverse:
            _check_reverse(verdict, kind, numbers, way, rng, prepared, slope)
    return verdict


def _check_account(verdict: Verdict, end: Any, told: Told) -> None:
    if not (told.finite and np.isfinite(end).all()):
        verdict.faults["finite"] = f"OK, and not finite: {np.asarray(end)}"
    verdict.measured("energy", told.energy, told.allowed, "the energy's sum drifts by a share of")
    verdict.measured("gain", told.gain, told.allowed, "a loss gave back a share of")
    verdict.measured("momentum", told.drift, DRIFT, "what is conserved drifts by a share of")


def _check_tighter(verdict, kind, numbers, prepared, end, told) -> None:
    finer, told_finer = values(kind, numbers, prepared, jnp.asarray(FINER * kind.tolerance))
    if told_finer.status != Status.OK:
        return  # it needs more steps than it may take, or sees what the other did not: nothing to compare with
    contacts = f"contacts {int(told.contacts)} and {int(told_finer.contacts)};"
    words = f"{contacts} the end differs from that at {FINER:g} of the tolerance by"
    verdict.measured("tighter", _difference(end, finer), MARGIN * float(told.error), words)


def _check_differences(verdict, kind, numbers, way, prepared, slope, told, is_one_sided) -> None:
    found = differences(kind, numbers, way, prepared, int(told.contacts), is_one_sided)
    if found is None:
        verdict.unsure = True
        return
    slopes, own = found
    scale = np.abs(slopes).max(initial=1e-300)
    error = np.abs(np.asarray(slope) - slopes).max() / scale
    allowed = MARGIN * float(told.error) + own / scale + ROUNDING
    words = f"of {scale:.3g}, forward differs from differences (own error {own / scale:.2g}) by a share of"
    verdict.measured("derivative", error, allowed, words)


def differences(
    kind: Kind, numbers: Numbers, way: Numbers, prepared: Any, contacts: int, is_one_sided: bool = False
) -> tuple[np.ndarray, float] | None:
    """Differences along a way after Richardson, and their own error; None where none agree.

    They are central ones, and of second order too where they can go one way only, from a limit of a number. They are of
    runs at `FINEST`, and a reference only where all of them have the same contacts. Of two steps, ten times apart, that
    agree best the shorter one counts, and their disagreement is its error. So is half of that between its two sides:
    where one of many particles is about to approach another, or to yield, steps of every length are wrong by the same.
    """
    finest = jnp.asarray(min(FINEST, kind.tolerance))

    def at(h):
        moved = {name: value + h * way[name] for name, value in numbers.items()}
        end, told = values(kind, moved, prepared, finest)
        usable = told.status == Status.OK and int(told.contacts) == contacts
        return np.asarray(end) if usable else None

    def slope(ends, step):
        if is_one_sided:
            start, near, far = ends
            return (4 * near - 3 * start - far) / step
        return (ends[0] - ends[1]) / (2 * step)

    found, middle = [], at(0.0)
    if middle is None:
        return None
    for step in STEPS:
        shifts = (0.0, 0.5, 1.0) if is_one_sided else (1.0, -1.0)
        coarse, fine = ([at(part * h) for part in shifts] for h in (step, step / 2))
        if any(end is None for end in (*coarse, *fine)):
            continue
        sides = 0.0 if is_one_sided else (fine[0] + fine[1] - 2 * middle) / step
        coarse, fine = slope(coarse, step), slope(fine, step / 2)
        own = max(float(np.abs(fine - coarse).max()), float(np.abs(sides).max()))
        if own <= SURE * np.abs(fine).max(initial=0):
            found.append(((4 * fine - coarse) / 3, own))
    pairs = [
        (fine, max(own, float(np.abs(fine - coarse).max())))
        for (coarse, _), (fine, own) in itertools.pairwise(found)
    ]
    return min(pairs or found, key=lambda each: each[1], default=None)


def _check_reverse(verdict, kind, numbers, way, rng, prepared, slope) -> None:
    tolerance = jnp.asarray(kind.tolerance)
    if kind.reverse == UNROLLED:
        _, slope, told = forward(kind, numbers, way, prepared, tolerance, UNROLLED)
        if not np.isfinite(slope).all():
            return  # equal steps that are too long for a stiff scene: nothing to compare
    weights = rng.normal(size=np.shape(slope)) / max(np.abs(slope).max(), 1e-300)
    gradient, told = reverse(kind, numbers, jnp.asarray(weights), prepared, tolerance, kind.reverse)
    if kind.reverse == REVERSE and told.status != Status.OK:
        return
    parts = np.concatenate([np.ravel(np.asarray(gradient[name]) * way[name]) for name in numbers])
    expected, scale = (
        float(weights @ np.asarray(slope)),
        np.abs(parts).sum() + np.abs(weights * np.asarray(slope)).sum(),
    )
    words = f"reverse {parts.sum():.9g} and forward {expected:.9g} along one way differ by a share of"
    verdict.measured("reverse", abs(parts.sum() - expected) / scale, kind.backward, words)


def _difference(a: Any, b: Any) -> float:
    """The largest difference of two states in units of the motion, relative to the larger of 1 and the state."""
    a, b = np.asarray(a), np.asarray(b)
    return float(np.abs(a - b).max() / max(1.0, np.abs(b).max()))
