"""The model of a case: predictions of the numbers and of the series that were measured, for an inversion."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import Status
from difsim.declarations import is_valid, quantities
from difsim.typing import Scalar
from experiments.contact.case import GROUNDS, SIMULATED, Case
from experiments.contact.sensor import Sensor
from experiments.contact.shapes import Section
from experiments.contact.world import Motion, Plunge
from inversion import Problem


class Model(eqx.Module):
    """The simulation of a case: parameters by name to the measured quantities by name, and a status.

    `sections` of the shapes, of which one of the parameters is the number.
    """

    sections: Section
    times: dict[str, Scalar]
    clock: Float[Array, " k"]
    law: str = eqx.field(static=True)
    measured: tuple[str, ...] = eqx.field(static=True)

    def __call__(self, p: Mapping[str, Array]) -> tuple[dict[str, Any], Array]:
        plunge = self.build(p)
        motion = plunge.fall()
        found = motion.measure(self.times)
        found["duration"] += plunge.time_out(motion.depth[-1])
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
        section = jax.tree.map(lambda x: x[jnp.asarray(p["shape"]).astype(int)], self.sections)
        return Plunge(kind(**own), **body, section=section)

    def fall(self, p: Mapping[str, Array]) -> Motion:
        """The motion. **Arguments:** `p`, parameters by name."""
        return self.build(p).fall()


def build_sensor(p: Mapping[str, Array]) -> Sensor:
    """The sensor of a series. **Arguments:** `p`, parameters by name."""
    return Sensor(**{name: p[name] for name in quantities(Sensor)})


def build_model(case: Case) -> Model:
    """The simulation of a case, of a law of the ground. **Raises:** `ValueError` for grains and soil."""
    if case.law in SIMULATED:
        raise ValueError(f"{case.title}: law = {case.law!r} is simulated, which only --stage fit does")
    clock = jnp.zeros(0) if case.series is None else case.series.times
    times = {name: jnp.asarray(time) for name, time in case.times.items()}
    sections = jax.tree.map(lambda *each: jnp.stack(each), *(shape.section for shape in case.shapes))
    return Model(sections, times, clock, case.law, case.data.names)


def pose(case: Case) -> Problem:
    """The inversion of a case."""
    return Problem(case.parameters, build_model(case), case.data)
