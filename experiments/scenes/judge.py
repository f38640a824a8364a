"""The checks of a scene: the same for its middle in the tests and for random numbers in a search."""

import itertools
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from difsim import Forward, Status, Unrolled
from experiments.scenes.scene import (
    Numbers,
    Prepared,
    Record,
    Scene,
    evaluate_exact,
    evaluate_slopes,
    prepare,
    run,
    run_forward,
    run_reverse,
)

BROKEN = {Status.NOT_FINITE, Status.INVALID_STATE, Status.INVALID_MODEL}  # what no valid scene may end with
FINER = 1e-2  # of the tolerance, in the run that is compared
FINEST = 1e-12  # tolerance of the runs that differences are taken of
MARGIN = 10.0  # the bound of `Validity` is one to an order of magnitude
DRIFT = 1e-6  # of what is conserved, relative to its size
STEPS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)  # of differences, relative, times the linear range
ROUNDING = 1e-9  # of a difference
SURE = 1e-4  # own relative error with which differences are a reference
EQUAL_STEPS, ADAPTIVE = 1e-7, 1e-4  # the relative difference of the reverse derivative from the forward one


@dataclass
class Findings:
    """The findings of one scene.

    **Arguments:** `status`, its name; `faults`, by the name of the check, in words; `errors`, by the name of the check:
    the energy's drift as a share; the difference of the end from that with a finer tolerance ("tighter"), of the
    forward derivative from differences ("derivative"), of the reverse from the forward one ("reverse"), relative; of
    quantities in closed form ("exact") and of their derivatives ("slope"); and `shares`, these of what is allowed.
    `unsure`: no differences that agree with each other were found, as where a contact comes or goes within the step.
    """

    status: str
    faults: dict[str, str] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)
    unsure: bool = False

    def note(self, check: str, error: float, allowed: float, words: str) -> None:
        """Note an error, and a fault in these words if it is not within what is allowed."""
        if float(error / allowed) >= self.shares.get(check, 0.0):
            self.errors[check], self.shares[check] = float(error), float(error / allowed)
        if not error <= allowed:
            self.faults[check] = f"{words} {error:.3g}, {allowed:.3g} is allowed"


def judge(scene: Scene, numbers: Numbers, seed: int = 0, is_thorough: bool = True) -> Findings:
    """Run a scene and check it.

    **Arguments:** `numbers`; `seed` of the direction of the derivatives; `is_thorough`, whether they are compared
    with differences and with the reverse derivative too.
    """
    prepared = prepare(scene, numbers)
    tolerance = jnp.asarray(scene.engine.tolerance)
    end, record = run(scene, numbers, prepared, tolerance)
    again = run(scene, numbers, prepared, tolerance)
    findings = Findings(Status(int(record.status)).name)
    if not all(
        np.array_equal(a, b, equal_nan=True)
        for a, b in zip(*map(jax.tree.leaves, ((end, record), again)), strict=True)
    ):
        findings.faults["determinism"] = f"two runs differ: {np.asarray(end)} and {np.asarray(again[0])}"
    if Status(int(record.status)) in BROKEN:
        findings.faults["status"] = str(Status(int(record.status)))
    if record.status != Status.OK:
        return findings
    _check_balance(findings, end, record)
    _check_exact(findings, scene, numbers, prepared, end)
    if findings.faults or not scene.engine.has_derivative:
        return findings
    rng = np.random.default_rng(seed)
    direction = {name: size * rng.normal(size=np.shape(size)) for name, size in _sizes(numbers).items()}
    direction, is_one_sided = scene.point_inwards(numbers, direction)
    end, slope, record = run_forward(scene, numbers, direction, prepared, tolerance, Forward())
    findings.status = Status(int(record.status)).name  # PAST_VALIDITY is known of tangents only
    if record.status != Status.OK:
        return findings
    if not np.isfinite(slope).all():
        findings.faults["derivative"] = f"not finite: {np.asarray(slope)}"
        return findings
    _check_slopes(findings, scene, numbers, direction, prepared, slope)
    if scene.engine.has_tolerance:
        _check_tighter(findings, scene, numbers, prepared, end, record)
    if is_thorough:
        _check_differences(findings, scene, numbers, direction, prepared, slope, record, is_one_sided)
        if scene.engine.reverse is not None:
            _check_reverse(findings, scene, numbers, direction, rng, prepared, slope)
    return findings


def _sizes(numbers: Numbers) -> Numbers:
    """Return the size of each number, by which it is moved: of a vector that of its largest entry, of zeros 1."""
    largest = {name: np.max(np.abs(value), initial=0.0) for name, value in numbers.items()}
    return {name: np.full(np.shape(value), largest[name] or 1.0) for name, value in numbers.items()}


def _check_balance(findings: Findings, end: Any, record: Record) -> None:
    if not (record.finite and np.isfinite(end).all()):
        findings.faults["finite"] = f"OK, and not finite: {np.asarray(end)}"
    findings.note("energy", record.energy, record.allowed, "the energy's sum drifts by a share of")
    findings.note("gain", record.gain, record.allowed, "a loss gave back a share of")
    findings.note("momentum", record.drift, DRIFT, "what is conserved drifts by a share of")


def _exact_part(scene, prepared, end):
    """Return the quantities in closed form, in their units, from the end of a run."""
    return np.asarray(end)[np.size(end) - len(scene.exact) :] * np.asarray(prepared.exact)


def _check_exact(findings: Findings, scene: Scene, numbers: Numbers, prepared: Prepared, end: Any) -> None:
    ours = _exact_part(scene, prepared, end)
    for each, found, value in zip(scene.exact, ours, np.asarray(evaluate_exact(scene, numbers)), strict=True):
        error = abs(found - value) / (abs(value) if each.is_relative else 1.0)
        findings.note(
            "exact", error, each.tolerance, f"{each.name} is {found:.12g}, not {value:.12g}: it differs by"
        )


def _check_slopes(findings, scene, numbers, direction, prepared, slope) -> None:
    """Compare the derivatives of quantities in closed form with those of the closed forms."""
    if not any(each.slope for each in scene.exact):
        return
    by = evaluate_slopes(scene, numbers)
    for i, (each, found) in enumerate(zip(scene.exact, _exact_part(scene, prepared, slope), strict=True)):
        parts = np.concatenate([np.ravel(np.asarray(by[name][i]) * direction[name]) for name in numbers])
        if each.slope:
            error = abs(found - parts.sum()) / (np.abs(parts).max() or 1.0)
            words = f"the slope of {each.name} differs by"
            findings.note("slope", error, each.slope, words)


def _check_tighter(findings, scene, numbers, prepared, end, record) -> None:
    finer, finer_record = run(scene, numbers, prepared, jnp.asarray(FINER * scene.engine.tolerance))
    if finer_record.status != Status.OK:
        return  # it needs more steps than it may take, or sees what the other did not: nothing to compare with
    contacts = f"contacts {int(record.contacts)} and {int(finer_record.contacts)};"
    words = f"{contacts} the end differs from that at {FINER:g} of the tolerance by"
    findings.note("tighter", _difference(end, finer), MARGIN * float(record.error), words)


def _check_differences(findings, scene, numbers, direction, prepared, slope, record, is_one_sided) -> None:
    found = differences(scene, numbers, direction, prepared, int(record.contacts), is_one_sided)
    if found is None:
        findings.unsure = True
        return
    slopes, own = found
    scale = np.abs(slopes).max(initial=1e-300)
    error = np.abs(np.asarray(slope) - slopes).max() / scale
    allowed = MARGIN * float(record.error) + own / scale + ROUNDING
    words = f"of {scale:.3g}, forward differs from differences (own error {own / scale:.2g}) by a share of"
    findings.note("derivative", error, allowed, words)


def differences(
    scene: Scene,
    numbers: Numbers,
    direction: Numbers,
    prepared: Prepared,
    contacts: int,
    is_one_sided: bool = False,
) -> tuple[np.ndarray, float] | None:
    """Return differences along a direction after Richardson, and their own error; None where none agree.

    They are central ones, and of second order too where they can go one way only, from a limit of a number. They are of
    runs at `FINEST`, and a reference only where all of them have the same contacts. Of two steps, ten times apart, that
    agree best the shorter one counts, and their disagreement is its error. So is half of that between its two sides:
    where one of many particles is about to approach another, or to yield, steps of every length are wrong by the same.
    """
    finest = jnp.asarray(min(FINEST, scene.engine.tolerance))

    def evaluate(h):
        moved = {name: value + h * direction[name] for name, value in numbers.items()}
        end, record = run(scene, moved, prepared, finest)
        usable = record.status == Status.OK and int(record.contacts) == contacts
        return np.asarray(end) if usable else None

    def slope(ends, step):
        if is_one_sided:
            start, near, far = ends
            return (4 * near - 3 * start - far) / step
        return (ends[0] - ends[1]) / (2 * step)

    found, middle = [], evaluate(0.0)
    if middle is None:
        return None
    for step in STEPS:
        shifts = (0.0, 0.5, 1.0) if is_one_sided else (1.0, -1.0)
        coarse, fine = ([evaluate(part * h) for part in shifts] for h in (step, step / 2))
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


def _check_reverse(findings, scene, numbers, direction, rng, prepared, slope) -> None:
    tolerance, derivative = jnp.asarray(scene.engine.tolerance), scene.engine.reverse
    is_unrolled = isinstance(derivative, Unrolled)
    if is_unrolled:
        _, slope, _ = run_forward(scene, numbers, direction, prepared, tolerance, derivative)
        if not np.isfinite(slope).all():
            return  # equal steps that are too long for a stiff scene: nothing to compare
    weights = rng.normal(size=np.shape(slope)) / max(np.abs(slope).max(), 1e-300)
    gradient, record = run_reverse(scene, numbers, jnp.asarray(weights), prepared, tolerance, derivative)
    if not is_unrolled and record.status != Status.OK:
        return
    parts = np.concatenate([np.ravel(np.asarray(gradient[name]) * direction[name]) for name in numbers])
    along = weights * np.asarray(slope)
    error = abs(parts.sum() - along.sum()) / (np.abs(parts).sum() + np.abs(along).sum())
    words = f"reverse {parts.sum():.9g} and forward {along.sum():.9g} along one direction differ by a share of"
    findings.note("reverse", error, EQUAL_STEPS if is_unrolled else ADAPTIVE, words)


def _difference(a: Any, b: Any) -> float:
    """Return the largest difference of two ends, relative to the larger of 1 and the end."""
    a, b = np.asarray(a), np.asarray(b)
    return float(np.abs(a - b).max() / max(1.0, np.abs(b).max()))
