"""The model of a case: predictions of the numbers and of the series that were measured, for an inversion."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import Status
from difsim.declarations import is_valid, quantities
from difsim.typing import Scalar
from experiments.contact.case import GROUNDS, Case
from experiments.contact.sensor import Sensor
from experiments.contact.world import Motion, Plunge
from inversion import Problem


class Model(eqx.Module):
    """The simulation of a case: parameters by name to the measured quantities by name, and a status."""

    times: dict[str, Scalar]
    clock: Float[Array, " k"]
    law: str = eqx.field(static=True)
    measured: tuple[str, ...] = eqx.field(static=True)

    def __call__(self, p: Mapping[str, Array]) -> tuple[dict[str, Any], Array]:
        plunge = self.build(p)
        motion = plunge.fall()
        found = {
            "depth": motion.depth_at(self.times["depth"]),
            "duration": motion.time[-1] + plunge.time_out(motion.depth[-1]),
            "speed": motion.speed_at(self.times["speed"]),
            "peak_deceleration": motion.peak_deceleration,
        }
        parts = [plunge]
        if "series" in self.measured:
            sensor = build_sensor(p)
            found["series"] = sensor.sense(motion, self.clock)
            parts.append(sensor)
        status = jnp.where(motion.has_stopped, int(Status.OK), int(Status.STEP_LIMIT))
        status = jnp.where(is_valid(parts), status, int(Status.INVALID_MODEL))
        return {name: found[name] for name in self.measured}, status

    def build(self, p: Mapping[str, Array]) -> Plunge:
        """The body and its ground. **Arguments:** `p`, parameters by name. **Returns:** `Plunge`."""
        kind = GROUNDS[self.law]
        own = {name: p[name] for name in quantities(kind)}
        body = {name: p[name] for name in quantities(Plunge)}
        return Plunge(kind(**own), **body)

    def fall(self, p: Mapping[str, Array]) -> Motion:
        """The motion. **Arguments:** `p`, parameters by name."""
        return self.build(p).fall()


def build_sensor(p: Mapping[str, Array]) -> Sensor:
    """The sensor of a series. **Arguments:** `p`, parameters by name."""
    return Sensor(**{name: p[name] for name in quantities(Sensor)})


def build_model(case: Case) -> Model:
    """The simulation of a case."""
    clock = jnp.zeros(0) if case.series is None else case.series.times
    times = {name: jnp.asarray(time) for name, time in case.times.items()}
    return Model(times, clock, case.law, case.data.names)


def pose(case: Case) -> Problem:
    """The inversion of a case."""
    return Problem(case.parameters, build_model(case), case.data)
