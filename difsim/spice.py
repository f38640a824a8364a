"""On the host: constants, attitudes and states of bodies from SPICE kernels, and trajectories back (extra `spice`).

SPICE works in kilometres; everything here is in SI units. Times are seconds past J2000 (TDB), which `str2et` of SPICE
gives.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

KM = 1e3  # m
DEGREE = 7  # of the polynomials that interpolate a written trajectory


@contextmanager
def kernels(*paths: str | PathLike) -> Iterator[None]:
    """Load kernels for the length of a `with` block, text or binary or meta-kernels.

    **Arguments:** `paths`. **Raises:** `FileNotFoundError`; `ValueError` without spiceypy (extra `spice`).
    """
    spice = _spice()
    for path in paths:
        if not Path(path).is_file():
            raise FileNotFoundError(f"no kernel at {path}")
    loaded = []
    try:
        for path in paths:
            spice.furnsh(str(path))
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
    frame: str, time: float, reference: str = "J2000"
) -> tuple[Float[np.ndarray, "3 3"], Float[np.ndarray, "3"]]:
    """The attitude and the spin of a body-fixed frame.

    **Arguments:** `frame`, such as "IAU_PHOBOS"; `time` s; `reference`, a frame.
    **Returns:** the matrix that takes components in `reference` to components in `frame`, whose last row is the pole;
    and the spin of `frame` against `reference`, rad/s, with components in `frame`: constant `omega` of `Flight` where
    the pole does not move. **Raises:** `ValueError` for unknown frames and times without data.
    """
    turn, spin = _spice().xf2rav(_ask("sxform", reference, frame, time))
    return np.asarray(turn), np.asarray(turn) @ np.asarray(spin)


def relative_state(
    target: str, observer: str, frame: str, time: float
) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
    """The position and velocity of one body from another, without light time.

    **Arguments:** `target` and `observer`, names or numbers; `frame`; `time` s. **Returns:** position [3] m and
    velocity [3] m/s in `frame`: in a rotating frame that in the frame, as `Flight` takes it.
    **Raises:** `ValueError` where no kernel has them.
    """
    found, _ = _ask("spkezr", target, time, frame, "NONE", observer)
    return np.asarray(found[:3]) * KM, np.asarray(found[3:]) * KM


def write_spk(
    path: str | PathLike,
    times: Float[np.ndarray, " T"],
    positions: Float[np.ndarray, "T 3"],
    velocities: Float[np.ndarray, "T 3"],
    body: int,
    centre: int,
    frame: str,
) -> None:
    """Write a trajectory as an SPK kernel (type 13: Hermite interpolation of states at unequal times).

    **Arguments:** `path` of a new file; `times` s, ascending, at least four; `positions` m and `velocities` m/s in
    `frame`, about the body numbered `centre`; `body`, a number of your own, negative for a spacecraft.
    **Raises:** `ValueError` for times that do not ascend or are too few; `FileExistsError`.
    """
    path, times = Path(path), np.asarray(times, float)
    if path.exists():
        raise FileExistsError(f"{path} is there already: SPICE does not overwrite kernels")
    if times.size < (DEGREE + 1) // 2 or (np.diff(times) <= 0).any():
        raise ValueError(f"write_spk: {times.size} times: give at least {(DEGREE + 1) // 2}, ascending")
    states = np.concatenate([positions, velocities], axis=1) / KM
    spice = _spice()
    handle = spice.spkopn(str(path), "difsim", 0)
    try:
        ends = float(times[0]), float(times[-1])
        spice.spkw13(handle, body, centre, frame, *ends, "difsim", DEGREE, times.size, states, times)
    finally:
        spice.spkcls(handle)


def _ask(function: str, *given: Any) -> Any:
    """The answer of SPICE. **Raises:** `ValueError` that says what is missing."""
    spice = _spice()
    try:
        return getattr(spice, function)(*given)
    except (spice.utils.exceptions.SpiceyError, spice.NotFoundError) as error:
        reason = " ".join(str(error).split("Message:")[-1].split())
        raise ValueError(f"SPICE: {function}{given}: {reason}: load the kernel that has it") from error


def _spice() -> Any:
    try:
        import spiceypy
    except ImportError:
        raise ValueError('difsim.spice needs spiceypy: pip install "difsim[spice]"') from None
    return spiceypy
