"""The checks of a scene: the same for its middle in the tests and for random numbers in a search."""

import itertools
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from difsim import Forward, Status, Unrolled
from experiments.scenes.scene import Numbers, Record, Scene, run, run_forward, run_reverse

BROKEN = {Status.NOT_FINITE, Status.INVALID_STATE, Status.INVALID_MODEL}  # what no valid scene may end with
FINER = 1e-2  # of the tolerance, in the run that is compared
FINEST = 1e-12  # tolerance of the runs that differences are taken of
MARGIN = 10.0  # the bound of `Validity` is one to an order of magnitude
DRIFT = 1e-6  # of what is conserved, relative to its size
STEPS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)  # of differences, relative, times the linear range
ROUNDING = 1e-9  # of a difference
SURE = 1e-4  # own relative error with which differences are a reference
EQUAL_STEPS, ADAPTIVE = 1e-7, 1e-4  # the relative difference of the reverse derivative from the forward one
# Where differences are taken, and their weights: on both sides, and from a limit of a number to one side.
CENTRAL = np.array([1.0, -1.0]), np.array([0.5, -0.5])
ONE_SIDED = np.array([0.0, 0.5, 1.0]), np.array([-3.0, 4.0, -1.0])


@dataclass
class Findings:
    """The findings of one scene.

    **Arguments:** `status`, its name; `faults`, by the name of the check, in words; `errors`, by the name of the check:
    the energy's drift as a share; the difference of the end from that with a finer tolerance ("tighter"), of the
    forward derivative from differences ("derivative"), of the reverse from the forward one ("reverse"), relative; of
    quantities in closed form ("exact"); and `shares`, these of what is allowed. `unsure`: no differences that agree
    with each other were found, as where a contact comes or goes within the step.
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
    tolerance = jnp.asarray(scene.engine.tolerance)
    end, record = run(scene, numbers, numbers, tolerance)
    again = run(scene, numbers, numbers, tolerance)
    findings = Findings(Status(int(record.status)).name)
    pairs = zip(*map(jax.tree.leaves, ((end, record), again)), strict=True)
    if not all(np.array_equal(a, b, equal_nan=True) for a, b in pairs):
        findings.faults["determinism"] = f"two runs differ: {np.asarray(end)} and {np.asarray(again[0])}"
    if Status(int(record.status)) in BROKEN:
        findings.faults["status"] = str(Status(int(record.status)))
    if record.status != Status.OK:
        return findings
    _check_balance(findings, end, record)
    known = zip(scene.exact.quantities.items(), scene.known(end), scene.expect(numbers), strict=True)
    for (name, (_, allowed)), ours, value in known:
        words = f"{name} is {ours:.12g}, not {value:.12g}: it differs by"
        findings.note("exact", abs(ours - value) / (abs(value) or 1.0), allowed, words)
    if findings.faults or not scene.engine.has_derivative:
        return findings
    rng = np.random.default_rng(seed)
    direction, is_one_sided = _choose_direction(scene, numbers, rng)
    end, slope, record = run_forward(scene, numbers, direction, tolerance, Forward())
    findings.status = Status(int(record.status)).name  # PAST_VALIDITY is known of tangents only
    if record.status != Status.OK:
        return findings
    if not np.isfinite(slope).all():
        findings.faults["derivative"] = f"not finite: {np.asarray(slope)}"
        return findings
    if scene.engine.has_tolerance:
        _check_tighter(findings, scene, numbers, end, record)
    if is_thorough:
        _check_differences(findings, scene, numbers, direction, slope, record, is_one_sided)
        if scene.engine.reverse is not None:
            _check_reverse(findings, scene, numbers, direction, rng, slope)
    return findings


def _choose_direction(scene: Scene, numbers: Numbers, rng: np.random.Generator) -> tuple[Numbers, bool]:
    """Return a direction that leaves no range, and whether the opposite one would.

    Each number is moved by about its size: of a vector that of its largest entry, of zeros 1.
    """
    direction, is_one_sided = {}, False
    for name, draw in scene.draws.items():
        size = np.max(np.abs(numbers[name]), initial=0.0) or 1.0
        along = size * rng.normal(size=np.shape(numbers[name]))
        direction[name], is_limited = draw.point_inwards(numbers[name], along)
        is_one_sided |= is_limited
    return direction, is_one_sided


def _check_balance(findings: Findings, end: Any, record: Record) -> None:
    if not (record.finite and np.isfinite(end).all()):
        findings.faults["finite"] = f"OK, and not finite: {np.asarray(end)}"
    findings.note("energy", record.energy, record.allowed, "the energy's sum drifts by a share of")
    findings.note("gain", record.gain, record.allowed, "a loss gave back a share of")
    findings.note("momentum", record.drift, DRIFT, "what is conserved drifts by a share of")


def _check_tighter(findings, scene, numbers, end, record) -> None:
    finer, finer_record = run(scene, numbers, numbers, jnp.asarray(FINER * scene.engine.tolerance))
    if finer_record.status != Status.OK:
        return  # it needs more steps than it may take, or sees what the other did not: nothing to compare with
    error = np.abs(end - finer).max() / max(1.0, np.abs(finer).max())
    contacts = f"contacts {int(record.contacts)} and {int(finer_record.contacts)};"
    words = f"{contacts} the end differs from that at {FINER:g} of the tolerance by"
    findings.note("tighter", float(error), MARGIN * float(record.error), words)


def _check_differences(findings, scene, numbers, direction, slope, record, is_one_sided) -> None:
    found = differences(scene, numbers, direction, int(record.contacts), is_one_sided)
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
    scene: Scene, numbers: Numbers, direction: Numbers, contacts: int, is_one_sided: bool = False
) -> tuple[np.ndarray, float] | None:
    """Return differences along a direction after Richardson, and their own error; None where none agree.

    They are central ones, and of second order too where they can go one way only, from a limit of a number. They are of
    runs at `FINEST`, and a reference only where all of them have the same contacts. Of two steps, ten times apart, that
    agree best the shorter one counts, and their disagreement is its error. So is half of that between its two sides:
    where one of many particles is about to approach another, or to yield, steps of every length are wrong by the same.
    """
    finest = jnp.asarray(min(FINEST, scene.engine.tolerance))
    places, weights = ONE_SIDED if is_one_sided else CENTRAL

    def evaluate(h):
        moved = {name: value + h * direction[name] for name, value in numbers.items()}
        end, record = run(scene, moved, numbers, finest)
        usable = record.status == Status.OK and int(record.contacts) == contacts
        return np.asarray(end) if usable else None

    found, middle = [], evaluate(0.0)
    if middle is None:
        return None
    for step in STEPS:
        coarse, fine = ([evaluate(place * h) for place in places] for h in (step, step / 2))
        if any(end is None for end in (*coarse, *fine)):
            continue
        sides = 0.0 if is_one_sided else (fine[0] + fine[1] - 2 * middle) / step
        coarse, fine = weights @ np.stack(coarse) / step, weights @ np.stack(fine) / (step / 2)
        own = max(float(np.abs(fine - coarse).max()), float(np.abs(sides).max()))
        if own <= SURE * np.abs(fine).max(initial=0):
            found.append(((4 * fine - coarse) / 3, own))
    pairs = [
        (fine, max(own, float(np.abs(fine - coarse).max())))
        for (coarse, _), (fine, own) in itertools.pairwise(found)
    ]
    return min(pairs or found, key=lambda each: each[1], default=None)


def _check_reverse(findings, scene, numbers, direction, rng, slope) -> None:
    tolerance, derivative = jnp.asarray(scene.engine.tolerance), scene.engine.reverse
    is_unrolled = isinstance(derivative, Unrolled)
    if is_unrolled:
        _, slope, _ = run_forward(scene, numbers, direction, tolerance, derivative)
        if not np.isfinite(slope).all():
            return  # equal steps that are too long for a stiff scene: nothing to compare
    weights = rng.normal(size=np.shape(slope)) / max(np.abs(slope).max(), 1e-300)
    gradient, record = run_reverse(scene, numbers, jnp.asarray(weights), tolerance, derivative)
    if not is_unrolled and record.status != Status.OK:
        return
    parts = np.concatenate([np.ravel(np.asarray(gradient[name]) * direction[name]) for name in numbers])
    along = weights * np.asarray(slope)
    error = abs(parts.sum() - along.sum()) / (np.abs(parts).sum() + np.abs(along).sum())
    words = f"reverse {parts.sum():.9g} and forward {along.sum():.9g} along one direction differ by a share of"
    findings.note("reverse", error, EQUAL_STEPS if is_unrolled else ADAPTIVE, words)
