"""A clamped elastic plate that swings: the period of thin-plate theory, in the limit of fine particles."""

import jax.numpy as jnp
import numpy as np
import pytest

from difsim import simulate
from difsim.sph import Continuum, CubicSpline, Murnaghan, Tool, Viscosity
from difsim.sph.corrections import ArtificialStress, GradientCorrection

LENGTH, THICK = 0.2, 0.02  # m
SOLID = Murnaghan(2e6, 0.3975, 1000.0)
WAVE = 1.875104 / LENGTH  # 1/m, of a clamped plate's first mode: cos(kL) cosh(kL) = -1
STIFF = 2e6 * THICK**2 / (12 * 1000.0 * (1 - 0.3975**2))  # bending stiffness over mass, m⁴/s²
PERIOD = 2 * np.pi / (WAVE**2 * np.sqrt(STIFF))


def mode(x):
    kx, kl = WAVE * x, 1.875104
    sums = (np.cos(kl) + np.cosh(kl)) * (np.cosh(kx) - np.cos(kx))
    return sums + (np.sin(kl) - np.sinh(kl)) * (np.sinh(kx) - np.sin(kx))


def period(rows: int) -> float:
    """From when the tip, which is thrown at t = 0, comes back: half a period, s."""
    spacing = THICK / rows

    def lattice(first, last):
        cells = np.meshgrid(np.arange(first, last), np.arange(rows), indexing="ij")
        return (np.stack(cells).reshape(2, -1) + 0.5) * spacing

    plate, clamp = lattice(0, round(LENGTH / spacing)), lattice(-4, 0)
    position = np.concatenate([plate, clamp], axis=1)
    n, count = plate.shape[1], position.shape[1]
    # Without artificial stress a plate of this deflection clumps where it is stretched, and with no viscosity
    # the steps' own growth of waves would break it.
    model = Continuum(
        SOLID,
        CubicSpline(2.5 * spacing),
        Viscosity(0.3, 0.0, SOLID.sound),
        np.zeros(2),
        np.full(count, 1000.0 * spacing**2),
        (Tool(np.arange(n, count), clamp),),
        corrections=(GradientCorrection(), ArtificialStress(spacing, 0.3, 4.0)),
    )
    velocity = np.zeros((2, count))
    velocity[1, :n] = 0.05 * np.sqrt(float(SOLID.bulk) / 1000.0) * mode(plate[0]) / mode(LENGTH)
    rest = model.at_rest(jnp.asarray(position))
    thrown = type(rest)(rest.position, jnp.asarray(velocity), rest.stress, rest.density)
    times = np.linspace(0.3, 0.75, 46) * PERIOD
    tip = np.argmax(plate[0] + 0.001 * plate[1])
    y = simulate(model, thrown, np.append(0.0, times)).states.position[1:, 1, tip] - plate[1, tip]
    i = int(np.argmax(y < 0))
    return 2 * (times[i] - (times[i] - times[i - 1]) * y[i] / (y[i] - y[i - 1]))


def test_a_plate_swings_with_the_thin_plates_period_in_the_limit():
    """Surface and clamp are soft by a part of a spacing: 8 rows swing 16 % too slowly; it goes as 1/rows."""
    rows = np.array([4, 6, 8])
    ratio = np.array([period(n) for n in rows]) / PERIOD
    assert (np.diff(ratio) < 0).all() and ratio[-1] < 1.2
    assert np.polyfit(1 / rows, ratio, 2)[-1] == pytest.approx(1.0, abs=0.03)
