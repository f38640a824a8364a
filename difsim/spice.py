"""On the host: constants, attitudes and states of bodies from SPICE kernels, and trajectories back (extra `spice`).

SPICE works in kilometres; everything here is in SI units. Times are seconds past J2000 (TDB), which `str2et` of SPICE
gives.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from difsim.checks import host_numbers, integer
from difsim.extras import require
from difsim.saving.atomic import write_atomically

KM = 1e3  # m
DEGREE = 7  # of the polynomials that interpolate a written trajectory
UNEVEN = 0.01  # of the length of a step, by which polynomials may miss the motion before a warning


@contextmanager
def kernels(*paths: str | PathLike) -> Iterator[None]:
    """Load kernels for the length of a `with` block, text or binary or meta-kernels.

    **Arguments:** `paths`. **Raises:** FileNotFoundError; ImportError without spiceypy; ValueError for a file that
    SPICE does not read.
    """
    spice = require("spice", "spiceypy")
    for path in paths:
        if not Path(path).is_file():
            raise FileNotFoundError(f"no kernel at {path}")
    loaded = []
    try:
        for path in paths:
            _ask("furnsh", str(path), remedy="give a kernel of SPICE")
            loaded.append(str(path))
        yield
    finally:
        for path in reversed(loaded):
            spice.unload(path)


def gravitational_parameter(body: str) -> float:
    """GM of a body, m³/s², by its name or number. **Raises:** `ValueError` where no kernel has it."""
    return float(_ask("bodvrd", body, "GM", 1)[1][0]) * KM**3


def radii(body: str) -> Float[np.ndarray, "3"]:
    """The semi-axes of a body, m. **Raises:** `ValueError` where no kernel has them."""
    return np.asarray(_ask("bodvrd", body, "RADII", 3)[1]) * KM


def orientation(
    frame: str, time: Any, reference: str = "J2000"
) -> tuple[Float[np.ndarray, "3 3"], Float[np.ndarray, "3"]]:
    """The attitude and the spin of a body-fixed frame.

    **Arguments:** `frame`, such as "IAU_PHOBOS"; `time` s; `reference`, a frame.
    **Returns:** the matrix that takes components in `reference` to components in `frame`, whose last row is the pole;
    and the spin of `frame` against `reference`, rad/s, with components in `frame`: constant `omega` of `Flight` where
    the pole does not move. **Raises:** `ValueError` for unknown frames and times without data.
    """
    turn, spin = require("spice", "spiceypy").xf2rav(_ask("sxform", reference, frame, _one("orientation", time)))
    return np.asarray(turn), np.asarray(turn) @ np.asarray(spin)


def relative_state(
    target: str, observer: str, frame: str, time: Any
) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
    """The position and velocity of one body from another, without light time.

    **Arguments:** `target` and `observer`, names or numbers; `frame`; `time` s. **Returns:** position [3] m and
    velocity [3] m/s in `frame`: in a rotating frame that in the frame, as `Flight` takes it.
    **Raises:** `ValueError` where no kernel has them.
    """
    found, _ = _ask("spkezr", target, _one("relative_state", time), frame, "NONE", observer)
    return np.asarray(found[:3]) * KM, np.asarray(found[3:]) * KM


def write_spk(
    path: str | PathLike,
    times: Any,
    positions: Any,
    velocities: Any,
    body: Any,
    centre: Any,
    frame: str,
) -> None:
    """Write a trajectory as an SPK kernel (type 13: Hermite interpolation of states at unequal times).

    A time may repeat: with the same state it counts once, as after an early end; with another velocity it is a bounce,
    at which the polynomials end and begin. A bounce between two of the times is smoothed by them: by 0.1 m for hops of
    1 m and times 10 s apart. Give its time twice, with the states before and after it.

    **Arguments:** `path` of a new file; `times` [T] s, ascending, at least two of them; `positions` [T, 3] m and
    `velocities` [T, 3] m/s in `frame`, about the body numbered `centre`; `body`, a number of your own, negative for a
    spacecraft.
    **Raises:** `ValueError`, which leaves no file, for lengths that differ, numbers that are not finite, times that do
    not ascend, positions that jump, and what SPICE refuses; `FileExistsError`.
    **Warns:** where the states are not those of a smooth motion, as about a bounce between two times.
    """
    path = Path(path)
    if path.exists():
        raise FileExistsError(f"{path} is there already: SPICE does not overwrite kernels")
    times = host_numbers("write_spk: times", times, "T")
    given = ("positions", positions), ("velocities", velocities)
    states = [host_numbers(f"write_spk: {name}", x, "T 3") for name, x in given]
    if {len(times)} != {len(x) for x in states}:
        raise ValueError(
            f"write_spk: {len(times)} times, {len(states[0])} positions and {len(states[1])} velocities: give the same "
            "number of each"
        )
    body, centre = (integer(f"write_spk: {k}", x, -(2**31)) for k, x in (("body", body), ("centre", centre)))
    pieces = _pieces(times, np.concatenate(states, axis=1))
    spice = require("spice", "spiceypy")
    with write_atomically(path) as beside:  # a kernel that SPICE gave up is removed
        handle = _ask("spkopn", str(beside), "difsim", 0, remedy="give another path")
        try:
            for t, x in pieces:
                ends, degree = (float(t[0]), float(t[-1])), min(DEGREE, 2 * t.size - 1)
                given = handle, body, centre, frame, *ends, "difsim", degree, t.size, x / KM, t
                _ask("spkw13", *given, remedy="correct it")
            spice.spkcls(handle)
        except BaseException:
            spice.dafcls(handle)  # spkcls would complain about an empty file, and hide the reason
            raise


def _pieces(times: np.ndarray, states: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Times and states without repetitions, cut at each bounce. **Raises:** ValueError."""
    steps = np.diff(times)
    if (back := np.flatnonzero(steps < 0)).size:
        raise ValueError(f"write_spk: times do not ascend at rows {(back[:5] + 1).tolist()}: sort them")
    same = steps == 0
    jump = np.linalg.norm(np.diff(states[:, :3], axis=0), axis=1)
    size = np.abs(states[:, :3]).max(initial=0)
    if (torn := np.flatnonzero(same & (jump > 1e-9 * size))).size:  # 1e-9: of a sum in another order
        raise ValueError(
            f"write_spk: positions jump at the repeated times of rows {(torn[:5] + 1).tolist()}: a bounce changes the "
            "velocity alone"
        )
    again = np.append(False, same & (np.diff(states, axis=0) == 0).all(axis=1))
    times, states = times[~again], states[~again]
    cuts = np.flatnonzero(np.diff(times) == 0) + 1
    pieces = [
        (np.array(t), np.array(x)) for t, x in zip(np.split(times, cuts), np.split(states, cuts), strict=True)
    ]
    pieces = [(t, x) for t, x in pieces if t.size > 1]
    if not pieces:
        raise ValueError(f"write_spk: {np.unique(times).size} times: give at least 2, ascending")
    for t, x in pieces:
        off, length = _roughness(t, x)
        if (bad := np.flatnonzero(off > UNEVEN * length + 1e-9 * size)).size:
            warnings.warn(
                f"write_spk: about {t[bad[0] + 1]:.9g} s (and {bad.size - 1} other times) the states are not those of "
                f"a smooth motion: the kernel misses them by about {off.max():.2g} m: give the time of a bounce twice, "
                "with the states before and after it; otherwise look at units, frame and the distance of times",
                stacklevel=3,
            )
            break
    return pieces


def _roughness(t: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distance of the motion from polynomials at each inner time, and the length of the longer step there, m.

    Through two states goes one cubic. The two cubics at a time agree in the acceleration where the motion is smooth; a
    bounce in a step makes them differ by the change of velocity over the step.
    """
    h, r, v = np.diff(t)[:, None], x[:, :3], x[:, 3:]
    slope = np.diff(r, axis=0) / h
    before = (2 * v[:-1] + 4 * v[1:] - 6 * slope) / h  # the acceleration at the end of each step
    after = (6 * slope - 4 * v[:-1] - 2 * v[1:]) / h  # and at its start
    longer = np.maximum(h[:-1], h[1:])[:, 0]
    speed = np.linalg.norm(v, axis=1)
    fastest = np.maximum(speed[1:-1], np.maximum(speed[:-2], speed[2:]))
    return np.linalg.norm(before[:-1] - after[1:], axis=1) * longer**2 / 8, fastest * longer


def _one(function: str, time: Any) -> float:
    """A time, with which SPICE would make NaN of what is not finite."""
    found = host_numbers(f"{function}: time", time)
    if found.ndim:
        raise ValueError(f"{function}: time has shape {found.shape}: give one number, s past J2000")
    return float(found)


def _ask(function: str, *given: Any, remedy: str = "load the kernel that has it") -> Any:
    """The answer of SPICE. **Raises:** `ValueError` that says what is missing."""
    spice = require("spice", "spiceypy")
    try:
        return getattr(spice, function)(*given)
    except (spice.utils.exceptions.SpiceyError, spice.NotFoundError) as error:
        reason = " ".join((getattr(error, "long", "") or str(error)).split())
        names = tuple(x for x in given if not isinstance(x, np.ndarray))
        raise ValueError(f"SPICE: {function}{names}: {reason}: {remedy}") from error
