"""Sensors on a body that flies and bounces: series of an accelerometer and a gyro, and their errors.

A reading is the mean over the interval before its time, so that no impact is missed between two readings. `simulate`
integrates what a sensor senses along with the state:

    accelerometer = Accelerometer((0.1, 0.0, 0.0), Errors(sigma=1e-5, limit=20.0))
    solution = simulate(model, state, times, integrals=lambda *x: {"felt": accelerometer.sense(*x)})
    series = accelerometer.errors.read(times, solution.integrals["felt"], jax.random.key(0))

Derivatives are exact through all of it, but for a limit: beyond it a reading does not change, and at it there is no
derivative.
"""

from difsim.sensors.errors import Errors
from difsim.sensors.inertial import AbstractSensor, Accelerometer, Gyro

__all__ = ["AbstractSensor", "Accelerometer", "Errors", "Gyro"]
